"""Compute which entries have a row in a session's tree, read the texts of the rows, and style them for the screen.

Rows are computed and their texts are read in the background; a long search shows hits near the cursor first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.search.patterns import FindFirst, first_spans
from sessionbrowse.model.search.query import parse_search
from sessionbrowse.model.search.relevance import terms_of
from sessionbrowse.model.search.session_search import search_session
from sessionbrowse.model.session.session import ROOT, LabelMark, Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.model.tree.row_text import RowText, read_row
from sessionbrowse.model.tree.rows import Row, Rows, hit_rows
from sessionbrowse.text import clean, cost, local_time, time_ms
from sessionbrowse.tui.data.jobs import Job, Lane
from sessionbrowse.tui.layout.parts import overlay
from sessionbrowse.tui.paint.spans import Line, fit, line_width, sides
from sessionbrowse.tui.widgets.text_view import FindMatches

# ---- the rows -----------------------------------------------------------------------------------------------


class TreeState(Struct, frozen=True):
    """The state that decides which rows a tree has: name of the filter, search query, indexes of folded entries.

    With `whole`, the tree shows also the entries that do not match the query.
    """

    filter: str = "default"
    query: str = ""
    folded: frozenset[int] = frozenset()
    whole: bool = False


class TreeRows(Struct, frozen=True, eq=False):
    """A tree's rows for a filter, search and folds (`state`); `unfolded` also contains the rows in folded branches.

    `session` is None before the first rows. `hits` are the positions of the rows that match the query; `found` are the
    indexes of all entries that match it, even if filter or folds hide them. `searched` is the number of entries
    searched so far, None once all are. `some` is True if no entry has all terms of the query,
    so that the found entries have only some of them.
    """

    state: TreeState = TreeState()
    rows: Rows = Rows([])
    unfolded: Rows = Rows([])
    session: Session | None = None
    hits: list[int] = []
    found: Sequence[int] = ()
    searched: int | None = None
    some: bool = False

    @property
    def stops(self) -> list[int] | None:
        """The positions of the rows that the cursor may stand on; None if it may stand on all rows."""
        return self.hits if self.state.query and not self.state.whole else None

    def nearest(self, index: int | None) -> int | None:
        """Return `index` if that entry has a row, else the index of its nearest ancestor with a row, else None."""
        if self.session is None or not self.rows:
            return None
        while index is not None and index != ROOT and index not in self.rows.position_of:
            index = self.session.parents[index]
        return None if index == ROOT else index

    def parent_position(self, position: int) -> int | None:
        """Return the position of the row of the nearest ancestor that has a row; None if no ancestor has a row."""
        above = self.nearest(self.session.parents[self.rows[position].index]) if self.session is not None else None
        return None if above is None else self.rows.position_of[above]

    def branch_start(self, position: int) -> int:
        """Return the position of the first row of the branch with the row at `position`: a root has a branch, too."""
        while self.rows[position].connector is None and (above := self.parent_position(position)) is not None:
            position = above
        return position


FIRST_HITS = 100
"""Number of hits that fill a screen: a long search shows them at once, in the frame of the typed letter."""
FIRST_SECONDS, MORE_SECONDS = 0.012, 0.15
"""Seconds until a long search shows fewer hits, and until it shows further ones; the latter doubles each time."""
FRAME_SECONDS = 0.03
"""Seconds that the search pauses while its hits are painted: two busy threads would slow each other down."""
FIRST_ENTRIES, PART_ENTRIES = 50, 400
"""The search reads entries range by range: `FIRST_ENTRIES` entries in the first range, at most `PART_ENTRIES` later."""


def compute_rows(
    session: Session,
    state: TreeState,
    before: TreeRows,
    job: Job,
    begin: int = 0,
    ready: Callable[[TreeRows], object] = lambda rows: None,
    find_first: FindFirst = first_spans,
) -> TreeRows | None:
    """Return a tree's rows for a filter, search and folds (`state`); None if the job was cancelled.

    `before` are the rows on the screen, whose hits are used again for the same query. A search begins at the entry
    `begin`, and sends the rows found so far to the screen by `job.emit`. `ready` is called with the rows before they
    are sent or returned. `find_first` searches the texts for regular expressions.

    Raises:
        BadSearch: the query is not valid.
    """
    is_known = before.session is session and before.searched is None
    made: TreeRows | None
    if is_known and replace(before.state, folded=state.folded) == state:
        made = _with_rows(session, replace(before, state=state), before.unfolded)
    elif is_known and before.state.query == state.query:
        made = _with_rows(session, replace(before, state=state))
    elif state.query:
        made = _search(session, state, job, begin, ready, find_first)
    else:
        made = _with_rows(session, TreeRows(state))
    if made is not None:
        ready(made)
    return made


def _search(
    session: Session, state: TreeState, job: Job, begin: int, ready: Callable[[TreeRows], object], find_first: FindFirst
) -> TreeRows | None:
    query = parse_search(state.query)
    entries = len(session.parents)
    found: list[int] = []
    some = False
    for some in (False, True) if len(terms_of(query)) > 1 else (False,):
        searched, enough, patience, due = 0, FIRST_HITS, MORE_SECONDS, time.monotonic() + FIRST_SECONDS
        for part in _parts(entries, begin):
            for _, more in search_session(session, query, part, job.cancelled, some=some, find_first=find_first):
                found += more
            searched += len(part)
            if job.cancelled():
                return None
            if found and searched < entries and (len(found) >= enough or time.monotonic() >= due):
                made = _with_rows(session, TreeRows(state, found=sorted(found), searched=searched, some=some))
                ready(made)
                job.emit(made)
                job.pause(FRAME_SECONDS)
                enough, due, patience = entries, time.monotonic() + patience, patience * 2
        if found:
            break
    return _with_rows(session, TreeRows(state, found=sorted(found), some=some and bool(found)))


def _with_rows(session: Session, made: TreeRows, unfolded: Rows | None = None) -> TreeRows:
    """Return the result with its rows computed from its state and its found entries, or from the `unfolded` rows."""
    state = made.state
    if unfolded is None:
        wanted = made.found if state.query and not state.whole else None
        unfolded = tree.rows(session, state.filter, keep_ancestors=True, hits=wanted)
    rows = unfolded.with_folded(state.folded)
    hits = hit_rows(session, state.filter, made.found) if made.found else ()
    positions = sorted([rows.position_of[index] for index in hits if index in rows.position_of])
    return replace(made, session=session, unfolded=unfolded, rows=rows, hits=positions)


def _parts(count: int, at: int) -> Iterator[range]:
    """Yield ranges that cover the positions 0 to `count`, starting next to `at`, alternately above and below `at`."""
    above, below, size = at, at, FIRST_ENTRIES
    while above > 0 or below < count:
        if above > 0:
            above, end = max(0, above - size), above
            yield range(above, end)
        if below < count:
            start, below = below, min(count, below + size)
            yield range(start, below)
        size = min(size * 2, PART_ENTRIES)


# ---- rows as styled text -----------------------------------------------------------------------------------

COLUMNS = 2
"""Width in cells by which one level of the tree is indented; pi takes three, which leaves little room for text."""

TEXT_CHARACTERS = 400
_LABEL_CELLS = 28
_LEAST_TEXT = 34
_COST_CELLS = 7
_LEAST_WIDTH_FOR_COSTS = 30

_ROLE_LOOKS = {"user": "user", "assistant": "assistant", "developer": "note", "system": "note"}


class TreeStyle(Struct, frozen=True, kw_only=True):
    """Settings for painting all rows of a tree. Entries are given by index, costs in dollars.

    `find` finds the matches of the search in a text. `leaf` is the entry whose row gets the sign "← leaf".
    `branch_costs` has the cost of each branch for its first row. `row_costs` are the costs for the column of answer
    costs; None if the column is hidden.
    """

    now_ms: float = 0
    label_times: bool = False
    leaf: int | None = None
    find: FindMatches | None = None
    branch_costs: Mapping[int, float] = {}
    row_costs: Mapping[int, float] | None = None


def tree_row(session: Session, row: Row, text: RowText, width: int, style: TreeStyle, shift: int = 0) -> Line:
    """Return a row of the tree as spans (pieces of styled text); `text` is the row's text, not sanitised.

    The first `shift` cells of the connecting lines are not shown, because the tree is scrolled sideways.
    """
    left, right = lines_before(row, shift), marks_after(session, row, width, style)
    room = width - line_width(left) - line_width(right) - 1
    shown = fit(text_spans(session, row, text, style), max(8, room))
    line = sides([*left, *shown], right, width, least=8)
    return line if row.matches else [(part, "faint") for part, _ in line]


def marks_after(session: Session, row: Row, width: int, style: TreeStyle) -> Line:
    """Return the texts at the right edge of a row of `width` cells: label, signs of mark and leaf, cost."""
    right: Line = []
    mark = session.labels.get(row.index)
    if mark is not None:
        right += label_spans(mark, style)
    if row.index == style.leaf:
        right.append((" ← leaf", "accent"))
    return right + cost_spans(row, width, style)


def row_width(session: Session, row: Row, text: RowText, style: TreeStyle) -> int:
    """Return the number of cells that a row needs to be shown in full."""
    left, right = lines_before(row), marks_after(session, row, _LEAST_WIDTH_FOR_COSTS, style)
    return line_width(left) + line_width(text_spans(session, row, text, style)) + line_width(right) + 1


def cost_spans(row: Row, width: int, style: TreeStyle) -> Line:
    """Return the cost of the row's answer if answer costs are shown, else of the branch that begins at the row."""
    if style.row_costs is not None:
        spent = style.row_costs.get(row.index)
        return [(f" {cost(spent) if spent else '':>{_COST_CELLS}}", "good")]
    spent = style.branch_costs.get(row.index) if width >= _LEAST_WIDTH_FOR_COSTS else None
    return [(f" {cost(spent)}", "dim")] if spent else []


