"""Open a session from the index if its file has not changed: its entries are unpacked instead of parsed."""

from __future__ import annotations

import os
import sqlite3
from itertools import chain

from sessionbrowse.errors import Unreadable
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, line_blocks
from sessionbrowse.model.session.build_session import session_of
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.find.agent_of_path import agent_of_path
from sessionbrowse.store.find.discover import stamp_of
from sessionbrowse.store.index.collector import StoredEntries
from sessionbrowse.store.index.index import Index
from sessionbrowse.store.index.rows import ORDINARY, FileRow
from sessionbrowse.store.read.content import SHORT_HEAD_BYTES, closing, file_blocks, open_regular, read_at


def session_from_index(index: Index, path: str, agent: str | None = None) -> Session | None:
    """Return the session that `open_session` would return; None if the index does not have this version of the file.

    `path` must be absolute.
    """
    try:
        row = index.row_of(path)
        if row is None or row.kind != ORDINARY or row.agent != (agent or agent_of_path(path, row.found_marks())):
            return None
        stored = index.stored(row)
    except sqlite3.Error:
        return None
    # If the file ends with an unfinished line, the index does not contain that line.
    if stored is None or stored.state.end != row.size:
        return None
    try:
        descriptor = open_regular(path)
    except Unreadable:
        return None
    with closing(descriptor):
        try:
            if not row.has_stamp_of(stamp_of(path, os.fstat(descriptor))):
                return None
            return _session(descriptor, path, row, stored)
        except OSError:
            return None


def _session(descriptor: int, path: str, row: FileRow, stored: StoredEntries) -> Session | None:
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
    reader.resume(stored.state.reader)
    reader.bytes_read, reader.torn = row.size, False
    reader.finish()
    return session_of(
        reader,
        stored.columns,
        stored.state.ordinals,
        path,
        lambda offset, size: read_at(path, offset, size),
        is_migrated=True,
    )
