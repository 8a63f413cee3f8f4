"""Roots and directories that do not exist, and filters that match nothing: a sentence, never silence."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.cli.output import fitted
from sessionbrowse.model.search.entry_text import ROLES
from sessionbrowse.model.search.query import parse_search
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.data.sources import source_of
from tests.cli.test_cli import user, write_session
from tests.support.story_support import StoryHome
from tests.support.terminal import Terminal


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """A root with the session `one`, and a root that does not exist."""
    write_session(tmp_path / "s" / "--w--", "one", user("m1", None, "the quokka sleeps"))
    return tmp_path / "s", tmp_path / "gone"


@pytest.mark.parametrize(
    "command",
    ["list", "list quokka", "projects", "labels", "search quokka", "show one", "rename one name", "relocate /w /x"],
)
def test_a_missing_root_among_several_is_named_once_and_the_others_are_searched(command, roots, capfd, own_home):
    there, gone = roots
    status = main([*command.split(), "--root", str(gone), "--root", str(there), "--root", str(gone)])
    printed = capfd.readouterr()
    assert status == 0
    assert printed.err.count(f"sessionbrowse: {gone}: it does not exist\n") == 1
    assert command == "labels" or "nothing found" not in printed.err


@pytest.mark.parametrize("command", ["list", "search quokka", "show one"])
def test_roots_of_which_none_exists_are_an_expected_failure_with_one_sentence(command, roots, capfd, own_home):
    _, gone = roots
    file = roots[0] / "--w--" / "one.jsonl"
    assert main([*command.split(), "--root", str(gone), "--root", str(file)]) == 1
    printed = capfd.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err == f"sessionbrowse: --root {gone} does not exist. --root {file} is not a directory.\n"


def test_a_missing_root_of_the_settings_is_named_by_lists_and_by_config(roots, capfd, own_home):
    there, gone = roots
    settings = own_home / ".config/sessionbrowse/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"roots = {json.dumps([str(gone), str(there)])}\n")
    said = f"sessionbrowse: {gone}: it does not exist\n"
    for command in ("list", "config"):
        assert main([command]) == 0
        assert capfd.readouterr().err == said
    assert main(["config", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["problems"] == [f"{gone}: it does not exist"]
    assert main(["list", "--json"]) == 0
    assert [row["id"] for row in json.loads(capfd.readouterr().out)] == ["one"]


def test_the_browser_opens_on_the_roots_that_exist_and_names_the_others(roots, tmp_path):
    there, gone = roots
    source = source_of(BrowseOptions(roots=[str(gone), str(there)], agents=[], home=str(tmp_path)))
    assert [row.id for batch in source.scan(lambda: False, False) for row in batch.summaries] == ["one"]
    assert [(one.path, one.reason) for one in source.skipped()] == [(str(gone), "it does not exist")]


def test_a_directory_that_does_not_exist_and_has_no_session_is_an_expected_failure(roots, capfd, tmp_path):
    there, _ = roots
    missing = tmp_path / "webshop"
    assert main(["list", "--cwd", str(missing), "--root", str(there)]) == 1
    assert (
        capfd.readouterr().err
        == f"sessionbrowse: The directory {missing} does not exist, and no session belongs to it.\n"
    )
    # The directory of old sessions may be gone, and a new project has none yet.
    assert main(["list", "--cwd", "/w", "--root", str(there)]) == 0
    assert "quokka" in capfd.readouterr().out
    missing.mkdir()
    assert main(["list", "--cwd", str(missing), "--root", str(there)]) == 0


def test_a_role_that_no_searched_entry_has_is_refused(roots, capfd):
    there, _ = roots
    assert main(["search", "role:foo", "quokka", "--root", str(there)]) == 1
    assert capfd.readouterr().err.startswith("sessionbrowse: role: takes user, assistant, tool, ")
    for role in ROLES:
        assert parse_search(f"role:{role}").roles == (role.lower(),)
    assert main(["search", "role:u", "quokka", "--root", str(there)]) == 0
    assert "quokka" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("option", "words", "status"),
    [
        ("active", "branch:abandoned", 1),
        ("abandoned", "branch:active", 1),
        ("abandoned", "branch:compacted", 1),
        ("active", "branch:compacted", 0),
        ("any", "branch:abandoned", 0),
        ("active", "branch:active", 0),
    ],
)
def test_a_branch_option_that_contradicts_the_query_is_refused(option, words, status, roots, capfd):
    there, _ = roots
    assert main(["search", "quokka", words, "--branch", option, "--root", str(there)]) == status
    printed = capfd.readouterr()
    if status:
        assert printed.err == f"sessionbrowse: --branch {option} contradicts {words} in the query; leave one out.\n"
    else:
        # The only session has one active branch, so only that filter matches.
        assert ("quokka" in printed.out) == (words == "branch:active")


@pytest.mark.parametrize(("columns", "shown"), [(120, 7), (80, 7), (60, 5), (40, 3), (20, 3)])
def test_a_narrow_table_leaves_columns_out_and_keeps_its_texts(columns, shown):
    widest = [8, 4, 5, 6, 29, 90, 13]
    widths = fitted(widest, 5, (3, 2, 4, 0), columns)
    assert len(widths) == shown
    assert widths[5] == 24
    assert columns < 40 or sum(widths.values()) + 2 * (shown - 1) <= columns


@pytest.mark.parametrize(
    ("command", "text"),
    [("list", "Mend the sink"), ("projects", "/dev/shop"), ("search sink", "Mend"), ("labels", "a good")],
)
@pytest.mark.parametrize("columns", [40, 80])
def test_each_table_shows_its_texts_on_a_narrow_terminal(command, text, columns, tmp_path):
    home = StoryHome(tmp_path)
    session = home.session(home.project("shop"), ["Mend the sink"])
    label = {"type": "label", "id": "l1", "parentId": "e01", "targetId": "e01", "label": "a good place"}
    session.write_text(session.read_text() + json.dumps(label) + "\n")
    words = [sys.executable, "-m", "sessionbrowse", *command.split()]
    with Terminal(words, home.env(), home.home, rows=10, columns=columns) as terminal:
        terminal.wait_end()
        terminal.until_quiet(0.05, 1)
        assert text in terminal.screen.text()


def test_a_hit_as_text_names_its_session_and_entry(roots, capfd):
    there, _ = roots
    assert main(["search", "quokka", "--root", str(there)]) == 0
    head, hit = capfd.readouterr().out.splitlines()
    assert head.endswith(" · one")
    assert hit.split()[0] == "m1"


@pytest.mark.parametrize("kind", ["dumb", "xterm"])
def test_tables_are_as_wide_as_the_terminal_of_any_kind(kind, tmp_path):
    home = StoryHome(tmp_path)
    home.session(home.project("shop"), ["Mend " + "the sink " * 20])
    command = [sys.executable, "-m", "sessionbrowse", "list"]
    with Terminal(command, home.env(TERM=kind), home.home, rows=10, columns=150) as terminal:
        terminal.wait("019bee00")
        terminal.wait_end()
        row = next(line for line in terminal.screen.lines() if "Mend" in line)
        assert len(row) == 150
