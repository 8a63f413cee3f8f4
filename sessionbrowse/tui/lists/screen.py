"""The first screen: folders, their sessions, and a preview side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.remembered_views import ListView
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.commands.contexts import LIST, PREVIEW, PROJECTS, SESSIONS
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.data.lazy_rows import LazyRows
from sessionbrowse.tui.data.library import Folding, Library, SessionRow, parse_filter, same_names
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.lists.preview import Preview
from sessionbrowse.tui.lists.rows import ListStyle, directory_state, project_row, session_row
from sessionbrowse.tui.lists.scan_updates import ScanUpdates
from sessionbrowse.tui.lists.state import ListFilter, ListState
from sessionbrowse.tui.lists.titles import facts_line, no_sessions_sentence, path_line, sessions_title
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import plural
from sessionbrowse.tui.reading.views import ViewedEntry
from sessionbrowse.tui.shell.paned_screen import PanedScreen
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import RowList, RowState
from sessionbrowse.tui.widgets.text_view import TextView

PANES = ("projects", "sessions", "preview")


class BrowseScreen(PanedScreen):
    """Projects, sessions, preview."""

    IS_FIRST = True

    def __init__(self, library: Library) -> None:
        super().__init__(name="browse")
        # As it is when it is laid out: styles are computed once.
        self.add_class("-preview-shown", "-at-sessions", update=False)
        self.state = ListState(library)
        self._sessions: Sequence[SessionRow] = ()
        self._folder_filter = ListFilter(self, self.state.filters, "projects", self.refresh_projects)
        self._session_filter = ListFilter(self, self.state.filters, "sessions", self.refresh_sessions)
        self._top_is_due = False
        self._ambiguous: frozenset[str] = frozenset()
        self.updates = ScanUpdates(self)
        self.preview = Preview(self, self.state)

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
        view = self.browser.memory.lists
        self.state.exists = self.browser.exists
        self.state.restore(view)
        self.widths = dict(view.widths)
        self.set_class(view.preview, "-preview-shown")
        self.query_one("#projects", RowList).border_title = "Folders"
        self.query_one("#preview", TextView).border_title = "Preview"
        self.set_focus(self.sessions_list)
        if not self.state.filter.is_empty:
            self.query_one(FilterLine).show_kept("/", self.state.filter.text)
        self.refresh_rows()
        self.call_after_refresh(self.updates.ask_pins)
        self.adopt(self.browser.scan_lane, self.updates.take_scan)
        self.adopt(self.browser.event_lane, self.updates.take_event)
        self.set_interval(30, self.sessions_list.refresh)

    @property
    def view(self) -> ListView:
        """How the screen stands, to be remembered."""
        path = self.subject.path if self.subject is not None else None
        shown = self.has_class("-preview-shown")
        return replace(self.state.view(path), preview=shown, widths=dict(self.widths))

    @property
    def projects_list(self) -> RowList:
        """The folders."""
        return self.query_one("#projects", RowList)

    @property
    def sessions_list(self) -> RowList:
        """The sessions of the chosen folder."""
        return self.query_one("#sessions", RowList)

    @property
    def pane(self) -> str:
        """The pane that has the keys, or whose filter is being typed."""
        focused = self.focused
        if focused is not None and focused.id in PANES:
            return focused.id
        return self.state.filtered if self.typing else "sessions"

    @property
    def filtered_list(self) -> RowList:
        """The list that is or was filtered last."""
        return self.projects_list if self.state.filtered == "projects" else self.sessions_list

    def contexts(self) -> tuple[str, ...]:
        """The pane, then the screen."""
        return ({"projects": PROJECTS, "sessions": SESSIONS, "preview": PREVIEW}[self.pane], LIST)

    def command_context(self) -> CommandContext:
        """Return what commands may ask."""
        pane = self.pane
        rows = self.projects_list.count if pane == "projects" else self.sessions_list.count
        row = self._sessions[self.sessions_list.cursor] if self._sessions else None
        return CommandContext(
            has_rows=rows > 0,
            has_session=self.subject is not None,
            has_family=row is not None and bool(row.family or row.prefix) and not self.state.is_flat,
            folds_families=not self.state.is_flat,
            has_filter=not self.state.filter.is_empty,
            has_folder=self.state.folder is not None or self.state.other_folder(self.subject) is not None,
            has_project=bool(self.project),
        )

    @property
    def subject(self) -> Summary | None:
        """The session under the cursor."""
        return self.state.library.get(self.sessions_list.key)

    @property
    def project(self) -> str | None:
        """The directory of the folder under the cursor, or of the session in the other panes."""
        if self.pane == "projects":
            # Of the row itself: the sessions beside it may not be chosen yet when keys come fast.
            key = self.projects_list.key
            return key[1] if isinstance(key, tuple) else None
        return self.subject.cwd if self.subject is not None else None

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions that a change is for: those that are selected and shown, else the one under the cursor."""
        marks = self.sessions_list.marks
        selected = [row.summary for row in self._sessions if row.summary.path in marks] if marks else []
        return selected or ([self.subject] if self.subject is not None else [])

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Show what a change left."""
        self.refresh_rows()
        if self.subject is not None and self.subject.path in updates.paths and self.has_class("-preview-shown"):
            self.preview.changed()

    def reveal(self, key: Hashable) -> bool:
        """Put the cursor on a folder (a tuple) or on the session at a path; return whether it has a row."""
        return (self.projects_list if isinstance(key, tuple) else self.sessions_list).go_to_key(key)

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
        rows = self._folder_filter.rows(self.state.project_rows)
        if rows is None:
            return
        self.state.projects = rows
        keys = [("folder", row.cwd) for row in self.state.projects]
        self.state.go_to_wanted_folder(keys, was_moved=self.projects_list.was_moved)
        self._ambiguous = same_names([row.cwd for row in self.state.projects if row.cwd])
        self.projects_list.set_rows(keys, cursor=("folder", self.state.folder))
        self.projects_list.border_subtitle = f"{max(0, len(self.state.projects) - 1):,}"
        self.say_found()

    def refresh_sessions(self, *, top: bool = False, cursor: Hashable | None = None) -> None:
        """Compute the rows of the sessions anew; the cursor stays on its row, or goes to the `top` or to `cursor`."""
        grouped = self.browser.options.settings.age_groups
        now_ms = self.browser.now_ms() if grouped else None
        rows = self._session_filter.rows(lambda filter: self.state.session_rows(filter, now_ms))
        top = top or self._top_is_due
        self._top_is_due = top and rows is None
        if rows is None:
            # The rows of before stay.
            self.say_found()
            return
        self._sessions = rows
        paths = LazyRows(self._sessions, _path_of)
        sessions, library = self.sessions_list, self.state.library
        sessions.marks = {path for path in sessions.marks if library.get(path) is not None}
        wanted = paths[0] if top and paths else self.state.family_row(cursor or sessions.key, paths) or cursor
        empty = no_sessions_sentence(self.state, self.updates.scanning, self.browser.keys.key_of)
        sessions.set_rows(paths, cursor=wanted, empty=empty)
        found = self.state.wanted_row(sessions.keys, was_moved=sessions.was_moved)
        if found is not None and sessions.go_to_key(found):
            self.state.wanted_session = None
        self._refresh_titles()
        self.say_found()
        self.update_footer()

    def set_filter(self, pane: str, text: str, *, keep_line: bool = False) -> None:
        """Filter a list; `keep_line` leaves its line open."""
        state = self.state
        state.filters[pane] = parse_filter(text)
        if pane == "projects":
            # The sessions stay, unless the cursor has to go to another folder.
            self.refresh_projects()
            self.say_found()
            self.update_footer()
        else:
            # A filter goes to its best hit; without one the cursor stays on the session that was found.
            found = self.sessions_list.key if state.filter.is_empty else None
            self.refresh_sessions(top=found is None, cursor=found)
            if found is not None and self.sessions_list.key != found:
                # It is in a folded family.
                self.fold(state.folding.flip(state.library.family(str(found))))
                self.sessions_list.go_to_key(found)
        if not keep_line:
            self.query_one(FilterLine).close()

    def say_found(self) -> None:
        """Show in the filter line the number of matches, or the problem of the pattern."""
        line = self.query_one(FilterLine)
        if not line.display:
            return
        problem = self.state.filters[self.state.filtered].problem
        rows = self.projects_list.count - 1 if self.state.filtered == "projects" else self.sessions_list.count
        filter = self._folder_filter if self.state.filtered == "projects" else self._session_filter
        if problem is not None:
            line.say([(problem, "error")])
        elif filter.is_waiting:
            line.say([("searching …", "accent")])
        else:
            line.say([(plural(rows, "match", "matches"), "dim")])

    @property
    def sized_pane(self) -> tuple[str, int]:
        """The pane whose width is changed, and whether wider means more (1) or less (-1) of it."""
        return ("preview", 1) if self.pane == "preview" else ("projects", 1 if self.pane == "projects" else -1)

    def on_resize(self, event: events.Resize) -> None:
        """Apply the widths, and show in the bar what it has room for."""
        super().on_resize(event)
        self.refresh_header()

    def _refresh_titles(self) -> None:
        title = sessions_title(self.state, self.browser.home, self._count_selected())
        self.sessions_list.border_title = title
        count = len(self._sessions)
        folded = 0 if self.state.is_flat else sum([row.family for row in self._sessions if not row.is_open])
        if self.state.library.is_opening and self.state.filter.is_empty and not self.state.named:
            # Only the first rows are here, but all are counted.
            count, folded = (
                next((row.sessions for row in self.state.projects if row.cwd == self.state.folder), count),
                0,
            )
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
        state, updates = self.state, self.updates
        sessions, folders = state.library.counts(hidden=state.hidden, archived=state.archived)
        left = path_line(state.folder, self.browser.home)
        right = facts_line(sessions, folders, updates.progress, updates.failure, self.size.width)
        self.query_one("#header", Bar).show([*left, *self.browser.scope_note()], right)

    def _render_project(self, index: int, width: int, state: RowState) -> Line:
        row = self.state.projects[index]
        state_of = directory_state(row.directories, self.state.exists, self.state.moved)
        return project_row(row, width, self.browser.home, state_of, ambiguous=row.cwd in self._ambiguous)

    def _render_session(self, index: int, width: int, state: RowState) -> Line:
        browser, settings = self.browser, self.browser.options.settings
        style = ListStyle(
            now_ms=browser.now_ms(),
            home=browser.home,
            show_path=self.state.show_path,
            show_folder=self.state.folder is None,
            dates=settings.date_style,
            in_use=self.updates.in_use,
            fields=settings.row_fields,
        )
        return session_row(self._sessions[index], width, style)

    def fold(self, folding: Folding) -> None:
        """Fold or open families."""
        self.state.folding = folding
        self.refresh_sessions()

    # -- the cursor ---------------------------------------------------------------------------------------------

    @on(RowList.Highlighted, "#projects")
    def _folder_highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        if not isinstance(event.key, tuple) or event.key != self.projects_list.key:
            return  # the cursor has left this row since
        folder = event.key[1]
        if folder != self.state.folder:
            self.state.choose_folder(folder)
            self.refresh_sessions(top=True)
            self.refresh_header()

    @on(RowList.Highlighted, "#sessions")
    def _session_highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        self.preview.show()
        self.update_footer()

    @on(RowList.Marked, "#sessions")
    def _sessions_marked(self, event: RowList.Marked) -> None:
        event.stop()
        self._refresh_titles()
        self.update_footer()

    @on(RowList.Entered)
    def _row_entered(self, event: RowList.Entered) -> None:
        event.stop()
        self.give(BY_ID["open"])

    @property
    def busy(self) -> bool:
        """True if background work, or the wait before a preview, is under way."""
        return super().busy or self.preview.due or self.updates.refresh_due or self.updates.throttle.due

    def on_screen_resume(self) -> None:
        """Look at the session again when coming back: it may have grown."""
        self.preview.seen_again()
        self.update_footer()

    # -- panes --------------------------------------------------------------------------------------------------

    def focus_changed(self) -> None:
        """Tell the style sheet which pane has the keys: narrow screens show only some."""
        self.update_classes({f"-at-{pane}": self.pane == pane for pane in PANES})
        super().focus_changed()

    def text_changed(self, text: str) -> None:
        """Filter while typing."""
        if text != self.state.filters[self.state.filtered].text:
            self.set_filter(self.state.filtered, text, keep_line=True)

    @property
    def viewed_entry(self) -> ViewedEntry | None:
        """What copies are made of."""
        summary = self.subject
        return ViewedEntry(summary=summary) if summary is not None else None


def _path_of(row: SessionRow) -> str:
    return row.summary.path
