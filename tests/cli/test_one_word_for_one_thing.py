"""The command line's words: groups of commands, sort orders, shared options, names of sessions, nothing found."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from sessionbrowse.cli import main, output
from sessionbrowse.cli.parser import GROUPS, MODULE_OF_COMMAND, OLDER_SORTS, make_parser
from sessionbrowse.config import parse_settings
from sessionbrowse.session_manager import SessionManager
from tests.support.session_files import answer, entry, header, user, written


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three sessions, two of them with names that begin alike."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    for number, name in enumerate(("Refactor auth", "Release notes", "Tidy up")):
        lines = [
            user("u1", None, "begin " + "x" * 5000),
            answer("a1", "u1"),
            entry("session_info", "n1", "a1", name=name),
        ]
        written(folder, header(id=f"{number}-id", cwd="/home/dev/webshop"), *lines, name=f"{number}.jsonl")
    return folder.parent


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    out, err = capfd.readouterr()
    return status, out, err


def test_the_help_has_each_command_in_one_group() -> None:
    grouped = Counter(name for names in GROUPS.values() for name in names)
    assert grouped == Counter(MODULE_OF_COMMAND.keys())
    text = make_parser().format_help()
    places = [text.index(f"\n{title}:\n") for title in GROUPS]
    assert places == sorted(places)
    for title, names in GROUPS.items():
        section = text.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert all(f"\n  {name} " in f"\n{section}" for name in names)


@pytest.mark.parametrize("word", ["newest", "threaded", "name", "size", "cost", "best", *OLDER_SORTS])
def test_orders_have_the_same_words_and_the_older_ones_stay(word: str, root: Path, capfd) -> None:
    _, out, _ = run(capfd, "list", "--root", str(root), "--json", "--sort", word)
    assert len(json.loads(out)) == 3
    if word in ("newest", "best", *OLDER_SORTS):
        assert run(capfd, "search", "begin", "--root", str(root), "--sort", word)[0] == 0
    if word not in ("best", "relevance"):
        settings, problems = parse_settings(f'sort = "{word}"')
        assert problems == []
        assert settings.sort == OLDER_SORTS.get(word, word)


def test_the_beginning_of_a_name_is_enough_to_read_and_asks_before_it_removes(root: Path, capfd) -> None:
    assert "Refactor auth" in run(capfd, "show", "refac", "--root", str(root))[1]
    status, _, err = run(capfd, "show", "Re", "--root", str(root))
    assert status == 1
    assert "Refactor auth" in err
    assert "Release notes" in err
    for command in (["delete", "Refac"], ["shrink", "Refac", "--images", "--in-place"]):
        status, _, err = run(capfd, *command, "--root", str(root))
        assert status == 1
        assert "beginning of a name" in err
    assert len(list(root.rglob("*.jsonl"))) == 3
    assert run(capfd, "delete", "Rel", "--own-trash", "--yes", "--root", str(root))[0] == 0
    assert len(list(root.rglob("*.jsonl"))) == 2


def test_nothing_found_is_said_in_words_of_its_own(root: Path, tmp_path: Path, capfd) -> None:
    assert "there is no change to undo" in run(capfd, "undo", "--list")[2]
    assert "the trash has no session" in run(capfd, "restore", "--list")[2]
    assert "no label found" in run(capfd, "labels", "--root", str(root))[2]
    assert "no session is untouched for a year" in run(capfd, "cleanup", "--kind", "old", "--root", str(root))[2]
    (tmp_path / "none").mkdir()
    assert "no session found" in run(capfd, "list", "--root", str(tmp_path / "none"))[2]
    assert "no session found" in run(capfd, "search", "word", "--root", str(tmp_path / "none"))[2]
    assert "no project found" in run(capfd, "projects", "--root", str(tmp_path / "none"))[2]


class Terminal(io.TextIOWrapper):
    """A standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", ["webshop", "a-project-with-a-long-name"])
def test_on_a_terminal_a_list_never_cuts_the_projects_name(columns: int, name: str, monkeypatch) -> None:
    screen = Terminal(io.BytesIO(), encoding="utf-8", write_through=True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdout", screen)
    row = ("pi", "2h", "41", "$1.35", f"~/a/very/long/way/to/the/directory/of/{name}", "Refactor " * 9, "01a1fd62-6132")
    titles = ("agent", "age", "msgs", "cost", "directory", "session", "id")
    output.print_table(titles, [row], right=(1, 2, 3), stretch=5, spare=(3, 2, 0, 6), directory=4)
    shown = screen.buffer.getvalue().decode()  # type: ignore[attr-defined]
    assert name[: columns // 2 - 2] in shown


def test_commands_that_write_a_copy_share_their_options() -> None:
    def options(command: str) -> set[str]:
        (group,) = [
            each
            for action in make_parser(command)._actions
            if hasattr(action, "choices") and isinstance(action.choices, dict)
            for each in action.choices[command]._action_groups
            if (each.title or "").startswith("the copy")
        ]
        return {name for action in group._group_actions for name in action.option_strings}

    prune = options("prune")
    assert prune == {"--to", "--in-place", "--new-id", "--dry-run", "--yes", "--force"}
    assert options("shrink") == prune
    assert options("redact") == prune - {"--in-place", "--force"}
    assert options("doctor") == prune - {"--new-id"} | {"--repair-to"}


def test_a_dry_run_of_a_repair_writes_nothing(root: Path, capfd) -> None:
    path = root / "--p--" / "0.jsonl"
    path.write_bytes(path.read_bytes() + b'{"type":"mess\n')
    was = path.read_bytes()
    status, out, _ = run(capfd, "doctor", str(path), "--dry-run", "--json")
    assert status == 0
    assert json.loads(out)[0]["done"] is None
    assert path.read_bytes() == was
    assert run(capfd, "doctor", str(path), "--to", str(path.parent.parent / "mended.jsonl"))[0] == 0


def test_a_printed_session_of_the_library_is_short(root: Path) -> None:
    (info, *_) = SessionManager.list("/home/dev/webshop", str(root / "--p--"))
    assert len(info.all_messages_text) > 5000
    assert len(repr(info)) < 1500
    assert "message_count=2" in repr(info)
