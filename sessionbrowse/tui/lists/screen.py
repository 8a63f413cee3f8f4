"""The browser's first screen: projects, their sessions, and a preview side by side."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.remembered_views import ListView
from sessionbrowse.text import plural, width
from sessionbrowse.tui.commands.command import LIST, PREVIEW, PROJECTS, SESSIONS, Command, CommandContext
from sessionbrowse.tui.data.library import Library, SessionRow, path_of_key, same_names
from sessionbrowse.tui.data.list_state import ListState
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.lists.preview import Preview
from sessionbrowse.tui.lists.rows import (
    ListStyle,
    count_selected,
    directory_state,
    facts_line,
    heading,
    no_sessions_sentence,
    path_line,
    project_row,
    scope_note,
    session_row,
    sessions_title,
)
from sessionbrowse.tui.lists.scan_updates import ScanUpdates
from sessionbrowse.tui.paint.spans import Line, project_name
from sessionbrowse.tui.reading.views import ViewedEntry
from sessionbrowse.tui.search.list_search import ListSearch, Queries
from sessionbrowse.tui.shell.paned_screen import ListScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import GUTTER, RowList
from sessionbrowse.tui.widgets.span_view import Bar, KeyBar
from sessionbrowse.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from sessionbrowse.services.search.hits import Hit
    from sessionbrowse.tui.search.found_rows import FoundRow

WIDEST_PROJECT = 24
"""Maximum width in cells of the project column in a session's row; short project names make the column narrower."""
PANES = ("projects", "sessions", "preview")
LEAST_HEADED = 12
"""Minimum number of rows of the session list at which the names of its columns are shown."""
PATIENCE_SECONDS = 3.0
"""Maximum seconds that the list waits for the first scan to find the project to open; then it shows all sessions."""


