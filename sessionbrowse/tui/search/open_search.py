"""Commands that open the search over all sessions, and the labels screen."""

from __future__ import annotations

from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine


def do_search_all(screen: CommandScreen[None]) -> None:
    """Open the search over all sessions; a filter that the user is typing becomes the search query."""
    typed = screen.query_one(FilterLine).input.value if screen.typing else ""
    screen.browser.show_search(typed.strip())


def do_labels(screen: CommandScreen[None]) -> None:
    """Open the labels screen, which lists the labels of all sessions."""
    screen.browser.show_checkpoints()
