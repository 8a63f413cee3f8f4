"""Read one session file, or the lines appended to it, and collect its entries, summary and texts for the index.

This module writes nothing: it passes the texts to a callback, and returns summary and entries as one `IndexedFile`.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import Marks
from sessionbrowse.errors import Unreadable
from sessionbrowse.format.codec import recognise
from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.format.lines import LineBlock, line_blocks
from sessionbrowse.format.ordinary_line import decode_with_calls, decode_with_tools
from sessionbrowse.model.listing.bulk_lines import ANSWER, OTHER, RESULT, DecodedLines
from sessionbrowse.model.listing.summary import Summary, SummaryState
from sessionbrowse.model.listing.summary_builder import KEPT_FIRST_CHARACTERS, SummaryBuilder
from sessionbrowse.model.search.entry_facts import role_of
from sessionbrowse.model.search.entry_text import (
    NAME_KEYS,
    done_text,
    may_have_text,
    message_text,
    named,
    names_of,
    strings_in,
    tool_text,
)
from sessionbrowse.model.session.records import Reader, ReaderState, Record
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Migration
from sessionbrowse.model.tree.entry_states import BOUNDARIES
from sessionbrowse.model.usage.request import NO_USAGE, FileRequests
from sessionbrowse.model.usage.request_reader import RequestReader
from sessionbrowse.store.find.discover import PACKED_SUFFIX
from sessionbrowse.store.index.rows import FOREIGN, ORDINARY, TRANSCRIPT, StoredEntries, stored_entries
from sessionbrowse.store.read.content import Content, closing, feed_lines, file_blocks, open_content, open_regular
from sessionbrowse.store.read.summarise import session_status, summarise_transcript, transcript_session, without_content
from sessionbrowse.store.system.files import pread

_NAMED = msgspec.defstruct("_NAMED", [(key, Any, None) for key in NAME_KEYS], gc=False)
_decode_named = msgspec.json.Decoder(_NAMED).decode


class EntryText(msgspec.Struct, gc=False):
    """The texts of one entry: what was said, the names in its tool calls, and its tool calls and results.

    `tools` is empty unless tool calls and results are indexed. `index` is the number of the entry in its file.
    """

    index: int
    role: str
    said: str
    done: str = ""
    tools: str = ""


TakeText = Callable[[EntryText], object]
"""Callback for the texts of an entry that has any."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """State after reading the complete lines of a file, up to offset `end`; `last` is the offset of the last entry."""

    end: int
    last: int
    head_hash: bytes
    tail_hash: bytes
    reader: ReaderState
    summary: SummaryState


decode_state = msgspec.msgpack.Decoder(State).decode


class IndexBuilder(SummaryBuilder):
    """A summary builder that also collects the file's entries and passes the text of each entry to a callback."""

    def __init__(self, reader: Reader, take_text: TakeText, *, tools: bool) -> None:
        super().__init__(reader)
        self._offsets: array[int] = array("q")
        self._sizes: array[int] = array("q")
        self._boundaries: dict[int, str | None] | None = {}
        self._made_ids: list[str | None] = []
        self.end = 0
        """Byte offset of the end of the last complete line (with a newline) that was read."""
        self.resumable: tuple[ReaderState, SummaryState] | None = None
        """State of line reader and summary at the offset `end`; None if the index cannot stand in for the file."""
        self.decode = decode_with_tools if tools else decode_with_calls
        self.requests = RequestReader()
        self._take_text = take_text
        self._tools = tools
        self._closed = False
        self._migration = Migration(reader)
        self._is_headless = False

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Collect the entries of lines that end with a newline; `offset` is the byte offset of the first line."""
        super().add_lines(lines, offset)
        self.end = self._reader.bytes_read

    def add_block(self, block: LineBlock) -> None:
        """Collect the entries of lines that must be parsed completely, such as very long lines.

        If the file's last line has no newline, its entry is not collected: it may still be incomplete. It only counts
        for the summary and the model requests.
        """
        if block.torn:
            self.close()
        super().add_block(block)
        if not self._closed:
            self.end = self._reader.bytes_read

    def close(self) -> None:
        """Save the reading state at the end of the last complete line; an unfinished line may follow."""
        if self._closed:
            return
        self._closed = True
        reader = self._reader
        if reader.header is not None and not reader.is_transcript and not self._is_headless:
            self.resumable = reader.state(), self.state()

    def add_ordinary(self, block: DecodedLines, offset: int) -> None:
        """Collect the entries of ordinary lines, which `decode` has decoded, and pass their texts to the callback."""
        index = self.entries_read
        super().add_ordinary(block, offset)
        lines, kinds = block.lines, block.kinds
        self.requests.add_ordinary(index, block.entries, kinds, ANSWER, OTHER)
        sizes = list(map(len, lines))
        self._sizes.extend([size - 1 for size in sizes])
        self._offsets.extend(accumulate(sizes[:-1], initial=offset))
        self._hand_on(block.messages, kinds, index)

    def add(self, record: Record) -> None:
        """Collect an entry whose line was parsed completely, and pass its text to the callback."""
        index = self.entries_read
        super().add(record)
        self.requests.add(index, record.envelope, record.raw)
        if self._closed:
            return
        envelope = record.envelope
        # An entry before the header is migrated when the session is opened, not here.
        self._is_headless |= self._reader.header is None
        if self._reader.generation == 1:
            self._made_ids.append(self._migration.migrated(envelope, record.ordinal).id)
        self._offsets.append(record.offset)
        self._sizes.append(record.size)
        if envelope.type in BOUNDARIES:
            self._note_boundary(index, record.raw)
        if not may_have_text(record.envelope.type, record.raw):
            return
        try:
            value: Json = loads(record.raw)
        except BadJson:
            # A damaged line can contain two entries, of which omp keeps the first. That entry is indexed without its
            # text, because the line cannot be parsed as one JSON value.
            return
        tools = tool_text(value) if self._tools else ""
        self._take(EntryText(index, role_of(value), message_text(value), done_text(value), tools))

    def continue_from(self, state: State, known: StoredEntries, usage: FileRequests) -> None:
        """Restore the state after an earlier reading, which found the entries `known` and the model requests."""
        self.resume(state.summary, known.ids, known.parent_ids())
        self._offsets, self._sizes, self._boundaries = known.offsets(), array("q", known.sizes), known.boundaries
        self.requests = RequestReader(usage, len(known.sizes))

    def entries(self) -> StoredEntries:
        """Return the entries of the file once it is read; in format version 1 with the ids that pi gives them."""
        count, ids, parent_ids = len(self._sizes), self.tree.ids, self.tree.parents
        if self._reader.generation == 1:
            # An entry before the header has no id.
            ids = [*[None] * (count - len(self._made_ids)), *self._made_ids]
            parent_ids = [None, *ids]
        return stored_entries(self._offsets, self._sizes, ids[:count], parent_ids[:count], self._boundaries)

    def _note_boundary(self, index: int, raw: bytes) -> None:
        """Store the id of the first entry that a compaction keeps, unless that depends on the rules of its program."""
        if self._boundaries is None:
            return
        try:
            value: Json = loads(raw)
        except BadJson:
            value = None
        if (
            isinstance(value, dict)
            and value.get("type") == "compaction"
            and value.get("preserveData") is None
            and self._reader.generation > 1
        ):
            kept = value.get("firstKeptEntryId")
            self._boundaries[index] = kept if isinstance(kept, str) else None
        else:
            self._boundaries = None

    def usage(self, leaf: int | None = None) -> FileRequests:
        """Return the model requests of the file once it is read; if `leaf` is None, the last entry is the leaf."""
        return self.requests.finish(self.tree, leaf)

    def _take(self, text: EntryText) -> None:
        if text.said or text.done or text.tools:
            self._take_text(text)

    def _hand_on(self, messages: list[Any], kinds: bytes, index: int) -> None:
        tools = self._tools
        for message, kind in zip(messages, kinds, strict=True):
            if kind == RESULT:
                if tools:
                    said = _joined([message.toolName, _text_of(message.content)])
                    self._take(EntryText(index, message.role, "", "", said))
            elif kind == ANSWER:
                done, called = _calls_of(message.content, tools)
                self._take(EntryText(index, message.role, _text_of(message.content), done, called))
            elif kind != OTHER:
                self._take(EntryText(index, message.role, _text_of(message.content)))
            index += 1


def _text_of(content: Any) -> str:
    if content.__class__ is str:
        return content
    return "\n".join([block.text for block in content if block.type == "text" and block.text])


def _calls_of(content: Any, tools: bool) -> tuple[str, str]:
    """Return the names in the tool calls of an answer, and with `tools` the whole text of the calls."""
    if isinstance(content, str):
        return "", ""
    done: list[str] = []
    called: list[str | None] = []
    for call in [block for block in content if block.type == "toolCall"]:
        done += names_of(call.name, _named(call.arguments))
        if tools:
            called += [call.name, _arguments(call.arguments)]
    return "\n".join(done), _joined(called)


def _named(raw: msgspec.Raw) -> Iterable[Json]:
    try:
        return msgspec.structs.astuple(_decode_named(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return named(_loaded(raw))


def _loaded(raw: msgspec.Raw) -> Json:
    try:
        return loads(bytes(raw))
    except BadJson:
        return None


def _arguments(raw: msgspec.Raw) -> str:
    return strings_in(_loaded(raw))


def _joined(texts: list[str | None]) -> str:
    return "\n".join([text for text in texts if text])


# ---- reading a file ----------------------------------------------------------------------------------------

HEAD_HASH_BYTES = 4096
TAIL_HASH_BYTES = 64 * 1024

AgentOf = Callable[[Marks], str]
_NO_ENTRIES = StoredEntries()


class IndexedFile(Struct, frozen=True):
    """The contents of a session file in the form in which the index stores them."""

    status: os.stat_result
    agent: str
    marks: tuple[str, ...]
    kind: int
    summary: Summary
    first_at: tuple[int, int] | None
    state: State | None
    entries: StoredEntries
    usage: FileRequests = NO_USAGE


def read_for_index(
    path: str, agent_of: AgentOf, take_text: TakeText, *, tools: bool, restart: Callable[[], None]
) -> IndexedFile | None:
    """Read a whole file for the index; return None if the file cannot be read.

    `restart` is called if the file turns out to belong to another agent: all texts passed on so far are then invalid.
    """
    try:
        content = open_content(path, "memory")
    except Unreadable:
        return None
    descriptor, status = content.descriptor, content.status
    with closing(descriptor):
        try:
            head = content.head()
            marks = content.marks(head)
            agent = agent_of(marks)
            foreign = recognise(head) if content.program is None else None
            if foreign is not None:
                summary = without_content(path, agent, status, foreign)
                agents = tuple(sorted(marks.agents))
                return IndexedFile(status, agent, agents, FOREIGN, summary, None, None, _NO_ENTRIES)
            while True:
                reader = Reader(RULES[agent])
                builder = IndexBuilder(reader, take_text, tools=tools)
                content.feed(builder)
                builder.close()
                reader.finish()
                if reader.is_transcript:
                    session = transcript_session(descriptor, path)
                    summary = summarise_transcript(session, path, status, session_status(content))
                    kept, at = _cut_first(summary, builder.state().first_at)
                    return IndexedFile(
                        status,
                        "indusagi",
                        (),
                        TRANSCRIPT,
                        kept,
                        at,
                        None,
                        builder.entries(),
                        usage=builder.usage(session.leaf),
                    )
                # Each round finds the mark (content that only one agent writes) of one more agent, so this loop ends.
                marks = Marks(marks.agents | reader.marks)
                decided = agent_of(marks)
                if decided == agent:
                    if not content.is_in_place:
                        # Positions of entries in unpacked or translated content are not those in the file, so appended
                        # lines cannot be read alone.
                        builder.resumable = None
                    return _finished(path, content, marks, builder)
                agent = decided
                restart()
        except OSError:
            return None


def read_growth(
    path: str,
    agent: str,
    marks: Marks,
    agent_of: AgentOf,
    state: State,
    known: StoredEntries,
    take_text: TakeText,
    *,
    tools: bool,
    usage: FileRequests = NO_USAGE,
) -> IndexedFile | None:
    """Read the lines after `state.end`; return None if the file must be read from its beginning.

    That is necessary if the lines before `state.end` or the file's agent have changed. `known` are the entries before
    `state.end`, and `usage` their model requests.
    """
    if path.endswith(PACKED_SUFFIX):
        return None
    try:
        descriptor = open_regular(path)
    except Unreadable:
        return None
    with closing(descriptor):
        try:
            status = os.fstat(descriptor)
            if status.st_size < state.end or _hashes(descriptor, state.last, state.end) != (
                state.head_hash,
                state.tail_hash,
            ):
                return None
            reader = Reader(RULES[agent])
            for block in line_blocks(file_blocks(descriptor, 0, state.end)):
                for _ in reader.read(block):
                    pass
                break
            if reader.header is None or reader.generation == 1:
                return None
            reader.resume(state.reader)
            builder = IndexBuilder(reader, take_text, tools=tools)
            builder.continue_from(state, known, usage)
            builder.end = state.end
            feed_lines(descriptor, builder, state.end)
            builder.close()
            reader.finish()
            marks = Marks(marks.agents | reader.marks)
            if reader.is_transcript or agent_of(marks) != agent:
                return None
            return _finished(path, Content(descriptor, status), marks, builder)
        except OSError:
            return None


def _finished(path: str, content: Content, marks: Marks, builder: IndexBuilder) -> IndexedFile:
    status = content.status
    entries, end = builder.entries(), builder.end
    state = None
    if builder.resumable is not None:
        last = entries.place(len(entries.sizes) - 1)[0] if entries.sizes else 0
        state = State(end, last, *_hashes(content.descriptor, last, end), *builder.resumable)
    summary = builder.finish(path, status.st_size, status.st_mtime_ns, session_status(content))
    summary, at = _cut_first(summary, builder.first_at)
    agents = tuple(sorted(marks.agents))
    usage = builder.usage()
    return IndexedFile(status, summary.agent, agents, ORDINARY, summary, at, state, entries, usage)


def _hashes(descriptor: int, last: int, end: int) -> tuple[bytes, bytes]:
    begin = max(last, end - TAIL_HASH_BYTES)
    parts = (pread(descriptor, min(HEAD_HASH_BYTES, end), 0), pread(descriptor, end - begin, begin))
    return blake2b(parts[0], digest_size=16).digest(), blake2b(parts[1], digest_size=16).digest()


def _cut_first(summary: Summary, at: tuple[int, int] | None) -> tuple[Summary, tuple[int, int] | None]:
    first = summary.first_message
    if first is None or len(first) <= KEPT_FIRST_CHARACTERS or at is None:
        return summary, None
    return replace(summary, first_message=first[:KEPT_FIRST_CHARACTERS], first_message_cut=False), at