class BrowseScreen(ListScreen):
    """The browser's first screen: the project list, the session list, and the preview of a session."""

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
        self._rows: Sequence[FoundRow] = ()
        self._ambiguous: frozenset[str] = frozenset()
        self.project_cells = WIDEST_PROJECT
        self._followed_key: Hashable | None = None
        self.updates = ScanUpdates(self)
        self.search = ListSearch(self)
        self.step_found = self.search.step_found
        self.preview = Preview(self, self.search.examples)
        self.left_session: Summary | None = None
        """The session from whose tree the user came to search in all sessions; leaving the search opens it again."""

    # -- layout -------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Make the widgets of the first screen: top bar, three panes, filter line, footer."""
        yield Bar(id="header")
        with Horizontal(id="panes"):
            yield RowList(self._render_project, id="projects", classes="pane")
            yield RowList(self._render_session, marked_as=path_of_key, id="sessions", classes="pane")
            yield TextView(id="preview", classes="pane", empty="")
        yield FilterLine(id="filter")
        yield KeyBar(id="footer")

    def on_mount(self) -> None:
        """Restore the last run's cursors and pane widths, show the loaded sessions, and read the pins."""
        view = self.browser.memory.lists
        self.state.exists = self.browser.exists
        self.state.restore(view)
        self.widths = dict(view.widths)
        self.set_class(view.preview, "-preview-shown")
        self.query_one("#projects", RowList).border_title = "Projects"
        self.query_one("#preview", TextView).border_title = "Preview"
        self.set_focus(self.sessions_list)
        self.queries = Queries(view.queries)
        self.refresh_rows()
        self.call_after_refresh(self.updates.ask_pins)
        self.adopt(self.browser.scan_lane, self.updates.receive_event)
        self.set_interval(30, self.sessions_list.refresh)
        self.set_timer(PATIENCE_SECONDS, self.updates.stop_waiting)

    @property
    def view(self) -> ListView:
        """The state of the lists that is saved for the next start: sort orders, queries, cursors, pane widths."""
        path = self.subject.path if self.subject is not None else None
        shown = self.has_class("-preview-shown")
        queries = tuple(self.queries.known)
        return replace(self.state.view(path), preview=shown, widths=dict(self.widths), queries=queries)

    @property
    def pane(self) -> str:
        """The name of the focused pane; while the user types a filter, the name of the filtered list."""
        focused = self.focused
        if focused is not None and focused.id in PANES:
            return focused.id
        return self.state.filtered if self.typing else "sessions"

    def contexts(self) -> tuple[str, ...]:
        """Return the contexts (groups of commands) whose keys work now: the focused pane's, then the screen's."""
        return ({"projects": PROJECTS, "sessions": SESSIONS, "preview": PREVIEW}[self.pane], LIST)

    def command_context(self) -> CommandContext:
        """Return the state of the lists that decides which commands are available."""
        rows = self.projects_list.count if self.pane == "projects" else self.sessions_list.count
        row, is_searched = self.row, bool(self.state.searched)
        is_family = isinstance(row, SessionRow) and bool(row.family or row.prefix) and not self.state.is_flat
        return CommandContext(
            has_rows=rows > 0 or self.search.is_unanswered,
            has_session=self.subject is not None,
            selected=len(self.sessions_list.marks),
            has_family=is_family or is_searched,
            folds_families=not self.state.is_flat or is_searched,
            shows_hidden=self.state.hidden,
            is_scanning=self.state.scanning,
            has_filter=is_searched,
            has_scopes=self.state.shown_project is not None or self.state.other_project(self.subject) is not None,
            has_project=bool(self.project),
        )

    @property
    def back_clears(self) -> str:
        """The footer's words for "back" if it clears the selection or the search; else ""."""
        if self.pane != "sessions":
            return ""
        is_searched = self.search.is_active or bool(self.state.searched)
        return "clear selection" if self.sessions_list.marks else "clear search" if is_searched else ""

    @property
    def subject(self) -> Summary | None:
        """The session under the cursor, or to which the hit under the cursor belongs; None if the list is empty."""
        row = self.row
        if row is None or isinstance(row, SessionRow):
            return self.search.summary_of(row.summary) if row is not None else None
        return self.search.summary_at(row.hit.path)

    @property
    def row(self) -> FoundRow | None:
        """The row under the cursor of the session list; None if the list is empty."""
        cursor = self.sessions_list.cursor
        return self._rows[cursor] if cursor < len(self._rows) else None

    @property
    def hit(self) -> tuple[Hit, str] | None:
        """The hit under the cursor, for a session its best one, with the query that found it; else None."""
        hit = self.search.hit_of(self.row) if self.state.searched else None
        return (hit, self.search.searched) if hit is not None else None

    @property
    def entry_to_resume(self) -> str | None:
        """The id of the entry of the hit under the cursor; None on a session's own row."""
        row = self.row
        return None if row is None or isinstance(row, SessionRow) else row.hit.entry_id

    @property
    def project(self) -> str | None:
        """The directory of the project under the cursor; outside the project list, of the session under the cursor."""
        if self.pane == "projects":
            # Use the row under the cursor: after fast key presses the session list may still show another project.
            key = self.projects_list.key
            return key[1] if isinstance(key, tuple) else None
        return super().project

    @property
    def chosen(self) -> Sequence[Summary]:
        """The sessions that a change acts on: the selected sessions in the list, else the session under the cursor."""
        marks = self.sessions_list.marks
        selected = [row.summary for row in _sessions_in(self._rows) if row.summary.path in marks] if marks else []
        return selected or ([self.subject] if self.subject is not None else [])

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Show sessions that changed on disk, in the lists and in the preview."""
        self.sessions_list.marks -= updates.gone
        self.search.sessions_changed(updates.gone)
        self.refresh_rows()
        self.preview.sessions_changed(updates.paths)

    def reveal(self, key: Hashable) -> bool:
        """Move the cursor to a project (`key` is a tuple) or session (a path); return False if no such row exists."""
        return (self.projects_list if isinstance(key, tuple) else self.sessions_list).go_to_key(key)

    def moving(self) -> RowList | TextView | None:
        """Return the pane that movement keys act on: the focused pane, or the filtered list while the user types."""
        if not self.typing:
            return super().moving()
        return self.projects_list if self.state.filtered == "projects" else self.sessions_list

    def run_command(self, command: Command) -> None:
        """Run a command, on a session of the project under the cursor."""
        if self.pane != "projects":
            self._follow_project()
        super().run_command(command)

    @property
    def awaits_rows(self) -> bool:
        """True while the session list is empty because the scan has not found the project to open yet."""
        return self.state.is_waiting and not (self.sessions_list.count or self.typing or self.pane != "sessions")

    # -- rows ---------------------------------------------------------------------------------------------------

    def refresh_rows(self, *, top: bool = False) -> None:
        """Compute the rows of both lists again; `top` moves the cursor of the session list to the first row."""
        self.refresh_projects()
        self.refresh_sessions(top=top)
        self.refresh_header()

    def refresh_projects(self) -> None:
        """Compute the rows of the project list again; the cursor stays on its project."""
        rows = self.state.project_rows()
        if self.state.project is not None:
            self.state.project = self.state.library.project_of(self.state.project)
        self.state.projects = rows
        keys = [("project", row.cwd) for row in self.state.projects]
        # Once the list shows all sessions, a project that is found late must not replace the rows under a moved cursor.
        is_used = self.sessions_list.was_moved and not self.state.is_waiting
        self.state.go_to_wanted_project(keys, was_moved=self.projects_list.was_moved or is_used)
        names = [project_name(row.cwd, self.browser.home)[0] for row in self.state.projects if row.cwd]
        self.project_cells = min(WIDEST_PROJECT, max([len("project"), *map(width, names)]))
        self._ambiguous = same_names([row.cwd for row in self.state.projects if row.cwd])
        projects = self.projects_list
        # If a key press has just moved the cursor, do not move it back to `state.project`, which is not updated yet.
        is_moving = projects.was_moved and projects.key != self._followed_key
        projects.set_rows(keys, cursor=projects.key if is_moving else ("project", self.state.project))
        self.projects_list.border_subtitle = f"{max(0, len(self.state.projects) - 1):,}"
        self.say_found()

    def refresh_sessions(self, *, top: bool = False) -> None:
        """Compute the session rows again; `top` puts the cursor on the first row.

        The preview, and a command that was held until there are rows, are told of the new rows.
        """
        self.place = (self.name, self.state.shown_project, self.state.searched, self.state.archived)
        found = self.search.rows()
        self._rows = self.state.session_rows() if found is None else found
        keys = [row.summary.path if isinstance(row, SessionRow) else row.key for row in self._rows]
        sessions, library = self.sessions_list, self.state.library
        if not self.state.searched:
            sessions.marks = {path for path in sessions.marks if library.get(path) is not None}
        key = sessions.key
        if key not in keys:
            key = path_of_key(key)
        wanted = keys[0] if top and keys else self.state.family_row(key, keys) or key
        if self.state.searched:
            empty = self.search.nothing_found()
        else:
            empty = no_sessions_sentence(self.state, self.browser.keys.key_of)
        sessions.set_rows(keys, cursor=wanted, empty=empty)
        wanted_row = self.state.wanted_row(sessions.keys, was_moved=sessions.was_moved)
        if wanted_row is not None and sessions.go_to_key(wanted_row):
            self.state.wanted_session = None
        self._refresh_titles()
        self.preview.rows_changed()
        self.say_found()
        self.update_footer()
        if not self.awaits_rows:
            self.run_held()

    def say_found(self) -> None:
        """Show the number of results, or of matching projects, in the search line."""
        line = self.query_one(FilterLine)
        if not line.display:
            return
        if self.state.filtered == "projects":
            line.say([(plural(self.projects_list.count - 1, "match", "matches"), "dim")])
        else:
            line.say(self.search.status())

    @property
    def sized_pane(self) -> tuple[str, int]:
        """The pane whose width the command "wider" changes; and 1, or -1 if the command makes that pane narrower."""
        return ("preview", 1) if self.pane == "preview" else ("projects", 1 if self.pane == "projects" else -1)

    def on_resize(self, event: events.Resize) -> None:
        """Apply the pane widths, and fit the text of the top bar to the new screen width."""
        super().on_resize(event)
        self.refresh_header()
        self.call_after_refresh(self._refresh_titles)

    def _refresh_titles(self) -> None:
        rows = self.sessions_list
        selected = count_selected(_sessions_in(self._rows), rows.marks)
        full, brief = [
            sessions_title(self.state, self.browser.home, selected, names_project=each) for each in (True, False)
        ]
        is_headed = rows.size.height >= LEAST_HEADED and not self.state.show_path
        names = heading(rows.room - GUTTER, _style_of(self)).lstrip() if is_headed else ""
        # The names of the columns are in the list's border, beside the title. To make room for them, the title may
        # leave out the project, which the top bar shows too.
        free = [(title, rows.room - GUTTER - 1 - title.cell_length - len(names)) for title in (full, brief)]
        headed = [
            title + Content.styled(" " * cells + names, "$sb-faint") for title, cells in free if names and cells > 0
        ]
        rows.border_title = headed[0] if headed else full
        count = sum([1 for _ in _sessions_in(self._rows)]) if self.state.searched else len(self._rows)
        folded = 0 if self.state.is_flat else sum([row.family for row in _sessions_in(self._rows) if not row.is_open])
        if self.state.library.uses_first_rows and not (self.state.searched or self.state.named):
            # Only some of the project's sessions are loaded so far: show the number of sessions from the project's row.
            count, folded = (
                next((row.sessions for row in self.state.projects if row.cwd == self.state.project), count),
                0,
            )
        self.sessions_list.border_subtitle = f"{count:,}" + (f" + {folded:,} folded" if folded else "")

    def position(self) -> str:
        """Return the text for the footer: the cursor's position, and the number of selected sessions."""
        selected = count_selected(_sessions_in(self._rows), self.sessions_list.marks)[0]
        # If hits have rows too, the number of rows differs from the number of sessions, which is shown beside it.
        at = super().position()
        at = f"row {at}" if at and self.state.searched else at
        return f"✓{selected:,}  {at}" if selected else at

    def refresh_header(self) -> None:
        """Update the top bar: project, numbers of sessions and projects, progress of the scan."""
        state, updates, browser = self.state, self.updates, self.browser
        sessions, projects = state.library.counts(hidden=state.hidden, archived=state.archived)
        left = path_line(state.shown_project, browser.home)
        right = facts_line(sessions, projects, updates.progress, updates.failure, self.size.width)
        note = scope_note(browser.options, browser.keys, browser.home)
        self.query_one("#header", Bar).show([*left, *note], right)

    def _render_project(self, index: int, width: int) -> Line:
        row = self.state.projects[index]
        state_of = directory_state(row.directories, self.state.exists, self.state.moved)
        return project_row(row, width, self.browser.home, state_of, ambiguous=row.cwd in self._ambiguous)

    def _render_session(self, index: int, width: int) -> Line:
        style = _style_of(self)
        row = self._rows[index]
        if isinstance(row, SessionRow):
            return session_row(row, width, style)
        from sessionbrowse.tui.search.found_rows import hit_row

        return hit_row(row.hit, width, row.more, self.browser.keys.key_of("family"))

    # -- the cursor ---------------------------------------------------------------------------------------------

    @on(RowList.Highlighted, "#projects")
    def _project_highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        self._follow_project()

    def _follow_project(self) -> None:
        """List the sessions of the project under the cursor, before a key press acts on another project's session."""
        key = self.projects_list.key
        if isinstance(key, tuple):
            self._followed_key = key
            if key[1] != self.state.project:
                self.state.choose_project(key[1])
                self.refresh_sessions(top=True)
                self.refresh_header()

    @on(RowList.Highlighted, "#sessions")
    def _session_highlighted(self, event: RowList.Highlighted) -> None:
        event.stop()
        self.preview.show(is_found=self.search.is_active and not self.sessions_list.was_moved)
        self.search.show_more(event.index, self.sessions_list.count)
        self.update_footer()

    @on(RowList.Marked, "#sessions")
    def _sessions_marked(self, event: RowList.Marked) -> None:
        event.stop()
        self._refresh_titles()
        self.update_footer()

    @property
    def busy(self) -> bool:
        """True during background work, or while an update of the lists or the preview is due."""
        return (
            super().busy
            or self.preview.due
            or self.search.due
            or self.updates.refreshing.due
            or self.updates.throttle.pause.due
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
        """Search, or filter the projects, again after each typed letter."""
        if self.state.filtered == "projects":
            self.state.project_words = text
            self.refresh_projects()
        elif text != self.search.text:
            has_examples = not (text and self.search.text)
            self.search.set_text(text)
            self.say_found()
            if has_examples:
                self.preview.show()

    @property
    def viewed_entry(self) -> ViewedEntry | None:
        """The session under the cursor, for the copy commands; None if the session list is empty."""
        summary = self.subject
        return ViewedEntry(summary=summary) if summary is not None else None


def _style_of(screen: BrowseScreen) -> ListStyle:
    browser, settings, state = screen.browser, screen.browser.options.settings, screen.state
    return ListStyle(
        now_ms=browser.now_ms(),
        home=browser.home,
        show_path=state.show_path,
        show_project=state.shown_project is None,
        dates=settings.date_style,
        in_use=screen.updates.in_use,
        sort=state.effective_sort,
        project_cells=screen.project_cells,
        fields=settings.row_fields,
        caller=browser.caller,
        machines=state.machines,
    )


def _sessions_in(rows: Iterable[FoundRow]) -> Iterable[SessionRow]:
    return (row for row in rows if isinstance(row, SessionRow))
