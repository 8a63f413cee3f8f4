"""Search all sessions, all branches: hits are entries, newest sessions first, names and labels before text.

With an index the words name the candidates and only those lines are read; without one, and for files that the index
does not have as they are, the files are streamed. The answers are the same. Everything here only reads.
"""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError, Unreadable
from sessionbrowse.format.big_line import reduce_line
from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.format.entries import Json
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, line_blocks
from sessionbrowse.model.entry_text import said_text, tool_text
from sessionbrowse.model.reading import Reader
from sessionbrowse.model.rules import RULES
from sessionbrowse.model.search_query import (
    SearchQuery,
    Span,
    matches,
    parse_search,
    snippet,
    spans_in,
)
from sessionbrowse.model.session import Session
from sessionbrowse.model.summary import Summary
from sessionbrowse.model.titles import Titles
from sessionbrowse.model.tree import row_text
from sessionbrowse.model.words import literal
from sessionbrowse.services.indexed import Gathered
from sessionbrowse.services.inspect import compacted_entries
from sessionbrowse.store.index.index import Held, Index
from sessionbrowse.store.index.packed import unpack_row_entries
from sessionbrowse.store.index.schema import TEXT_TABLES
from sessionbrowse.store.index.session import session_from_index
from sessionbrowse.store.session_file import file_blocks, open_regular, open_session
from sessionbrowse.text import parse_time

NAME_SCORE, LABEL_SCORE, TEXT_SCORE, NEAR_SCORE = 3.0, 2.0, 1.0, 0.0
_SCORE_SPAN_MS = 1e13
"""Recency adds less than one to a score: milliseconds since 1970, divided by this."""

Cancelled = Callable[[], bool]


class Hit(Struct, frozen=True):
    """An entry that was found, or a session by its name (`entry_index` None).

    `state` is active, abandoned or compacted. `marks` are the places of the matches in `snippet`. `time_ms` is when it
    was said, None where the entry does not tell.
    """

    path: str
    id: str | None
    agent: str
    cwd: str
    name: str | None
    entry_index: int | None
    entry_id: str | None
    role: str
    state: str
    snippet: str
    marks: tuple[Span, ...]
    score: float
    time_ms: float | None = None


class EntryFacts(Struct, frozen=True):
    """What queries ask of an entry. `model` is lower case, with its provider before a slash."""

    text: str
    role: str
    time_ms: float | None
    model: str
    tool_names: tuple[str, ...]


class Checkpoint(Struct, frozen=True):
    """A label of a session, and the entry that bears it. `time_ms` is when it was set, `preview` the entry's row."""

    path: str
    id: str | None
    agent: str
    cwd: str
    session: str | None
    entry_index: int
    entry_id: str | None
    label: str
    time_ms: float | None
    said_ms: float | None
    state: str
    preview: str


