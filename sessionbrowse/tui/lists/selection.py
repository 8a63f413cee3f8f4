"""Commands that select rows: sessions, entries, problems, secrets; other commands act on all selected rows."""

from __future__ import annotations

from typing import Any

from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.row_list import RowList


def do_select(screen: CommandScreen[Any]) -> None:
    """Select or unselect the row under the cursor, and move the cursor to the next row."""
    if (rows := _rows(screen)) is not None:
        rows.toggle_mark()
        rows.move(1)


def do_select_up(screen: CommandScreen[Any]) -> None:
    """Move the cursor up and select the rows that it passes."""
    if (rows := _rows(screen)) is not None:
        rows.mark_by_moving(-1)


def do_select_down(screen: CommandScreen[Any]) -> None:
    """Move the cursor down and select the rows that it passes."""
    if (rows := _rows(screen)) is not None:
        rows.mark_by_moving(1)


def do_select_range(screen: CommandScreen[Any]) -> None:
    """Start or end range selection, in which a moving cursor selects the rows that it passes."""
    if (rows := _rows(screen)) is not None:
        rows.toggle_range()


def do_select_all(screen: CommandScreen[Any]) -> None:
    """Select all rows of the list, or unselect them if all are selected."""
    if (rows := _rows(screen)) is not None:
        rows.mark_all()


def _rows(screen: CommandScreen[Any]) -> RowList | None:
    """Return the list with the focus; None if no list has it, as in a terminal that has lost the focus."""
    rows = screen.moving()
    return rows if isinstance(rows, RowList) else None
