"""Commands that unfold or fold families in the session list: the forks and subagents below a session's row."""

from __future__ import annotations

from sessionbrowse.tui.data.library import Folding
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_family(screen: BrowseScreen) -> None:
    """Unfold or fold the family (forks and subagents) of the session under the cursor."""
    summary = screen.subject
    if summary is not None:
        screen.fold(screen.state.folding.flip(screen.state.library.family(summary.path)))


def do_families(screen: BrowseScreen) -> None:
    """Unfold or fold all families (forks and subagents) in the session list."""
    screen.fold(Folding(not screen.state.folding.all_open))