class Searcher:
    """Answers queries about sessions that were gathered once; `index` None streams every file.

    What was worked out for one query is kept for the next; `before` is a searcher of an earlier gathering, from which
    is taken what did not change.
    """

    def __init__(self, gathered: Gathered, index: Index | None = None, before: Searcher | None = None) -> None:
        self._index = index
        self._rows = gathered.rows if index is not None else {}
        self.summaries = sorted(gathered.summaries, key=lambda summary: (-(summary.modified or 0), summary.path))
        self._text_rows: dict[tuple[sqlite3.Connection, str], _Rows] = {}
        self._trees: dict[str, _Tree] = {}
        self._titles = Titles(self.summaries)
        self._by_path: dict[str, Summary] | None = None
        self._checkpoints: dict[str, tuple[object, list[Checkpoint]]] = before._checkpoints if before else {}
        self._recent: dict[str, tuple[Held, list[_Recent]]] = before._recent if before else {}

    @property
    def indexed_paths(self) -> Collection[str]:
        """The files of which the index says where their words are."""
        return self._rows.keys()

    def summary(self, path: str) -> Summary | None:
        """Return the session of a file."""
        if self._by_path is None:
            self._by_path = {summary.path: summary for summary in self.summaries}
        return self._by_path.get(path)

    def find(
        self,
        query: SearchQuery,
        *,
        tools: bool = False,
        cancelled: Cancelled = lambda: False,
        wait_for_labels: bool = True,
        looked_at: Callable[[int], object] = lambda count: None,
    ) -> Iterator[Hit]:
        """Yield hits, best first; stop at any hit, or by `cancelled`.

        `tools` looks at tool calls and results too; so does a `tool:` filter. `wait_for_labels` False looks at those
        labels only that are known already. `looked_at` is told how many sessions are behind.
        """
        if query.is_empty:
            return
        tools = tools or bool(query.tools)
        sessions = [summary for summary in self.summaries if _fits_session(query, summary)]
        by_title = query.has_text and not query.is_about_entries
        if by_title:
            for summary in sessions:
                spans = self._titles.spans(query, summary) if _is_in_time(query, summary.modified) else None
                if spans is not None:
                    yield _session_hit(summary, summary.name or "", spans, NAME_SCORE)
            for summary in sessions:
                if cancelled():
                    return
                if summary.label_count and (wait_for_labels or self._knows_checkpoints(summary)):
                    yield from self._labels(query, summary)
        candidates = _Candidates(lambda: self._candidates(query, tools))
        for number, summary in enumerate(sessions):
            if cancelled():
                return
            looked_at(number)
            yield from self._in_session(query, summary, candidates, tools, cancelled)
        if by_title:
            # A title that is only nearly right is for those who find nothing else.
            for summary in self._titles.near(query, sessions, cancelled):
                if _is_in_time(query, summary.modified):
                    yield _session_hit(summary, self._titles.title(summary), [], NEAR_SCORE)

    # ---- labels --------------------------------------------------------------------------------------------

    def checkpoints(self, summary: Summary) -> list[Checkpoint]:
        """Return the labels of a session, latest entry first; a session that did not change is read once."""
        known = self._checkpoints.get(summary.path)
        if known is not None and known[0] == _version(summary):
            return known[1]
        tree = self._tree(summary)
        found = _checkpoints_of(summary, tree) if tree is not None else []
        self._checkpoints[summary.path] = (_version(summary), found)
        return found

    def _knows_checkpoints(self, summary: Summary) -> bool:
        known = self._checkpoints.get(summary.path)
        return known is not None and known[0] == _version(summary)

    def _labels(self, query: SearchQuery, summary: Summary) -> Iterator[Hit]:
        for checkpoint in self.checkpoints(summary):
            spans = spans_in(query, checkpoint.label)
            said_ms = checkpoint.said_ms
            if spans is not None and _is_in_time(query, said_ms if said_ms is not None else summary.modified):
                yield _hit(
                    summary,
                    checkpoint.entry_index,
                    checkpoint.entry_id,
                    "label",
                    checkpoint.state,
                    checkpoint.label,
                    spans,
                    LABEL_SCORE,
                    said_ms,
                )

    # ---- the newest sessions, held in memory ---------------------------------------------------------------

    def hold_recent(self, summary: Summary) -> int:
        """Keep what was said in a session in memory, so that it is searched at once; return the characters held."""
        row = self._rows.get(summary.path)
        if row is None or self._index is None:
            return 0
        held = self._recent.get(summary.path)
        if held is None or held[0] != row:
            entries: list[_Recent] = []
            tree = self._tree(summary)
            if tree is None:
                return 0
            try:
                for index, raw in _lines_at(summary.path, tree.said_places()):
                    facts = facts_of(raw, tools=False)
                    if facts is not None and facts.text:
                        folded = literal(facts.text)
                        entries.append(_Recent(index, facts, folded, tree.entry_id(index), tree.state(index)))
            except IndexError:
                # The file changed under us.
                return 0
            held = self._recent[summary.path] = (row, entries)
        return sum([len(entry.folded) for entry in held[1]])

    def forget_recent(self, kept: Collection[str]) -> None:
        """Hold no other sessions in memory than these."""
        for path in [path for path in self._recent if path not in kept]:
            del self._recent[path]

    def _in_recent(self, query: SearchQuery, summary: Summary, cancelled: Cancelled) -> Iterator[Hit] | None:
        """Return the hits in a session that is held in memory, None if it is not."""
        held = self._recent.get(summary.path)
        if held is None or held[0] != self._rows.get(summary.path):
            return None
        wanted = (*query.words, *query.phrases)
        likely = [entry for entry in held[1] if all(word in entry.folded for word in wanted)]
        return (
            hit
            for entry in likely
            if not cancelled()
            if _fits_facts(query, entry.facts) and matches(query, entry.facts.text, entry.folded)
            if (hit := self._fitting(query, summary, entry.index, entry.facts, entry.entry_id, entry.state)) is not None
        )

    # ---- text ----------------------------------------------------------------------------------------------

    def _in_session(
        self,
        query: SearchQuery,
        summary: Summary,
        candidates: _Candidates,
        tools: bool,
        cancelled: Cancelled,
    ) -> Iterator[Hit]:
        recent = self._in_recent(query, summary, cancelled) if not tools else None
        if recent is not None:
            yield from recent
            return
        row = self._rows.get(summary.path)
        if row is not None and self._index is not None and (not tools or row.has_tools or not query.has_text):
            try:
                wanted = candidates.of(row.id)
                if wanted is not None and not wanted:
                    return
                places = self._index.places(row)
                chosen = wanted if wanted is not None else range(len(places.offsets))
                found = _lines_at(summary.path, [(i, places.offsets[i], places.sizes[i]) for i in reversed(chosen)])
                for index, raw in found:
                    if cancelled():
                        return
                    hit = self._judge(query, summary, index, raw, tools)
                    if hit is not None:
                        yield hit
            except (ValueError, IndexError, sqlite3.Error):
                # Damaged, or the file changed under us: it is streamed.
                pass
            else:
                return
        kept: list[Hit] = []
        for index, raw in _stream(summary):
            if cancelled():
                return
            hit = self._judge(query, summary, index, raw, tools)
            if hit is not None:
                kept.append(hit)
        yield from reversed(kept)

    def _judge(self, query: SearchQuery, summary: Summary, index: int, raw: bytes, tools: bool) -> Hit | None:
        facts = facts_of(raw, tools=tools)
        if facts is None or not facts.text or not _fits_facts(query, facts) or not matches(query, facts.text):
            return None
        tree = self._tree(summary)
        entry_id = tree.entry_id(index) if tree is not None else None
        return self._fitting(query, summary, index, facts, entry_id, tree.state(index) if tree is not None else "")

    def _fitting(
        self, query: SearchQuery, summary: Summary, index: int, facts: EntryFacts, entry_id: str | None, state: str
    ) -> Hit | None:
        """Return the hit, unless its label or its branch is not what is asked for."""
        if query.labels:
            marks = [literal(mark.label) for mark in self.checkpoints(summary) if mark.entry_index == index]
            if not any(wanted in mark for mark in marks for wanted in query.labels):
                return None
        if query.states and state not in query.states:
            return None
        spans = spans_in(query, facts.text) or []
        return _hit(
            summary, index, entry_id, facts.role, state or "active", facts.text, spans, TEXT_SCORE, facts.time_ms
        )

    def _tree(self, summary: Summary) -> _Tree | None:
        """The session's tree, read once; a few are kept, for hits come session by session."""
        tree = self._trees.get(summary.path)
        if tree is None:
            try:
                session = session_from_index(self._index, summary.path, summary.agent) if self._index else None
                tree = _Tree(session or open_session(summary.path, summary.agent))
            except SessionBrowseError:
                return None
            while len(self._trees) >= 4:
                self._trees.pop(next(iter(self._trees)))
            self._trees[summary.path] = tree
        return tree

    # ---- candidates ----------------------------------------------------------------------------------------

    def _candidates(self, query: SearchQuery, tools: bool) -> Callable[[int], list[int]] | None:
        """Return what tells, by file id, the entries that have every word of the query; None where all may match."""
        tokens = query.tokens()
        if self._index is None or not tokens:
            return None
        terms = ['"' + word + '"' + ("*" if is_open else "") for word, is_open in tokens]
        # What was said stands in one row with all its words. With tools each word is asked for alone: one may stand
        # in what was said, the next one in the tool's arguments.
        asked = terms if tools else [" AND ".join(terms)]
        found: list[list[tuple[_Rows, Sequence[int]]]] = []
        try:
            for term in asked:
                found.append([])
                for _, connection in self._index.databases():
                    for table in TEXT_TABLES if tools else TEXT_TABLES[:1]:
                        ask = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid"
                        rows = [row[0] for row in connection.execute(ask, (term,))]
                        if rows:
                            found[-1].append((self._rows_of(connection, table), rows))
        except sqlite3.Error:
            return None

        def entries_of(file: int) -> list[int]:
            by_term = [set(chain.from_iterable(held.entries_of(file, rows) for held, rows in each)) for each in found]
            return sorted(by_term[0].intersection(*by_term[1:]))

        return entries_of

    def _rows_of(self, connection: sqlite3.Connection, table: str) -> _Rows:
        known = self._text_rows.get((connection, table))
        if known is None:
            known = self._text_rows[connection, table] = _Rows(connection, table)
        return known


