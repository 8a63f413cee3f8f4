"""The state of the lists: folder, order, filters, folds. It computes the rows and knows no widget."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.remembered_views import ListView
from sessionbrowse.tui.lists.library import Filter, Folding, Library, ProjectRow, SessionRow, parse_filter


class ListState:
    """What the lists show. `filtered` names the list whose filter is typed in, or was last."""

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
        self.exists: dict[str, bool | None] = {}
        self.moved: dict[str, str] = {}
        # The rows under the cursors of the run before, until they come or the user moves a cursor.
        self.wanted_folder: str | None = None
        self.wanted_session: str | None = None

    def restore(self, view: ListView) -> None:
        """Take a remembered view."""
        self.sort, self.named, self.show_path = view.sort, view.named, view.show_path
        self.library.by_repository = view.by_repository
        self.folding = Folding(view.all_open, frozenset(view.flipped))
        self.filters = {"projects": parse_filter(view.folder_filter), "sessions": parse_filter(view.filter)}
        self.wanted_folder, self.wanted_session = view.folder, view.session

    def view(self, session: str | None) -> ListView:
        """Return the view to remember, with the cursor on the session at this path."""
        return ListView(
            # The rows may not have come yet: then the cursors are where they were left.
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
        """The filter of the sessions."""
        return self.filters["sessions"]

    @property
    def effective_sort(self) -> str:
        """The order in use: relevance needs a filter."""
        return "recent" if self.sort == "relevance" and self.filter.is_empty else self.sort

    @property
    def is_flat(self) -> bool:
        """Whether every session has a row of its own: threads and filters fold no families."""
        return self.effective_sort == "threaded" or not self.filter.is_empty

    def choose_folder(self, folder: str | None) -> None:
        """Show the sessions of one folder, or of all."""
        self.folder = folder
        self.last_folder = folder if folder is not None else self.last_folder

    def other_folder(self, rows: Sequence[ProjectRow], current: Summary | None) -> str | None:
        """Return the folder that the scope command goes to from all folders; None if there is none."""
        known = {row.cwd for row in rows}
        for folder in (self.last_folder, self.library.here, current.cwd if current is not None else None):
            if folder is not None and folder in known:
                return folder
        return None

    def project_rows(self, filter: Filter) -> Sequence[ProjectRow]:
        """Return the rows of the folders."""
        return self.library.projects(filter, hidden=self.hidden, archived=self.archived)

    def session_rows(self, filter: Filter, now_ms: float | None) -> Sequence[SessionRow]:
        """Return the rows of the sessions; `now_ms` None leaves out the age groups."""
        return self.library.sessions(
            cwd=self.folder,
            filter=filter,
            sort=self.effective_sort,
            named=self.named,
            hidden=self.hidden,
            archived=self.archived,
            folding=self.folding,
            now_ms=now_ms,
        )

    def family_row(self, wanted: Hashable | None, paths: Sequence[Hashable]) -> str | None:
        """Return the path of the row that a folded session's family has; None if the session has a row itself."""
        if not isinstance(wanted, str) or wanted in paths:
            return None
        family = self.library.family(wanted)
        return next((path for path in paths if isinstance(path, str) and path in family), None)
