"""One session file, read for the index: its summary, entries and texts; or only what was appended since.

Nothing here writes: texts go to a callback, the rest is returned as one `IndexedFile`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import Marks, marks_of_head
from sessionbrowse.errors import Unreadable
from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.format.entries import Json
from sessionbrowse.format.foreign import recognise
from sessionbrowse.format.indexed_line import (
    IndexedAssistant,
    IndexedLine,
    IndexedToolResult,
    IndexedUser,
    decode_indexed,
    envelope_of,
)
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, line_blocks
from sessionbrowse.format.listing_line import Kinds
from sessionbrowse.model.entry_text import said_text, strings_in, tool_text
from sessionbrowse.model.reading import Progress, Reader, Record
from sessionbrowse.model.rules import RULES
from sessionbrowse.model.summary import KEPT_FIRST_CHARACTERS, Summariser, Summary, SummaryProgress
from sessionbrowse.store.feed import feed_lines
from sessionbrowse.store.index.packed import Entries, no_entries
from sessionbrowse.store.scan import summarise_transcript, without_content
from sessionbrowse.store.session_file import file_blocks, head_of, open_regular

HEAD_HASH_BYTES = 4096
TAIL_HASH_BYTES = 64 * 1024

ORDINARY, TRANSCRIPT, FOREIGN = 0, 1, 2

AgentOf = Callable[[Marks], str]
TakeText = Callable[[int, str, str], None]
"""Takes an entry's index and its texts: what was said, and what is of tools (each may be empty)."""


class State(Struct, frozen=True, array_like=True):
    """What is needed to go on at `end`, the byte behind the last whole line; `last` is where that line begins."""

    end: int
    last: int
    head_hash: bytes
    tail_hash: bytes
    reader: Progress
    summary: SummaryProgress


class KeptSummary(Struct, frozen=True, array_like=True):
    """A summary as the index holds it: the path is the row's, a long first message is cut and found at `first_at`."""

    values: tuple[Any, ...]
    first_at: tuple[int, int] | None


class IndexedFile(Struct, frozen=True):
    """All that one reading of a file found. `entries` are those from index `first` on. `torn` files end mid-line."""

    status: os.stat_result
    agent: str
    marks: tuple[str, ...]
    kind: int
    summary: Summary
    first_at: tuple[int, int] | None
    state: State | None
    entries: Entries
    first: int = 0


class Collector:
    """Keeps the entries of one file while it is summarised, and hands on their texts."""

    kinds = Kinds(IndexedUser, IndexedAssistant, IndexedToolResult)
    decode = staticmethod(decode_indexed)

    def __init__(self, take_text: TakeText, *, tools: bool, first: int = 0) -> None:
        self.entries = no_entries()
        self.state: State | None = None
        self._take_text = take_text
        self._tools = tools
        self._first = first
        self._closed = False

    def ordinary(self, entry: IndexedLine, line: int, offset: int, size: int) -> None:
        """Take an ordinary message."""
        index = self._keep(envelope_of(entry), line, offset, size)
        message = entry.message
        content = message.content
        if isinstance(message, IndexedToolResult):
            said = ""
            tools = _joined([message.toolName, _text_of(content)]) if self._tools else ""
        else:
            said = _text_of(content)
            tools = ""
            if self._tools and isinstance(message, IndexedAssistant) and not isinstance(content, str):
                calls = [block for block in content if block.type == "toolCall"]
                tools = _joined([text for call in calls for text in (call.name, _arguments(call.arguments))])  # type: ignore[union-attr]
        if said or tools:
            self._take_text(index, said, tools)

    def record(self, record: Record) -> None:
        """Take any other entry."""
        if self._closed:
            return
        index = self._keep(record.envelope, record.line, record.offset, record.size)
        try:
            value: Json = loads(record.raw)
        except BadJson:
            # omp keeps the first of two records on one line: there is an entry, but no text to find.
            return
        said = said_text(value)
        tools = tool_text(value) if self._tools else ""
        if said or tools:
            self._take_text(index, said, tools)

    def close(self) -> None:
        """Take no more entries: what comes now is the beginning of a line."""
        self._closed = True

    def _keep(self, envelope: Any, line: int, offset: int, size: int) -> int:
        entries = self.entries
        entries.envelopes.append(envelope)
        entries.lines.append(line)
        entries.offsets.append(offset)
        entries.sizes.append(size)
        return self._first + len(entries.envelopes) - 1


