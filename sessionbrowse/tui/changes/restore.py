"""The command that restores a deleted session from the trash."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from sessionbrowse import text
from sessionbrowse.services.change.delete import restorable
from sessionbrowse.services.change.restore import Restored, restore
from sessionbrowse.text import clean, parse_time
from sessionbrowse.tui.changes.reread import Known
from sessionbrowse.tui.changes.session_titles import MOST_OPENED, named, quoted, title_of
from sessionbrowse.tui.dialogs.dialogs import AskScreen, Choice
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_restore(screen: CommandScreen[None]) -> None:
    """List the deleted sessions in the trash, and restore the chosen one."""
    browser = screen.browser

    def show(rows: list[InTrash]) -> None:
        now_ms = browser.now_ms()
        choices = [Choice(row.change_id, row.title, _age(row.time, now_ms)) for row in rows]
        empty = "The trash has no session that sessionbrowse deleted."
        title = "Restore session"
        browser.push_screen(AskScreen(title, [], choices, empty=empty), partial(_restore, screen))

    browser.changes.run(lambda run: read_trash(run, browser.library.get), show)


def _restore(screen: CommandScreen[None], change_id: str | None) -> None:
    if change_id is None:
        return

    def make(run: ChangeRun) -> Restored:
        return restore(change_id, context=run.context)

    def describe(done: Sequence[Restored]) -> str:
        found = screen.browser.library.get(done[0].path)
        name = named(found) if found is not None else clean(os.path.basename(done[0].path))
        return f"Restored {quoted(name)}."

    def then(done: Sequence[Restored]) -> None:
        screen.reveal(done[0].path)

    screen.browser.changes.carry_out(
        ChangePlan(title="Restoring", items=[ChangeItem("", make)], describe=describe, on_success=then)
    )


class InTrash(Struct, frozen=True):
    """A deleted session that can be restored: the deletion's id in the journal, the title, the deletion time."""

    change_id: str
    title: str
    time: str


def read_trash(run: ChangeRun, known: Known) -> list[InTrash]:
    """Return the deleted sessions that can be restored, the last deleted first. For background threads."""
    return [
        InTrash(change.id, title_of(change, known, opens=number < MOST_OPENED), change.time)
        for number, change in enumerate(restorable(run.context))
    ]


def _age(time: str, now_ms: float) -> str:
    moment = parse_time(time)
    return text.age(moment, now_ms) if moment is not None else ""
