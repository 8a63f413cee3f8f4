"""From places to files: each once, none of another kind, and never stuck on a disk that does not answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from sessionbrowse.agents import AGENTS, Marks, Place, Surroundings
from sessionbrowse.errors import NotFound, SessionBrowseError
from sessionbrowse.store.find.discover import FoundFile, Skipped, agent_of_path, discover, newest_first
from sessionbrowse.store.find.roots import find_places, more_places, own_places, real_surroundings
from sessionbrowse.store.find.slow_disks import (
    TimedReads,
    exists_many,
    in_one_thread,
    patient_disk,
    read_many,
    stat_many,
)

HEADER = '{"type":"session","version":3,"id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n'
TITLE = '{"type":"title","v":1,"title":"t","updatedAt":"2026-01-01T00:00:00.000Z","pad":""}\n'


def write(path: Path, content: str = HEADER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def store(root: Path, agent: str = "pi", kind: str = "projects") -> Place:
    root.mkdir(parents=True, exist_ok=True)
    return Place(agent, str(root), kind, "default")  # type: ignore[arg-type]


def found(places: list[Place], below: Path, **options: bool) -> list[str]:
    return [os.path.relpath(file.path, below) for file in discover(places, **options)]  # type: ignore[arg-type]


def surroundings(home: Path, **environ: str) -> Surroundings:
    return Surroundings(home=str(home), environ=environ, cwd=str(home), disk=patient_disk())


# ---- the walk ----------------------------------------------------------------------------------------------


def test_a_store_holds_the_session_files_of_its_project_folders_and_nothing_else(tmp_path: Path):
    root = tmp_path / "sessions"
    wanted = ["--a--/1.jsonl", "--a--/2.jsonl", "any name/3.jsonl"]
    for name in [
        *wanted,
        "--a--/run-history.jsonl",
        "--a--/1.jsonl.0123456789abcdef.bak",
        "--a--/1.JSONL",
        "--a--/4.ndjson",
        "--a--/notes.txt",
        "--a--/subagent-artifacts/log.jsonl",
        "--a--/archive/old.jsonl",
        "--a--/1/Scout.jsonl",
        "subagent-artifacts/log.jsonl",
        ".last-cleanup",
    ]:
        write(root / name)
    (root / "--a--/folder.jsonl").mkdir()
    assert found([store(root)], root) == wanted


def test_a_file_carries_what_one_look_at_it_tells(tmp_path: Path):
    path = write(tmp_path / "sessions/--p--/s.jsonl")
    os.utime(path, ns=(5, 1_700_000_000_123_456_789))
    place = store(tmp_path / "sessions")
    (file,) = discover([place])
    status = path.stat()
    assert file == FoundFile(
        path=str(path),
        size=len(HEADER),
        mtime_ns=1_700_000_000_123_456_789,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
        device=status.st_dev,
        places=(place,),
        owner="pi",
        folder="--p--",
    )


def test_a_flat_directory_is_not_entered_below(tmp_path: Path):
    for name in ("1.jsonl", "folder/2.jsonl", "1/Scout.jsonl"):
        write(tmp_path / "flat" / name)
    place = store(tmp_path / "flat", kind="flat")
    assert found([place], tmp_path / "flat") == ["1.jsonl"]
    # It may be any directory of the user's, so only the folder of a session is.
    assert found([place], tmp_path / "flat", include_nested=True) == ["1.jsonl", "1/Scout.jsonl"]
    assert [file.folder for file in discover([place])] == [""]


def test_a_file_directly_in_the_root_is_listed_with_the_reason_why_the_agent_is_blind_to_it(tmp_path: Path):
    write(tmp_path / "sessions/loose.jsonl")
    (file,) = discover([store(tmp_path / "sessions")])
    assert file.problem == "pi lists only sessions in the folders below this directory"
    both = [store(tmp_path / "sessions"), store(tmp_path / "sessions", kind="flat")]
    (file,) = discover(both)
    assert (file.problem, [place.kind for place in file.places]) == (None, ["flat"])


def test_transcripts_of_the_newer_indusagi_are_found_on_both_levels_and_only_there(tmp_path: Path):
    names = ["s_1.ndjson", "--slug--/s_2.ndjson", "--slug--/old.jsonl"]
    for name in names:
        write(tmp_path / "indus" / name)
        write(tmp_path / "pi" / name)
    files = list(discover([store(tmp_path / "indus", "indusagi")]))
    assert [os.path.relpath(file.path, tmp_path / "indus") for file in files] == [
        names[0],
        names[2],
        names[1],
    ]
    assert {file.problem for file in files} == {None}
    assert found([store(tmp_path / "pi")], tmp_path / "pi") == ["--slug--/old.jsonl"]


def test_omp_never_lists_names_that_begin_with_a_dot(tmp_path: Path):
    write(tmp_path / "sessions/-p/.hidden.jsonl")
    assert found([store(tmp_path / "sessions", "omp")], tmp_path) == []
    assert found([store(tmp_path / "sessions", "pi")], tmp_path) == ["sessions/-p/.hidden.jsonl"]


def test_a_file_that_several_ways_lead_to_is_listed_once(tmp_path: Path):
    path = write(tmp_path / "sessions/--a--/1.jsonl")
    (tmp_path / "sessions/--b--").mkdir()
    os.link(path, tmp_path / "sessions/--b--/hard.jsonl")
    (tmp_path / "sessions/--b--/soft.jsonl").symlink_to(path)
    (tmp_path / "sessions/--c--").symlink_to(tmp_path / "sessions/--a--")
    (tmp_path / "other").symlink_to(tmp_path / "sessions")
    places = [store(tmp_path / "sessions"), store(tmp_path / "other", "omp")]
    assert found(places, tmp_path) == ["sessions/--a--/1.jsonl"]


def test_a_project_folder_may_be_a_link_to_another_disk(tmp_path: Path):
    write(tmp_path / "elsewhere/1.jsonl")
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions/--linked--").symlink_to(tmp_path / "elsewhere")
    (file,) = discover([store(tmp_path / "sessions")])
    assert (file.path, file.folder) == (str(tmp_path / "sessions/--linked--/1.jsonl"), "--linked--")


def test_a_shared_store_names_all_its_owners_in_order(tmp_path: Path):
    write(tmp_path / "sessions/--a--/1.jsonl")
    write(tmp_path / "sessions/-b/2.jsonl")
    places = [store(tmp_path / "sessions", agent) for agent in ("atomic", "omp", "pi")]
    dashed, relative = discover(places)
    assert [place.agent for place in dashed.places] == ["pi", "omp", "atomic"]
    assert (dashed.agent(), relative.agent()) == ("pi", "omp")
    assert dashed.agent(Marks(frozenset({"atomic"}))) == "atomic"
    atomic = dashed.place_of("atomic")
    assert atomic is not None
    assert atomic.agent == "atomic"
    assert dashed.place_of("indusagi") is None


def test_a_custom_directory_that_is_a_projects_folder_is_known_as_that(tmp_path: Path):
    write(tmp_path / "sessions/-a/1.jsonl")
    flat = store(tmp_path / "sessions/-a", "pi", "flat")
    (file,) = discover([flat, store(tmp_path / "sessions", "omp")])
    assert (file.folder, [place.agent for place in file.places]) == ("-a", ["pi", "omp"])


def test_sessions_of_subagents_hang_below_their_parents_and_are_not_mixed_in(tmp_path: Path):
    root = tmp_path / "sessions"
    parents: dict[str, str | None] = {
        "-p/s.jsonl": None,
        "-p/s/Scout.jsonl": "-p/s.jsonl",
        "-p/s/Scout/Deep.jsonl": "-p/s/Scout.jsonl",
        "-p/s/Scout/Deep/Deeper.jsonl": "-p/s/Scout/Deep.jsonl",
        "-p/s/0199/run-1/session.jsonl": "-p/s.jsonl",
        "-p/s/0199/run-1/session/77/run-0/session.jsonl": "-p/s/0199/run-1/session.jsonl",
        "-p/s/0199/task/2026_x.jsonl": "-p/s.jsonl",
        "-p/gone/Lost.jsonl": None,
    }
    for name in [*parents, "-p/s/subagent-artifacts/log.jsonl", "-p/s/1.bash.log", "-p/s/.x.jsonl"]:
        write(root / name)
    place = store(root, "omp")
    assert found([place], root) == ["-p/s.jsonl"]
    files = {os.path.relpath(file.path, root): file for file in discover([place], include_nested=True)}
    assert {
        name: file.parent_path and os.path.relpath(file.parent_path, root) for name, file in files.items()
    } == parents
    assert [name for name, file in files.items() if not file.hidden] == ["-p/s.jsonl"]
    assert files["-p/gone/Lost.jsonl"].problem == "the session to which this subagent belongs is missing"


def test_links_back_up_do_not_lead_the_walk_in_circles(tmp_path: Path):
    write(tmp_path / "sessions/-p/s.jsonl")
    write(tmp_path / "sessions/-p/s/Scout.jsonl")
    for name in ("up", "upper"):
        (tmp_path / "sessions/-p/s" / name).symlink_to(tmp_path / "sessions/-p")
    looks = iter(range(100))
    places = [store(tmp_path / "sessions", "omp")]
    files = list(discover(places, include_nested=True, cancelled=lambda: next(looks, None) is None))
    assert [Path(file.path).name for file in files] == ["s.jsonl", "Scout.jsonl"]
    assert next(looks) < 20


def test_archived_sessions_are_found_only_when_asked_for(tmp_path: Path):
    for name in (
        "sessions/--a--/archive/1.jsonl",
        "archive/sessions/-p/2.jsonl.gz",
        "sessions/-p/3.jsonl.gz",
    ):
        write(tmp_path / name)
    places = [store(tmp_path / "sessions"), store(tmp_path / "archive/sessions", "omp", "archive")]
    assert found(places, tmp_path) == []
    files = list(discover(places, include_archived=True))
    assert [(os.path.relpath(file.path, tmp_path), file.archived) for file in files] == [
        ("sessions/--a--/archive/1.jsonl", True),
        ("archive/sessions/-p/2.jsonl.gz", True),
    ]


def test_omps_register_leads_to_single_files_of_any_name(tmp_path: Path):
    path = write(tmp_path / "work/my session")
    write(tmp_path / "register/h1", f"{path}\n")
    write(tmp_path / "register/h2", str(tmp_path / "gone.jsonl"))
    write(tmp_path / "register/h3", "relative.jsonl")
    write(tmp_path / "register/h4", "")
    write(tmp_path / "register/h5", str(tmp_path))
    (file,) = discover([store(tmp_path / "register", "omp", "registry")])
    assert (file.path, file.folder, file.agent()) == (str(path), "", "omp")


def test_newest_comes_first_and_equal_times_by_name_descending(tmp_path: Path):
    for name, time in (("a", 1), ("b", 3), ("c", 1), ("d", 2)):
        os.utime(write(tmp_path / f"sessions/--p--/{name}.jsonl"), (time, time))
    files = newest_first(discover([store(tmp_path / "sessions")]))
    assert [Path(file.path).stem for file in files] == ["b", "d", "c", "a"]


def test_a_cancelled_walk_ends_at_once(tmp_path: Path):
    for number in range(20):
        write(tmp_path / f"sessions/--p{number:02}--/s.jsonl")
    walk = discover([store(tmp_path / "sessions")], cancelled=iter([False] * 4 + [True] * 99).__next__)
    assert len(list(walk)) == 2


def test_what_cannot_be_looked_at_is_reported_and_the_rest_is_listed(tmp_path: Path):
    root = tmp_path / "sessions"
    write(root / "--a--/1.jsonl")
    os.mkfifo(root / "--a--/pipe.jsonl")
    (root / "--a--/broken.jsonl").symlink_to(tmp_path / "nowhere")
    (root / "--a--/loop").symlink_to(root / "--a--/loop")
    skipped: list[Skipped] = []
    places = [store(root), Place("omp", str(tmp_path / "none"), "projects", "default")]
    files = list(discover(places, skipped=skipped.append))
    assert [Path(file.path).name for file in files] == ["1.jsonl"]
    assert {(Path(skip.path).name, skip.reason) for skip in skipped} == {
        ("pipe.jsonl", "the path is not a regular file"),
        ("broken.jsonl", "No such file or directory"),
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every directory")
def test_a_forbidden_folder_is_reported(tmp_path: Path):
    write(tmp_path / "sessions/--a--/1.jsonl")
    (tmp_path / "sessions/--a--").chmod(0)
    skipped: list[Skipped] = []
    assert list(discover([store(tmp_path / "sessions")], skipped=skipped.append)) == []
    assert [skip.reason for skip in skipped] == ["Permission denied"]
    (tmp_path / "sessions/--a--").chmod(0o700)


def test_looking_changes_nothing_on_disk(tmp_path: Path):
    write(tmp_path / ".omp/agent/sessions/-p/s.jsonl")
    before = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]}
    list(discover(own_places(surroundings(tmp_path), tuple(AGENTS)), include_nested=True, include_archived=True))
    assert {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]} == before


# ---- --root ------------------------------------------------------------------------------------------------


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A directory that holds the stores of several agents, as the demo store does."""
    for name in (
        "pi/agent/sessions/--p--/1.jsonl",
        "omp/agent/sessions/-p/2.jsonl",
        "omp/profiles/work/agent/sessions/-p/3.jsonl",
        "atomic/sessions/--p--/4.jsonl",
        ".indusagi/agent/sessions/--p--/5.jsonl",
        "unrelated/sessions/--p--/6.jsonl",
    ):
        write(tmp_path / "demo" / name)
    return tmp_path / "demo"


