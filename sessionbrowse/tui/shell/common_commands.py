"""The commands of every screen: move in the focused pane, select rows, switch the theme, redraw, suspend, quit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.row_list import RowList
from sessionbrowse.tui.widgets.text_view import TextView

Do = Callable[[CommandScreen[Any]], None]

# -- moving in the focused pane -----------------------------------------------------------------------------------


def _moving(move: Callable[[RowList | TextView], object]) -> Do:
    """Return a command that moves in the focused pane; it does nothing if no pane has the focus."""

    def do(screen: CommandScreen[Any]) -> None:
        if (pane := screen.moving()) is not None:
            move(pane)

    return do


do_up = _moving(lambda pane: pane.go_up())
do_down = _moving(lambda pane: pane.go_down())
do_page_up = _moving(lambda pane: pane.page_up())
do_page_down = _moving(lambda pane: pane.page_down())
do_half_up = _moving(lambda pane: pane.move(-max(1, pane.page // 2)))
do_half_down = _moving(lambda pane: pane.move(max(1, pane.page // 2)))
do_first = _moving(lambda pane: pane.go_first())
do_last = _moving(lambda pane: pane.go_last())

# -- selecting rows: sessions, entries, problems, secrets; other commands act on all selected rows ------------------


def _selecting(select: Callable[[RowList], object]) -> Do:
    """Return a command that selects rows; it does nothing if no list has the focus."""
    return _moving(lambda pane: select(pane) if isinstance(pane, RowList) else None)


do_select = _selecting(lambda rows: rows.mark_and_go_down())
do_select_up = _selecting(lambda rows: rows.mark_by_moving(-1))
do_select_down = _selecting(lambda rows: rows.mark_by_moving(1))
do_select_range = _selecting(lambda rows: rows.toggle_range())
do_select_all = _selecting(lambda rows: rows.mark_all())

# -- the program --------------------------------------------------------------------------------------------------


def do_theme(screen: CommandScreen[Any]) -> None:
    """Switch to the next colour theme."""
    screen.browser.next_theme()


def do_paint_again(screen: CommandScreen[Any]) -> None:
    """Draw the whole screen again, after another program has written to the terminal."""
    screen.browser.paint_again()


def do_suspend(screen: CommandScreen[Any]) -> None:
    """Stop the browser and return to the shell."""
    screen.browser.suspend_program()


def do_quit(screen: CommandScreen[Any]) -> None:
    """End the browser."""
    screen.browser.leave()