class _Rows:
    """Which entries of which files the rows of a table of texts hold."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self._ask = f"SELECT entries FROM {table}_rows WHERE base = ?"
        self._runs: dict[int, list[tuple[int, int]]] = {}
        for base, file, count in connection.execute(f"SELECT base, file, count FROM {table}_rows"):
            self._runs.setdefault(file, []).append((base, count))

    def entries_of(self, file: int, rows: Sequence[int]) -> Iterator[int]:
        """Yield the entries of a file whose texts stand in some of the rows, which are sorted.

        Raises:
            ValueError: what the index holds is damaged.
            sqlite3.Error: the same.
        """
        for base, count in self._runs.get(file, ()):
            low, high = bisect_left(rows, base), bisect_left(rows, base + count)
            if low < high:
                held = self._connection.execute(self._ask, (base,)).fetchone()
                entries = unpack_row_entries(held[0]) if held is not None else []
                for row in rows[low:high]:
                    yield from entries[row - base]


class _Recent(Struct, frozen=True):
    """An entry that is held in memory; `folded` is its text as words are compared."""

    index: int
    facts: EntryFacts
    folded: str
    entry_id: str | None
    state: str


class _Candidates:
    """The entries that may match, asked of the index when the first session needs them."""

    def __init__(self, ask: Callable[[], Callable[[int], list[int]] | None]) -> None:
        self._ask = ask
        self._answer: Callable[[int], list[int]] | None = None
        self._asked = False

    def of(self, file: int) -> list[int] | None:
        """Return the entries of a file; None if every one may match."""
        if not self._asked:
            self._answer, self._asked = self._ask(), True
        return self._answer(file) if self._answer is not None else None


class _Tree:
    """A session, and in which state its entries are."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._active = set(session.active_branch())
        self._compacted = compacted_entries(session)

    def state(self, index: int) -> str:
        if index in self._compacted:
            return "compacted"
        return "active" if index in self._active else "abandoned"

    def entry_id(self, index: int) -> str | None:
        ids = self.session.ids
        return ids[index] if index < len(ids) else None

    def said_places(self) -> list[tuple[int, int, int]]:
        """Index, offset and size of the entries that may say something, the last one first."""
        session = self.session
        return [
            (index, session.offsets[index], session.sizes[index])
            for index in range(len(session.ids) - 1, -1, -1)
            if session.kind(index).role != "toolResult"
        ]