@pytest.mark.parametrize(
    ("root", "files"),
    [
        ("", {"pi": {"1"}, "omp": {"2", "3"}, "atomic": {"4"}, "indusagi": {"5"}}),
        ("pi", {"pi": {"1"}}),
        ("pi/agent", {"pi": {"1"}}),
        ("pi/agent/sessions", {"pi": {"1"}}),
        ("pi/agent/sessions/--p--", {"pi": {"1"}}),
        ("omp", {"omp": {"2", "3"}}),
        ("omp/agent/sessions/-p", {"omp": {"2"}}),
        ("atomic", {"atomic": {"4"}}),
        (".indusagi", {"indusagi": {"5"}}),
        ("unrelated", {"pi": {"6"}}),
    ],
)
def test_a_root_may_be_any_directory_from_a_home_down_to_one_project(
    demo: Path, tmp_path: Path, root: str, files: dict[str, set[str]]
):
    places = find_places(surroundings(tmp_path), [str(demo / root)])
    listed: dict[str, set[str]] = {}
    for file in discover(places):
        listed.setdefault(file.agent(), set()).add(Path(file.path).stem)
    assert listed == files
    assert {place.source for place in places} == {"--root"}


def test_a_root_replaces_the_default_places_and_may_be_given_twice(demo: Path, tmp_path: Path):
    write(tmp_path / ".pi/agent/sessions/--p--/own.jsonl")
    around = surroundings(tmp_path)
    assert [Path(file.path).stem for file in discover(find_places(around))] == ["own"]
    roots = [str(demo / "pi"), str(demo / "atomic"), str(demo / "pi/agent/sessions/--p--")]
    assert [Path(file.path).stem for file in discover(find_places(around, roots))] == ["1", "4"]


