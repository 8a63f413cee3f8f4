"""Commands that compare the branch of an entry with another one."""

from __future__ import annotations

from typing import Protocol

from sessionbrowse.tui.session.entry_pane import EntryPane
from sessionbrowse.tui.session.tree_pane import TreePane
from sessionbrowse.tui.shell.browser import Browser


class HasPanes(Protocol):
    """A screen with a tree and an entry, as these commands know it."""

    tree_pane: TreePane
    entry_pane: EntryPane

    @property
    def browser(self) -> Browser:
        """The app."""


class Comparing:
    """Commands that mark an entry and compare another one with it."""

    def __init__(self, screen: HasPanes) -> None:
        self._tree = screen.tree_pane
        self._entry = screen.entry_pane
        self._browser = screen.browser

    def do_compare(self) -> None:
        """Mark the entry, or compare it with the marked one; on the marked entry remove the mark."""
        tree, entry = self._tree, self._entry
        if tree.index is None:
            return
        if tree.marked is None:
            tree.mark(tree.index)
            key = self._browser.keys.key_of("compare")
            self._browser.say(
                f"Marked. Go to another entry: {key} there compares the two branches. {key} here takes the mark away."
            )
        elif tree.marked == tree.index:
            tree.mark(None)
            entry.show("entry" if entry.view == "diff" else entry.view)
        else:
            entry.show("diff")

    def do_compare_leaf(self) -> None:
        """Compare the entry with the leaf."""
        self._tree.mark(None)
        self._entry.show("diff")
