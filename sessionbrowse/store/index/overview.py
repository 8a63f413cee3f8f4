"""All sessions of the index in brief, as one value: what tells whether files changed, and what orders a list.

Ten thousand rows of a table take longer to fetch than all their files take to be asked. Triggers say when it is out of
date; it is made again from what it was and the rows that changed since.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from sessionbrowse.store.index.file_row import Held, path_of
from sessionbrowse.store.index.packed_summary import unpack_summary

TABLES = """
CREATE TABLE overview (id INTEGER PRIMARY KEY CHECK (id = 0), packed BLOB NOT NULL);
CREATE TABLE overview_is_current (id INTEGER PRIMARY KEY CHECK (id = 0));
CREATE TRIGGER overview_on_insert AFTER INSERT ON files BEGIN DELETE FROM overview_is_current; END;
CREATE TRIGGER overview_on_update AFTER UPDATE ON files BEGIN DELETE FROM overview_is_current; END;
CREATE TRIGGER overview_on_delete AFTER DELETE ON files BEGIN DELETE FROM overview_is_current; END;
"""


class Brief(Held, frozen=True, array_like=True, gc=False):
    """One session: its row without the summary, and of that what lists and searches choose and order by."""

    modified: float | None
    hidden: bool
    id: str | None
    cwd: str
    name: str | None
    labels: tuple[str, ...]


def read_overview(connection: sqlite3.Connection) -> list[Brief] | None:
    """Return every session in brief; None if that is out of date."""
    if connection.execute("SELECT 1 FROM overview_is_current").fetchone() is None:
        return None
    # Should another process replace it just now, it is as current as the one before. Selecting it would copy it twice.
    with connection.blobopen("overview", "packed", 0, readonly=True) as packed:
        return _unpacked((packed.read(),))


def renew_overview(connection: sqlite3.Connection) -> None:
    """Make it current; call it as the one process that writes the index.

    Raises:
        UnicodeEncodeError: a path is no text, so there can be none.
    """
    known = {
        brief.row: brief for brief in _unpacked(connection.execute("SELECT packed FROM overview").fetchone()) or ()
    }
    connection.execute("BEGIN IMMEDIATE")
    kept: list[Brief] = []
    missing: list[int] = []
    for row, size, mtime_ns, ctime_ns in connection.execute("SELECT id, size, mtime_ns, ctime_ns FROM files"):
        brief = known.get(row)
        if brief is not None and (brief.size, brief.mtime_ns, brief.ctime_ns) == (size, mtime_ns, ctime_ns):
            kept.append(brief)
        else:
            missing.append(row)
    kept += _made(connection, missing)
    # As files are found: who compares them goes through memory once, from one end to the other.
    kept.sort(key=attrgetter("path"))
    connection.execute("INSERT OR REPLACE INTO overview VALUES (0, ?)", (msgspec.msgpack.encode(kept),))
    connection.execute("INSERT OR REPLACE INTO overview_is_current VALUES (0)")
    connection.execute("COMMIT")


def _made(connection: sqlite3.Connection, rows: Sequence[int]) -> list[Brief]:
    made = []
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        for values in connection.execute(f"SELECT {_COLUMNS} FROM files WHERE id IN ({marks})", some):
            made.append(_brief(values))
    return made


def _brief(values: tuple[Any, ...]) -> Brief:
    path = path_of(values[1])
    path.encode()
    summary, _ = unpack_summary(path, values[-1])
    facts = (*values[2:-1], summary.hidden, summary.id, summary.cwd, summary.name, summary.labels)
    return Brief(values[0], path, *facts)


def _unpacked(found: tuple[bytes | None] | None) -> list[Brief] | None:
    # A damaged row has nothing in it.
    if found is None or found[0] is None:
        return None
    try:
        return _decode(found[0])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


_AT_ONCE = 500
_COLUMNS = "id, path, size, mtime_ns, ctime_ns, inode, device, agent, marks, kind, shard, has_tools, modified, summary"
_decode = msgspec.msgpack.Decoder(list[Brief]).decode
