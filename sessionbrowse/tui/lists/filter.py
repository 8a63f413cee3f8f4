"""Commands that filter the folder or session list: open the filter line, keep the filter, clear it."""

from __future__ import annotations

from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine


def do_filter(screen: BrowseScreen) -> None:
    """Open the filter line, in which the user types a filter for the focused list."""
    state = screen.state
    state.filtered = "projects" if screen.pane == "projects" else "sessions"
    hint = "a folder's name" if state.filtered == "projects" else 'words, "a phrase", re:pattern'
    screen.query_one(FilterLine).open("/", state.filters[state.filtered].text, hint, replacing=True)
    screen.say_found()
    if state.filtered == "sessions":

        def prepare() -> None:
            state.library.prepare_filter(state.folder, named=state.named, hidden=state.hidden, archived=state.archived)
            screen.said.prepare()

        # Compute the texts in which the filter searches now, so that the first typed letter is handled without delay.
        screen.after_frame(prepare)


def do_accept_filter(screen: BrowseScreen) -> None:
    """Keep the typed filter, and focus the filtered list (folders or sessions)."""
    state = screen.state
    screen.set_focus(screen.filtered_list)
    if state.filters[state.filtered].is_empty:
        screen.query_one(FilterLine).close()
    elif state.filtered == "projects" and screen.projects_list.cursor == 0:
        # The first row is always "All folders", so move the cursor to the first folder that matches the filter.
        screen.projects_list.go_down()


def do_clear_filter(screen: BrowseScreen) -> None:
    """Clear the filter of the folder or session list, so that the list shows all rows again."""
    screen.set_focus(screen.filtered_list)
    screen.set_filter(screen.state.filtered, "")
