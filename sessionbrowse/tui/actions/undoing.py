"""Take changes back: the last one, or one that is chosen from the list of those that still can be."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sessionbrowse import text
from sessionbrowse.services.undo import Undoable, Undone, undo, undoable
from sessionbrowse.text import clean, parse_time
from sessionbrowse.tui.actions.desk import How, Item, Plan
from sessionbrowse.tui.render import one_line, plural
from sessionbrowse.tui.screens.base import CommandScreen
from sessionbrowse.tui.screens.dialogs import AskScreen, Choice

MOST_CHANGES = 500
"""How many changes, newest first, the list shows."""

_WHAT = {
    "rename": "the new name",
    "label": "the label",
    "checkout": "the check out",
    "fork": "the fork",
    "delete": "the deletion",
    "archive": "the archiving",
    "unarchive": "the unarchiving",
    "relocate": "the move",
}


class Undoing:
    """The commands that take changes back."""

    def __init__(self, screen: CommandScreen[None]) -> None:
        self._screen = screen

    def do_undo(self) -> None:
        """Take the last change back."""
        self._take_back(None)

    def do_changes(self) -> None:
        """List what can be taken back, and take back what is chosen."""
        browser = self._screen.browser

        def show(rows: list[Undoable]) -> None:
            choices = choices_of(rows, browser.now_ms())
            empty = "sessionbrowse has changed nothing that could be taken back."
            browser.push_screen(
                AskScreen("Changes that can be taken back", [], choices, empty=empty),
                lambda key: self._take_back(key) if key is not None else None,
            )

        browser.desk.ask(read_changes, show)

    def _take_back(self, change_id: str | None) -> None:
        other = self._screen.browser.keys.key_of("changes")

        def make(how: How) -> Undone:
            def on_progress(finished: int, total: int) -> None:
                how.report(finished, total, "")

            return undo(change_id, force=how.force, bench=how.bench, on_progress=on_progress, cancelled=how.stopped)

        self._screen.browser.desk.carry_out(
            Plan(doing="Undoing", items=[Item("", make)], told=lambda done: told(done[0], other))
        )


def read_changes(how: How) -> list[Undoable]:
    """Return what can be taken back, newest first. In the background."""
    return undoable(how.bench)[:MOST_CHANGES]


def told(undone: Undone, other: str) -> str:
    """Return the sentence on what was taken back."""
    what = _WHAT.get(undone.verb, undone.verb)
    of = clean(os.path.basename(undone.paths[0])) if len(undone.paths) == 1 else plural(len(undone.paths), "session")
    sentence = f"Undone: {what} of {one_line(of, 80)}."
    if undone.left:
        sentence += f" Stopped: {plural(len(undone.left), 'session')} are as they were; undo goes on there."
    if not undone.failed:
        return sentence
    return f"{sentence} Not undone: {' '.join(undone.failed[:3])} {other} lists what is left."


def choices_of(rows: Sequence[Undoable], now_ms: float) -> list[Choice]:
    """Return a row for each change, or for all those that one command made."""
    choices: list[Choice] = []
    for row in rows:
        name = clean(os.path.basename(row.path))
        what = f"{one_line(row.summary, 80)}  {name}" if row.count == 1 else plural(row.count, "session")
        moment = parse_time(row.time)
        choices.append(
            Choice(row.undo_id, f"{row.verb}  {what}", text.age(moment, now_ms) if moment is not None else "")
        )
    return choices
