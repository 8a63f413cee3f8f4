"""Filter a list: open its line, keep the filter, clear it."""

from __future__ import annotations

from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine


def do_filter(screen: BrowseScreen) -> None:
    """Open the filter line of the focused list."""
    state = screen.state
    state.filtered = "projects" if screen.pane == "projects" else "sessions"
    hint = "a folder's name" if state.filtered == "projects" else 'words, "a phrase", re:pattern'
    screen.query_one(FilterLine).open("/", state.filters[state.filtered].text, hint, replacing=True)
    screen.say_found()
    if state.filtered == "sessions":

        def prepare() -> None:
            state.library.prepare_filter(state.folder, named=state.named, hidden=state.hidden, archived=state.archived)

        # In the pause before the first letter, which would wait for it.
        screen.after_frame(prepare)


def do_accept_filter(screen: BrowseScreen) -> None:
    """Focus the list, which stays filtered."""
    state = screen.state
    screen.set_focus(screen.filtered_list)
    if state.filters[state.filtered].is_empty:
        screen.query_one(FilterLine).close()
    elif state.filtered == "projects" and screen.projects_list.cursor == 0:
        # "All folders" stands above the folders that were found.
        screen.projects_list.go_down()


def do_clear_filter(screen: BrowseScreen) -> None:
    """Show all rows again."""
    screen.set_focus(screen.filtered_list)
    screen.set_filter(screen.state.filtered, "")
