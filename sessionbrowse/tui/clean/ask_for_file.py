"""The dialog that asks for the path of a session's copy."""

from __future__ import annotations

from collections.abc import Callable

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import shorten_home
from sessionbrowse.tui.changes.fork import expanded
from sessionbrowse.tui.changes.session_titles import named, session_parts
from sessionbrowse.tui.dialogs.dialogs import PromptScreen
from sessionbrowse.tui.dialogs.paths import new_file
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.command_screen import CommandScreen


def ask_for_file(
    screen: CommandScreen[None],
    summary: Summary,
    title: str,
    write: Callable[[str], object],
    ending: str = ".jsonl",
    hint: str = "Type a new file, or a folder; in a folder, the copy keeps the session's file name.",
) -> None:
    """Ask for the path of a session's copy, and pass the absolute path to `write`.

    The proposed name, in the current directory, is made from the session's title and `ending`.
    """
    home = screen.browser.home
    proposed = new_file(screen.browser.options.here or home, named(summary), ending)

    def said(typed: str) -> Line:
        return [(hint, "dim")]

    def answered(typed: str | None) -> None:
        if typed is not None and typed.strip():
            write(expanded(typed, home))

    parts = session_parts([summary], home)
    prompt = PromptScreen(
        title,
        parts,
        shorten_home(proposed, home),
        placeholder="path of the copy",
        hint=said,
        accepting="write",
        completes="file",
    )
    screen.browser.push_screen(prompt, answered)