def test_a_relative_root_and_one_with_a_tilde_are_understood(demo: Path, tmp_path: Path):
    around = surroundings(tmp_path)
    assert find_places(around, ["demo/pi"]) == find_places(around, ["~/demo/pi"])


@pytest.mark.parametrize(
    ("content", "name", "agent"),
    [
        (TITLE + HEADER, "--p--", "omp"),
        (HEADER, "-p", "omp"),
        (HEADER + '{"type":"session_summary"}\n', "--p--", "atomic"),
        (HEADER, "--p--", "pi"),
    ],
)
def test_a_nameless_root_is_a_place_of_pi_and_of_the_agents_whose_marks_its_files_bear(
    tmp_path: Path, content: str, name: str, agent: str
):
    for number in range(3):
        write(tmp_path / f"copy/{name}/{number}.jsonl", content)
    write(tmp_path / "copy/--q--/plain.jsonl")
    places = find_places(surroundings(tmp_path), [str(tmp_path / "copy")])
    assert [place.agent for place in places] == list(dict.fromkeys(("pi", agent)))
    assert {place.kind for place in places} == {"projects"}
    (plain,) = [file for file in discover(places) if file.path.endswith("plain.jsonl")]
    assert plain.agent() == "pi"


def test_a_flat_root_with_transcripts_belongs_to_indusagi(tmp_path: Path):
    write(tmp_path / "copy/s_1.ndjson", '{"schema":"indus/transcript@1","kind":"head"}\n')
    places = find_places(surroundings(tmp_path), [str(tmp_path / "copy")])
    assert [(place.agent, place.kind) for place in places] == [("pi", "flat"), ("indusagi", "flat")]


