"""The command that opens the screen of costs."""

from __future__ import annotations

from sessionbrowse.services.usage.question import UsageQuestion
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.stats.screen import StatsScreen


def do_cost(screen: BrowseScreen) -> None:
    """Open the costs of the listed project, or of all projects, for the sessions that the list's search found."""
    state, library = screen.state, screen.state.library
    shown = state.shown_folder
    folder = shown if shown is not None else state.other_folder(screen.subject)
    # A folder's row contains several directories if it is a repository, or if the directory has several spellings.
    directories = tuple([cwd for cwd in library.directories() if library.project_of(cwd) == folder])
    cwds = None if folder is None else directories or (folder,)
    question = UsageQuestion(cwds=None if shown is None else cwds)
    screen.browser.push_screen(StatsScreen(question, folder=cwds, text=state.searched))
