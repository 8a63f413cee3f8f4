"""Commands that choose which rows of a tree are shown (pi's five filters), and whether with the times of labels."""

from __future__ import annotations

from sessionbrowse.tui.session.state import TreeState
from sessionbrowse.tui.session.tree_pane import HasTree

FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")


class TreeFilters:
    """Commands that set the filter of the tree."""

    def __init__(self, screen: HasTree) -> None:
        self._tree = screen.tree_pane

    def do_filter_default(self) -> None:
        """Show the usual rows."""
        self._toggle("default")

    def do_filter_no_tools(self) -> None:
        """Hide tool results."""
        self._toggle("no-tools")

    def do_filter_user_only(self) -> None:
        """Show only messages of the user."""
        self._toggle("user-only")

    def do_filter_labeled_only(self) -> None:
        """Show only labelled entries."""
        self._toggle("labeled-only")

    def do_filter_all(self) -> None:
        """Show all entries."""
        self._toggle("all")

    def do_next_filter(self) -> None:
        """Use the next filter."""
        self._step(1)

    def do_previous_filter(self) -> None:
        """Use the previous filter."""
        self._step(-1)

    def do_label_times(self) -> None:
        """Show or hide the times at which labels were set."""
        self._tree.toggle_label_times()

    def _toggle(self, name: str) -> None:
        # Choosing the filter that is on goes back to the usual rows, as pi's toggles do.
        self._use("default" if name == self._tree.state.filter else name)

    def _step(self, delta: int) -> None:
        self._use(FILTERS[(FILTERS.index(self._tree.state.filter) + delta) % len(FILTERS)])

    def _use(self, name: str) -> None:
        self._tree.show(TreeState(name, self._tree.state.query))