def test_an_agent_named_with_a_root_owns_it_only_where_the_place_does_not_tell(demo: Path, tmp_path: Path):
    around = surroundings(tmp_path)
    (place,) = find_places(around, [str(demo / "pi")], ["atomic"])
    assert place.agent == "pi"
    write(tmp_path / "copy/--p--/1.jsonl")
    (place,) = find_places(around, [str(tmp_path / "copy")], ["atomic"])
    assert place.agent == "atomic"
    assert {place.agent for place in find_places(around, agents=["omp", "pi"])} == {"pi", "omp"}
    with pytest.raises(NotFound, match="the agents are pi, omp, atomic, indusagi, claude, codex"):
        find_places(around, agents=["gemini"])


def test_a_root_that_an_agent_uses_anyway_keeps_its_owners_and_variables(tmp_path: Path):
    write(tmp_path / "x/sessions/--p--/1.jsonl")
    write(tmp_path / ".omp/profiles/work/agent/sessions/-p/2.jsonl")
    around = surroundings(tmp_path, PI_CODING_AGENT_DIR=str(tmp_path / "x"))
    places = find_places(around, [str(tmp_path / "x")])
    assert [place.agent for place in places] == ["pi", "omp", "atomic"]
    assert all(place.env == {"PI_CODING_AGENT_DIR": str(tmp_path / "x")} for place in places)
    (place,) = find_places(around, [str(tmp_path / ".omp/profiles/work/agent/sessions/-p")])
    assert (place.agent, place.env) == ("omp", {"OMP_PROFILE": "work"})


