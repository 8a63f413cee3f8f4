"""The first screen: folders, their sessions, and a preview side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.store.own.remembered_views import ListView
from sessionbrowse.tui.commands.command import Here
from sessionbrowse.tui.commands.contexts import LIST, PREVIEW, PROJECTS, SESSIONS
from sessionbrowse.tui.lists.filter import rows_left, say_found, set_query
from sessionbrowse.tui.lists.lazy_rows import OnDemand
from sessionbrowse.tui.lists.library import Filter, Folding, Library, ProjectRow, SessionRow, parse_filter, same_names
from sessionbrowse.tui.lists.preview import Preview
from sessionbrowse.tui.lists.rows import ListStyle, directory_state, project_row, session_row
from sessionbrowse.tui.lists.scan_updates import Arrivals
from sessionbrowse.tui.lists.titles import Chosen, facts_line, no_sessions_sentence, path_line, sessions_title
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.reading.views import ViewedEntry
from sessionbrowse.tui.shell.jobs import Outcome
from sessionbrowse.tui.shell.paned_screen import PanedScreen
from sessionbrowse.tui.shell.pattern_answers import PatternAnswers
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import RowList, RowState
from sessionbrowse.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from sessionbrowse.tui.shell.session_updates import SessionUpdates

PANES = ("projects", "sessions", "preview")


class BrowseScreen(PanedScreen):
    """Projects, sessions, preview."""

    IS_FIRST = True
    ACTIONS = (
        "search.open_search:OpenSearch",
        "changes.rename:Naming",
        "changes.files:Files",
        "changes.relocate:Moving",
        "lists.selection:Selecting",
        "changes.undo:Undoing",
        "outside.copying:Copying",
        "lists.filter:ListFilter",
        "lists.ordering:Arranging",
        "resume.resume:Resuming",
        "resume.custom_commands:OwnCommands",
    )

    def __init__(self, library: Library) -> None:
        super().__init__(name="browse")
        # As it is when it is laid out: styles are computed once.
        self.add_class("-preview-shown", "-at-sessions", update=False)
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
        self.pattern_answers: dict[str, PatternAnswers] = {}
        self._top_is_due = False
        self._projects: Sequence[ProjectRow] = ()
        self._sessions: Sequence[SessionRow] = ()
        self.exists: dict[str, bool | None] = {}
        self.moved: dict[str, str] = {}
        # Where the cursors were left, until the rows come or the user goes elsewhere.
        self.wanted_folder: str | None = None
        self.wanted_session: str | None = None
        self._ambiguous: frozenset[str] = frozenset()
        self._arrivals = Arrivals(self)
        self._preview = Preview(self)

    # -- layout -------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out bar, panes, filter line and footer."""
        yield Bar(id="header")
        with Horizontal(id="panes"):
            yield RowList(self._render_project, id="projects", classes="pane")
            yield RowList(self._render_session, id="sessions", classes="pane")
            yield TextView(id="preview", classes="pane", empty="Choose a session to see what was said in it.")
        yield FilterLine(id="filter")
        yield KeyBar(id="footer")

    def on_mount(self) -> None:
        """Show what there is and read the rest."""
        self.exists = self.browser.exists
        self._restore_view(self.browser.memory.lists)
        self.query_one("#projects", RowList).border_title = "Folders"
        self.query_one("#preview", TextView).border_title = "Preview"
        self.set_focus(self.sessions_list)
        if not self.filters["sessions"].is_empty:
            self.query_one(FilterLine).show_kept("/", self.filters["sessions"].text)
        self.refresh_rows()
        self.call_after_refresh(self._ask_pins)
        self.adopt(self.browser.scan_lane)
        self.adopt(self.browser.event_lane)
        self.set_interval(30, self.sessions_list.refresh)

    def _restore_view(self, view: ListView) -> None:
        self.sort, self.named, self.show_path = view.sort, view.named, view.show_path
        self.set_class(view.preview, "-preview-shown")
        self.library.by_repository = view.by_repository
        self.folding = Folding(view.all_open, frozenset(view.flipped))
        self.filters = {"projects": parse_filter(view.folder_filter), "sessions": parse_filter(view.filter)}
        self.widths = dict(view.widths)
        self.wanted_folder, self.wanted_session = view.folder, view.session

    @property
    def view(self) -> ListView:
        """How the lists stand, for the next run."""
        summary = self.current
        return ListView(
            # The rows may not have come yet: then the cursors are where they were left.
            folder=self.wanted_folder or self.folder,
            session=self.wanted_session or (summary.path if summary is not None else None),
            filter=self.filters["sessions"].text,
            folder_filter=self.filters["projects"].text,
            sort=self.sort,
            named=self.named,
            show_path=self.show_path,
            preview=self.has_class("-preview-shown"),
            by_repository=self.library.by_repository,
            all_open=self.folding.all_open,
            flipped=tuple(sorted(self.folding.flipped)),
            widths=dict(self.widths),
        )

    @property
    def projects_list(self) -> RowList:
        """The folders."""
        return self.query_one("#projects", RowList)

    @property
    def sessions_list(self) -> RowList:
        """The sessions of the chosen folder."""
        return self.query_one("#sessions", RowList)

    @property
    def preview(self) -> TextView:
        """The preview."""
        return self.query_one("#preview", TextView)

    @property
    def pane(self) -> str:
        """The pane that has the keys, or whose filter is being typed."""
        focused = self.focused
        if focused is not None and focused.id in PANES:
            return focused.id
        return self.filtered if self.typing else "sessions"

    @property
    def filtered_list(self) -> RowList:
        """The list that is or was filtered last."""
        return self.projects_list if self.filtered == "projects" else self.sessions_list

    def nearest_places(self) -> tuple[str, ...]:
        """The pane, then the screen."""
        return ({"projects": PROJECTS, "sessions": SESSIONS, "preview": PREVIEW}[self.pane], LIST)

    def here(self) -> Here:
        """Return what commands may ask."""
        pane = self.pane
        rows = self.projects_list.count if pane == "projects" else self.sessions_list.count
        row = self.current_row
        return Here(
            has_rows=rows > 0,
            has_session=self.current is not None,
            has_family=row is not None and bool(row.family or row.prefix) and not self._is_flat,
            folds_families=not self._is_flat,
            has_filter=not self.filters["sessions"].is_empty,
            has_folder=self.folder is not None or self.other_folder() is not None,
            has_project=bool(self.project),
        )

    @property
    def current(self) -> Summary | None:
        """The session under the cursor."""
        return self.library.get(self.sessions_list.key)

    @property
    def project(self) -> str | None:
        """The directory of the folder under the cursor, or of the session in the other panes."""
        if self.pane == "projects":
            # Of the row itself: the sessions beside it may not be chosen yet when keys come fast.
            key = self.projects_list.key
            return key[1] if isinstance(key, tuple) else None
        return self.current.cwd if self.current is not None else None

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions that a change is for: those that are selected and shown, else the one under the cursor."""
        marks = self.sessions_list.marks
        selected = [row.summary for row in self._sessions if row.summary.path in marks] if marks else []
        return selected or ([self.current] if self.current is not None else [])

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Show what a change left."""
        self.refresh_rows()
        if self.current is not None and self.current.path in updates.paths and self.has_class("-preview-shown"):
            self._preview.changed()

    @property
    def subject(self) -> Summary | None:
        """The session under the cursor."""
        return self.current

    @property
    def current_row(self) -> SessionRow | None:
        """The row under the cursor."""
        return self._sessions[self.sessions_list.cursor] if self._sessions else None

    @property
    def _is_flat(self) -> bool:
        """Whether the list shows every session by itself: threads, and what a filter finds."""
        return self.effective_sort == "threaded" or not self.filters["sessions"].is_empty

    def other_folder(self) -> str | None:
        """Return the folder that the scope goes to from all folders; None if there is none."""
        known = {row.cwd for row in self._projects}
        for folder in (self.last_folder, self.library.here, self.current.cwd if self.current else None):
            if folder is not None and folder in known:
                return folder
        return None

    def moving(self) -> RowList | TextView | None:
        """The focused pane; while a filter is typed, its list."""
        return self.filtered_list if self.typing else super().moving()

    # -- rows ---------------------------------------------------------------------------------------------------

    def refresh_rows(self, *, top: bool = False) -> None:
        """Compute all rows anew; the cursors stay on their rows, or go to the `top`."""
        self.refresh_projects()
        self.refresh_sessions(top=top)
        self.refresh_header()

    def refresh_projects(self) -> None:
        """Compute the rows of the folders anew; the cursor stays on its row."""
        rows = rows_left(
            self, "projects", lambda query: self.library.projects(query, hidden=self.hidden, archived=self.archived)
        )
        if rows is None:
            return
        self._projects = rows
        keys = [("folder", row.cwd) for row in self._projects]
        self._go_to_wanted_folder(keys)
        self._ambiguous = same_names([row.cwd for row in self._projects if row.cwd])
        self.projects_list.set_rows(keys, cursor=("folder", self.folder))
        self.projects_list.border_subtitle = f"{max(0, len(self._projects) - 1):,}"
        say_found(self)

    def refresh_sessions(self, *, top: bool = False, cursor: Hashable | None = None) -> None:
        """Compute the rows of the sessions anew; the cursor stays on its row, or goes to the `top` or to `cursor`."""
        top, rows = top or self._top_is_due, rows_left(self, "sessions", self._rows_of)
        self._top_is_due = top and rows is None
        if rows is None:
            # The rows of before stay.
            say_found(self)
            return
        self._sessions = rows
        paths = OnDemand(self._sessions, _path_of)
        marks = self.sessions_list.marks
        self.sessions_list.marks = {path for path in marks if self.library.get(path) is not None}
        wanted = paths[0] if top and paths else self._shown(cursor or self.sessions_list.key, paths) or cursor
        empty = no_sessions_sentence(self._chosen_rows(), self.browser.keys.key_of)
        self.sessions_list.set_rows(paths, cursor=wanted, empty=empty)
        self._go_to_wanted_session()
        self._refresh_titles()
        say_found(self)
        self.update_footer()

    def _rows_of(self, query: Filter) -> Sequence[SessionRow]:
        return self.library.sessions(
            cwd=self.folder,
            filter=query,
            sort=self.effective_sort,
            named=self.named,
            hidden=self.hidden,
            archived=self.archived,
            folding=self.folding,
            now_ms=self.browser.now_ms() if self.browser.options.settings.age_groups else None,
        )

    def _go_to_wanted_folder(self, keys: Sequence[Hashable]) -> None:
        if self.projects_list.was_moved:
            self.wanted_folder = None
        elif self.wanted_folder is not None and ("folder", self.wanted_folder) in keys:
            self.folder = self.last_folder = self.wanted_folder
            self.wanted_folder = None

    def _go_to_wanted_session(self) -> None:
        if self.sessions_list.was_moved:
            self.wanted_session = None
        elif self.wanted_session is not None and self.wanted_folder is None:
            found = self._shown(self.wanted_session, self.sessions_list.keys) or self.wanted_session
            if self.sessions_list.go_to_key(found):
                self.wanted_session = None

    @property
    def sized_pane(self) -> tuple[str, int]:
        """The pane whose width is changed, and whether wider means more (1) or less (-1) of it."""
        return ("preview", 1) if self.pane == "preview" else ("projects", 1 if self.pane == "projects" else -1)

    def on_resize(self, event: events.Resize) -> None:
        """Apply the widths, and show in the bar what it has room for."""
        super().on_resize(event)
        self.refresh_header()

    @property
    def effective_sort(self) -> str:
        """The order in force: with a filter, threads and the newest give way to nothing, relevance is an order too."""
        if self.sort == "relevance" and self.filters["sessions"].is_empty:
            return "recent"
        return self.sort

    def _refresh_titles(self) -> None:
        title = sessions_title(self._chosen_rows(), self.browser.home, self._count_selected())
        self.sessions_list.border_title = title
        count = len(self._sessions)
        folded = 0 if self._is_flat else sum([row.family for row in self._sessions if not row.is_open])
        if self.library.is_opening and self.filters["sessions"].is_empty and not self.named:
            # Only the first rows are here, but all are counted.
            count, folded = next((row.sessions for row in self._projects if row.cwd == self.folder), count), 0
        self.sessions_list.border_subtitle = f"{count:,}" + (f" + {folded:,} folded" if folded else "")

    def _count_selected(self) -> tuple[int, int]:
        """Return how many selected sessions are shown, and how many are not."""
        marks = self.sessions_list.marks
        shown = sum([row.summary.path in marks for row in self._sessions]) if marks else 0
        return shown, len(marks) - shown

    def position(self) -> str:
        """Return where the cursor stands, and how many sessions are selected."""
        selected = self._count_selected()[0]
        return f"✓{selected:,}  {super().position()}" if selected else super().position()

    def refresh_header(self) -> None:
        """Show where we are, how many sessions there are and how the reading goes."""
        sessions, folders = self.library.counts(hidden=self.hidden, archived=self.archived)
        left = path_line(self.folder, self.browser.home)
        right = facts_line(sessions, folders, self._arrivals.under_way, self._arrivals.failure, self.size.width)
        self.query_one("#header", Bar).show([*left, *self.browser.scope_note()], right)

    def _chosen_rows(self) -> Chosen:
        return Chosen(
            folder=self.folder,
            filter=self.filters["sessions"],
            sort=self.effective_sort,
            named=self.named,
            archived=self.archived,
            scanning=self._arrivals.scanning,
        )

    def _render_project(self, index: int, width: int, state: RowState) -> Line:
        row = self._projects[index]
        state_of = directory_state(row.directories, self.exists, self.moved)
        return project_row(row, width, self.browser.home, state_of, ambiguous=row.cwd in self._ambiguous)

    def _render_session(self, index: int, width: int, state: RowState) -> Line:
        return session_row(self._sessions[index], width, self._list_style())

    def _list_style(self) -> ListStyle:
        return ListStyle(
            now_ms=self.browser.now_ms(),
            home=self.browser.home,
            show_path=self.show_path,
            show_folder=self.folder is None,
            dates=self.browser.options.settings.date_style,
            in_use=self._arrivals.in_use,
            fields=self.browser.options.settings.row_fields,
        )

    # -- what arrives from the background -----------------------------------------------------------------------

    def take_scan(self, outcome: Outcome) -> None:
        """Take a batch of sessions, or the end of the scan."""
        self._arrivals.take_scan(outcome)

    def take_event(self, outcome: Outcome) -> None:
        """Take an event of the disk monitor."""
        self._arrivals.take_event(outcome)

    def _ask_pins(self) -> None:
        browser = self.browser
        self.lane("pins").ask(lambda job: browser.source.pins())

    def ask_directories(self) -> None:
        """Ask the disk which folders are there, and which belong together."""
        from sessionbrowse.tui.lists.ordering import look_at

        folders = [directory for row in self._projects for directory in row.directories if directory]
        source = self.browser.source
        self.lane("directories").ask(lambda job: look_at(source, folders))

    def take_directories(self, outcome: Outcome) -> None:
        """Mark the folders that are gone, and learn which belong together."""
        from sessionbrowse.tui.lists.ordering import DirectoryFacts

        if isinstance(outcome.value, DirectoryFacts):
            self.exists.update(outcome.value.exists)
            self.moved = outcome.value.moved
            self.library.know_repositories(outcome.value.repositories)
            if self.library.by_repository:
                self.refresh_rows()
            self.projects_list.refresh()

    def take_pins(self, outcome: Outcome) -> None:
        """Show what is pinned first."""
        if outcome.error is not None:
            self.browser.say(f"The pin cannot be kept: {outcome.error}.", "error")
        elif isinstance(outcome.value, Pins):
            self.library.pins = outcome.value
            self.refresh_sessions()

    def fold(self, folding: Folding) -> None:
        """Fold or open families."""
        self.folding = folding
        self.refresh_sessions()

    def _shown(self, wanted: Hashable | None, paths: Sequence[Hashable]) -> str | None:
        """Return who stands for a session that is folded away; None if it is not."""
        if not isinstance(wanted, str) or wanted in paths:
            return None
        family = self.library.family(wanted)
        return next((path for path in paths if isinstance(path, str) and path in family), None)

    def take_preview(self, outcome: Outcome) -> None:
        """Show the conversation of the session under the cursor."""
        self._preview.take(outcome)

    # -- the cursor ---------------------------------------------------------------------------------------------

    @on(RowList.Highlighted, "#projects")
    def _folder_highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        if not isinstance(event.key, tuple) or event.key != self.projects_list.key:
            return  # word of a row that the cursor has left since
        folder = event.key[1]
        if folder != self.folder:
            self.folder = folder
            self.last_folder = folder if folder is not None else self.last_folder
            self.refresh_sessions(top=True)
            self.refresh_header()

    @on(RowList.Highlighted, "#sessions")
    def _session_highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        self._preview.show()
        self.update_footer()

    @on(RowList.Marked, "#sessions")
    def _sessions_marked(self, event: RowList.Marked) -> None:
        event.stop()
        self._refresh_titles()
        self.update_footer()

    @on(RowList.Entered)
    def _row_entered(self, event: RowList.Entered) -> None:
        event.stop()
        self.do_open()

    @property
    def busy(self) -> bool:
        """Whether background work, or the wait before a preview, is under way."""
        return super().busy or self._preview.due or self._arrivals.refresh_due or self._arrivals.announcing.due

    def on_screen_resume(self) -> None:
        """Look at the session again when coming back: it may have grown."""
        self._preview.seen_again()
        self.update_footer()

    # -- commands -----------------------------------------------------------------------------------------------

    def do_open(self) -> None:
        """Go in."""
        if self.pane == "projects":
            self.set_focus(self.sessions_list)
            return
        summary = self.current
        if summary is not None:
            self.browser.show_session(summary)

    def do_back(self) -> None:
        """Clear the selection, then the filter, then go to the pane on the left."""
        pane = self.pane if self.pane != "preview" else "sessions"
        if self.pane == "preview":
            self.set_focus(self.sessions_list)
        elif pane == "sessions" and self.sessions_list.marks:
            self.sessions_list.clear_marks()
        elif not self.filters[pane].is_empty:
            set_query(self, pane, "")
        elif pane == "sessions":
            self.set_focus(self.projects_list)
        elif self.folder is not None:
            self.projects_list.go_first()
        elif self.browser.options.pick is not None:
            self.browser.leave()

    def do_pane_left(self) -> None:
        """Focus the pane on the left."""
        self._step(-1)

    def do_pane_right(self) -> None:
        """Focus the pane on the right."""
        self._step(1)

    def _step(self, delta: int) -> None:
        at = PANES.index(self.pane) + delta
        if 0 <= at < len(PANES):
            if PANES[at] == "preview":
                self._set_preview(True)
            self.set_focus(self.query_one(f"#{PANES[at]}"))

    def focus_changed(self) -> None:
        """Tell the style sheet which pane has the keys: narrow screens show only some."""
        self.update_classes({f"-at-{pane}": self.pane == pane for pane in PANES})
        super().focus_changed()

    def text_changed(self, text: str) -> None:
        """Filter while typing."""
        if text != self.filters[self.filtered].text:
            set_query(self, self.filtered, text, keep_line=True)

    def do_preview(self) -> None:
        """Show or hide the preview."""
        self._set_preview(not self.has_class("-preview-shown"))

    def _set_preview(self, shown: bool) -> None:
        if shown == self.has_class("-preview-shown"):
            return
        self.set_class(shown, "-preview-shown")
        if shown:
            self._preview.show()
        elif self.pane == "preview":
            self.set_focus(self.sessions_list)

    @property
    def viewed_entry(self) -> ViewedEntry | None:
        """What copies are made of."""
        summary = self.current
        return ViewedEntry(summary=summary) if summary is not None else None

    def do_reload(self) -> None:
        """Read the disk again."""
        self._arrivals.begin()
        self.browser.start_scan(include_hidden=self.hidden or self.archived)


def _path_of(row: SessionRow) -> str:
    return row.summary.path
