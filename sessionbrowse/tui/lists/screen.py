"""The browser's first screen: folders, their sessions, and a preview side by side."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.remembered_views import ListView
from sessionbrowse.text import plural, width
from sessionbrowse.tui.commands.command import CommandContext
from sessionbrowse.tui.commands.contexts import LIST, PREVIEW, PROJECTS, SESSIONS
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.data.lazy_rows import LazyRows
from sessionbrowse.tui.data.library import Folding, Library, SessionRow, parse_filter
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.data.spellings import same_names
from sessionbrowse.tui.lists.preview import Preview
from sessionbrowse.tui.lists.rows import ListStyle, directory_state, project_row, session_row
from sessionbrowse.tui.lists.said import SaidSessions
from sessionbrowse.tui.lists.scan_updates import ScanUpdates
from sessionbrowse.tui.lists.state import ListFilter, ListState
from sessionbrowse.tui.lists.titles import facts_line, no_sessions_sentence, path_line, sessions_title
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import folder_name
from sessionbrowse.tui.reading.views import ViewedEntry
from sessionbrowse.tui.shell.paned_screen import PanedScreen
from sessionbrowse.tui.widgets.bars import Bar, KeyBar
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import RowList, RowState
from sessionbrowse.tui.widgets.text_view import TextView

WIDEST_FOLDER = 24
"""Maximum width in cells of the folder column in a session's row; short folder names make the column narrower."""
PANES = ("projects", "sessions", "preview")


