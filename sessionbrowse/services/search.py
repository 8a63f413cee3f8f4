"""Search all sessions, all branches: hits are entries, newest sessions first, names and labels before text.

With an index the words name the candidates and only those lines are read; without one, and for files that the index
does not have as they are, the files are streamed. The answers are the same. Everything here only reads.
"""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

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
    is_nearly_in,
    matches,
    parse_search,
    snippet,
    spans_in,
)
from sessionbrowse.model.session import Session
from sessionbrowse.model.summary import Summary
from sessionbrowse.model.words import literal
from sessionbrowse.services.indexed import Gathered
from sessionbrowse.services.inspect import compacted_entries
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.session import session_from_index
from sessionbrowse.store.session_file import file_blocks, open_regular, open_session
from sessionbrowse.text import parse_time

NAME_SCORE, LABEL_SCORE, TEXT_SCORE, NEAR_SCORE = 3.0, 2.0, 1.0, 0.0
_SCORE_SPAN_MS = 1e13
"""Recency adds less than one to a score: milliseconds since 1970, divided by this."""
TITLE_CHARACTERS = 200

Cancelled = Callable[[], bool]


class Hit(Struct, frozen=True):
    """An entry that was found, or a session by its name (`entry_index` None).

    `state` is active, abandoned or compacted. `marks` are the places of the matches in `snippet`.
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


class Searcher:
    """Answers queries about sessions that were gathered once; `index` None streams every file."""

    def __init__(self, gathered: Gathered, index: Index | None = None) -> None:
        self._index = index
        self._rows = gathered.rows if index is not None else {}
        self._summaries = sorted(gathered.summaries, key=lambda summary: (-(summary.modified or 0), summary.path))
        self._segments: dict[int, dict[int, list[tuple[int, int, int]]]] | None = None
        self._trees: dict[str, _Tree] = {}

    def find(self, query: SearchQuery, *, tools: bool = False, cancelled: Cancelled = lambda: False) -> Iterator[Hit]:
        """Yield hits, best first; stop at any hit, or by `cancelled`.

        `tools` looks at tool calls and results too; so does a `tool:` filter.
        """
        if query.is_empty:
            return
        tools = tools or bool(query.tools)
        sessions = [summary for summary in self._summaries if _fits_session(query, summary)]
        near: list[Hit] = []
        if not query.is_about_entries:
            yield from self._titles(query, sessions, near, cancelled)
        candidates = self._candidates(query, tools)
        for summary in sessions:
            if cancelled():
                return
            yield from self._in_session(query, summary, candidates, tools, cancelled)
        # A title that is only nearly right is for those who find nothing else.
        yield from near

    # ---- names and labels ----------------------------------------------------------------------------------

    def _titles(
        self, query: SearchQuery, sessions: Sequence[Summary], near: list[Hit], cancelled: Cancelled
    ) -> Iterator[Hit]:
        if not query.has_text:
            return
        for summary in sessions:
            if not _is_in_time(query, summary.modified):
                continue
            name = summary.name or ""
            spans = spans_in(query, name) if name else None
            title = name or (summary.first_message or "")[:TITLE_CHARACTERS]
            if spans is not None:
                yield _session_hit(summary, name, spans, NAME_SCORE)
            elif is_nearly_in(query, title) and not matches(query, title):
                near.append(_session_hit(summary, title, [], NEAR_SCORE))
        for summary in sessions:
            if cancelled():
                return
            if summary.label_count:
                yield from self._labels(query, summary)

    def _labels(self, query: SearchQuery, summary: Summary) -> Iterator[Hit]:
        tree = self._tree(summary)
        if tree is None:
            return
        for index, mark in sorted(tree.session.labels.items(), reverse=True):
            time = _envelope_time(tree.session, index)
            spans = spans_in(query, mark.text)
            if spans is not None and _is_in_time(query, time if time is not None else summary.modified):
                yield self._hit(summary, index, "label", mark.text, spans, LABEL_SCORE, tree)

    # ---- text ----------------------------------------------------------------------------------------------

    def _in_session(
        self,
        query: SearchQuery,
        summary: Summary,
        candidates: dict[int, list[int]] | None,
        tools: bool,
        cancelled: Cancelled,
    ) -> Iterator[Hit]:
        row = self._rows.get(summary.path)
        if row is not None and self._index is not None and (not tools or row.has_tools or not query.has_text):
            if candidates is not None and row.id not in candidates:
                return
            try:
                places = self._index.places(row)
                wanted = candidates[row.id] if candidates is not None else range(len(places.offsets))
                found = _lines_at(summary.path, [(i, places.offsets[i], places.sizes[i]) for i in reversed(wanted)])
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
        if not text or not _fits_entry(query, value) or not matches(query, text):
            return None
        tree = self._tree(summary)
        if query.labels:
            mark = tree.session.labels.get(index) if tree is not None else None
            if mark is None or not any(wanted in literal(mark.text) for wanted in query.labels):
                return None
        if query.states and (tree is None or tree.state(index) not in query.states):
            return None
        spans = spans_in(query, text) or []
        return self._hit(summary, index, _role(value), text, spans, TEXT_SCORE, tree)

    def _hit(
        self,
        summary: Summary,
        index: int,
        role: str,
        text: str,
        spans: list[Span],
        score: float,
        tree: _Tree | None,
    ) -> Hit:
        line, marks = snippet(text, spans)
        envelopes = tree.session.envelopes if tree is not None else []
        return Hit(
            path=summary.path,
            id=summary.id,
            agent=summary.agent,
            cwd=summary.cwd,
            name=summary.name,
            entry_index=index,
            entry_id=envelopes[index].id if index < len(envelopes) else None,
            role=role,
            state=tree.state(index) if tree is not None else "active",
            snippet=line,
            marks=marks,
            score=_scored(score, summary),
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

    def _candidates(self, query: SearchQuery, tools: bool) -> dict[int, list[int]] | None:
        """Return, by file id, the entries that have every word of the query; None where every entry may match."""
        tokens = query.tokens()
        if self._index is None or not tokens:
            return None
        found: dict[int, list[int]] = {}
        try:
            for number, connection in self._index.databases():
                rows = _rows_with(connection, tokens, tools)
                for file, segments in self._segments_of(number, connection).items():
                    for base, first, count in segments:
                        low, high = bisect_left(rows, base), bisect_left(rows, base + count)
                        if low < high:
                            entries = [row - base + first for row in rows[low:high]]
                            found.setdefault(file, []).extend(entries)
        except sqlite3.Error:
            return None
        return {file: sorted(entries) for file, entries in found.items()}

    def _segments_of(self, number: int, connection: sqlite3.Connection) -> dict[int, list[tuple[int, int, int]]]:
        if self._segments is None:
            self._segments = {}
        if number not in self._segments:
            wanted = {row.id for row in self._rows.values()}
            by_file: dict[int, list[tuple[int, int, int]]] = {}
            for base, file, first, count in connection.execute("SELECT base, file, first, count FROM segments"):
                if file in wanted:
                    by_file.setdefault(file, []).append((base, first, count))
            self._segments[number] = by_file
        return self._segments[number]


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


def _rows_with(connection: sqlite3.Connection, tokens: Sequence[tuple[str, bool]], tools: bool) -> list[int]:
    """Return the sorted row ids of texts that have every token."""
    terms = ['"' + word + '"' + ("*" if is_open else "") for word, is_open in tokens]
    if not tools:
        ask = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rowid"
        return [row[0] for row in connection.execute(ask, (" AND ".join(terms),))]
    common: set[int] | None = None
    for term in terms:
        # A word may stand in what was said, the next one in the tool's arguments.
        rows: set[int] = set()
        for table in ("said", "tools"):
            ask = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"
            rows.update([row[0] for row in connection.execute(ask, (term,))])
        common = rows if common is None else common & rows
    return sorted(common or ())


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


def _fits_entry(query: SearchQuery, value: dict[str, Json]) -> bool:
    if not (query.roles or query.tools or query.models or query.after_ms is not None or query.before_ms is not None):
        return True
    found = value.get("message")
    message: dict[str, Json] = found if isinstance(found, dict) else {}
    role = _role(value).lower()
    if query.roles and not any(role.startswith(wanted) for wanted in query.roles):
        return False
    if query.tools and not any(name.lower() in query.tools for name in _tool_names(message)):
        return False
    if query.models:
        model = f"{message.get('provider')}/{message.get('model')}".lower() if message.get("model") else ""
        if not any(wanted in model for wanted in query.models):
            return False
    return _is_in_time(query, _time(value, message))


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
    line, marks = snippet(title, spans)
    return Hit(
        path=summary.path,
        id=summary.id,
        agent=summary.agent,
        cwd=summary.cwd,
        name=summary.name,
        entry_index=None,
        entry_id=None,
        role="name",
        state="active",
        snippet=line,
        marks=marks,
        score=_scored(score, summary),
    )


def _scored(score: float, summary: Summary) -> float:
    return round(score + min(max(summary.modified or 0, 0) / _SCORE_SPAN_MS, 0.999), 6)
