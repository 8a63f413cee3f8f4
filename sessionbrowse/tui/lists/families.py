"""Open and fold families: sessions that belong to another one."""

from __future__ import annotations

from sessionbrowse.tui.data.library import Folding
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_family(screen: BrowseScreen) -> None:
    """Open or fold the family of the session under the cursor."""
    summary = screen.subject
    if summary is not None:
        screen.fold(screen.state.folding.flip(screen.state.library.family(summary.path)))


def do_families(screen: BrowseScreen) -> None:
    """Open or fold all families."""
    screen.fold(Folding(not screen.state.folding.all_open))
