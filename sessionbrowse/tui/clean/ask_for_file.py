"""The dialog that asks for the path of a session's copy."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import shorten_home
from sessionbrowse.tui.changes.fork import expanded
from sessionbrowse.tui.dialogs.dialogs import prompt
from sessionbrowse.tui.paint.spans import Line, named
from sessionbrowse.tui.shell.change_plan import session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen

FORMAT_OF_ENDING = {
    ".html": "an HTML page",
    ".htm": "an HTML page",
    ".md": "Markdown",
    ".markdown": "Markdown",
    ".jsonl": "a session file (JSONL)",
    ".json": "JSON",
}
"""Maps the ending of a file's name to its format, as messages name it."""


def ask_for_file(
    screen: CommandScreen[None],
    summary: Summary,
    title: str,
    write: Callable[[str], object],
    ending: str = ".jsonl",
    hint: str = "Type a new file, or a folder; in a folder, the copy keeps the session's file name.",
) -> None:
    """Ask for the path of a session's copy, and pass the absolute path to `write`.

    The proposed name is made from the session's title and `ending`. It is in the session's directory, or in the current
    one if that is gone; a relative path starts there too. A name with the ending of another format is refused.
    """
    browser, home = screen.browser, screen.browser.home
    parts = session_parts([summary], home)

    def problem(typed: str) -> str:
        other = os.path.splitext(typed.strip())[1].lower()
        if other == ending or other not in FORMAT_OF_ENDING:
            return ""
        way = f"{browser.keys.key_of('export')} writes {FORMAT_OF_ENDING[other]}, with secrets masked if you want."
        return f"This file is {FORMAT_OF_ENDING[ending]}, so its name cannot end in {other}; {way}"

    def hinted(typed: str) -> Line:
        wrong = problem(typed)
        return [(wrong or hint, "warning" if wrong else "dim")]

    def propose() -> str:
        there = summary.cwd if summary.cwd and os.path.isdir(summary.cwd) else browser.options.here or home
        return new_file(there, named(summary), ending)

    def ask(proposed: str, text: str) -> None:
        folder = os.path.dirname(proposed)

        def answered(typed: str) -> None:
            if not typed.strip():
                return
            if wrong := problem(typed):
                browser.say(wrong, "warning")
                ask(proposed, typed)
            else:
                write(expanded(typed, home, folder))

        prompt(
            browser,
            title,
            parts,
            answered,
            text=text,
            placeholder="path of the copy",
            hint=hinted,
            accepting="write",
            completes="file",
            folder=folder,
        )

    # The disk of the session's directory may be slow, so the browser does not wait for it.
    browser.changes.run(lambda run: propose(), lambda proposed: ask(proposed, shorten_home(proposed, home)))


def new_file(directory: str, title: str, ending: str) -> str:
    """Return the path of a file that does not exist yet, named after a title. Reads the disk."""
    stem = "-".join(re.findall(r"[^\W_]+", title.lower()))[:40].strip("-") or "session"
    tries = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 1_000))
    return next((str(path) for one in tries if not os.path.lexists(path := Path(directory, one + ending))), directory)
