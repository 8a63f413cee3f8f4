"""The commands of every screen: move in the focused pane, switch the theme, redraw the screen, suspend, quit."""

from __future__ import annotations

from typing import Any

from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_up(screen: CommandScreen[Any]) -> None:
    """Move up by one row in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.go_up()


def do_down(screen: CommandScreen[Any]) -> None:
    """Move down by one row in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.go_down()


def do_page_up(screen: CommandScreen[Any]) -> None:
    """Move up by one page in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.page_up()


def do_page_down(screen: CommandScreen[Any]) -> None:
    """Move down by one page in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.page_down()


def do_half_up(screen: CommandScreen[Any]) -> None:
    """Move up by half a page in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.move(-max(1, pane.page // 2))


def do_half_down(screen: CommandScreen[Any]) -> None:
    """Move down by half a page in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.move(max(1, pane.page // 2))


def do_first(screen: CommandScreen[Any]) -> None:
    """Move to the first row in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.go_first()


def do_last(screen: CommandScreen[Any]) -> None:
    """Move to the last row in the focused pane."""
    if (pane := screen.moving()) is not None:
        pane.go_last()


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
