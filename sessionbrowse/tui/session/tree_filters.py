"""Commands that filter a tree's rows (pi's five tree filters), and that show or hide costs and label times."""

from __future__ import annotations

from msgspec.structs import replace

from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.session.tree_pane import TreePane

FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")


def do_filter_default(screen: SessionScreen) -> None:
    """Switch the tree to the filter "default", which shows the rows that pi's own tree shows when it opens."""
    _toggle(screen.tree_pane, "default")


def do_filter_no_tools(screen: SessionScreen) -> None:
    """Hide tool results in the tree (filter "no-tools"); if they are hidden, return to the default filter."""
    _toggle(screen.tree_pane, "no-tools")


def do_filter_user_only(screen: SessionScreen) -> None:
    """Show only user messages in the tree (filter "user-only"); if that filter is active, return to the default."""
    _toggle(screen.tree_pane, "user-only")


def do_filter_labeled_only(screen: SessionScreen) -> None:
    """Show only labelled entries in the tree; if that filter is active, return to the default filter."""
    _toggle(screen.tree_pane, "labeled-only")


def do_filter_all(screen: SessionScreen) -> None:
    """Show all entries in the tree (filter "all"); if that filter is active, return to the default filter."""
    _toggle(screen.tree_pane, "all")


def do_next_filter(screen: SessionScreen) -> None:
    """Switch to the next of the five tree filters."""
    _step(screen.tree_pane, 1)


def do_previous_filter(screen: SessionScreen) -> None:
    """Switch to the previous of the five tree filters."""
    _step(screen.tree_pane, -1)


def do_answer_costs(screen: SessionScreen) -> None:
    """Show or hide in the tree the cost of each answer of the assistant."""
    screen.tree_pane.toggle_answer_costs()


def do_label_times(screen: SessionScreen) -> None:
    """Show or hide in the tree the time at which each label was set."""
    screen.tree_pane.toggle_label_times()


def _toggle(tree: TreePane, name: str) -> None:
    # Choosing the active filter again returns to the default filter, as pi's filter keys do.
    _use(tree, "default" if name == tree.state.filter else name)


def _step(tree: TreePane, delta: int) -> None:
    _use(tree, FILTERS[(FILTERS.index(tree.state.filter) + delta) % len(FILTERS)])


def _use(tree: TreePane, name: str) -> None:
    tree.show(replace(tree.state, filter=name, folded=frozenset()))
