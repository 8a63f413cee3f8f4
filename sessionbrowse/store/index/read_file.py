"""Read one session file for the index, or only the lines appended since the last reading.

This module writes nothing: it passes the texts to a callback, and returns summary and entries as one `IndexedFile`.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import Marks
from sessionbrowse.errors import Unreadable
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.format.other_files import recognise
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.listing.summary_builder import KEPT_FIRST_CHARACTERS
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.usage.request import NO_USAGE, FileRequests
from sessionbrowse.store.find.discover import is_packed
from sessionbrowse.store.index.collector import Collector, State, TakeText
from sessionbrowse.store.index.rows import FOREIGN, ORDINARY, TRANSCRIPT
from sessionbrowse.store.index.stored_entries import StoredEntries
from sessionbrowse.store.read.content import (
    Content,
    closing,
    feed_lines,
    file_blocks,
    open_content,
    open_regular,
)
from sessionbrowse.store.read.summarise import session_status, summarise_transcript, transcript_session, without_content
from sessionbrowse.store.system.files import pread

HEAD_HASH_BYTES = 4096
TAIL_HASH_BYTES = 64 * 1024

AgentOf = Callable[[Marks], str]
_NO_ENTRIES = StoredEntries(array("q"), array("q"), [], [], has_boundary=False)


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
            foreign = recognise(head)
            if foreign is not None:
                summary = without_content(path, agent, status, foreign)
                agents = tuple(sorted(marks.agents))
                return IndexedFile(status, agent, agents, FOREIGN, summary, None, None, _NO_ENTRIES)
            while True:
                reader = Reader(RULES[agent])
                collector = Collector(reader, take_text, tools=tools)
                _feed(content.blocks(), collector, 0)
                reader.finish()
                if reader.is_transcript:
                    session = transcript_session(descriptor, path)
                    summary = summarise_transcript(session, path, status, session_status(content))
                    kept, at = _cut_first(summary, collector.progress().first_at)
                    return IndexedFile(
                        status,
                        "indusagi",
                        (),
                        TRANSCRIPT,
                        kept,
                        at,
                        None,
                        collector.entries(),
                        usage=collector.usage(session.leaf),
                    )
                # Each round finds the mark (content that only one agent writes) of one more agent, so this loop ends.
                marks = Marks(marks.agents | reader.marks)
                decided = agent_of(marks)
                if decided == agent:
                    if not content.is_in_place:
                        # The positions of entries are not those in the file, so that it cannot be read on from its end.
                        collector.resumable = None
                    return _finished(path, content, marks, collector)
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
    if is_packed(path):
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
            collector = Collector(reader, take_text, tools=tools)
            collector.continue_from(state, known, usage)
            _feed(file_blocks(descriptor, state.end), collector, state.end)
            reader.finish()
            marks = Marks(marks.agents | reader.marks)
            if reader.is_transcript or agent_of(marks) != agent:
                return None
            return _finished(path, Content(descriptor, status), marks, collector)
        except OSError:
            return None


def _feed(pieces: Iterable[bytes], collector: Collector, offset: int) -> None:
    collector.end = offset
    feed_lines(pieces, collector, offset)
    collector.close()


def _finished(path: str, content: Content, marks: Marks, collector: Collector) -> IndexedFile:
    status = content.status
    entries, end = collector.entries(), collector.end
    state = None
    if collector.resumable is not None:
        last = entries.offsets[-1] if entries.offsets else 0
        state = State(end, last, *_hashes(content.descriptor, last, end), *collector.resumable)
    summary = collector.finish(path, status.st_size, status.st_mtime_ns, session_status(content))
    summary, at = _cut_first(summary, collector.first_at)
    agents = tuple(sorted(marks.agents))
    usage = collector.usage()
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
