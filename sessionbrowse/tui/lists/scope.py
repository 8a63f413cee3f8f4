"""Commands that choose which sessions the lists show, and whether folders are directories or repositories."""

from __future__ import annotations

from sessionbrowse.tui.lists.panes import do_reload
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_scope(screen: BrowseScreen) -> None:
    """Switch the session list between all folders and one folder."""
    state = screen.state
    # At the start the list may show the last run's folder (`wanted_folder`), which has no row yet: switch to all.
    is_folder = state.folder is not None or state.wanted_folder is not None
    state.wanted_folder = None
    screen.projects_list.go_to_key(("folder", None if is_folder else state.other_folder(screen.subject)))
    if is_folder and state.folder is None:
        # The cursor is on "All folders" already, so no message about a move refreshes the rows.
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
    state.folder = None
    screen.refresh_rows(top=True)
    if state.archived:
        # Scan again: a scan includes archived sessions only while the list shows them.
        do_reload(screen)


def do_repositories(screen: BrowseScreen) -> None:
    """Switch between one folder row per repository and one folder row per directory."""
    state, library, current = screen.state, screen.state.library, screen.subject
    library.group_by_repository(not library.by_repository)
    if state.folder is not None:
        # The chosen folder may have no row in the new grouping: use the folder of the session under the cursor.
        state.folder = library.project_of(current.cwd if current is not None else state.folder)
    screen.refresh_rows()
    said = "repository (all worktrees)" if library.by_repository else "directory"
    screen.browser.say(f"One folder row per {said}.")
