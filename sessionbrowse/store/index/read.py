"""One session file, read for the index: its summary, entries and texts; or only what was appended since.

Nothing here writes: texts go to a callback, the rest is returned as one `IndexedFile`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import Marks, marks_of_head
from sessionbrowse.errors import Unreadable
from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.format.entries import Json
from sessionbrowse.format.envelope import Envelope, Spent, read_envelope, whole
from sessionbrowse.format.foreign import recognise
from sessionbrowse.format.indexed_line import decode_indexed, decode_with_tools
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, LineBlock, line_blocks
from sessionbrowse.model.columns import Columns, joined
from sessionbrowse.model.entry_text import may_have_text, said_text, strings_in, tool_text
from sessionbrowse.model.ordinary import ColumnReader
from sessionbrowse.model.reading import Progress, Reader, Record
from sessionbrowse.model.rules import RULES
from sessionbrowse.model.summary import KEPT_FIRST_CHARACTERS, SEPARATORS, Summariser, Summary, SummaryProgress
from sessionbrowse.model.usage import counted
from sessionbrowse.store.scan import summarise_transcript, without_content
from sessionbrowse.store.session_file import file_blocks, head_of, open_regular
from sessionbrowse.text import parse_time

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
    entries: Columns
    first: int = 0


class Collector(ColumnReader):
    """Keeps the entries of one file, sums up what a list tells of it, and hands on their texts."""

    def __init__(
        self, reader: Reader, summariser: Summariser, take_text: TakeText, *, tools: bool, first: int = 0
    ) -> None:
        super().__init__(reader, Columns())
        self.decode = decode_with_tools if tools else decode_indexed
        self.state: State | None = None
        self.torn: list[Record] = []
        """The entry, if it is one, of a last line without a newline: of the list, but not kept."""
        self._summariser = summariser
        self._take_text = take_text
        self._tools = tools
        self._first = first
        self._closed = False
        self._splits_at_separators = reader.rules.list_splits_at_separators
        self._messages = 0
        self._active_ms: float = 0
        self._tokens = 0
        self._cost = 0.0

    def add(self, block: LineBlock) -> None:
        """Add the entries of the next block; up to the first message of the user, line by line."""
        offset = block.offset
        last = len(block.lines) - 1
        for number, line in enumerate(block.lines):
            if self._summariser.knows_first_message:
                super().add(LineBlock(offset, block.lines[number:], block.reduced_from, block.torn))
                return
            self._read(LineBlock(offset, [line], block.reduced_from, block.torn and number == last))
            offset += len(line) + 1

    def is_odd(self, line: bytes) -> bool:
        """Tell whether a line beyond ASCII is no text, or one that pi's list cuts in two."""
        if self._splits_at_separators and b"\xe2\x80" in line and any(mark in line for mark in SEPARATORS):
            return True
        return super().is_odd(line)

    def ordinary(self, entries: Sequence[Any], lines: Sequence[bytes], offset: int) -> None:
        """Take consecutive ordinary messages."""
        index = self._first + len(self.columns)
        super().ordinary(entries, lines, offset)
        self._messages += len(entries)
        tools, take_text = self._tools, self._take_text
        active, tokens, cost = self._active_ms, self._tokens, self._cost
        for number, entry in enumerate(entries):
            message = entry.message
            if message.role == "toolResult":
                usage = None
                if message.toolName == "task":
                    # What omp's subagents spent stands elsewhere in the line.
                    spent = self._spent(lines[number])
                    if spent is not None:
                        tokens += spent.tokens
                        cost += spent.cost
                if tools:
                    take_text(index, "", _joined([message.toolName, _text_of(message.content)]))
            else:
                moment = message.timestamp
                if moment is None:
                    moment = parse_time(entry.timestamp)
                if moment is not None and moment > active:
                    active = moment
                content = message.content
                said = content if isinstance(content, str) else _text_of(content)
                called = ""
                if message.role == "user":
                    usage = None
                else:
                    usage = message.usage
                    if tools and not isinstance(content, str):
                        calls = [block for block in content if block.type == "toolCall"]
                        called = _joined([text for call in calls for text in (call.name, _arguments(call.arguments))])
                if said or called:
                    take_text(index, said, called)
            if usage is not None:
                tokens += whole(usage.input + usage.output + usage.cacheRead + usage.cacheWrite)
                if usage.cost is not None:
                    cost += usage.cost.total
            index += 1
        self._active_ms, self._tokens, self._cost = active, tokens, cost

    def record(self, record: Record) -> None:
        """Take any other entry."""
        if self._closed:
            self.torn.append(record)
            return
        self._summariser.add(record)
        index = self._first + len(self.columns)
        super().record(record)
        if not may_have_text(record.envelope.type, record.raw):
            return
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

    def progress(self) -> SummaryProgress:
        """Return all sums so far."""
        found = self._summariser.progress()
        return replace(
            found,
            messages=found.messages + self._messages,
            active_ms=max(found.active_ms or 0, self._active_ms) or None,
            tokens=found.tokens + self._tokens,
            cost=found.cost + self._cost,
        )

    def _spent(self, line: bytes) -> Spent | None:
        envelope = read_envelope(line)
        return counted(self.reader.rules, envelope) if isinstance(envelope, Envelope) else None


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
            return IndexedFile(status, agent, tuple(sorted(marks.agents)), FOREIGN, summary, None, None, Columns())
        while True:
            reader = Reader(RULES[agent])
            collector = Collector(reader, Summariser(reader), take_text, tools=tools)
            _feed(descriptor, collector, 0, None)
            reader.finish()
            if reader.is_transcript:
                summary = summarise_transcript(descriptor, path, status)
                kept, at = _cut_first(summary, collector.progress().first_at)
                return IndexedFile(status, "indusagi", (), TRANSCRIPT, kept, at, None, collector.columns)
            # Marks are only ever added, so this ends.
            marks = Marks(marks.agents | reader.marks)
            decided = agent_of(marks)
            if decided == agent:
                return _finished(path, status, marks, collector, collector.columns, 0)
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
    known: Columns,
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
        summariser.resume(state.summary, known)
        collector = Collector(reader, summariser, take_text, tools=tools, first=len(known))
        _feed(descriptor, collector, state.end, state)
        reader.finish()
        marks = Marks(marks.agents | reader.marks)
        if reader.is_transcript or agent_of(marks) != agent:
            return None
        return _finished(path, status, marks, collector, joined(known, collector.columns), len(known))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _feed(descriptor: int, collector: Collector, offset: int, before: State | None) -> None:
    """Feed the lines from `offset` on, and note behind the last whole one how to go on from there some other day."""
    reader, columns = collector.reader, collector.columns
    end = offset
    torn: LineBlock | None = None
    for block in line_blocks(file_blocks(descriptor, offset), offset, MAX_LISTED_LINE_BYTES):
        whole_lines = block.lines
        if block.torn:
            whole_lines = block.lines[:-1]
            end = block.offset + sum(map(len, whole_lines)) + len(whole_lines)
            torn = LineBlock(end, block.lines[-1:], block.reduced_from, torn=True)
        if whole_lines:
            collector.add(LineBlock(block.offset, whole_lines, block.reduced_from))
            end = reader.bytes_read
    collector.close()
    # Without an entry since, the last known line is still the one of before.
    last = columns.offsets[-1] if columns.offsets else before.last if before is not None else 0
    if reader.header is not None and not reader.is_transcript and reader.generation >= 2:
        head_hash, tail_hash = _hashes(descriptor, last, end)
        collector.state = State(end, last, head_hash, tail_hash, reader.progress(), collector.progress())
    if torn is not None:
        collector.add(torn)


def _finished(
    path: str, status: os.stat_result, marks: Marks, collector: Collector, columns: Columns, first: int
) -> IndexedFile:
    reader = collector.reader
    summariser = Summariser(reader)
    summariser.resume(collector.progress(), columns)
    for record in collector.torn:
        summariser.add(record)
    summary, at = _cut_first(summariser.finish(path, status.st_size, status.st_mtime_ns), summariser.first_at)
    found = tuple(sorted(marks.agents))
    agent = reader.rules.agent
    return IndexedFile(status, agent, found, ORDINARY, summary, at, collector.state, collector.columns, first)


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
    return "\n".join([block.text for block in content if block.type == "text" and block.text])


def _arguments(raw: msgspec.Raw) -> str:
    try:
        return strings_in(loads(bytes(raw)))
    except BadJson:
        return ""


def _joined(texts: list[str | None]) -> str:
    return "\n".join([text for text in texts if text])
