"""The command that opens the screen of costs."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.services.usage.question import UsageQuestion
from sessionbrowse.tui.data.library import Filter
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.stats.screen import StatsScreen


def do_cost(screen: BrowseScreen) -> None:
    """Open the statistics of the folder that the session list shows, or of all folders, with the list's filter."""
    state, library = screen.state, screen.state.library
    shown = state.shown_folder
    folder = shown if shown is not None else state.other_folder(screen.subject)
    # A folder's row contains several directories if it is a repository, or if the directory has several spellings.
    directories = tuple([cwd for cwd in library.directories() if library.project_of(cwd) == folder])
    cwds = None if folder is None else directories or (folder,)

    def paths(filter: Filter) -> Sequence[str]:
        rows = library.sessions(filter=filter, named=state.named, hidden=state.hidden, archived=state.archived)
        return [row.summary.path for row in rows]

    question = UsageQuestion(cwds=None if shown is None else cwds)
    screen.browser.push_screen(StatsScreen(question, folder=cwds, filter=state.filter, paths=paths))