def test_a_copied_store_sets_no_variable(tmp_path: Path):
    write(tmp_path / "backup/.omp/agent/sessions/-p/1.jsonl")
    (place,) = find_places(surroundings(tmp_path), [str(tmp_path / "backup")])
    agent_dir = f"{tmp_path}/backup/.omp/agent"
    assert (place.env, place.agent_dir, place.blobs) == ({}, agent_dir, f"{agent_dir}/blobs")


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_root_that_is_no_directory_is_refused_in_a_sentence(tmp_path: Path, name: str):
    write(tmp_path / "file")
    with pytest.raises(SessionBrowseError) as raised:
        find_places(surroundings(tmp_path), [str(tmp_path / name)])
    reason = "does not exist" if name == "missing" else "is not a directory"
    assert str(raised.value) == f"--root {tmp_path / name} {reason}."


def test_an_empty_root_holds_nothing(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    assert list(discover(find_places(surroundings(tmp_path), [str(tmp_path / "empty")]))) == []


@pytest.mark.parametrize(
    ("path", "marks", "agent"),
    [
        ("/h/.omp/agent/sessions/--p--/s.jsonl", (), "omp"),
        ("/h/.pi/agent/sessions/-p/s.jsonl", (), "pi"),
        ("/h/.pi/agent/sessions/--p--/s.jsonl", ("atomic",), "pi"),
        ("/h/.pi/agent/sessions/--p--/s.jsonl", ("omp",), "pi"),
        ("/h/.pi/agent/sessions/--p--/s.jsonl", ("omp", "only-omp"), "omp"),
        ("/h/.omp/agent/sessions/--p--/s.jsonl", ("atomic",), "omp"),
        ("/h/.omp/agent/sessions/--p--/s.jsonl", ("indusagi", "only-indusagi"), "indusagi"),
        ("/h/backup/sessions/--p--/s.jsonl", ("omp",), "omp"),
        ("/h/backup/sessions/-p/s.jsonl", (), "omp"),
        ("/c/atomic/sessions/--p--/s.jsonl", (), "atomic"),
        ("/h/.pindusagi/sessions/--p--/s.ndjson", (), "indusagi"),
        ("/h/omp/notes/s.jsonl", (), "pi"),
        ("/h/-p/s.jsonl", (), "pi"),
        ("s.jsonl", (), "pi"),
    ],
)
def test_a_single_path_tells_an_agent_that_can_read_it_where_it_lies(path: str, marks: tuple[str, ...], agent: str):
    assert agent_of_path(path, Marks(frozenset(marks))) == agent


# ---- further places that projects name ---------------------------------------------------------------------


def test_the_settings_of_known_projects_lead_to_further_places(tmp_path: Path):
    project = tmp_path / "project"
    write(project / ".pi/settings.json", '{"sessionDir": "kept"}')
    write(project / ".atomic/settings.json", '{"sessionDir": "/atomic"}')
    around = surroundings(tmp_path)
    known = find_places(around)
    more = more_places(around, [str(project), str(tmp_path / "gone"), "relative", ""], known)
    assert [(place.agent, place.root, place.source) for place in more] == [
        ("pi", f"{project}/kept", f"settings sessionDir of {project}"),
        ("atomic", "/atomic", f"settings sessionDir of {project}"),
    ]
    assert more_places(around, [str(project)], [*known, *more]) == []
    assert more_places(around, [str(tmp_path / "gone")], known) == []
    assert more_places(around, [str(project)], known, agents=["atomic"]) == more[1:]


# ---- disks that do not answer ------------------------------------------------------------------------------


@pytest.fixture
def dead() -> Iterator[threading.Event]:
    """An event on which questions hang until the test is over."""
    released = threading.Event()
    yield released
    released.set()


def test_directories_on_a_dead_disk_are_not_answered_and_do_not_hold_up_the_others(dead: threading.Event):
    def exists(path: str) -> bool:
        if path.startswith("/dead"):
            dead.wait(20)
        return path.endswith("yes")

    reads: TimedReads[bool] = TimedReads(exists)
    hung = [f"/dead/{number}" for number in range(10)]
    good = [f"/live/{number} yes" for number in range(200)]
    answers = reads.read([*hung, *good, "/live/no"], timeout_s=0.6)
    assert [answers[path] for path in hung] == [None] * 10
    assert all(answers[path] for path in good)
    assert answers["/live/no"] is False
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "sessionbrowse-ask")