class BrowseScreen(PanedScreen):
    """The browser's first screen: the folder list, the session list, and the preview of a session."""

    IS_FIRST = True
    TYPES_INTO = "filter"
    ELSEWHERE: ClassVar = {
        PROJECTS: (SESSIONS, "this command works in the list of sessions", "pane_right"),
        PREVIEW: (SESSIONS, "this command works in the list of sessions", "pane_left"),
    }

    def __init__(self, library: Library) -> None:
        super().__init__(name="browse")
        # At the start, the preview is usually shown and the session list focused. Set the CSS classes for both before
        # the first layout, so that styles are computed only once.
        self.add_class("-preview-shown", "-at-sessions", update=False)
        self.state = ListState(library)
        self._sessions: Sequence[SessionRow] = ()
        self._folder_filter = ListFilter(self, self.state.filters, "projects", self.refresh_projects)
        self._session_filter = ListFilter(self, self.state.filters, "sessions", self.refresh_sessions)
        self._top_is_due = False
        self._named_count = 0
        self._ambiguous: frozenset[str] = frozenset()
        self._folder_cells = WIDEST_FOLDER
        self._followed_key: Hashable | None = None
        self.updates = ScanUpdates(self)
        self.said = SaidSessions(self, self.state, self.refresh_sessions)
        self.preview = Preview(self, self.state, self.said, lambda: self.updates.scanning)

    # -- layout -------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Make the widgets of the first screen: top bar, three panes, filter line, footer."""
        yield Bar(id="header")
        with Horizontal(id="panes"):
            yield RowList(self._render_project, id="projects", classes="pane")
            yield RowList(self._render_session, id="sessions", classes="pane")
            yield TextView(id="preview", classes="pane", empty="")
        yield FilterLine(id="filter")
        yield KeyBar(id="footer")

    def on_mount(self) -> None:
        """Restore the last run's filters, cursors and pane widths, show the loaded sessions, and read the pins."""
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
            self.call_after_refresh(self.said.ask, self.state.filter.text)
        self.refresh_rows()
        self.call_after_refresh(self.updates.ask_pins)
        self.adopt(self.browser.scan_lane, self.updates.take_scan)
        self.adopt(self.browser.event_lane, self.updates.take_event)
        self.set_interval(30, self.sessions_list.refresh)

    @property
    def view(self) -> ListView:
        """The state of the lists that is saved for the next start: filters, sort order, cursors, pane widths."""
        path = self.subject.path if self.subject is not None else None
        shown = self.has_class("-preview-shown")
        return replace(self.state.view(path), preview=shown, widths=dict(self.widths))

    @property
    def projects_list(self) -> RowList:
        """The widget that lists the folders."""
        return self.query_one("#projects", RowList)

    @property
    def sessions_list(self) -> RowList:
        """The widget that lists the sessions of the chosen folder."""
        return self.query_one("#sessions", RowList)

    @property
    def pane(self) -> str:
        """The name of the focused pane; while the user types a filter, the name of the filtered list."""
        focused = self.focused
        if focused is not None and focused.id in PANES:
            return focused.id
        return self.state.filtered if self.typing else "sessions"

    @property
    def filtered_list(self) -> RowList:
        """The list that the filter line filters: the folder list or the session list."""
        return self.projects_list if self.state.filtered == "projects" else self.sessions_list

    def contexts(self) -> tuple[str, ...]:
        """Return the contexts (groups of commands) whose keys work now: the focused pane's, then the screen's."""
        return ({"projects": PROJECTS, "sessions": SESSIONS, "preview": PREVIEW}[self.pane], LIST)

    def command_context(self) -> CommandContext:
        """Return the state of the lists that decides which commands are available."""
        pane = self.pane
        rows = self.projects_list.count if pane == "projects" else self.sessions_list.count
        row = self._sessions[self.sessions_list.cursor] if self._sessions else None
        return CommandContext(
            has_rows=rows > 0,
            has_session=self.subject is not None,
            has_family=row is not None and bool(row.family or row.prefix) and not self.state.is_flat,
            folds_families=not self.state.is_flat,
            shows_hidden=self.state.hidden,
            has_filter=not self.state.filter.is_empty,
            has_folder=self.state.folder is not None or self.state.other_folder(self.subject) is not None,
            has_project=bool(self.project),
        )

    @property
    def subject(self) -> Summary | None:
        """The session under the cursor; None if the list is empty."""
        return self.state.library.get(self.sessions_list.key)

    @property
    def project(self) -> str | None:
        """The directory of the folder under the cursor; outside the folder list, of the session under the cursor."""
        if self.pane == "projects":
            # Use the row under the cursor: after fast key presses the session list may still show another folder.
            key = self.projects_list.key
            return key[1] if isinstance(key, tuple) else None
        return super().project

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions that a change acts on: the selected sessions in the list, else the session under the cursor."""
        marks = self.sessions_list.marks
        selected = [row.summary for row in self._sessions if row.summary.path in marks] if marks else []
        return selected or ([self.subject] if self.subject is not None else [])

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Show sessions that changed on disk, in the lists and in the preview."""
        self.refresh_rows()
        self.preview.sessions_changed(updates.paths)

    def reveal(self, key: Hashable) -> bool:
        """Move the cursor to a folder (`key` is a tuple) or session (a path); return False if no such row exists."""
        return (self.projects_list if isinstance(key, tuple) else self.sessions_list).go_to_key(key)

    def moving(self) -> RowList | TextView | None:
        """Return the pane that movement keys act on: the focused pane, or the filtered list while the user types."""
        return self.filtered_list if self.typing else super().moving()

    def begin_scan(self) -> None:
        """Show that a scan is running; otherwise an empty list would say that there are no sessions."""
        self.updates.begin()
        self.refresh_rows()

    # -- rows ---------------------------------------------------------------------------------------------------

    def refresh_rows(self, *, top: bool = False) -> None:
        """Compute the rows of both lists again; `top` moves the cursor of the session list to the first row."""
        self.refresh_projects()
        self.refresh_sessions(top=top)
        self.refresh_header()

    def refresh_projects(self) -> None:
        """Compute the rows of the folder list again; the cursor stays on its folder."""
        rows = self._folder_filter.rows(self.state.project_rows)
        if rows is None:
            return
        if self.state.folder is not None:
            self.state.folder = self.state.library.project_of(self.state.folder)
        self.state.projects = rows
        keys = [("folder", row.cwd) for row in self.state.projects]
        self.state.go_to_wanted_folder(keys, was_moved=self.projects_list.was_moved)
        names = [folder_name(row.cwd, self.browser.home)[0] for row in self.state.projects if row.cwd]
        self._folder_cells = min(WIDEST_FOLDER, max([width(name) for name in names], default=WIDEST_FOLDER))
        self._ambiguous = same_names([row.cwd for row in self.state.projects if row.cwd])
        folders = self.projects_list
        # If a key press has just moved the cursor, do not move it back to `state.folder`, which is not updated yet.
        is_moving = folders.was_moved and folders.key != self._followed_key
        folders.set_rows(keys, cursor=folders.key if is_moving else ("folder", self.state.folder))
        self.projects_list.border_subtitle = f"{max(0, len(self.state.projects) - 1):,}"
        self.say_found()

    def refresh_sessions(self, *, top: bool = False, cursor: Hashable | None = None) -> None:
        """Compute the session rows again; move the cursor to the session `cursor`, or with `top` to the first row."""
        self.place = (self.name, self.state.shown_folder, self.state.filter.text, self.state.archived)
        rows = self._session_filter.rows(self.state.session_rows)
        top = top or self._top_is_due
        self._top_is_due = top and rows is None
        if rows is None:
            # The background search for the filter's pattern still runs: keep the shown rows until the search has ended.
            self.say_found()
            return
        said = [] if self.state.filter.is_empty else self.said.rows(rows)
        self._named_count, self._sessions = len(rows), [*rows, *said] if said else rows
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
        self.preview.rows_changed()
        self.say_found()
        self.update_footer()

    def set_filter(self, pane: str, text: str, *, keep_line: bool = False) -> None:
        """Apply the filter `text` to the list in a pane; close the filter line unless `keep_line` is True."""
        state = self.state
        state.filters[pane] = parse_filter(text)
        if pane == "projects":
            # A filter of the folders does not filter the sessions: compute only the rows of the folder list again.
            self.refresh_projects()
            self.say_found()
            self.update_footer()
        else:
            self.said.ask(text)
            # A new filter moves the cursor to the first row; clearing the filter keeps the cursor on its session.
            found = self.sessions_list.key if state.filter.is_empty else None
            self.refresh_sessions(top=found is None, cursor=found)
            if found is not None and self.sessions_list.key != found:
                # The session has no row, because it is folded under a related session: unfold the family.
                self.fold(state.folding.flip(state.library.family(str(found))))
                self.sessions_list.go_to_key(found)
        if not keep_line:
            self.query_one(FilterLine).close()

    def say_found(self) -> None:
        """Show in the filter line the number of matches, or the error in the typed pattern."""
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
            said = rows - self._named_count if self.state.filtered == "sessions" else 0
            more = f" · said in {said:,}" if said else ""
            line.say([(plural(rows - said, "match", "matches") + more, "dim")])

    @property
    def sized_pane(self) -> tuple[str, int]:
        """The pane whose width the command "wider" changes; and 1, or -1 if the command makes that pane narrower."""
        return ("preview", 1) if self.pane == "preview" else ("projects", 1 if self.pane == "projects" else -1)

    def on_resize(self, event: events.Resize) -> None:
        """Apply the pane widths, and fit the text of the top bar to the new screen width."""
        super().on_resize(event)
        self.refresh_header()

    def _refresh_titles(self) -> None:
        title = sessions_title(self.state, self.browser.home, self._count_selected())
        self.sessions_list.border_title = title
        count = len(self._sessions)
        folded = 0 if self.state.is_flat else sum([row.family for row in self._sessions if not row.is_open])
        if self.state.library.is_opening and self.state.filter.is_empty and not self.state.named:
            # Only some of the folder's sessions are loaded so far: show the number of sessions from the folder's row.
            count, folded = (
                next((row.sessions for row in self.state.projects if row.cwd == self.state.folder), count),
                0,
            )
        self.sessions_list.border_subtitle = f"{count:,}" + (f" + {folded:,} folded" if folded else "")

    def _count_selected(self) -> tuple[int, int]:
        """Return two numbers of selected sessions: those that have a row in the list, and those that have none."""
        marks = self.sessions_list.marks
        shown = sum([row.summary.path in marks for row in self._sessions]) if marks else 0
        return shown, len(marks) - shown

    def position(self) -> str:
        """Return the text for the footer: the cursor's position, and the number of selected sessions."""
        selected = self._count_selected()[0]
        return f"✓{selected:,}  {super().position()}" if selected else super().position()

    def refresh_header(self) -> None:
        """Update the top bar: chosen folder, number of sessions and folders, progress of the scan."""
        state, updates = self.state, self.updates
        sessions, folders = state.library.counts(hidden=state.hidden, archived=state.archived)
        left = path_line(state.shown_folder, self.browser.home)
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
            show_folder=self.state.shown_folder is None,
            dates=settings.date_style,
            in_use=self.updates.in_use,
            sort=self.state.effective_sort,
            folder_cells=self._folder_cells,
            fields=settings.row_fields,
            caller=browser.options.caller,
        )
        return session_row(self._sessions[index], width, style)

    def fold(self, folding: Folding) -> None:
        """Fold or unfold families (related sessions under one row) as `folding` says, and update the session list."""
        self.state.folding = folding
        self.refresh_sessions()

    # -- the cursor ---------------------------------------------------------------------------------------------

    @on(RowList.Highlighted, "#projects")
    def _folder_highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        if not isinstance(event.key, tuple) or event.key != self.projects_list.key:
            return  # The cursor has moved on since this message was sent: another `Highlighted` message follows.
        self._followed_key = event.key
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
        """True during background work, or while an update of the lists or the preview is due."""
        return (
            super().busy or self.preview.due or self.said.due or self.updates.refresh_due or self.updates.throttle.due
        )

    def on_screen_resume(self) -> None:
        """Update the preview when the user returns to this screen: the previewed session may have new entries."""
        self.preview.seen_again()
        self.update_footer()

    # -- panes --------------------------------------------------------------------------------------------------

    def focus_changed(self) -> None:
        """Set a CSS class for the focused pane, because a narrow screen shows only some panes."""
        self.update_classes({f"-at-{pane}": self.pane == pane for pane in PANES})
        super().focus_changed()

    def text_changed(self, text: str) -> None:
        """Filter the list again after each typed letter."""
        if text != self.state.filters[self.state.filtered].text:
            self.set_filter(self.state.filtered, text, keep_line=True)

    @property
    def viewed_entry(self) -> ViewedEntry | None:
        """The session under the cursor, for the copy commands; None if the session list is empty."""
        summary = self.subject
        return ViewedEntry(summary=summary) if summary is not None else None


def _path_of(row: SessionRow) -> str:
    return row.summary.path
