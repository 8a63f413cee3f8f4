"""Resuming: the right command in the right place, and a sentence instead of harm."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.errors import AgentMissing, CannotResume, DirectoryMissing
from sessionbrowse.services.resume.plan import plan, resume_command
from sessionbrowse.store.find.roots import find_places

TITLE = '{"type":"title","v":1,"title":"t","updatedAt":"2026-01-01T00:00:00.000Z","pad":" "}\n'
MESSAGE = '{"type":"message","id":"b","parentId":null,"message":{"role":"user","content":"hi"}}\n'
TRANSCRIPT = '{"schema":"indus/transcript@1","kind":"entry","id":"1","prev":null,"role":"user","at":"x"}\n'


def header(cwd: object = "/p", **more: object) -> str:
    return json.dumps({"type": "session", "version": 3, "id": "a", "cwd": cwd, **more}) + "\n"


BY_PATH = [name for name, agent in AGENTS.items() if not agent.rules.only_read]
"""The agents that resume the session in a file; the others resume one by its id."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "my project").mkdir()
    return tmp_path / "my project"


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    """Surroundings in which all four programs are installed."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in AGENTS:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    return Surroundings(home=str(tmp_path), environ={"PATH": str(programs)}, cwd=str(tmp_path))


def session(tmp_path: Path, content: str | bytes, name: str = "s.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path: Path, agent: str, around: Surroundings, **options: object) -> str:
    with pytest.raises(CannotResume) as raised:
        plan(path, agent, around, **options)  # type: ignore[arg-type]
    return str(raised.value)


# ---- the command -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", BY_PATH)
def test_each_agent_is_given_the_files_absolute_path_in_the_sessions_directory(
    tmp_path: Path, project: Path, around: Surroundings, agent: str
):
    slot = TITLE if agent == "omp" else ""
    path = session(tmp_path, slot + header(str(project)) + MESSAGE)
    command = plan(path, agent, around)
    assert (command.agent, command.argv, command.cwd, command.env) == (
        agent,
        (agent, "--session", str(path)),
        str(project),
        {},
    )


def test_a_relative_path_is_made_absolute_since_the_agent_starts_elsewhere(
    tmp_path: Path, project: Path, around: Surroundings
):
    session(tmp_path, header(str(project)))
    assert plan("s.jsonl", "pi", around).argv[2] == f"{tmp_path}/s.jsonl"


def test_the_variable_a_store_was_found_by_goes_along(tmp_path: Path, project: Path, around: Surroundings):
    path = session(tmp_path, header(str(project)))
    place = Place("omp", str(tmp_path), "projects", "profile work", {"OMP_PROFILE": "work"})
    command = plan(path, "omp", around, place=place)
    assert command.env == {"OMP_PROFILE": "work"}
    assert command.environment({"HOME": "/h", "OMP_PROFILE": "x"}) == {"HOME": "/h", "OMP_PROFILE": "work"}


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (None, ("pi",)),
        ("", ("pi",)),
        ("npx 'my pi'", ("npx", "my pi")),
        (["/opt/pi", "--verbose"], ("/opt/pi", "--verbose")),
    ],
)
def test_a_command_of_the_users_own_takes_the_programs_place(own: str | list[str] | None, words: tuple[str, ...]):
    command = resume_command("pi", "/s.jsonl", "/p", settings_command=own)
    assert command.argv == (*words, "--session", "/s.jsonl")


def test_a_session_without_directory_runs_in_the_current_one_and_says_so(tmp_path: Path, around: Surroundings):
    command = plan(session(tmp_path, header(None)), "pi", around)
    assert command.cwd == str(tmp_path)
    assert command.notes == ("The session has no working directory: pi runs in the current directory.",)


@pytest.mark.parametrize(("agent", "noted"), [("pi", True), ("atomic", True), ("indusagi", True), ("omp", False)])
def test_an_old_file_that_opening_rewrites_is_announced(
    tmp_path: Path, project: Path, around: Surroundings, agent: str, noted: bool
):
    path = session(tmp_path, header(str(project), version=2))
    notes = plan(path, agent, around).notes
    assert any("from format version 2 to 3" in note for note in notes) == noted


def test_planning_changes_nothing(tmp_path: Path, project: Path, around: Surroundings):
    path = session(tmp_path, header(str(project), version=1) + MESSAGE[:-1])
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir()))
    plan(path, "pi", around)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(tmp_path.iterdir())) == before


# ---- files that would be lost or refused -------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_a_file_that_is_gone_is_not_made_anew(tmp_path: Path, around: Surroundings, agent: str):
    path = tmp_path / "gone.jsonl"
    expected = f"{path} is gone: {agent} would start a new, empty session in its place."
    assert refused(path, agent, around) == expected
    assert not path.exists()


@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi", "omp"])
def test_an_empty_file_would_become_a_new_session(tmp_path: Path, around: Surroundings, agent: str):
    assert "would write a new session into this empty file" in refused(session(tmp_path, ""), agent, around)


REFUSED: list[tuple[str, str | bytes]] = [
    ("no header", MESSAGE),
    ("only blanks", " \n\n"),
    ("garbage", "not json\n"),
    ("header without id", '{"type":"session","version":3,"cwd":"/p"}\n' + MESSAGE),
    ("header with a number as id", header(id=7)),
    ("version 4", '{"v":4,"kind":"header","id":"a","cwd":"/p"}\n'),
    ("entry before the header", MESSAGE + header()),
]


@pytest.mark.parametrize(("case", "content"), REFUSED, ids=[case for case, _ in REFUSED])
@pytest.mark.parametrize("agent", BY_PATH)
def test_a_file_the_agent_would_refuse_or_overwrite_is_not_given_to_it(
    tmp_path: Path, around: Surroundings, agent: str, case: str, content: str | bytes
):
    path = session(tmp_path, content)
    sentence = refused(path, agent, around)
    assert sentence.startswith(f"{path}: {agent} ")
    assert ("would overwrite" in sentence) == (agent == "indusagi")


@pytest.mark.parametrize(
    ("agent", "content", "opens"),
    [
        ("pi", "\ufeff" + header() + MESSAGE, False),
        ("atomic", "\ufeff" + header(), False),
        ("omp", "\ufeff" + header(), True),
        ("indusagi", "\ufeff" + header(), True),
        ("pi", (header() + MESSAGE).replace("\n", "\r"), False),
        ("atomic", (header() + MESSAGE).replace("\n", "\r"), False),
        ("pi", TITLE + header(), False),
        ("omp", TITLE + TITLE + header(), False),
        ("pi", "null\n\njunk\n" + header(), True),
        ("omp", header() + "null\n" + MESSAGE, False),
        ("omp", header() + MESSAGE + " null ", False),
        ("omp", header() + MESSAGE.replace("hi", "x\\nnull\\n"), True),
        ("pi", header() + "null\n" + MESSAGE, True),
        ("pi", header() + header(id="b"), True),
        ("pi", header(version=9), True),
        ("omp", header()[:-1] + MESSAGE, True),
        ("pi", header()[:-1] + MESSAGE, False),
    ],
)
def test_each_agents_own_tolerance_decides(tmp_path: Path, around: Surroundings, agent: str, content: str, opens: bool):
    path = session(tmp_path, content)
    if opens:
        assert plan(path, agent, around, must_start=False).agent == agent
    else:
        assert f"{path}: {agent} " in refused(path, agent, around, must_start=False)


def test_a_null_line_is_seen_wherever_the_reading_is_cut(tmp_path: Path, around: Surroundings):
    block = 512 * 1024
    for shift in range(-8, 3):
        filler = block - len(header()) + shift
        path = session(tmp_path, header() + "x" * (filler - 1) + "\nnull\n" + MESSAGE)
        assert "only null" in refused(path, "omp", around, must_start=False)


def test_transcripts_cannot_be_resumed_by_path_and_the_sentence_says_how_else(tmp_path: Path, around: Surroundings):
    for path in (session(tmp_path, TRANSCRIPT), session(tmp_path, TRANSCRIPT, "s_1.ndjson")):
        assert "run `indus -r`" in refused(path, "indusagi", around)


def test_folders_pipes_packed_and_forbidden_files_are_refused_in_sentences(tmp_path: Path, around: Surroundings):
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "is not a regular file" in refused(tmp_path / "pipe.jsonl", "pi", around)
    assert "is not a regular file" in refused(tmp_path, "pi", around)
    assert "is a packed archive" in refused(tmp_path / "s.jsonl.gz", "omp", around)
    assert "is gone" in refused(session(tmp_path, "") / "below.jsonl", "pi", around)
    if os.geteuid() != 0:
        path = session(tmp_path, header())
        path.chmod(0)
        assert "Permission denied" in refused(path, "pi", around)


def test_control_characters_of_a_path_do_not_reach_the_sentence(tmp_path: Path, around: Surroundings):
    assert "\x1b" not in refused(tmp_path / "\x1b]0;title\x07.jsonl", "pi", around)


# ---- programs and directories that are not there -----------------------------------------------------------


def test_a_missing_program_is_said_with_what_can_be_done(tmp_path: Path, project: Path):
    path = session(tmp_path, header(str(project)))
    nowhere = Surroundings(home=str(tmp_path), environ={"PATH": str(project)}, cwd=str(tmp_path))
    with pytest.raises(AgentMissing) as raised:
        plan(path, "pi", nowhere)
    assert "npm install -g @earendil-works/pi-coding-agent" in str(raised.value)
    assert f"cd {shlex.quote(str(project))} && pi --session {path}" in str(raised.value)
    assert plan(path, "pi", nowhere, must_start=False).argv[0] == "pi"
    with pytest.raises(AgentMissing, match="'mypi', set for pi in the settings, is not found"):
        plan(path, "pi", nowhere, settings_command="mypi -x")


def test_a_missing_directory_is_said_with_what_can_be_done(tmp_path: Path, around: Surroundings):
    path = session(tmp_path, header(str(tmp_path / "moved")))
    with pytest.raises(DirectoryMissing) as raised:
        plan(path, "pi", around)
    assert f"directory {tmp_path}/moved does not exist" in str(raised.value)
    assert "pi asks whether to continue the session in the other directory" in str(raised.value)
    assert f"pi --session {path}" in str(raised.value)
    (tmp_path / "moved").mkdir()
    assert plan(path, "pi", around).cwd == str(tmp_path / "moved")


def test_no_sentence_offers_a_line_that_changes_to_a_directory_that_is_not_here(tmp_path: Path, project: Path):
    nowhere = Surroundings(home=str(tmp_path), environ={"PATH": str(project)}, cwd=str(tmp_path))
    for cwd in (str(tmp_path / "gone"), "C:\\Users\\u", "proj"):
        path = session(tmp_path, header(cwd))
        with pytest.raises(DirectoryMissing) as raised:
            plan(path, "pi", nowhere)
        assert "cd " not in str(raised.value), "although the program is not installed either"
    with pytest.raises(DirectoryMissing, match="is of another system"):
        plan(session(tmp_path, header(str(project))), "pi", nowhere, directory="D:\\work")


# ---- omp's images in a copied store ------------------------------------------------------------------------

BLOB = "0123456789abcdef" * 4


@pytest.fixture
def copied(tmp_path: Path, project: Path) -> Path:
    """A session in a copy of an omp store, with an image that only the copy has."""
    image = {"type": "message", "id": "b", "parentId": None, "message": {"content": [{"data": f"blob:sha256:{BLOB}"}]}}
    path = tmp_path / "copy/agent/sessions/-p/s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(TITLE + header(str(project)) + json.dumps(image, separators=(",", ":")) + "\n")
    (tmp_path / "copy/agent/blobs").mkdir()
    (tmp_path / "copy/agent/blobs" / BLOB).write_bytes(b"png")
    return path


def test_a_copied_store_hides_the_users_login_only_for_images_that_omp_has_nowhere_else(
    tmp_path: Path, around: Surroundings, copied: Path
):
    (place,) = find_places(around, [str(tmp_path / "copy")], ["omp"])
    command = plan(copied, "omp", around, place=place)
    assert command.env == {"PI_CODING_AGENT_DIR": str(tmp_path / "copy/agent")}
    assert "settings and login" in command.notes[0]
    own = tmp_path / ".omp/agent/blobs"
    own.mkdir(parents=True)
    (own / BLOB).write_bytes(b"png")
    assert plan(copied, "omp", around, place=place).env == {}


def test_a_copied_session_without_images_runs_under_the_users_own_login(
    tmp_path: Path, around: Surroundings, copied: Path, project: Path
):
    copied.write_text(TITLE + header(str(project)))
    (place,) = find_places(around, [str(tmp_path / "copy")], ["omp"])
    assert plan(copied, "omp", around, place=place).env == {}


def test_every_session_of_the_corpus_can_be_planned_but_the_one_that_omp_itself_refuses(
    corpus: Path, around: Surroundings
):
    refusals = {}
    for path in sorted(corpus.rglob("*.jsonl")):
        agent = path.relative_to(corpus).parts[0]
        try:
            assert plan(path, agent, around, must_start=False).argv == (agent, "--session", str(path))
        except CannotResume as error:
            refusals[path.parent.name] = str(error).rpartition(": ")[2]
    # Its slot has no pad; omp 18.2.3 was asked.
    assert refusals == {"-tmp-omp-fixture": "its title slot is not valid. Repair the session first."}
