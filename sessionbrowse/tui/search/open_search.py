"""Commands that open the search over all sessions and the checkpoints."""

from __future__ import annotations

from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine


class OpenSearch:
    """Commands that open the search and the checkpoints from another screen."""

    def __init__(self, screen: CommandScreen[None]) -> None:
        self._screen = screen

    def do_search_all(self) -> None:
        """Open the search, with the text that is being typed in a filter."""
        typed = self._screen.query_one(FilterLine).input.value if self._screen.typing else ""
        self._screen.browser.show_search(typed.strip())

    def do_search_beyond(self) -> None:
        """Open the search from a session."""
        self.do_search_all()

    def do_checkpoints(self) -> None:
        """Open the labels of all sessions."""
        self._screen.browser.show_checkpoints()