def read_for_index(
    path: str, agent_of: AgentOf, take_text: TakeText, *, tools: bool, restart: Callable[[], None]
) -> IndexedFile | None:
    """Read a whole file; None if it is gone or cannot be read. `restart` says that all texts so far are void."""
    try:
        descriptor = open_regular(path)
    except Unreadable:
        return None
    try:
        status = os.fstat(descriptor)
        head = head_of(descriptor)
        marks = marks_of_head(head)
        agent = agent_of(marks)
        foreign = recognise(head)
        if foreign is not None:
            summary = without_content(path, agent, status, foreign)
            return IndexedFile(status, agent, tuple(sorted(marks.agents)), FOREIGN, summary, None, None, no_entries())
        while True:
            reader = Reader(RULES[agent])
            summariser = Summariser(reader)
            collector = Collector(take_text, tools=tools)
            summariser.observe(collector)
            feed_lines(descriptor, summariser, 0, _closing(descriptor, reader, summariser, collector))
            reader.finish()
            if reader.is_transcript:
                summary = summarise_transcript(descriptor, path, status)
                kept, at = _cut_first(summary, summariser.first_at)
                return IndexedFile(status, "indusagi", (), TRANSCRIPT, kept, at, None, collector.entries)
            # Marks are only ever added, so this ends.
            marks = Marks(marks.agents | reader.marks)
            decided = agent_of(marks)
            if decided == agent:
                return _finished(path, status, marks, reader, summariser, collector, 0)
            agent = decided
            restart()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def read_growth(
    path: str,
    agent: str,
    marks: Marks,
    agent_of: AgentOf,
    state: State,
    known: Entries,
    take_text: TakeText,
    *,
    tools: bool,
) -> IndexedFile | None:
    """Read what was appended behind `state.end`; None if the file is not what it was up to there, or changed hands."""
    try:
        descriptor = open_regular(path)
    except Unreadable:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_size < state.end or _hashes(descriptor, state.last, state.end) != (
            state.head_hash,
            state.tail_hash,
        ):
            return None
        reader = Reader(RULES[agent])
        for block in line_blocks(file_blocks(descriptor, 0, state.end), max_line=MAX_LISTED_LINE_BYTES):
            for _ in reader.read(block):
                pass
            break
        if reader.header is None:
            return None
        reader.resume(state.reader)
        summariser = Summariser(reader)
        summariser.resume(state.summary, known.envelopes)
        collector = Collector(take_text, tools=tools, first=len(known.envelopes))
        summariser.observe(collector)
        feed_lines(descriptor, summariser, state.end, _closing(descriptor, reader, summariser, collector, state))
        reader.finish()
        marks = Marks(marks.agents | reader.marks)
        if reader.is_transcript or agent_of(marks) != agent:
            return None
        return _finished(path, status, marks, reader, summariser, collector, len(known.envelopes))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _finished(
    path: str,
    status: os.stat_result,
    marks: Marks,
    reader: Reader,
    summariser: Summariser,
    collector: Collector,
    first: int,
) -> IndexedFile:
    summary, at = _cut_first(summariser.finish(path, status.st_size, status.st_mtime_ns), summariser.first_at)
    agent = reader.rules.agent
    found = tuple(sorted(marks.agents))
    return IndexedFile(status, agent, found, ORDINARY, summary, at, collector.state, collector.entries, first)


def _closing(
    descriptor: int, reader: Reader, summariser: Summariser, collector: Collector, before: State | None = None
) -> Callable[[int], None]:
    """Return what notes, behind the last whole line, how to go on from there some other day."""

    def close(end: int) -> None:
        collector.close()
        entries = collector.entries
        # Without an entry since, the last known line is still the one of before.
        last = entries.offsets[-1] if entries.offsets else before.last if before is not None else 0
        if reader.header is None or reader.is_transcript or reader.generation < 2:
            return
        head_hash, tail_hash = _hashes(descriptor, last, end)
        collector.state = State(end, last, head_hash, tail_hash, reader.progress(), summariser.progress())

    return close


def _hashes(descriptor: int, last: int, end: int) -> tuple[bytes, bytes]:
    begin = max(last, end - TAIL_HASH_BYTES)
    parts = (os.pread(descriptor, min(HEAD_HASH_BYTES, end), 0), os.pread(descriptor, end - begin, begin))
    return blake2b(parts[0], digest_size=16).digest(), blake2b(parts[1], digest_size=16).digest()


def _cut_first(summary: Summary, at: tuple[int, int] | None) -> tuple[Summary, tuple[int, int] | None]:
    first = summary.first_message
    if first is None or len(first) <= KEPT_FIRST_CHARACTERS or at is None:
        return summary, None
    return replace(summary, first_message=first[:KEPT_FIRST_CHARACTERS], first_message_cut=False), at


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [block.text for block in content if block.type == "text" and block.text]
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def _arguments(raw: msgspec.Raw) -> str:
    try:
        return strings_in(loads(bytes(raw)))
    except BadJson:
        return ""


def _joined(texts: list[str | None]) -> str:
    return "\n".join([text for text in texts if text])
