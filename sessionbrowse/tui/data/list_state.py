"""The state of the project and session lists: project, sort order, search, folds. It uses no widgets."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.remembered_views import ListView
from sessionbrowse.tui.data.library import Folding, Library, ProjectRow, SessionRow

if TYPE_CHECKING:
    from sessionbrowse.services.background.search_messages import ListScope
    from sessionbrowse.store.own.mirrors import MirrorState


class ListState:
    """The state of the project and session lists; `filtered` names the list to which the text line applies.

    `searched` is the query that the session list answers, "" without a search. `project_words` filter the projects.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.scanning = True
        """True during a scan of the disk."""
        self.project: str | None = None
        self.last_project: str | None = None
        self.sort = "newest"
        self.named = False
        self.hidden = False
        self.archived = False
        self.folding = Folding()
        self.show_path = False
        self.found_sort = "best"
        self.searched = ""
        self.project_words = ""
        self.filtered = "sessions"
        self.projects: Sequence[ProjectRow] = ()
        self.exists: dict[str, bool | None] = {}
        self.moved: dict[str, str] = {}
        self.machines: dict[str, MirrorState] = {}
        """The states of other machines at the last looks, by name."""
        # The project to open; None once it is open, or if the user moved the cursor.
        self.wanted_project: str | None = None
        self.wanted_session: str | None = None
        self.awaits_project = True
        """True until the first scan has ended, but at most some seconds: it may still find the project to open."""

    def restore(self, view: ListView) -> None:
        """Restore the sort orders, folded families and cursors that the last run saved."""
        self.sort, self.found_sort, self.show_path = view.sort, view.found_sort, view.show_path
        self.library.by_repository = view.by_repository
        self.folding = Folding(view.all_open, frozenset(view.flipped))
        self.wanted_project, self.wanted_session = view.project, view.session

    def view(self, session: str | None) -> ListView:
        """Return the state to save for the next run; `session` is the path of the session under the cursor."""
        return ListView(
            # If this run did not find the last run's session, save that session again.
            session=self.wanted_session or session,
            sort=self.sort,
            found_sort=self.found_sort,
            show_path=self.show_path,
            by_repository=self.library.by_repository,
            all_open=self.folding.all_open,
            flipped=tuple(sorted(self.folding.flipped)),
        )

    @property
    def is_waiting(self) -> bool:
        """True while the list waits until the first scan finds the project to open."""
        return self.project is None and self.awaits_project and self.wanted_project is not None

    @property
    def shown_project(self) -> str | None:
        """The project whose sessions the list shows, None for all; during the first scan, the project to open."""
        return self.wanted_project if self.is_waiting else self.project

    @property
    def effective_sort(self) -> str:
        """The sort order in use: that of search results, or of the list without a search."""
        return self.found_sort if self.searched else self.sort

    @property
    def is_flat(self) -> bool:
        """True if no session is folded under another: with a search, or in the sort order "threaded"."""
        return self.effective_sort == "threaded" or bool(self.searched)

    def choose_project(self, project: str | None) -> None:
        """Show the sessions of one project, or with None of all projects."""
        self.project = project
        self.last_project = project if project is not None else self.last_project

    def other_project(self, current: Summary | None) -> str | None:
        """Return the project that the list shows when the user switches from "All projects" to one project.

        It is the last chosen project, else the current directory, else the project of the session `current`. Projects
        that are not listed are skipped; None if no project is left.
        """
        known = {row.cwd for row in self.projects}
        for project in (self.last_project, self.library.here, current.cwd if current is not None else None):
            if project is not None and self.library.project_of(project) in known:
                return self.library.project_of(project)
        return None

    def project_rows(self) -> Sequence[ProjectRow]:
        """Return the rows of the project list."""
        return self.library.projects(self.project_words, hidden=self.hidden, archived=self.archived)

    def session_rows(self) -> Sequence[SessionRow]:
        """Return the rows of the session list without a search."""
        return self.library.sessions(self.chosen(), self.sort, self.folding)

    def scope(self) -> ListScope:
        """Return the limits of the list for the search program, which also knows hidden and archived sessions."""
        from sessionbrowse.services.background.search_messages import ListScope

        project, project_of = self.shown_project, self.library.project_of
        if project is None:
            return ListScope(None, self.named, self.archived)
        project = project_of(project)
        inside = [cwd for cwd in self.library.directories() if project_of(cwd) == project]
        return ListScope(frozenset([*inside, project]), self.named, self.archived)

    def chosen(self) -> list[Summary]:
        """Return the sessions of the list, without a search, newest first."""
        return self.library.newest_first(self.shown_project, self.named, self.hidden, self.archived)

    def directories(self) -> list[str]:
        """Return the directories of all projects that the list shows, and of all sessions as they are stored."""
        shown = [directory for row in self.projects for directory in row.directories if directory]
        return list(dict.fromkeys([*shown, *self.library.directories()]))

    def go_to_wanted_project(self, keys: Sequence[Hashable], *, was_moved: bool) -> None:
        """Choose the last run's project once the list contains it; forget that project if the user moved the cursor."""
        if was_moved:
            self.wanted_project = None
        elif self.wanted_project is not None:
            wanted = self.library.project_of(self.wanted_project)
            if ("project", wanted) in keys:
                self.choose_project(wanted)
                self.wanted_project = None
            elif self.library.uses_first_rows:
                # The saved rows name every project of the last run.
                self.awaits_project = False

    def wanted_row(self, paths: Sequence[Hashable], *, was_moved: bool) -> str | None:
        """Return the path of the session to select first, as when the browser was left; None to select none."""
        if was_moved:
            self.wanted_session = None
        if self.wanted_session is None or self.wanted_project is not None:
            return None
        return self.family_row(self.wanted_session, paths) or self.wanted_session

    def family_row(self, wanted: Hashable | None, paths: Sequence[Hashable]) -> str | None:
        """Return the path of the session under whose row a session is folded; None if it is not folded."""
        if not isinstance(wanted, str) or wanted in paths:
            return None
        family = self.library.family(wanted)
        return next((path for path in paths if isinstance(path, str) and path in family), None)
