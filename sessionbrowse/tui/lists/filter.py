"""Commands of the text line: search the sessions, or filter the projects; leave the line, end the search."""

from __future__ import annotations

from sessionbrowse.tui.commands.contexts import SEARCHING, TYPING
from sessionbrowse.tui.lists.families import fold
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine

HINT = 'words "a phrase" -word after:7d agent: project: label: role: re: …'


def do_filter(screen: BrowseScreen) -> None:
    """Open the text line, in which the user searches the sessions, or filters the projects if they are focused."""
    state, line = screen.state, screen.query_one(FilterLine)
    if screen.pane == "projects":
        state.filtered, screen.TYPING_CONTEXT = "projects", TYPING
        line.open("/", state.project_words, "a project's name", replacing=True)
    else:
        open_line(screen, screen.search.text)
        # Start the search program now, so that the first typed letter is answered without delay.
        screen.after_frame(screen.search.prepare)
    screen.say_found()


def open_line(screen: BrowseScreen, text: str) -> None:
    """Open the search line with a text, which the next typed letter replaces."""
    screen.state.filtered, screen.TYPING_CONTEXT = "sessions", SEARCHING
    screen.query_one(FilterLine).open("/", text, HINT, replacing=True)
    screen.preview.show()


def search_for(screen: BrowseScreen, text: str) -> None:
    """Open the search line with a query, to which the user may add, and search for it."""
    open_line(screen, text)
    screen.query_one(FilterLine).input.cursor_position = len(text)
    screen.search.set_text(text)
    screen.say_found()


def do_keep_search(screen: BrowseScreen) -> None:
    """Leave the search line for the found sessions; with the habits of pi, where letters type, end the search."""
    if screen.browser.keys.types or not screen.search.is_active:
        end_search(screen)
        return
    screen.queries.add(screen.search.text)
    screen.set_focus(screen.sessions_list)
    screen.preview.show()


def end_search(screen: BrowseScreen) -> None:
    """Close the search line and list all sessions again; the cursor stays on its session."""
    screen.queries.add(screen.state.searched)
    subject, came_from = screen.subject, screen.left_session
    screen.left_session = None
    screen.set_focus(screen.sessions_list)
    screen.query_one(FilterLine).close()
    screen.search.set_text("")
    if subject is not None and not screen.sessions_list.go_to_key(subject.path) and not screen.state.is_flat:
        # The session has no row, because it is folded under a related session: unfold the family.
        fold(screen, screen.state.folding.flip(screen.state.library.family(subject.path)))
        screen.sessions_list.go_to_key(subject.path)
    screen.preview.show()
    if came_from is not None:
        screen.browser.open_tree(came_from)


def do_accept_filter(screen: BrowseScreen) -> None:
    """Keep the words that filter the projects, and focus the list of projects."""
    screen.set_focus(screen.projects_list)
    if not screen.state.project_words:
        screen.query_one(FilterLine).close()
    elif screen.projects_list.cursor == 0:
        # The first row is always "All projects", so move the cursor to the first project that matches the filter.
        screen.projects_list.go_down()


def do_clear_filter(screen: BrowseScreen) -> None:
    """Clear the words that filter the projects, so that all are listed again."""
    screen.set_focus(screen.projects_list)
    screen.state.project_words = ""
    screen.query_one(FilterLine).close()
    screen.refresh_projects()


def do_labels(screen: BrowseScreen) -> None:
    """List the labels of all sessions: the sessions that have labels, with their labelled entries."""
    search_for(screen, "label:")


def recall(screen: BrowseScreen, step: int) -> bool:
    """Bring back an earlier query (`step` -1) into the search line, or a later one (1); False if there is none."""
    if not screen.typing or screen.state.filtered != "sessions" or screen.browser.keys.types:
        return False
    text = screen.queries.recalled(screen.search.text, step)
    if text is None:
        return False
    search_for(screen, text)
    return True


def do_up(screen: BrowseScreen) -> None:
    """Move up one row; in an empty search line, bring back the query before."""
    if not recall(screen, -1) and (moving := screen.moving()) is not None:
        moving.go_up()


def do_down(screen: BrowseScreen) -> None:
    """Move down one row; in a search line with an earlier query, bring back the query after it."""
    if not recall(screen, 1) and (moving := screen.moving()) is not None:
        moving.go_down()
