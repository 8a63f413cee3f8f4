"""Commands that unfold or fold what belongs to a row: forks and subagents of a session, or hits of a found one."""

from __future__ import annotations

from sessionbrowse.tui.data.library import Folding
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_family(screen: BrowseScreen) -> None:
    """Unfold or fold the forks and subagents of the session under the cursor, or all hits of a found session."""
    summary = screen.subject
    if summary is None:
        return
    if not screen.state.searched:
        fold(screen, screen.state.folding.flip(screen.state.library.family(summary.path)))
    elif not screen.search.unfold(summary.path):
        screen.browser.say("All hits of this session are shown.")


def do_families(screen: BrowseScreen) -> None:
    """Unfold or fold all families (forks and subagents) in the session list."""
    fold(screen, Folding(not screen.state.folding.all_open))


def fold(screen: BrowseScreen, folding: Folding) -> None:
    """Fold or unfold families (related sessions under one row) as `folding` says, and update the session list."""
    screen.state.folding = folding
    screen.refresh_sessions()
