"""The command that compares two branches of a session."""

from __future__ import annotations

from sessionbrowse.tui.session.screen import SessionScreen


def do_compare(screen: SessionScreen) -> None:
    """Compare the branch of the entry under the cursor with the active branch, or the two selected entries."""
    selected = len(screen.tree_pane.row_list.marks)
    if selected > 2:
        screen.browser.say(f"{selected:,} entries are selected; two can be compared.", "warning")
        return
    screen.entry_pane.show("diff")
