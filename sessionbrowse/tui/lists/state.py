"""The state of the folder and session lists: folder, sort order, filters, folds. It uses no widgets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.remembered_views import ListView
from sessionbrowse.tui.data.library import Filter, Folding, Library, ProjectRow, SessionRow, parse_filter
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.shell.pattern_answers import PatternAnswers

Row = TypeVar("Row")


class ListState:
    """The state of the folder and session lists; `filtered` names the list to which the filter line applies."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.folder: str | None = None
        self.last_folder: str | None = None
        self.sort = "recent"
        self.named = False
        self.hidden = False
        self.archived = False
        self.folding = Folding()
        self.show_path = False
        self.filters = {"projects": Filter(), "sessions": Filter()}
        self.filtered = "sessions"
        self.projects: Sequence[ProjectRow] = ()
        self.exists: dict[str, bool | None] = {}
        self.moved: dict[str, str] = {}
        # The folder under the cursor when the last run ended; None once restored, or if the user moved the cursor.
        self.wanted_folder: str | None = None
        self.wanted_session: str | None = None
        self.awaits_folder = True
        """True until the first scan has ended; until then the scan may still find the folder of the last run."""

    def restore(self, view: ListView) -> None:
        """Restore the sort order, filters, folded families and cursors that the last run saved."""
        self.sort, self.named, self.show_path = view.sort, view.named, view.show_path
        self.library.by_repository = view.by_repository
        self.folding = Folding(view.all_open, frozenset(view.flipped))
        self.filters |= {"projects": parse_filter(view.folder_filter), "sessions": parse_filter(view.filter)}
        self.wanted_folder, self.wanted_session = view.folder, view.session

    def view(self, session: str | None) -> ListView:
        """Return the state to save for the next run; `session` is the path of the session under the cursor."""
        return ListView(
            # If this run did not find the last run's folder or session, save that folder or session again.
            folder=self.wanted_folder or self.folder,
            session=self.wanted_session or session,
            filter=self.filters["sessions"].text,
            folder_filter=self.filters["projects"].text,
            sort=self.sort,
            named=self.named,
            show_path=self.show_path,
            by_repository=self.library.by_repository,
            all_open=self.folding.all_open,
            flipped=tuple(sorted(self.folding.flipped)),
        )

    @property
    def filter(self) -> Filter:
        """The filter of the session list."""
        return self.filters["sessions"]

    @property
    def shown_folder(self) -> str | None:
        """The folder whose sessions the list shows, None for all; during the first scan, the folder of the last run."""
        return self.wanted_folder if self.folder is None and self.awaits_folder else self.folder

    @property
    def effective_sort(self) -> str:
        """The sort order in use: `sort`, except that "recent" replaces "relevance" while there is no filter."""
        return "recent" if self.sort == "relevance" and self.filter.is_empty else self.sort

    @property
    def is_flat(self) -> bool:
        """True if no session is folded under another: with a filter, or in the sort order "threaded"."""
        return self.effective_sort == "threaded" or not self.filter.is_empty

    def choose_folder(self, folder: str | None) -> None:
        """Show the sessions of one folder, or with None of all folders."""
        self.folder = folder
        self.last_folder = folder if folder is not None else self.last_folder

    def other_folder(self, current: Summary | None) -> str | None:
        """Return the folder that the list shows when the user switches from "All folders" to one folder.

        It is the last chosen folder, else the current directory, else the folder of the session `current`. Folders that
        are not listed are skipped; None if no folder is left.
        """
        known = {row.cwd for row in self.projects}
        for folder in (self.last_folder, self.library.here, current.cwd if current is not None else None):
            if folder is not None and self.library.project_of(folder) in known:
                return self.library.project_of(folder)
        return None

    def project_rows(self, filter: Filter) -> Sequence[ProjectRow]:
        """Return the rows of the folder list that match a filter."""
        return self.library.projects(filter, hidden=self.hidden, archived=self.archived)

    def session_rows(self, filter: Filter) -> Sequence[SessionRow]:
        """Return the rows of the session list that match a filter."""
        return self.library.sessions(
            cwd=self.shown_folder,
            filter=filter,
            sort=self.effective_sort,
            named=self.named,
            hidden=self.hidden,
            archived=self.archived,
            folding=self.folding,
        )

    def is_in_scope(self, summary: Summary) -> bool:
        """Return True if the session list would show this session if no filter were active."""
        folder, project_of = self.shown_folder, self.library.project_of
        return (
            (folder is None or project_of(summary.cwd) == project_of(folder))
            and (not self.named or bool((summary.name or "").strip()))
            and summary.archived == self.archived
            and (self.hidden or not summary.hidden)
        )

    def directories(self) -> list[str]:
        """Return the working directories of all folders that the list shows, and of all sessions as they are stored."""
        shown = [directory for row in self.projects for directory in row.directories if directory]
        return list(dict.fromkeys([*shown, *self.library.directories()]))

    def go_to_wanted_folder(self, keys: Sequence[Hashable], *, was_moved: bool) -> None:
        """Choose the last run's folder once the list contains it; forget that folder if the user moved the cursor."""
        if was_moved:
            self.wanted_folder = None
        elif self.wanted_folder is not None:
            wanted = self.library.project_of(self.wanted_folder)
            if ("folder", wanted) in keys:
                self.choose_folder(wanted)
                self.wanted_folder = None

    def wanted_row(self, paths: Sequence[Hashable], *, was_moved: bool) -> str | None:
        """Return the path of the session to select first, as when the browser was left; None to select none."""
        if was_moved:
            self.wanted_session = None
        if self.wanted_session is None or self.wanted_folder is not None:
            return None
        return self.family_row(self.wanted_session, paths) or self.wanted_session

    def family_row(self, wanted: Hashable | None, paths: Sequence[Hashable]) -> str | None:
        """Return the path of the session under whose row a session is folded; None if it is not folded."""
        if not isinstance(wanted, str) or wanted in paths:
            return None
        family = self.library.family(wanted)
        return next((path for path in paths if isinstance(path, str) and path in family), None)


class ListFilter:
    """Applies a typed filter to the rows of a list; calls `answered` when the background search for a pattern ends."""

    def __init__(
        self, screen: CommandScreen[None], filters: dict[str, Filter], pane: str, answered: Callable[[], None]
    ) -> None:
        self._screen = screen
        self._filters = filters
        self._pane = pane
        self._answered = answered
        self._answers: PatternAnswers | None = None

    @property
    def is_waiting(self) -> bool:
        """True while the background search for the filter's pattern is running."""
        return self._answers is not None and self._answers.is_waiting

    def rows(self, rows_of: Callable[[Filter], Sequence[Row]]) -> Sequence[Row] | None:
        """Return the rows that match the filter; None while the background search for its pattern is running."""
        filter = self._filters[self._pane]
        pattern, answers = filter.query.pattern, self._answers
        if answers is not None and answers.pattern != pattern:
            answers.close()
            answers = self._answers = None
        if pattern is None:
            return rows_of(filter)
        if answers is None:
            answers = self._answers = PatternAnswers(self._screen, self._pane, pattern, self._answered)
        if answers.problem is not None:
            filter = self._filters[self._pane] = replace(filter, problem=answers.problem)
        rows = rows_of(replace(filter, pattern_is_in=answers.is_in))
        return None if answers.is_waiting else rows
