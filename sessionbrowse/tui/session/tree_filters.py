"""Commands that filter the rows of a tree (pi's five filters), and that show or hide the times of labels."""

from __future__ import annotations

from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.session.state import TreeState
from sessionbrowse.tui.session.tree_pane import TreePane

FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")


def do_filter_default(screen: SessionScreen) -> None:
    """Filter the tree with "default", which shows the rows that pi shows at first."""
    _toggle(screen.tree_pane, "default")


def do_filter_no_tools(screen: SessionScreen) -> None:
    """Hide tool results in the tree, or show the default rows if they are hidden already."""
    _toggle(screen.tree_pane, "no-tools")


def do_filter_user_only(screen: SessionScreen) -> None:
    """Show only user messages in the tree, or the default rows if that filter is active."""
    _toggle(screen.tree_pane, "user-only")


def do_filter_labeled_only(screen: SessionScreen) -> None:
    """Show only labelled entries in the tree, or the default rows if that filter is active."""
    _toggle(screen.tree_pane, "labeled-only")


def do_filter_all(screen: SessionScreen) -> None:
    """Show all entries in the tree, or the default rows if that filter is active."""
    _toggle(screen.tree_pane, "all")


def do_next_filter(screen: SessionScreen) -> None:
    """Switch to the next of the five tree filters."""
    _step(screen.tree_pane, 1)


def do_previous_filter(screen: SessionScreen) -> None:
    """Switch to the previous of the five tree filters."""
    _step(screen.tree_pane, -1)


def do_answer_costs(screen: SessionScreen) -> None:
    """Show or hide the cost of each answer in the tree."""
    screen.tree_pane.toggle_answer_costs()


def do_label_times(screen: SessionScreen) -> None:
    """Show or hide the times at which labels were set."""
    screen.tree_pane.toggle_label_times()


def _toggle(tree: TreePane, name: str) -> None:
    # Choosing the active filter again turns it off, as pi's toggles do.
    _use(tree, "default" if name == tree.state.filter else name)


def _step(tree: TreePane, delta: int) -> None:
    _use(tree, FILTERS[(FILTERS.index(tree.state.filter) + delta) % len(FILTERS)])


def _use(tree: TreePane, name: str) -> None:
    tree.show(TreeState(name, tree.state.query))
