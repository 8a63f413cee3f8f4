"""The command that opens the statistics."""

from __future__ import annotations

from sessionbrowse.services.usage.question import UsageQuestion
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.stats.screen import StatsScreen


def do_stats(screen: BrowseScreen) -> None:
    """Open the statistics of the folder that the list shows, or of all sessions; a filter counts here too."""
    state = screen.state
    folder, library = state.shown_folder, state.library
    cwds: tuple[str, ...] | None = None
    if folder is not None:
        # A repository has several directories.
        cwds = tuple([cwd for cwd in screen.browser.directories() if library.project_of(cwd) == folder]) or (folder,)
    listed = state.filter
    rows = () if listed.is_empty else state.session_rows(listed)
    paths = None if listed.is_empty else tuple([row.summary.path for row in rows])
    screen.browser.push_screen(StatsScreen(UsageQuestion(cwds=cwds, paths=paths), listed.text))
