"""Commands that copy parts of a session, or open a copy of it, or the settings file, in the user's editor."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sessionbrowse.config import example, load_settings, settings_path
from sessionbrowse.text import clean, shorten_home
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.outside.clipboard import copy_text, copyable
from sessionbrowse.tui.outside.editor import editor_command, private_copy
from sessionbrowse.tui.reading.entry_plain import context_text, entry_text, raw_text
from sessionbrowse.tui.reading.views import ViewedEntry, ViewName
from sessionbrowse.tui.shell.change_plan import ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.text_view import TextView

Find = Callable[[ChangeRun], str]
"""A function that returns the text to copy; called in a background thread."""


def do_copy_text(screen: CommandScreen[None]) -> None:
    """Copy the text of the entry on screen; in the session list, copy the path of the session's file."""
    viewed = screen.viewed_entry
    if viewed is None:
        return
    if viewed.index is None:
        copy_found(screen, lambda run: viewed.summary.path, "the path of the session's file")
    else:
        copy_found(screen, _shown(screen, viewed), f"the {_NAMES[viewed.view]}")


def do_copy(screen: CommandScreen[None]) -> None:
    """Ask the user which part of the session to copy: text, raw line, ids, path, directory or command."""
    viewed = screen.viewed_entry
    if viewed is None:
        return
    summary, session, index = viewed.summary, viewed.session, viewed.index
    choices: list[Choice] = []

    def offer(key: str, name: str, find: Find) -> None:
        what = f"the {name[0].lower()}{name[1:]}"
        choices.append(Choice(key, name, do=lambda: copy_found(screen, find, what)))

    if session is not None and index is not None:
        offer("text", "Text of the entry", lambda run: entry_text(session, index))
        offer("raw", "Raw line of the entry", lambda run: raw_text(session, index))
        offer("entry", "Id of the entry", lambda run: session.ids[index] or "")
    offer("id", "Id of the session", lambda run: summary.id or "")
    offer("path", "Path of the session's file", lambda run: summary.path)
    if summary.cwd:
        offer("cwd", "Directory of the session", lambda run: summary.own_cwd)
    offer("resume", "Command that resumes the session", lambda run: screen.browser.source.resume_line(summary))
    ask(screen.browser, "Copy", [], choices)


def copy_found(screen: CommandScreen[None], find: Find, what: str) -> None:
    """Copy the text that `find` returns to every clipboard, and say which thing (`what`) was copied."""
    browser = screen.browser
    to_terminal = partial(browser.call_from_thread, browser.copy_to_clipboard)
    browser.changes.run(lambda run: copy_text(find(run), what, to_terminal, browser.options.environ), browser.say)


def do_edit(screen: CommandScreen[None]) -> None:
    """Open a copy of the entry, or of the session's file, in the user's editor."""
    viewed = screen.viewed_entry
    if viewed is None:
        return
    browser = screen.browser
    command = editor_command(browser.options.environ)
    path = viewed.summary.path
    whole_file = viewed.index is None or viewed.view == "raw"
    find = _shown(screen, viewed)

    def work(run: ChangeRun) -> Path:
        if whole_file:
            return private_copy(browser.temporary_copies, Path(path))
        return browser.temporary_copies.write(copyable(find(run)).encode("utf-8", "replace"), "entry.md", mode=0o400)

    browser.changes.run(work, partial(_open_copy, screen, command))


def do_settings(screen: CommandScreen[None]) -> None:
    """Open the settings file in the user's editor; if there is none, ask to create it with all settings as comments."""
    browser = screen.browser
    path = settings_path(browser.options.environ, Path(browser.home))
    command = editor_command(browser.options.environ, writes=True)

    def open_it() -> None:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(example(), encoding="utf-8")
        _open_file(screen, command, path)
        problems = load_settings(browser.options.environ, Path(browser.home)).problems
        browser.say(
            problems[0] if problems else "The settings hold from the next start.",
            "warning" if problems else "information",
        )

    if path.exists():
        open_it()
        return
    shown = clean(shorten_home(str(path), browser.home))
    parts = paragraph([(shown, "title")], [("It will hold every setting as a comment.", "")])
    ask(browser, "Create the settings file?", parts, [Choice("go", "Create and open it", do=open_it), CANCEL])


def _open_copy(screen: CommandScreen[None], command: tuple[str, ...], copy: Path) -> None:
    try:
        _open_file(screen, command, copy)
    finally:
        copy.unlink(missing_ok=True)


def _open_file(screen: CommandScreen[None], command: tuple[str, ...], path: Path) -> None:
    from sessionbrowse.services.resume.plan import ResumeCommand

    screen.browser.lend_terminal(ResumeCommand(agent=command[0], argv=(*command, str(path)), cwd=os.getcwd()))


def _shown(screen: CommandScreen[None], viewed: ViewedEntry) -> Find:
    """Return a function that returns the text of the current view: entry, context, raw line or comparison."""
    session, index = viewed.session, viewed.index
    if session is None or index is None:
        return lambda run: viewed.summary.path
    if viewed.view == "entry":
        return lambda run: entry_text(session, index)
    if viewed.view == "raw":
        return lambda run: raw_text(session, index)
    if viewed.view == "context":
        return lambda run: context_text(session, index)
    parts = screen.query_one("#view", TextView).parts
    return lambda run: "\n".join([part.plain() for part in parts])


_NAMES: dict[ViewName, str] = {
    "entry": "text of the entry",
    "context": "context at the entry",
    "raw": "raw line of the entry",
    "diff": "comparison",
}
