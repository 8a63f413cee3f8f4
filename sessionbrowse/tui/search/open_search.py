"""Look beyond what is on the screen: search every session, list every checkpoint."""

from __future__ import annotations

from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine


class OpenSearch:
    """The commands that leave a screen for the search or the checkpoints."""

    def __init__(self, screen: CommandScreen[None]) -> None:
        self._screen = screen

    def do_search_all(self) -> None:
        """Search everything; what is being typed in a filter is searched for."""
        typed = self._screen.query_one(FilterLine).input.value if self._screen.typing else ""
        self._screen.browser.show_search(typed.strip())

    def do_search_beyond(self) -> None:
        """Search everything."""
        self.do_search_all()

    def do_checkpoints(self) -> None:
        """List every label of every session."""
        self._screen.browser.show_checkpoints()
