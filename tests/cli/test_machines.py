"""Sessions of other machines on the command line: listed, searched and read beside those here, and never changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse import SessionManager
from sessionbrowse.cli import main
from sessionbrowse.config import cache_dir, data_dir
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.machines.look import only_look
from sessionbrowse.store.own.mirrors import mirror_dir
from tests.services.machines.conftest import MakeMachine
from tests.services.machines.conftest import make_machine as make_machine
from tests.support.mirrors import STORE, mirror, mirrored
from tests.support.session_files import answer, entry, header, user, written

LABEL = entry("label", "l", "b", targetId="a", label="keep")
FOLDER = "--home-dev-webshop--"


@pytest.fixture
def there(own_home: Path) -> Path:
    """Make a mirror of mini with a session, whose working directory is gone there but exists here."""
    gone = str(own_home / "shop")
    (own_home / "shop").mkdir()
    mirror("mini", directories={gone: False, "/home/dev/webshop": True})
    mirrored("mini", f"{STORE}/{FOLDER}/2_s-2.jsonl", header(id="s-2", cwd=gone), user("a", None, "of the gone one"))
    lines = (header(id="s-1"), user("a", None, "a question about jwt"), answer("b", "a"), LABEL)
    return mirrored("mini", f"{STORE}/{FOLDER}/1_s-1.jsonl", *lines)


@pytest.fixture
def here(own_home: Path) -> Path:
    """Make a session of this machine in a directory that mini has too."""
    folder = own_home / ".pi/agent/sessions" / FOLDER
    folder.mkdir(parents=True)
    lines = (header(id="h-1"), user("a", None, "a question about jwt here"), answer("b", "a"))
    return written(folder, *lines, name="1_h-1.jsonl")


def told(capfd: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0, capfd.readouterr().err
    return json.loads(capfd.readouterr().out)


@pytest.fixture(params=["without an index", "with an index"])
def index(request: pytest.FixtureRequest, there: Path, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if request.param == "with an index":
        assert main(["index"]) == 0
        capfd.readouterr()


def test_lists_and_searches_tell_the_machine_of_each_row(
    index: None, there: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = told(capfd, "list")
    assert {(row["id"], row["machine"], row["cwd"]) for row in rows if row["id"] != "s-2"} == {
        ("s-1", "mini", "/home/dev/webshop"),
        ("h-1", None, "/home/dev/webshop"),
    }
    assert {(row["id"], row["machine"]) for row in told(capfd, "search", "jwt")} == {("s-1", "mini"), ("h-1", None)}
    assert [(row["machine"], row["cwd"]) for row in told(capfd, "labels")] == [("mini", "/home/dev/webshop")]
    paid = told(capfd, "stats", "--by", "session")["rows"]
    assert {(row["id"], row["machine"]) for row in paid} == {("s-1", "mini"), ("h-1", None)}
    assert {row["machine"] for row in told(capfd, "stats", "--by", "model")["rows"]} == {None}


def test_a_directory_is_a_project_for_each_machine_and_exists_as_that_machine_told(
    index: None, there: Path, here: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = {(row["machine"], row["cwd"]): row["exists"] for row in told(capfd, "projects")}
    assert rows == {
        (None, "/home/dev/webshop"): False,
        ("mini", "/home/dev/webshop"): True,
        ("mini", str(own_home / "shop")): False,
    }
    assert {row["machine"] for row in told(capfd, "list", "--cwd", "/home/dev/webshop")} == {None}
    assert [row["id"] for row in told(capfd, "list", "--cwd", "mini:/home/dev", "--under")] == ["s-1"]
    assert {(row["key"], row["machine"]) for row in told(capfd, "stats", "--by", "project")["rows"]} == {
        ("/home/dev/webshop", None),
        ("/home/dev/webshop", "mini"),
    }
    assert main(["projects"]) == 0
    assert "mini:/home/dev/webshop" in capfd.readouterr().out


def test_a_directory_here_whose_text_names_a_machine_is_no_directory_there(
    there: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    forged, other = "mini:/home/dev/webshop", header(id="h-2", cwd="mini:/home/dev/webshop")
    written(here.parent, other, user("a", None, "forged"), answer("b", "a"), name="2_h-2.jsonl")
    rows = {(row["machine"], row["cwd"]): row["exists"] for row in told(capfd, "projects")}
    assert (rows[None, forged], rows["mini", "/home/dev/webshop"]) == (False, True)
    printed = [line.split("\t")[::5] for line in _printed(capfd, "projects").splitlines() if forged in line]
    assert sorted(printed) == [[f"./{forged}", "missing"], [forged, ""]]
    assert [row["id"] for row in told(capfd, "list", "--cwd", forged)] == ["s-1"]
    assert [row["id"] for row in told(capfd, "list", "--cwd", f"./{forged}")] == ["h-2"]
    assert [row["cwd"] for row in told(capfd, "search", "forged")] == [forged]
    assert (forged, None) in {(row["key"], row["machine"]) for row in told(capfd, "stats", "--by", "project")["rows"]}
    assert main(["resume", "h-2"]) == 1
    assert "is not an absolute path" in capfd.readouterr().err
    (damage,) = [row["damage"] for row in json.loads(_printed(capfd, "doctor", "h-2", "--json"))]
    assert f"the directory {forged} is not an absolute path" in [one["reason"] for one in damage]


def _printed(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    main(words)
    return capfd.readouterr().out


@pytest.mark.parametrize("cwd", ["proj", "../x", "C:\\Users\\me", "~/x", "mini:/x", ""])
def test_nothing_is_said_of_a_directory_there_about_which_that_machine_was_not_asked(
    cwd: str, there: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mirrored("mini", f"{STORE}/{FOLDER}/3_s-3.jsonl", header(id="s-3", cwd=cwd), user("a", None, "odd"))
    assert [(row["machine"], row["cwd"]) for row in told(capfd, "search", "odd")] == [("mini", cwd)]
    rows = {(row["machine"], row["cwd"]): row["exists"] for row in told(capfd, "projects")}
    assert rows["mini", cwd] is None
    assert not {"missing", "not answered"} & set(_printed(capfd, "projects").replace("\n", "\t").split("\t"))


def test_a_filter_by_machine_tells_the_machines_apart_and_suggests_a_name(
    index: None, there: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert [row["id"] for row in told(capfd, "list", "jwt", "machine:mini")] == ["s-1"]
    assert [row["id"] for row in told(capfd, "search", "jwt", "machine:here")] == ["h-1"]
    assert [row["label"] for row in told(capfd, "labels", "machine:mini")] == ["keep"]
    assert told(capfd, "labels", "machine:here") == []
    assert main(["search", "jwt machine:mimi"]) == 0
    assert "machine:mimi fits no session. Did you mean mini?" in capfd.readouterr().err


def test_a_session_here_wins_over_its_copy_there(there: Path, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mirrored("mini", f"{STORE}/{FOLDER}/1_h-1.jsonl", here.read_bytes())
    assert told(capfd, "show", "h-1")["path"] == str(here)
    assert told(capfd, "show", "s-1")["path"] == str(there)
    copies = told(capfd, "stats", "--by", "family")["rows"]
    assert [(row["machine"], row["sessions"]) for row in copies if row["name"].endswith("here")] == [(None, 2)]


CHANGES = (
    ("rename", "s-1", "new"),
    ("label", "s-1", "a", "mark"),
    ("checkout", "s-1", "a"),
    ("fork", "s-1"),
    ("convert", "s-1", "--to", "omp"),
    ("delete", "s-1", "--yes"),
    ("archive", "s-1"),
    ("prune", "s-1", "--drop", "a", "--in-place", "--yes"),
    ("shrink", "s-1", "--images", "--in-place", "--yes"),
    ("doctor", "s-1", "--in-place", "--yes"),
    ("redact", "s-1", "--in-place", "--yes"),
)


@pytest.mark.parametrize("words", CHANGES, ids=lambda words: words[0])
def test_every_change_of_a_session_there_refuses_with_one_sentence(
    words: tuple[str, ...], there: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in there.parents[8].rglob("*") if path.is_file()}
    status = main(words)
    said = capfd.readouterr().err
    assert status != 0
    if words[0] != "redact":  # Its option to replace the original does not exist.
        assert "1_s-1.jsonl lies on mini" in said
    assert {path: path.read_bytes() for path in there.parents[8].rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("linked", ["sessionbrowse", "sessionbrowse/machines", "sessionbrowse/machines/mini"])
@pytest.mark.parametrize("words", CHANGES, ids=lambda words: words[0])
def test_no_change_reaches_a_mirror_that_lies_elsewhere_behind_a_link(
    words: tuple[str, ...], linked: str, there: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    link, real = data_dir().parent / linked, own_home / "large disk" / "kept"
    real.parent.mkdir()
    link.rename(real)
    link.symlink_to(real)
    before = {path: path.read_bytes() for path in real.rglob("*.jsonl")}
    (store,) = real.rglob(FOLDER)
    for roots in ([], ["--root", str(store)]):
        assert main([*words, *roots]) != 0
        said = capfd.readouterr().err
        assert words[0] == "redact" or "1_s-1.jsonl lies on mini" in said
        assert {path: path.read_bytes() for path in real.rglob("*.jsonl")} == before


@pytest.mark.parametrize("linked", ["sessionbrowse", "sessionbrowse/machines", "sessionbrowse/machines/mini"])
@pytest.mark.parametrize("by", ["real folder", "link"])
def test_a_mirror_that_is_given_as_a_root_lists_the_sessions_of_its_machine(
    by: str, linked: str, there: Path, here: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    link, real = data_dir().parent / linked, own_home / "large disk" / "kept"
    real.parent.mkdir()
    link.rename(real)
    link.symlink_to(real)
    (store,) = [path.parent for path in real.rglob(FOLDER)]
    if by == "link":
        (own_home / "my copy").symlink_to(store)
        store = own_home / "my copy"
    root = ("--root", str(store))
    assert {(row["id"], row["machine"]) for row in told(capfd, "list", *root)} == {("s-1", "mini"), ("s-2", "mini")}
    assert {row["cwd"] for row in told(capfd, "list", *root)} == {"/home/dev/webshop", str(own_home / "shop")}
    assert [row["id"] for row in told(capfd, "list", "jwt", "machine:mini", *root)] == ["s-1"]
    assert told(capfd, "list", "machine:here", *root) == []
    assert {row["exists"] for row in told(capfd, "projects", *root)} == {True, False}
    (gone,) = json.loads(_printed(capfd, "doctor", "--json", *root))
    assert [(one["kind"], one["can_do"]) for one in gone["damage"]] == [("missing-directory", [])]
    assert main(["relocate", "/home/dev/webshop", "/x", "--dry-run", *root]) == 1
    assert "have no sessions" in capfd.readouterr().err
    assert json.loads(_printed(capfd, "cleanup", "--dry-run", "--json", *root)) == []


@pytest.mark.parametrize("linked", ["file", "project", "subagents", "store"])
def test_a_link_among_the_sessions_here_that_leads_into_a_mirror_is_a_session_of_its_machine(
    linked: str, there: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    inner = mirrored("mini", f"{STORE}/{FOLDER}/1_s-1/2_s-3.jsonl", header(id="s-3"), user("a", None, "a subagent"))
    mirror("mini", places=())  # Nothing else leads to the copies.
    links = {
        "file": (f"{FOLDER}/link.jsonl", there),
        "project": (FOLDER, there.parent),
        "subagents": (f"{FOLDER}/1_h-1", there.with_suffix("")),
        "store": ("", there.parent.parent),
    }
    name, target = links[linked]
    link = own_home / ".pi/agent/sessions" / name
    link.parent.mkdir(parents=True, exist_ok=True)
    if linked == "subagents":
        written(link.parent, header(id="h-1"), user("a", None, "here"), name="1_h-1.jsonl")
    link.symlink_to(target)
    found = {"file": {"s-1"}, "subagents": {"s-3"}}.get(linked, {"s-1", "s-2", "s-3"})
    rows = told(capfd, "list", "--hidden")
    assert {(row["id"], row["machine"]) for row in rows if row["id"] != "h-1"} == {(id, "mini") for id in found}
    assert {row["path"] for row in rows if row["id"] in ("s-1", "s-3")} <= {str(there), str(inner)}
    assert {row["id"] for row in told(capfd, "list", "--hidden", "machine:here")} <= {"h-1"}
    one = {"project": link / there.name, "subagents": link / inner.name, "store": link / FOLDER / there.name}
    path = str(one.get(linked, link))
    assert told(capfd, "show", path)["path"] in (str(there), str(inner))
    assert main(["rename", path, "new"]) == 1
    assert "lies on mini" in capfd.readouterr().err


@pytest.mark.slow
def test_nothing_new_is_written_among_the_copies_of_a_machine(
    there: Path, here: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(data_dir().rglob("*"))
    (own_home / "link").symlink_to(there.parent)
    for folder in (there.parent, there.parent / "new", own_home / "link"):
        for words in (
            ("export", "h-1", "--format", "markdown", "-o", str(folder / "x.md")),
            ("export", "s-1", "--format", "jsonl", "-o", str(folder / "x.jsonl")),
            ("prune", "h-1", "--drop", "a", "--to", str(folder / "x.jsonl")),
            ("redact", "h-1", "--to", str(folder / "x.jsonl"), "--yes"),
        ):
            assert main(words) != 0, words
            said = capfd.readouterr().err
            assert "copies of the sessions on mini" in said, (words, said)
            assert "open it there" not in said
        with pytest.raises(RefusedWrite, match="copies of the sessions on mini"):
            SessionManager.fork_from(str(here), str(own_home), session_dir=str(folder))
        manager = SessionManager.create(str(own_home), session_dir=str(folder))
        with pytest.raises(RefusedWrite, match="copies of the sessions on mini"):
            manager.append_message({"role": "assistant", "content": []})
    assert sorted(data_dir().rglob("*")) == before


def test_changes_of_directories_and_clean_ups_leave_other_machines_out(
    there: Path, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mirrored("mini", f"{STORE}/{FOLDER}/1_h-1.jsonl", here.read_bytes())
    moved = told(capfd, "relocate", "/home/dev/webshop", "/home/dev/other", "--dry-run")
    assert [one["source"] for one in moved["sessions"]] == [str(here)]
    assert main(["cleanup", "--dry-run", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == []
    mirrored("mini", f"{STORE}/{FOLDER}/3_bad.jsonl", b"{no session\n")
    assert main(["doctor", "--json"]) in (0, 1)
    assert {row["path"] for row in json.loads(capfd.readouterr().out)} <= {str(here)}


def test_a_session_there_is_taken_here_into_a_directory_of_this_machine(
    there: Path, here: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = there.read_bytes()
    forked = told(capfd, "fork", "s-1", "--cwd", str(own_home))
    assert Path(forked["path"]).is_relative_to(own_home / ".pi/agent/sessions")
    first = json.loads(Path(forked["path"]).read_bytes().splitlines()[0])
    assert (first["cwd"], first["parentSession"]) == (str(own_home), str(there))
    assert Path(forked["path"]).stat().st_mode & 0o777 == 0o600
    assert forked["notes"] == ["The work tree does not come along: its files are on mini."]
    assert there.read_bytes() == before
    assert main(["fork", "s-1", "--cwd", "mini:/home/dev"]) == 1
    assert "is on mini" in capfd.readouterr().err


def test_reading_a_session_there_works_as_here(there: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words in (
        ("show", "s-1"),
        ("tree", "s-1"),
        ("context", "s-1"),
        ("export", "s-1", "--format", "markdown", "-o", str(tmp_path / "x.md")),
        ("doctor", "s-2"),
    ):
        main(words)
        said = capfd.readouterr()
        assert "lies on" not in said.err, words
        assert said.out or words[0] == "export"


def test_machines_are_added_listed_and_forgotten_with_their_rows_in_the_index(
    there: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["index"]) == 0
    assert main(["machines", "add", "mini", "me@mini.local"]) == 0
    capfd.readouterr()
    assert told(capfd, "machines") == [
        {
            "name": "mini",
            "host": "me@mini.local",
            "seen": "2026-08-13T08:10:00.000Z",
            "sessions": 0,
            "bytes": 0,
            "error": None,
            "same_as": None,
        }
    ]
    assert main(["machines", "forget", "mini"]) == 0
    assert told(capfd, "machines") == []
    assert told(capfd, "list") == []
    assert told(capfd, "index", "--status")["sessions"] == 0
    assert not there.exists()
    assert (cache_dir()).is_dir()


def test_a_machine_is_not_forgotten_while_a_look_or_a_link_would_keep_its_mirror(
    there: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["machines", "add", "mini", "mini.local"]) == 0
    link, real = Path(mirror_dir("mini")), own_home / "large disk"
    with only_look(str(link)):
        assert main(["machines", "forget", "mini"]) == 1
    assert "A look at mini is running" in capfd.readouterr().err
    link.rename(real)
    link.symlink_to(real)
    assert main(["machines", "forget", "mini"]) == 1
    assert f"is a link to {real}" in capfd.readouterr().err
    assert there.is_file()
    assert told(capfd, "machines")[0]["host"] == "mini.local"
    link.unlink()
    real.rename(link)
    assert main(["machines", "forget", "mini"]) == 0
    assert not link.exists()
    assert told(capfd, "machines") == []


@pytest.mark.parametrize(
    "words",
    [
        *[("add", name, "host") for name in ("x", "con", "NUL", "Prn", "com1", "a.", "a\0", "ok\n", "..", "a:b")],
        ("add", "ok", "-oProxyCommand=x"),
        ("add", "ok", "a b"),
        ("add", "ok", "a\0"),
        ("add", "ok"),
        ("forget",),
    ],
)
def test_names_and_hosts_that_ssh_or_paths_could_misread_are_refused(
    words: tuple[str, ...], own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["machines", "--", *words]) == 1
    assert not list(own_home.rglob("config.toml"))
    assert capfd.readouterr().err.startswith("sessionbrowse: ")


def test_a_look_brings_the_sessions_of_a_machine_and_says_what_came(
    own_home: Path, make_machine: MakeMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine = make_machine()
    machine.write(f".pi/agent/sessions/{FOLDER}/1_s-1.jsonl", header(id="s-1") + user("a", None, "about jwt"))
    assert main(["machines", "add", "mini", "mini.local"]) == 0
    assert main(["machines", "look"]) == 0
    assert "mini: 1 session file, 1 new." in capfd.readouterr().err
    assert [(row["id"], row["machine"]) for row in told(capfd, "search", "jwt")] == [("s-1", "mini")]
    assert [one["sessions"] for one in told(capfd, "machines", "look", "mini")] == [1]
    assert "mini.local" in machine.calls[0]


def test_two_names_of_one_machine_are_told(
    own_home: Path, make_machine: MakeMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine = make_machine()
    machine.write(f".pi/agent/sessions/{FOLDER}/1_s-1.jsonl", header(id="s-1") + user("a", None, "about jwt"))
    for name, host in (("mini", "mini.local"), ("second", "mini")):
        assert main(["machines", "add", name, host]) == 0
    assert main(["machines", "look"]) == 0
    said = capfd.readouterr().err.splitlines()
    assert said[-2].endswith("1 session file, 1 new.")
    assert said[-1].endswith("second and mini are the same machine, whose sessions are listed twice: forget one.")
    assert [(row["name"], row["same_as"]) for row in told(capfd, "machines")] == [
        ("mini", "second"),
        ("second", "mini"),
    ]
    assert main(["machines"]) == 0
    assert "same machine" in " ".join(capfd.readouterr().out.split())
    assert main(["machines", "forget", "second"]) == 0
    assert [row["same_as"] for row in told(capfd, "machines")] == [None]


def test_the_library_reads_a_session_there_and_refuses_every_change(there: Path, own_home: Path) -> None:
    manager = SessionManager.open(str(there))
    assert manager.get_header()["id"] == "s-1"
    before = there.read_bytes()
    with pytest.raises(RefusedWrite, match="lies on mini; open it there"):
        manager.append_custom_entry("note", {"a": 1})
    assert there.read_bytes() == before
    assert sorted(there.parent.iterdir()) == sorted([there, there.with_name("2_s-2.jsonl")])


def test_what_is_hidden_from_agents_here_is_hidden_there_too(
    there: Path, here: Path, own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = own_home / ".config/sessionbrowse/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[not_for_agents]\ndirectories = ["/home/dev/webshop"]\n')
    assert main(["list", "--for-agent"]) == 0
    printed = capfd.readouterr().out
    assert [name for name in ("s-1", "s-2", "h-1") if f'"{name}"' in printed] == ["s-2"]


def test_moving_the_sessions_of_a_directory_there_is_refused(there: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["relocate", "mini:/home/dev/webshop", "/home/dev/other"]) == 1
    assert "/home/dev/webshop lies on mini" in capfd.readouterr().err
