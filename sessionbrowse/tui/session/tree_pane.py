"""The pane of a session's tree: computes the rows in the background, moves the cursor, paints the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.search.query import BadSearch, parse_question
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.row_text import RowText
from sessionbrowse.model.tree.rows import Row, Rows
from sessionbrowse.model.tree.shape import shown
from sessionbrowse.model.usage.branch_costs import BranchCosts, branch_costs, first_rows, row_costs
from sessionbrowse.store.own.remembered_views import SessionView
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.reading.views import ENTRY_IS_GONE, find_again
from sessionbrowse.tui.session.titles import found_status, no_rows_sentence, tree_title
from sessionbrowse.tui.session.tree_rows import (
    RowTexts,
    TreeRows,
    TreeState,
    TreeStyle,
    compute_rows,
    row_width,
    shift_for,
    tree_row,
)
from sessionbrowse.tui.shell.command_screen import ANSWER_SECONDS
from sessionbrowse.tui.shell.match_spans import MatchMarks
from sessionbrowse.tui.shell.paned_screen import PanedScreen
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.row_list import GUTTER, RowList

NOT_READ_YET = RowText("…")


class TreePane:
    """The pane that shows the tree of a session.

    `changed` is called when the rows have changed.
    """

    def __init__(self, screen: PanedScreen, changed: Callable[[], object]) -> None:
        self._screen = screen
        self._changed = changed
        self.session: Session | None = None
        self.state = TreeState()
        self.shown = TreeRows()
        self.requested: tuple[int | None, str | None] = (None, None)
        """Index and id of the entry to which the cursor moves with the next rows."""
        self.searched_from: int | None = None
        """Index of the entry to which the cursor returns if the user leaves the search line with Escape; else None."""
        self.cells_needed = 0
        """Width in cells into which every row shown so far fits."""
        self._last_entry: int | None = None
        """Index of the entry that was under the cursor when rows were last shown."""
        self._read_again_from: tuple[Session, int] | None = None
        """The session before it was read again, and the entry then under the cursor, until its new rows are shown."""
        self._leaf: int | None = None
        self._shows_answer_costs = False
        self._costs: BranchCosts | None = None
        self._style = TreeStyle()
        self._painted_shift = 0
        self._texts: RowTexts | None = None
        self._match_marks = MatchMarks(screen, "tree-marks", lambda: self.row_list.refresh())

    # -- the cursor ---------------------------------------------------------------------------------------------

    @property
    def row_list(self) -> RowList:
        """The widget that shows the rows; the key of a row is the index of the row's entry."""
        return self._screen.query_one("#tree", RowList)

    @property
    def filter_line(self) -> FilterLine:
        """The text line in which the user types a search of the tree."""
        return self._screen.query_one(FilterLine)

    @property
    def rows(self) -> Rows:
        """The rows of the tree that are shown, without hidden and folded entries."""
        return self.shown.rows

    @property
    def row(self) -> Row | None:
        """The tree's row under the cursor; None if the tree has no rows."""
        return self.rows[self.row_list.cursor] if self.rows else None

    @property
    def index(self) -> int | None:
        """The position of the entry under the cursor among the session's entries; None if the tree has no rows."""
        row = self.row
        return row.index if row is not None else None

    @property
    def entry_id(self) -> str | None:
        """The id of the entry under the cursor; None if the entry has no id."""
        session, index = self.session, self.index
        return session.ids[index] or None if session is not None and index is not None else None

    @property
    def entry_to_resume(self) -> str | None:
        """The id of the entry under the cursor; None at the leaf, from which the agent resumes by default."""
        is_leaf = self.session is not None and self.index in (self.session.leaf, self._leaf)
        return None if is_leaf else self.entry_id

    # -- the session --------------------------------------------------------------------------------------------

    def restore(self, view: SessionView) -> None:
        """Restore the saved cursor, unless the user opened the session at an entry; filter as the settings say."""
        self.state = replace(self.state, filter=self._screen.browser.options.settings.tree_filter)
        if self.requested == (None, None):
            self.requested = (None, view.entry)

    def view(self) -> SessionView | None:
        """Return the tree's cursor and folded branches, to save them; None before the session is read."""
        session = self.session
        if session is None:
            return None
        ids = [session.ids[index] for index in sorted(self.state.folded)]
        # A cursor at the leaf is saved as None: the session then opens at its leaf, even if entries were added.
        return SessionView(entry=self.entry_to_resume, folded=tuple(filter(None, ids)))

    def open(self, session: Session, folded: tuple[str, ...], *, follows_leaf: bool) -> None:
        """Show the session that was read from its file; with `follows_leaf`, a cursor at the leaf stays at the leaf."""
        old, index = self.session, self.index
        if old is not None and index is not None and self.requested == (None, None):
            at_end = follows_leaf and index == self.shown.nearest(old.leaf)
            self.requested, self._read_again_from = (None, session.leaf_id if at_end else old.ids[index]), (old, index)
        if old is not None and len(session.ids) < len(old.ids):
            # The file now has fewer entries: drop the rows, because their entries may no longer exist.
            self.shown, self._last_entry = TreeRows(), None
            self.row_list.set_rows([])
        # If a program has rewritten the file, an index may now belong to another entry. Then drop all cached costs, and
        # keep an index selected only if it still belongs to the same entry.
        ids = old.ids if old is not None else ()
        if session.ids[: len(ids)] != ids:
            self._costs, self._style = None, replace(self._style, branch_costs={}, row_costs=None)
        self.row_list.marks = {
            at for at in self.row_list.marks if isinstance(at, int) and session.ids[at : at + 1] == ids[at : at + 1]
        }
        self.session = session
        self._leaf = _row_of_leaf(session)
        self._texts = RowTexts(session, self._screen.browser.home, self._screen.lane("texts", self.receive_texts))
        known = session.index_by_id
        indexes = frozenset([known[entry_id] for entry_id in folded if entry_id in known])
        self.show(replace(self.state, folded=indexes) if indexes else self.state)

    # -- computing the rows -------------------------------------------------------------------------------------

    def show(self, state: TreeState) -> None:
        """Compute in the background the tree's rows for a filter, search and folds; `receive_rows` shows the rows."""
        self.state = state
        session, texts = self.session, self._texts
        if session is None or texts is None:
            return
        shown_before, room = self.shown, self.row_list.room_around
        near = find_again(session, *self.requested)
        near = self._current_entry if near is None else near
        page = range(max(sum(room), self._screen.size.height))
        find_first = self._screen.browser.pattern_worker.first_spans

        def read_texts(shown: TreeRows) -> None:
            """Start reading the texts of the rows that will be visible; return when they are read or time is up."""
            entry = cursor_entry(session, shown, near)
            top = shown.rows.position_of[entry] - min(room[0], len(page)) if entry is not None else 0
            top = max(0, min(top, len(shown.rows) - len(page)))
            done = texts.prepare(shown.rows.indexes, range(top, top + len(page)))
            if done is not None:
                done.wait(ANSWER_SECONDS)

        lane = self._screen.lane("rows", self.receive_rows)
        begin = len(session.parents) if near is None else near
        lane.ask(lambda job: compute_rows(session, state, shown_before, job, begin, read_texts, find_first))
        self._screen.expect(lane)

    def search(self, query: str) -> None:
        """Search the tree; an empty query ends the search, so that the tree shows also the entries without a match.

        A query that is not finished, such as a phrase without its second quote, leaves the rows as they are.
        """
        # A single ASCII letter would match nearly every entry, so it is searched only in quotes.
        query = "" if len(query.strip()) < 2 and query.isascii() else query.strip()
        try:
            parse_question(query)
        except BadSearch as error:
            self.filter_line.say([(error.sentence, "warning")])
            return
        # If the tree was opened from a search, it shows all entries, and its hits stay until the user has typed a
        # query.
        if (query and self.state.whole) or (query != self.state.query and not self.state.whole):
            self.row_list.was_moved = False
            self.show(TreeState(self.state.filter, query))
        else:
            self.show_found()

    def leave_search(self) -> None:
        """End the search that the user is typing; the cursor returns to the entry where it was before."""
        if self.searched_from is not None and self.session is not None and not self.state.whole:
            self.requested, self._read_again_from = (self.searched_from, self.session.ids[self.searched_from]), None
        self.search("")
        self.searched_from = None

    def show_entry(self, entry_id: str | None, index: int | None = None) -> None:
        """Put the cursor on an entry, or on its nearest ancestor that has a row; with `index`, show hidden entries."""
        self.requested, self._read_again_from = (index, entry_id), None
        self.show(self.state)

    def receive_rows(self, outcome: Outcome) -> None:
        """Show the rows that the background job computed; the cursor stays on its entry or moves to an ancestor."""
        if isinstance(outcome.error, SessionBrowseError):
            self.filter_line.say([(outcome.error.sentence, "error")])
            return
        if outcome.error is not None:
            raise outcome.error
        if self._read_again_from is not None:
            old, index = self._read_again_from
            if self.index is not None and self.index != index:
                # The user has moved the cursor since the session was read again: it stays where the user put it.
                self.requested = (None, old.ids[self.index])
            self._read_again_from = None
        entry = self._last_entry = self._current_entry
        self.shown = outcome.value
        leaf = self.session.leaf if self.session is not None else None
        self._restyle(
            now_ms=self._screen.browser.now_ms(),
            leaf=leaf if leaf in self.rows.position_of else self._leaf,
            find=self._match_marks.of(self.state.query) if self.state.query else None,
        )
        cursor = self._cursor_for(entry)
        empty = no_rows_sentence(self.session, self.state, self.shown, self._screen.browser.keys.key_of)
        self.row_list.set_rows(self.rows.indexes, cursor=cursor, empty=empty, stops=self.shown.stops)
        self.row_list.border_title = tree_title(self.state)
        self.show_count()
        self.measure()
        self._changed()
        self._count_costs()
        if self.filter_line.display:
            self.show_found()
        if self.requested == (None, None):
            self._screen.run_held()

    def show_found(self) -> None:
        """Show in the filter line the number of rows that the tree's search found."""
        self.filter_line.say(found_status(self.state, self.shown))

    @property
    def _current_entry(self) -> int | None:
        """Index of the entry under the cursor; while a query is typed, or without rows, of the last one under it."""
        if self.searched_from is not None and self._screen.typing and not self.row_list.was_moved:
            return self.searched_from
        return self._last_entry if self.index is None else self.index

    def _cursor_for(self, entry: int | None) -> int | None:
        """Return the index of the entry for the cursor: the requested entry, else `entry`, else the leaf.

        The requested entry is `self.requested`. `entry` is the entry that was under the cursor.
        """
        session = self.session
        assert session is not None
        requested = find_again(session, *self.requested)
        state, place = self.state, self.rows.position_of.get(-1 if requested is None else requested)
        is_hidden = requested is not None and (place is None or place not in (self.shown.stops or (place,)))
        # If the search or the filter of the tree hides an entry to which the user goes, show more rows.
        if is_hidden and self.requested[0] is not None and (state.filter != "all" or self.shown.stops is not None):
            more = replace(state, filter="all") if self.shown.stops is None else replace(state, query="", whole=False)
            self.show(more)
        else:
            if requested is None and self.requested[0] is not None:
                self._screen.browser.say(ENTRY_IS_GONE, "warning")
            self.requested = (None, None)
        return cursor_entry(session, self.shown, entry if requested is None else requested)

    # -- painting -----------------------------------------------------------------------------------------------

    def prepare_texts(self, visible: range) -> None:
        """Start reading the texts of the visible rows, and delay painting by a few milliseconds until they are read."""
        if self._texts is not None and self._texts.prepare(self.rows.indexes, visible) is not None:
            self._screen.expect(self._screen.lane("texts", self.receive_texts))

    def receive_texts(self, outcome: Outcome) -> None:
        """Paint the tree's rows again, because a background job has read the texts of the visible rows."""
        if outcome.error is not None:
            raise outcome.error
        if not outcome.last:
            self.row_list.refresh()
            self.measure()

    def measure(self) -> None:
        """Measure the width of the visible rows; call `fit_panes` if it is larger than that of all rows seen before."""
        top = self.row_list.scroll_offset.y
        seen = self.rows[top : top + self.row_list.size.height] if self._texts is not None else ()
        needed = [
            row_width(self.session, row, text, self._style)
            for row in seen
            if self.session is not None and self._texts is not None and (text := self._texts.get(row.index)) is not None
        ]
        if max(needed, default=0) > self.cells_needed:
            self.cells_needed = max(needed)
            self._screen.fit_panes()

    def render_row(self, position: int, width: int) -> Line:
        """Return the tree's row at a position as spans (pieces of styled text)."""
        assert self.session is not None
        assert self._texts is not None
        row = self.rows[position]
        text = self._texts.get(row.index)
        self._painted_shift = self._shift()
        shown = NOT_READ_YET if text is None else text
        return tree_row(self.session, row, shown, width, self._style, self._painted_shift)

    def follow_cursor(self) -> None:
        """Scroll the tree sideways, so that the text of the row under the cursor has enough room."""
        if self._shift() != self._painted_shift:
            self.row_list.refresh()

    def _shift(self) -> int:
        row = self.row
        return shift_for(row, self.row_list.room - GUTTER) if row is not None else 0

    @property
    def selected(self) -> list[int]:
        """The indexes of the selected entries, in the order of the file."""
        return sorted(at for at in self.row_list.marks if isinstance(at, int))

    @property
    def selected_ids(self) -> list[str]:
        """The ids of the selected entries."""
        return [entry_id for at in self.selected if self.session is not None and (entry_id := self.session.ids[at])]

    def show_count(self) -> None:
        """Show the numbers of rows and of selected entries at the border of the tree."""
        chosen, rows = len(self.row_list.marks), f"{len(self.rows):,}"
        self.row_list.border_subtitle = f"{chosen:,} selected · {rows}" if chosen else rows

    def toggle_label_times(self) -> None:
        """Show or hide in the tree the time at which each label was set."""
        self._restyle(label_times=not self._style.label_times, now_ms=self._screen.browser.now_ms())

    def _restyle(self, **changes: object) -> None:
        """Change how rows are painted, and paint them again."""
        self._style = replace(self._style, **changes)
        self.row_list.refresh()

    def toggle_answer_costs(self) -> None:
        """Show or hide in the tree the cost of each answer of the assistant."""
        self._shows_answer_costs = not self._shows_answer_costs
        self._count_costs()
        self._restyle(row_costs=None)

    def _count_costs(self) -> None:
        """Compute in the background the costs that rows show; entries whose costs are cached are not read again."""
        session, known, shown = self.session, self._costs, self.shown
        shows_answers = self._shows_answer_costs
        if session is None or not (shows_answers or shown.rows.connected):
            return

        def count(job: Job) -> tuple[BranchCosts, Mapping[int, float], Mapping[int, float] | None]:
            costs = branch_costs(session, known)
            begins = first_rows(costs, shown.rows.indexes) if shown.rows.connected else {}
            return costs, begins, row_costs(session, costs, shown.rows.position_of) if shows_answers else None

        self._screen.lane("costs", self._receive_costs).ask(count)

    def _receive_costs(self, outcome: Outcome) -> None:
        # If the file can no longer be read, show no costs; the entry pane reports the error.
        self._costs, branches, rows = outcome.value if outcome.error is None else (None, {}, None)
        self._restyle(branch_costs=branches, row_costs=rows)


def cursor_entry(session: Session, shown: TreeRows, entry: int | None) -> int | None:
    """Return the index of the entry for the cursor; None if the tree has no rows.

    While a search hides rows, it is the hit nearest to `entry`. Else it is `entry` or its nearest ancestor that has a
    row, else the entry of the last row. If `entry` is None, the leaf is used instead.
    """
    if shown.stops is not None:
        near = session.leaf if entry is None else entry
        near = len(session.parents) if near is None else near
        found = [shown.rows[position].index for position in shown.hits]
        return min(found, key=lambda hit: abs(hit - near), default=None)
    nearest = shown.nearest(session.leaf if entry is None else entry)
    return nearest if nearest is not None or not shown.rows else shown.rows[-1].index


def _row_of_leaf(session: Session) -> int | None:
    """Return the leaf, or its nearest ancestor that the filter "default" shows, because a label has no row there."""
    flags, index = shown(session, "default", session.leaf), session.leaf
    while index is not None and index != ROOT and not flags[index]:
        index = session.parents[index]
    return None if index == ROOT else index
