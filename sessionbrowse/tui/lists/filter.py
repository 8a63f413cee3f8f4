"""The filter of a list: the line that is typed in, and what it does to the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from sessionbrowse.tui.lists.library import Filter, parse_filter
from sessionbrowse.tui.lists.rows import plural
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.pattern_answers import PatternAnswers
from sessionbrowse.tui.widgets.filter_line import FilterLine

if TYPE_CHECKING:
    from sessionbrowse.tui.lists.screen import BrowseScreen

Row = TypeVar("Row")


class ListFilter:
    """The commands of the line."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def do_filter(self) -> None:
        """Filter the list that has the keys."""
        screen = self._screen
        screen.filtered = "projects" if screen.pane == "projects" else "sessions"
        hint = "a folder's name" if screen.filtered == "projects" else 'words, "a phrase", re:pattern'
        screen.query_one(FilterLine).open("/", screen.filters[screen.filtered].text, hint, replacing=True)
        say_found(screen)
        if screen.filtered == "sessions":
            # In the pause before the first letter, which would wait for it.
            screen.after_frame(self._prepare)

    def _prepare(self) -> None:
        screen = self._screen
        screen.library.prepare_filter(screen.folder, named=screen.named, hidden=screen.hidden, archived=screen.archived)

    def do_accept_filter(self) -> None:
        """Give the keys back to the list."""
        screen = self._screen
        line = screen.query_one(FilterLine)
        screen.set_focus(screen.filtered_list)
        if screen.filters[screen.filtered].is_empty:
            line.close()
        elif screen.filtered == "projects" and screen.projects_list.cursor == 0:
            # "All folders" stands above what was found, which is what was looked for.
            screen.projects_list.go_down()

    def do_clear_filter(self) -> None:
        """Show all rows again."""
        screen = self._screen
        screen.set_focus(screen.filtered_list)
        set_query(screen, screen.filtered, "")


def set_query(screen: BrowseScreen, pane: str, text: str, *, keep_line: bool = False) -> None:
    """Filter a list; the line that is typed in stays open while it is typed."""
    screen.filters[pane] = parse_filter(text)
    if pane == "projects":
        # The sessions stay, but where the cursor has to go to another folder.
        screen.refresh_projects()
        say_found(screen)
        screen.update_footer()
    else:
        # The best hit is what a filter is typed for; without one the cursor stays on what was found.
        found = screen.sessions_list.key if screen.filters[pane].is_empty else None
        screen.refresh_sessions(top=found is None, cursor=found)
        if found is not None and screen.sessions_list.key != found:
            # What a filter was typed for is not folded away when it is cleared.
            screen.fold(screen.folding.flip(screen.library.family(str(found))))
            screen.sessions_list.go_to_key(found)
    if not keep_line:
        screen.query_one(FilterLine).close()


def rows_left(screen: BrowseScreen, pane: str, rows_of: Callable[[Filter], Sequence[Row]]) -> Sequence[Row] | None:
    """Return the rows that a list's filter leaves; None while it is not known what its pattern matches."""
    filter = screen.filters[pane]
    pattern = filter.query.pattern
    answers = screen.pattern_answers.get(pane)
    if answers is not None and answers.pattern != pattern:
        answers.close()
        answers = None
        del screen.pattern_answers[pane]
    if pattern is None:
        return rows_of(filter)
    if answers is None:
        answered = screen.refresh_projects if pane == "projects" else screen.refresh_sessions
        answers = screen.pattern_answers[pane] = PatternAnswers(screen, pane, pattern, answered)
    if answers.problem is not None:
        filter = screen.filters[pane] = replace(filter, problem=answers.problem)
    rows = rows_of(replace(filter, pattern_is_in=answers.is_in))
    return None if answers.is_waiting else rows


def say_found(screen: BrowseScreen) -> None:
    """Show in the line how many rows are found, or what is wrong with the pattern."""
    line = screen.query_one(FilterLine)
    if not line.display:
        return
    query = screen.filters[screen.filtered]
    rows = screen.projects_list.count - 1 if screen.filtered == "projects" else screen.sessions_list.count
    answers = screen.pattern_answers.get(screen.filtered)
    is_waiting = answers is not None and answers.is_waiting
    status: Line = [("searching …", "accent") if is_waiting else (plural(rows, "match", "matches"), "dim")]
    if query.problem is not None:
        status = [(query.problem, "error")]
    line.say(status)
