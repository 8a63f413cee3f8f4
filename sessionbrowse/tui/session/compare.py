"""Commands that compare the branch of an entry with another branch."""

from __future__ import annotations

from sessionbrowse.tui.session.screen import SessionScreen


def do_compare(screen: SessionScreen) -> None:
    """Mark the entry under the cursor, or compare it with the marked entry; on the marked entry, remove the mark."""
    tree, entry = screen.tree_pane, screen.entry_pane
    if tree.index is None:
        return
    if tree.marked is None:
        tree.mark(tree.index)
        key = screen.browser.keys.key_of("compare")
        screen.browser.say(
            f"Entry marked. On another entry, {key} compares the two branches; on this entry, {key} removes the mark."
        )
    elif tree.marked == tree.index:
        tree.mark(None)
        entry.show("entry" if entry.view == "diff" else entry.view)
    else:
        entry.show("diff")


def do_compare_leaf(screen: SessionScreen) -> None:
    """Compare the branch of the entry under the cursor with the branch of the leaf."""
    screen.tree_pane.mark(None)
    screen.entry_pane.show("diff")