def test_a_question_that_hangs_is_not_waited_for_again_until_it_is_answered(dead: threading.Event):
    asked: list[str] = []

    def exists(path: str) -> bool:
        asked.append(path)
        dead.wait(20)
        return True

    reads: TimedReads[bool] = TimedReads(exists)
    assert reads.read(["/dead"], timeout_s=0.6) == {"/dead": None}
    assert reads.read(["/dead"], timeout_s=60, fresh=True) == {"/dead": None}
    dead.set()
    for thread in threading.enumerate():
        if thread.name == "sessionbrowse-ask":
            thread.join(20)
    assert reads.read(["/dead", "/other"], timeout_s=20) == {"/dead": True, "/other": True}
    assert asked == ["/dead", "/other"]


def test_a_machine_that_is_busy_or_was_asleep_is_no_disk_that_does_not_answer(
    dead: threading.Event, monkeypatch: pytest.MonkeyPatch
):
    looks: list[float] = []

    def clock() -> float:
        """Let 0.4 s pass from one look to the next, and the question be answered late."""
        looks.append(0.4 * len(looks))
        if len(looks) > 12:
            dead.set()
        return looks[-1]

    monkeypatch.setattr("sessionbrowse.store.find.slow_disks.monotonic", clock)
    asker: TimedReads[bool] = TimedReads(lambda path: dead.wait(20))
    assert asker.read(["/slow"], timeout_s=1.0) == {"/slow": True}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_asks_by_itself_what_the_other_one_was_asking(dead: threading.Event):
    parent = os.getpid()

    def exists(_: str) -> bool:
        if os.getpid() == parent:
            dead.wait(20)
        return True

    reads: TimedReads[bool] = TimedReads(exists)
    assert reads.read(["/dead"], timeout_s=0.05) == {"/dead": None}
    process = os.fork()
    if process == 0:
        os._exit(0 if reads.read(["/dead"], timeout_s=5) == {"/dead": True} else 1)
    assert os.waitpid(process, 0)[1] == 0


