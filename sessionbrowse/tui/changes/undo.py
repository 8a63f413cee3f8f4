"""The commands that undo the last change, or a change chosen from a list."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from sessionbrowse import text
from sessionbrowse.errors import CannotUndo
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.transaction.change import finish_notes
from sessionbrowse.services.undo.undo import Undoable, Undone, undo, undoable
from sessionbrowse.text import parse_time
from sessionbrowse.tui.changes.reread import Known
from sessionbrowse.tui.changes.session_titles import MOST_OPENED, named, title_of
from sessionbrowse.tui.dialogs.dialogs import AskScreen, Choice
from sessionbrowse.tui.paint.words import one_line, plural
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen

MOST_CHANGES = 500
"""Maximum number of changes that the list of undoable changes shows, newest first."""

_TOLD_BY_SUMMARY = ("rename", "label", "checkout")
"""Kinds of changes whose row in the list of changes ends with the summary of the change."""

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


def do_undo(screen: CommandScreen[None]) -> None:
    """Undo the last change."""
    _take_back(screen, None)


def do_changes(screen: CommandScreen[None]) -> None:
    """List the changes that can be undone, and undo the chosen one."""
    browser = screen.browser

    def show(rows: list[UndoRow]) -> None:
        choices = choices_of(rows, browser.now_ms())
        empty = "sessionbrowse has made no change that can be undone."
        browser.push_screen(
            AskScreen("Changes that can be undone", [], choices, empty=empty),
            lambda key: _take_back(screen, key) if key is not None else None,
        )

    browser.changes.run(lambda run: read_changes(run, browser.library.get), show)


def _take_back(screen: CommandScreen[None], change_id: str | None) -> None:
    browser = screen.browser
    other = browser.keys.key_of("changes")
    before = browser.library.all()

    def make(run: ChangeRun) -> Undone:
        def on_progress(finished: int, total: int) -> None:
            run.report(finished, total, "")

        try:
            return undo(change_id, force=run.force, context=run.context, on_progress=on_progress, cancelled=run.stopped)
        except CannotUndo as error:
            if error.earlier_id is None:
                raise
            raise CannotUndo(f"{error.sentence} To undo another change: {other}.", error.earlier_id) from error

    def say(done: Sequence[Undone]) -> str:
        return describe(done[0], other, [*browser.library.all(), *before])

    browser.changes.carry_out(ChangePlan(title="Undoing", items=[ChangeItem("", make)], describe=say))


class UndoRow(Struct, frozen=True):
    """A change that can be undone, and the title of its session; "" for several sessions."""

    change: Undoable
    title: str


def read_changes(run: ChangeRun, known: Known) -> list[UndoRow]:
    """Return the changes that can be undone, newest first. For background threads."""
    finish_notes(run.context)
    rows = undoable(run.context)[:MOST_CHANGES]
    changes = run.context.journal.changes()
    return [
        UndoRow(row, title_of(changes[row.undo_id], known, opens=number < MOST_OPENED) if row.count == 1 else "")
        for number, row in enumerate(rows)
    ]


def describe(undone: Undone, other: str, everything: Sequence[Summary]) -> str:
    """Return the toast after an undo; the session's title is taken from the summaries in `everything`."""
    what = _WHAT.get(undone.verb, undone.verb)
    of = plural(len(undone.paths), "session")
    if len(undone.paths) == 1:
        # The undo may have moved the file, so the session is looked up by its file name, which stays the same.
        name = os.path.basename(undone.paths[0])
        found = next((one for one in everything if os.path.basename(one.path) == name), None)
        of = f"“{named(found)}”" if found is not None else one_line(name, 80)
    sentence = f"Undone: {what} of {of}."
    if undone.left:
        sentence += f" Stopped with {plural(len(undone.left), 'session')} left; undo again to continue."
    if not undone.failed:
        return sentence
    return f"{sentence} Not undone: {' '.join(undone.failed[:3])} {other} lists what is left."


def choices_of(rows: Sequence[UndoRow], now_ms: float) -> list[Choice]:
    """Return the rows of the list of changes: one row for each command, even if it changed several sessions."""
    choices: list[Choice] = []
    for row in rows:
        change = row.change
        what = row.title or plural(change.count, "session")
        if row.title and change.verb in _TOLD_BY_SUMMARY:
            what = f"{what}  {one_line(change.summary, 80)}"
        moment = parse_time(change.time)
        age = text.age(moment, now_ms) if moment is not None else ""
        choices.append(Choice(change.undo_id, f"{change.verb}  {what}", age))
    return choices
