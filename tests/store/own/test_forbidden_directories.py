"""Our own directories may be out of reach, as after `sudo sessionbrowse`: no index then; everything else works."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.tui.data.options import BrowseOptions
from tests.support.index_support import folder, header, user, write

# What cannot even be looked at, also by root: the system refuses the name itself.
OUT_OF_REACH = "/" + "x" * 300


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, and directories of ours that cannot be looked into."""
    write(folder(tmp_path) / "one.jsonl", header(), user("1", None, "a question"))
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, OUT_OF_REACH)
    return tmp_path


@pytest.mark.parametrize("command", [["list"], ["list", "question"], ["projects"], ["search", "question"], ["labels"]])
def test_commands_that_read_answer_without_an_index(
    command: list[str], root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--root", str(root)]) == 0
    assert ("shop" in capsys.readouterr().out) == (command != ["labels"])


def test_the_browser_begins_without_an_index(root: Path) -> None:
    assert not BrowseOptions(roots=[str(root)]).has_index


def test_the_settings_are_said_to_be_out_of_reach_not_missing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config"]) == 0
    said = capsys.readouterr().err
    assert "cannot be read" in said
    assert "no such file" not in said


def test_clearing_and_asking_for_the_index_end_with_a_sentence(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--status", "--clear"):
        main(["index", option, "--root", str(root)])
        assert "Traceback" not in capsys.readouterr().err