def test_answers_are_remembered_until_fresh_ones_are_asked_for(tmp_path: Path):
    path = str(tmp_path / "new")
    assert exists_many([path]) == {path: False}
    os.mkdir(path)
    assert exists_many([path]) == {path: False}
    assert exists_many([path], fresh=True) == {path: True}


def test_files_and_links_are_asked_with_a_limit_too(tmp_path: Path):
    path = write(tmp_path / "file", "x")
    gone = str(tmp_path / "gone")
    assert read_many([str(path), gone]) == {str(path): b"x", gone: None}
    answers = stat_many([str(path), gone, "nul\0byte"])
    assert isinstance(answers[str(path)], os.stat_result)
    assert isinstance(answers[gone], FileNotFoundError)
    assert isinstance(answers["nul\0byte"], OSError)


def test_the_patient_disk_answers_as_the_plain_one(tmp_path: Path):
    write(tmp_path / "b", "x")
    write(tmp_path / "a", "")
    disk = real_surroundings().disk
    assert disk.read(str(tmp_path / "b")) == b"x"
    assert disk.read(str(tmp_path / "c")) is None
    assert disk.names(str(tmp_path)) == ["a", "b"]
    assert (disk.is_directory(str(tmp_path)), disk.is_directory(str(tmp_path / "a"))) == (True, False)


def test_places_are_found_without_the_files_of_a_dead_disk(dead: threading.Event, monkeypatch: pytest.MonkeyPatch):
    def read(path: str) -> bytes:
        if path.startswith("/dead"):
            dead.wait(20)
        return path.encode()

    monkeypatch.setattr("sessionbrowse.store.find.slow_disks._READ", TimedReads(read))
    disk = patient_disk()
    assert in_one_thread(lambda: disk.read("/live")) == b"/live"
    threads: list[threading.Thread] = []

    def both() -> list[bytes | None]:
        threads.append(threading.current_thread())
        return [disk.read("/live"), disk.read("/dead")]

    assert in_one_thread(both, timeout_s=0.1) == [b"/live", None]
    # The first call's thread hangs, so the second call starts none.
    assert in_one_thread(both, timeout_s=0.1) == [b"/live", None]
    assert [thread is threading.main_thread() for thread in threads] == [False, True, True]
    dead.set()
    threads[0].join(20)


def test_an_error_in_an_agents_rules_is_not_hidden(monkeypatch: pytest.MonkeyPatch):
    rules = AGENTS["pi"].places
    answers = iter([TypeError("a mistake in the rules")])

    def wrong_at_first(around: Surroundings) -> list[Place]:
        for error in answers:
            raise error
        return rules(around)

    monkeypatch.setitem(AGENTS, "pi", msgspec.structs.replace(AGENTS["pi"], places=wrong_at_first))
    with pytest.raises(TypeError):
        own_places(real_surroundings(), ["pi"])


# ---- real files --------------------------------------------------------------------------------------------


def test_every_file_of_the_corpus_is_found_and_attributed(corpus: Path, tmp_path: Path):
    files = list(discover(find_places(surroundings(tmp_path), [str(corpus)])))
    expected = {str(path): path.relative_to(corpus).parts[0] for path in corpus.rglob("*.jsonl")}
    assert {file.path: file.agent() for file in files} == expected
    assert {file.problem for file in files} == {None}
