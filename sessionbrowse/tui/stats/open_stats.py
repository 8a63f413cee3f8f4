"""The commands that open the screen of costs, and go through its spans of time."""

from __future__ import annotations

from sessionbrowse.services.usage.question import UsageQuestion
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.stats.screen import StatsScreen, after
from sessionbrowse.tui.stats.times import TIMES


def do_cost(screen: BrowseScreen) -> None:
    """Open the costs of the listed project, or of all projects, for the sessions that the list's search found."""
    state, library = screen.state, screen.state.library
    shown = state.shown_project
    project = shown if shown is not None else state.other_project(screen.subject)
    # A project's row contains several directories if it is a repository, or if the directory has several spellings.
    directories = tuple([cwd for cwd in library.directories() if library.project_of(cwd) == project])
    cwds = None if project is None else directories or (project,)
    question = UsageQuestion(cwds=None if shown is None else cwds)
    screen.browser.push_screen(StatsScreen(question, project=cwds, text=state.searched))


def do_stats_next_span(screen: StatsScreen) -> None:
    """Show only costs from the next span of time in `TIMES`."""
    screen.limit(after(TIMES, screen.times))


def do_stats_previous_span(screen: StatsScreen) -> None:
    """Show only costs from the previous span of time in `TIMES`."""
    screen.limit(after(TIMES[::-1], screen.times))