def hit_document(hit: Hit) -> dict[str, object]:
    """Return one row of `search --json`."""
    return {
        "path": hit.path,
        "id": hit.id,
        "agent": hit.agent,
        "cwd": hit.cwd,
        "entry_id": hit.entry_id,
        "role": hit.role,
        "state": hit.state,
        "snippet": hit.snippet,
        "score": hit.score,
        "marks": [list(mark) for mark in hit.marks],
    }


def search(
    text: str,
    gathered: Gathered,
    index: Index | None = None,
    *,
    tools: bool = False,
    cancelled: Cancelled = lambda: False,
) -> Iterator[Hit]:
    """Yield the hits of a query, best first.

    Raises:
        BadSearch: the query cannot be asked.
    """
    return Searcher(gathered, index).find(parse_search(text), tools=tools, cancelled=cancelled)


def _lines_at(path: str, places: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, bytes]]:
    """Yield entries by index with their lines, as far as the index looks at a line."""
    try:
        descriptor = open_regular(path)
    except Unreadable:
        return
    try:
        for index, offset, size in places:
            raw = b"".join(file_blocks(descriptor, offset, offset + size))
            if len(raw) < size:
                raise IndexError(path)
            yield index, reduce_line(raw) if size > MAX_LISTED_LINE_BYTES else raw
    except OSError:
        return
    finally:
        os.close(descriptor)


def _stream(summary: Summary) -> Iterator[tuple[int, bytes]]:
    """Yield every entry of a file by index with its line."""
    try:
        descriptor = open_regular(summary.path)
    except Unreadable:
        return
    try:
        reader = Reader(RULES[summary.agent])
        index = -1
        with suppress(OSError):
            for block in line_blocks(file_blocks(descriptor), max_line=MAX_LISTED_LINE_BYTES):
                for record in reader.read(block):
                    index += 1
                    yield index, record.raw
    finally:
        os.close(descriptor)