def lines_before(row: Row, shift: int = 0) -> Line:
    """Return the connecting lines and the sign of the active branch before a row's text.

    The first `shift` cells are left out, but never the connector of the row itself.
    """
    cells = ["  "] * row.level
    for level, goes_on in row.gutters:
        cells[level] = "│ " if goes_on else "  "
    if row.connector is not None and cells:
        middle = "⊞" if row.folded else "⊟" if row.foldable else "─"
        cells[-1] = f"{'╰' if row.connector == 'last' else '├'}{middle}"
    shown = cells[shift // COLUMNS :]
    if shift and len(shown) > 1:
        shown[0] = "… "
    elif shift and row.connector is not None:
        shown = cells[-1:]
    sign = ("⊞ ", "key") if row.folded and row.connector is None else ("", "")
    return [("".join(shown), "faint"), sign, ("• ", "accent") if row.active else ("  ", "")]


def shift_for(row: Row, width: int) -> int:
    """Return by how many cells to scroll the tree sideways: a row's text gets half of the width, at least 34 cells."""
    beyond = row.level * COLUMNS - max(COLUMNS * 2, min(width // 2, width - _LEAST_TEXT))
    return max(0, beyond + beyond % COLUMNS)


def text_spans(session: Session, row: Row, read: RowText, style: TreeStyle) -> Line:
    """Return the row's text in the style of its role, with the matches of the search marked; failures have a sign."""
    text = clean(read.text[: TEXT_CHARACTERS * 2])[:TEXT_CHARACTERS]
    kind = session.envelopes[row.index]
    plain = "" if row.active else "dim"
    line: Line
    head, colon, rest = text.partition(": ")
    if kind.type == "message" and kind.role in _ROLE_LOOKS and colon:
        line = [(f"{head}: ", f"{_ROLE_LOOKS[kind.role]}{' strong' if row.active else ''}"), (rest, plain)]
    elif kind.type == "message":
        line = [(text, "error" if read.failed else "tool" if row.active else "dim")]
    elif text:
        line = [(text, "note" if row.active else "dim")]
    else:
        line = [(clean(kind.type) or "(no type)", "faint italic")]
    line = overlay(line, style.find(text), "match") if style.find is not None and row.matches else line
    return [("✗ ", "error"), *line] if read.failed else line


def label_spans(mark: LabelMark, style: TreeStyle) -> Line:
    """Return an entry's label and, if `style.label_times` is set, the time at which the user set the label."""
    line: Line = fit([(f" ⚑ {clean(mark.text)}", "label strong")], _LABEL_CELLS)
    if style.label_times:
        line = [*line, (f" {label_time(mark.time, style.now_ms)}", "dim")]
    return line


def label_time(time: str | float | None, now_ms: float) -> str:
    """Return the time of a label as pi writes it: `14:03` today, `8/13 14:03` this year, else `25/8/13 14:03`."""
    moment_ms = time_ms(time)
    moment, now = local_time(moment_ms) if moment_ms is not None else None, local_time(now_ms)
    if moment is None or now is None:
        return ""
    clock = f"{moment:%H:%M}"
    if moment.date() == now.date():
        return clock
    day = f"{moment.month}/{moment.day}"
    return f"{day} {clock}" if moment.year == now.year else f"{moment:%y}/{day} {clock}"


# ---- texts -------------------------------------------------------------------------------------------------

MOST_KEPT = 4000
"""If more row texts than this are cached, the cache drops all texts that are not near the visible rows."""


class RowTexts:
    """Cache of the texts of one session's rows; jobs of the background queue `lane` read the texts from the file."""

    def __init__(self, session: Session, home: str, lane: Lane) -> None:
        self._session = session
        self._home = home
        self._lane = lane
        self._texts: dict[int, RowText] = {}

    def get(self, index: int) -> RowText | None:
        """Return the text of an entry's row; None if the text is not read yet."""
        return self._texts.get(index)

    def prepare(self, entries: Sequence[int], visible: range) -> threading.Event | None:
        """Start reading the texts of the visible rows, then of a screenful above and below; any thread may call this.

        `entries` contains for each row the position of its entry in the session. Returns an event that is set when the
        texts of the visible rows are read; None if these texts are cached already.
        """
        page = len(visible)
        texts = self._texts
        missing = [index for index in entries[visible.start : visible.stop] if index not in texts]
        near = entries[max(0, visible.start - page // 2) : visible.stop + page // 2]
        if not missing and all(index in texts for index in near):
            return None
        wanted = entries[max(0, visible.start - page) : visible.stop + page]
        if len(texts) > MOST_KEPT:
            self._texts = {index: texts[index] for index in wanted if index in texts}
        done = threading.Event()

        def read(job: Job) -> None:
            self._read(missing, job)
            if not job.cancelled():
                done.set()
                job.emit(None)
            self._read(wanted, job)

        self._lane.ask(read)
        return done if missing else None

    def _read(self, indexes: Sequence[int], job: Job) -> None:
        for index in indexes:
            if job.cancelled():
                return
            if index not in self._texts:
                try:
                    text = read_row(self._session, index, self._home)
                except SessionBrowseError as error:
                    text = RowText(str(error))
                self._texts[index] = text
