"""Restore a deleted session from the trash."""

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
from sessionbrowse.tui.changes.session_titles import MOST_OPENED, named, title_of
from sessionbrowse.tui.dialogs.dialogs import AskScreen, Choice
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_restore(screen: CommandScreen[None]) -> None:
    """List what is in the trash and bring back what is chosen."""
    browser = screen.browser

    def show(rows: list[InTrash]) -> None:
        now_ms = browser.now_ms()
        choices = [Choice(row.change_id, row.title, _age(row.time, now_ms)) for row in rows]
        empty = "No session that sessionbrowse deleted is in the trash."
        title = "In the trash: choose what to bring back"
        browser.push_screen(AskScreen(title, [], choices, empty=empty), partial(_restore, screen))

    browser.changes.ask(lambda run: read_trash(run, browser.library.get), show)


def _restore(screen: CommandScreen[None], change_id: str | None) -> None:
    if change_id is None:
        return

    def make(run: ChangeRun) -> Restored:
        return restore(change_id, context=run.context)

    def told(done: Sequence[Restored]) -> str:
        found = screen.browser.library.get(done[0].path)
        name = named(found) if found is not None else clean(os.path.basename(done[0].path))
        return f"“{name}” is back where it was."

    def then(done: Sequence[Restored]) -> None:
        screen.reveal(done[0].path)

    screen.browser.changes.carry_out(ChangePlan(doing="Restoring", items=[ChangeItem("", make)], told=told, then=then))


class InTrash(Struct, frozen=True):
    """A deleted session that can come back: the change that deleted it, what it is called, when that was."""

    change_id: str
    title: str
    time: str


def read_trash(run: ChangeRun, known: Known) -> list[InTrash]:
    """Return what can be brought back, newest first. In the background."""
    return [
        InTrash(change.id, title_of(change, known, opens=number < MOST_OPENED), change.time)
        for number, change in enumerate(restorable(run.context))
    ]


def _age(time: str, now_ms: float) -> str:
    moment = parse_time(time)
    return text.age(moment, now_ms) if moment is not None else ""
