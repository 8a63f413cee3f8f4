"""Taking text along: the clipboards, the user's editor on a private copy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from sessionbrowse.tui.outside.clipboard import LARGEST_FOR_TERMINAL, TooLargeToCopy, copy_text, copyable
from sessionbrowse.tui.outside.editor import NoEditor, TemporaryCopies, editor_command, private_copy
from sessionbrowse.tui.reading.entry_plain import context_text, entry_text, raw_text
from sessionbrowse.tui.reading.texts import Detail, output_parts
from tests.support.session_files import answer, entry, header, opened, user, written
from tests.support.tui_support import browsing, fixed_source, summary


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


class Clipboards:
    """What reached the terminal, and which program got what."""

    def __init__(self, *, fails: bool = False) -> None:
        self.terminal: list[str] = []
        self.fed: list[tuple[list[str], bytes]] = []
        self._fails = fails

    def feed(self, command: Sequence[str], content: bytes, environ: Mapping[str, str]) -> None:
        if self._fails:
            raise OSError("broken")
        self.fed.append((list(command), content))

    def copy(self, source: str, environ: Mapping[str, str]) -> str:
        return copy_text(source, "it", self.terminal.append, environ, platform="linux", feed=self.feed)


def test_text_is_copied_without_what_a_terminal_would_act_on() -> None:
    assert copyable("a\tb\r\nc\x1b[31md\x07\u202e\ud800") == "a\tb\ncd \ufffd"


def test_a_text_goes_to_the_terminal_and_to_the_desktop(tmp_path: Path) -> None:
    program(tmp_path, "wl-copy")
    boards = Clipboards()
    said = boards.copy("text", {"PATH": str(tmp_path), "WAYLAND_DISPLAY": "wayland-0"})
    assert said == "Copied it."
    assert boards.terminal == ["text"]
    assert boards.fed == [(["wl-copy"], b"text")]


@pytest.mark.parametrize(
    ("name", "variable", "command"),
    [
        ("xclip", "DISPLAY", ["xclip", "-selection", "clipboard"]),
        ("xsel", "DISPLAY", ["xsel", "--clipboard", "--input"]),
    ],
)
def test_each_desktop_has_its_program(tmp_path: Path, name: str, variable: str, command: list[str]) -> None:
    program(tmp_path, name)
    boards = Clipboards()
    boards.copy("x", {"PATH": str(tmp_path), variable: ":0"})
    assert boards.fed == [(command, b"x")]


def test_what_is_too_large_for_a_terminal_goes_to_the_desktop_only(tmp_path: Path) -> None:
    program(tmp_path, "xclip")
    large = "x" * (LARGEST_FOR_TERMINAL + 1)
    boards = Clipboards()
    boards.copy(large, {"PATH": str(tmp_path), "DISPLAY": ":0"})
    assert boards.terminal == []
    assert len(boards.fed[0][1]) == len(large)
    assert boards.copy("x" * 2048, {"PATH": ""}) == "Copied it, 2KB."
    with pytest.raises(TooLargeToCopy, match="more than a terminal's clipboard takes"):
        Clipboards().copy(large, {"PATH": str(tmp_path)})


def test_a_program_that_fails_is_named(tmp_path: Path) -> None:
    program(tmp_path, "xclip")
    boards = Clipboards(fails=True)
    said = boards.copy("text", {"PATH": str(tmp_path), "DISPLAY": ":0"})
    assert said == "Copied it through the terminal only; xclip failed."
    assert boards.terminal == ["text"]


def test_an_editor_is_found_by_the_variables_in_their_order(tmp_path: Path) -> None:
    for name in ("vim", "ed", "less"):
        program(tmp_path, name)
    path = str(tmp_path)
    assert editor_command({"PATH": path, "EDITOR": "ed", "VISUAL": "vim -R", "PAGER": "less"}) == ("vim", "-R")
    assert editor_command({"PATH": path, "EDITOR": "ed", "PAGER": "less"}) == ("ed",)
    assert editor_command({"PATH": path}) == ("less",)


@pytest.mark.parametrize(
    ("environ", "reason"),
    [({"EDITOR": "nope"}, "not installed"), ({"VISUAL": "a 'b"}, "cannot be read"), ({}, "No editor is installed")],
)
def test_why_there_is_no_editor_is_said(tmp_path: Path, environ: dict[str, str], reason: str) -> None:
    with pytest.raises(NoEditor, match=reason):
        editor_command({"PATH": str(tmp_path), **environ})


def test_a_copy_is_private_and_cannot_be_written(tmp_path: Path) -> None:
    source = written(tmp_path, header(), user("u1", None))
    handed = TemporaryCopies(str(tmp_path))
    copy = private_copy(handed, source)
    assert copy != source
    assert copy.read_bytes() == source.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o400
    handed.remove_all()
    assert not copy.exists()
    with pytest.raises(NoEditor, match="cannot be copied"):
        private_copy(handed, tmp_path / "gone.jsonl")


def test_an_entry_as_text_is_what_it_says(tmp_path: Path) -> None:
    session = opened(
        tmp_path,
        header(),
        user("u1", None, "question"),
        answer("a1", "u1", content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "**yes**"}]),
        answer("a2", "a1", content=[{"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "ls"}}]),
        entry("compaction", "k1", "a2", summary="so far", firstKeptEntryId="u1", tokensBefore=1),
        entry("model_change", "m1", "k1", provider="p", modelId="m"),
    )
    assert [entry_text(session, index) for index in range(4)] == ["question", "**yes**", "ls", "so far"]
    assert entry_text(session, 4) == raw_text(session, 4)
    assert '"model_change"' in raw_text(session, 4)


def test_a_context_as_text_is_each_message_below_its_role(tmp_path: Path) -> None:
    session = opened(tmp_path, header(), user("u1", None, "question"), answer("a1", "u1", "yes"))
    assert context_text(session, 1) == "## user\n\nquestion\n\n## assistant\n\nyes"


def test_what_is_folded_is_copied_too() -> None:
    parts = output_parts("\n".join([str(number) for number in range(100)]), Detail(output_lines=3))
    assert parts[-1].plain().endswith("\n98\n99")


async def test_the_menu_offers_what_can_be_copied(tmp_path: Path) -> None:
    path = written(tmp_path, header(), user("u1", None, "question"))
    source = fixed_source([summary(str(path), id="s-1", cwd="/home/dev/webshop")])
    async with browsing(source, environ={"PATH": ""}) as browser:
        await browser.press("y")
        await browser.press("enter")
        assert browser.app.clipboard == "s-1"
        await browser.run("copy_text")
        assert browser.app.clipboard == str(path)
        await browser.press("enter", "y", "t")
        assert browser.app.clipboard == "question"
        await browser.press("y", "down", "enter")
        assert browser.app.clipboard == path.read_text().split("\n")[1]
        await browser.press("y", "e")
        assert browser.app.clipboard == "u1"
        await browser.press("y", "c")
        assert "cannot be resumed" in browser.toasts()[-1]


async def test_without_an_editor_the_key_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, header(), user("u1", None, "question"))
    async with browsing(fixed_source([summary(str(path))]), environ={"PATH": ""}) as browser:
        await browser.press("enter", "x", "e")
        assert "No editor is installed" in browser.toasts()[-1]


async def test_a_copy_that_was_opened_is_gone_and_the_session_untouched(tmp_path: Path) -> None:
    path = written(tmp_path, header(), user("u1", None, "question"))
    before = path.read_bytes()
    program(tmp_path, "ed")
    environ = {"PATH": str(tmp_path), "EDITOR": "ed", "TMPDIR": str(tmp_path)}
    async with browsing(fixed_source([summary(str(path))]), environ=environ) as browser:
        await browser.press("enter", "x", "e")
        # Without a terminal there is nothing to lend.
        assert "cannot run" in browser.toasts()[-1]
        directory = browser.app.temporary_copies._directory
        assert directory is not None
        assert os.listdir(directory) == []
        browser.app.temporary_copies.remove_all()
    assert path.read_bytes() == before