def _fits_session(query: SearchQuery, summary: Summary) -> bool:
    if query.agents and summary.agent not in query.agents:
        return False
    if query.projects and not any(wanted in literal(summary.cwd) for wanted in query.projects):
        return False
    return not query.names or any(wanted in literal(summary.name or "") for wanted in query.names)


def facts_of(raw: bytes, *, tools: bool) -> EntryFacts | None:
    """Return what a query asks of an entry's line; None if it is no JSON object."""
    try:
        value: Json = loads(raw)
    except BadJson:
        return None
    if not isinstance(value, dict):
        return None
    text = said_text(value)
    if tools:
        more = tool_text(value)
        text = f"{text}\n{more}" if text and more else text or more
    found = value.get("message")
    message: dict[str, Json] = found if isinstance(found, dict) else {}
    model = f"{message.get('provider')}/{message.get('model')}".lower() if message.get("model") else ""
    return EntryFacts(text, _role(value), _time(value, message), model, tuple(_tool_names(message)))


def _fits_facts(query: SearchQuery, facts: EntryFacts) -> bool:
    if query.roles and not any(facts.role.lower().startswith(wanted) for wanted in query.roles):
        return False
    if query.tools and not any(name.lower() in query.tools for name in facts.tool_names):
        return False
    if query.models and not any(wanted in facts.model for wanted in query.models):
        return False
    return _is_in_time(query, facts.time_ms)


def _tool_names(message: dict[str, Json]) -> list[str]:
    names = [message.get("toolName")]
    content = message.get("content")
    if isinstance(content, list):
        names += [block.get("name") for block in content if isinstance(block, dict) and block.get("type") == "toolCall"]
    if message.get("role") == "bashExecution":
        names.append("bash")
    return [name for name in names if isinstance(name, str)]


def _role(value: dict[str, Json]) -> str:
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else value.get("type")
    return role if isinstance(role, str) else ""


def _time(value: dict[str, Json], message: dict[str, Json]) -> float | None:
    for stamp in (value.get("timestamp"), value.get("at"), message.get("timestamp")):
        if isinstance(stamp, str):
            moment = parse_time(stamp)
            if moment is not None:
                return moment
        elif isinstance(stamp, int | float) and not isinstance(stamp, bool):
            return stamp
    return None


def _envelope_time(session: Session, index: int) -> float | None:
    stamp = session.envelopes[index].timestamp
    return parse_time(stamp) if isinstance(stamp, str) else stamp


def _is_in_time(query: SearchQuery, moment: float | None) -> bool:
    if query.after_ms is None and query.before_ms is None:
        return True
    if moment is None:
        return False
    return (query.after_ms is None or moment >= query.after_ms) and (
        query.before_ms is None or moment < query.before_ms
    )


def _session_hit(summary: Summary, title: str, spans: list[Span], score: float) -> Hit:
    return _hit(summary, None, None, "name", "active", title, spans, score, summary.modified)


def _hit(
    summary: Summary,
    index: int | None,
    entry_id: str | None,
    role: str,
    state: str,
    text: str,
    spans: list[Span],
    score: float,
    time_ms: float | None,
) -> Hit:
    line, marks = snippet(text, spans)
    return Hit(
        path=summary.path,
        id=summary.id,
        agent=summary.agent,
        cwd=summary.cwd,
        name=summary.name,
        entry_index=index,
        entry_id=entry_id,
        role=role,
        state=state,
        snippet=line,
        marks=marks,
        score=_scored(score, summary),
        time_ms=time_ms,
    )


def _checkpoints_of(summary: Summary, tree: _Tree) -> list[Checkpoint]:
    session = tree.session
    return [
        Checkpoint(
            path=summary.path,
            id=summary.id,
            agent=summary.agent,
            cwd=summary.cwd,
            session=summary.name,
            entry_index=index,
            entry_id=tree.entry_id(index),
            label=mark.text,
            time_ms=parse_time(mark.time) if isinstance(mark.time, str) else mark.time,
            said_ms=_envelope_time(session, index),
            state=tree.state(index),
            preview=row_text(session, index),
        )
        for index, mark in sorted(session.labels.items(), reverse=True)
    ]


def _version(summary: Summary) -> object:
    """Return what changes when the file does."""
    return (summary.bytes, summary.modified, summary.entry_count, summary.label_count)


def _scored(score: float, summary: Summary) -> float:
    return round(score + min(max(summary.modified or 0, 0) / _SCORE_SPAN_MS, 0.999), 6)
