"""Which rows of a tree are shown: the five choices of pi."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessionbrowse.tui.session.tree_search import TreeState

if TYPE_CHECKING:
    from sessionbrowse.tui.session.screen import SessionScreen

FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")


class TreeChoosing:
    """The commands that choose rows."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen

    def do_filter_default(self) -> None:
        """Show the usual rows."""
        self._toggle("default")

    def do_filter_no_tools(self) -> None:
        """Hide tool results."""
        self._toggle("no-tools")

    def do_filter_user_only(self) -> None:
        """Show what the user said."""
        self._toggle("user-only")

    def do_filter_labeled_only(self) -> None:
        """Show labelled entries."""
        self._toggle("labeled-only")

    def do_filter_all(self) -> None:
        """Show all entries."""
        self._toggle("all")

    def do_next_filter(self) -> None:
        """Go through the choices of rows."""
        self._step(1)

    def do_previous_filter(self) -> None:
        """Go through the choices of rows backwards."""
        self._step(-1)

    def _toggle(self, name: str) -> None:
        # Choosing the filter that is on goes back to the usual rows, as pi's toggles do.
        self._use("default" if name == self._screen.state.filter else name)

    def _step(self, delta: int) -> None:
        self._use(FILTERS[(FILTERS.index(self._screen.state.filter) + delta) % len(FILTERS)])

    def _use(self, name: str) -> None:
        self._screen.ask_rows(TreeState(name, self._screen.state.query))
