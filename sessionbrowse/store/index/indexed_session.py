"""Open a session from the index if its file has not changed: its entries are unpacked instead of parsed."""

from __future__ import annotations

import os
import sqlite3
from itertools import chain

import msgspec

from sessionbrowse.errors import Unreadable
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, line_blocks
from sessionbrowse.model.session.build_session import session_of
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.find.agent_of_path import agent_of_path
from sessionbrowse.store.find.discover import stamp_of
from sessionbrowse.store.index.collector import State
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.packed_entries import PackedColumns, ends_at, unpack
from sessionbrowse.store.index.rows import ORDINARY, FileRow, opened
from sessionbrowse.store.read.content import SHORT_HEAD_BYTES, closing, file_blocks, open_regular, read_at

_decode_state = msgspec.msgpack.Decoder(State).decode


def session_from_index(index: Index, path: str, agent: str | None = None) -> Session | None:
    """Return the session that `open_session` would return; None if the index does not have this version of the file.

    `path` must be absolute.
    """
    try:
        row = index.row_of(path)
        if row is None or row.kind != ORDINARY or row.agent != (agent or agent_of_path(path, row.found_marks())):
            return None
        blob = index.state(row)
        if blob is None:
            return None
        state = _decode_state(opened(blob, path))
        if state.end != row.size:
            # The file ends with an unfinished line, which the index does not contain.
            return None
        entries = unpack(index.entry_parts(row))
        if not ends_at(entries, state.last):
            return None
    except (sqlite3.Error, msgspec.MsgspecError, ValueError):
        return None
    try:
        descriptor = open_regular(path)
    except Unreadable:
        return None
    with closing(descriptor):
        try:
            if not row.has_stamp_of(stamp_of(path, os.fstat(descriptor))):
                return None
            return _session(descriptor, path, row, state, entries)
        except OSError:
            return None


def _session(descriptor: int, path: str, row: FileRow, state: State, entries: PackedColumns) -> Session | None:
    reader = Reader(RULES[row.agent])
    # Only the header is read from the file; it is usually the first line.
    head = min(SHORT_HEAD_BYTES, row.size)
    blocks = chain(file_blocks(descriptor, 0, head), file_blocks(descriptor, head, row.size))
    for block in line_blocks(blocks, max_line=MAX_LISTED_LINE_BYTES):
        for _ in reader.read(block):
            if reader.header is not None:
                break
        break
    if reader.header is None:
        return None
    reader.resume(state.reader)
    reader.bytes_read, reader.torn = row.size, False
    reader.finish()
    return session_of(
        reader,
        entries,
        # The entries' numbers stand in for their line numbers, which are needed only for format versions 1 and 2.
        list(range(1, len(entries) + 1)),
        path,
        lambda offset, size: read_at(path, offset, size),
        entries.parents() if reader.generation >= 3 else None,
    )
