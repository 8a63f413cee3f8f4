"""Commands that choose which sessions the lists show, and whether projects are directories or repositories."""

from __future__ import annotations

from sessionbrowse.tui.lists.panes import do_reload
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_scope(screen: BrowseScreen) -> None:
    """Switch the session list between all projects and one project."""
    state = screen.state
    # At the start the list may show the last run's project (`wanted_project`), which has no row yet: switch to all.
    is_project = state.project is not None or state.wanted_project is not None
    state.wanted_project = None
    screen.projects_list.go_to_key(("project", None if is_project else state.other_project(screen.subject)))
    if is_project and state.project is None:
        # The cursor is on "All projects" already, so no message about a move refreshes the rows.
        screen.refresh_sessions(top=True)
        screen.refresh_header()


def do_named(screen: BrowseScreen) -> None:
    """Switch between only named sessions and all sessions."""
    screen.state.named = not screen.state.named
    screen.refresh_sessions()


def do_hidden(screen: BrowseScreen) -> None:
    """Show or hide the sessions of subagents and workflows."""
    state = screen.state
    state.hidden = not state.hidden
    screen.refresh_rows()
    if state.hidden:
        # Scan the sessions of subagents only now, when the list shows them, because scanning them can take long.
        do_reload(screen)
        screen.browser.say("The list now includes sessions of subagents and workflows.")


def do_archived(screen: BrowseScreen) -> None:
    """Switch between showing only archived sessions and only sessions that are not archived."""
    state = screen.state
    state.archived = not state.archived
    state.project = None
    screen.refresh_rows(top=True)
    if state.archived:
        # Scan again: a scan includes archived sessions only while the list shows them.
        do_reload(screen)


def do_repositories(screen: BrowseScreen) -> None:
    """Group projects by repository, or by directory again."""
    state, library, current = screen.state, screen.state.library, screen.subject
    library.by_repository = not library.by_repository
    if state.project is not None:
        # The chosen project may have no row in the new grouping: use the project of the session under the cursor.
        state.project = library.project_of(current.cwd if current is not None else state.project)
    screen.refresh_rows()
    said = "repository (all worktrees)" if library.by_repository else "directory"
    screen.browser.say(f"Grouped projects by {said}.")
