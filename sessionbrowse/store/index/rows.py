"""Rows of the index as Python values: `FileRow` identifies a version of a file, `ListRow` adds facts for lists.

All list rows are also stored as one packed value, the overview, because fetching 10,000 rows one by one takes longer
than getting the status of 10,000 files. Triggers mark the overview as outdated; renewing it reads only changed rows.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from sessionbrowse.agents import Marks
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FileStamp, FoundFile

ORDINARY, TRANSCRIPT, FOREIGN = 0, 1, 2
"""The kinds of indexed files: sessions, indusagi's transcripts, and files of other formats, stored without content."""

STAMP_COLUMNS = "path, size, mtime_ns, ctime_ns, inode, device"
FILE_COLUMNS = f"{STAMP_COLUMNS}, id, agent, marks, kind, has_tools"
"""The columns of a `FileRow`, in the order of its fields."""
CHECKED_COLUMNS = f"{FILE_COLUMNS}, sum"
_LIST_COLUMNS = f"{CHECKED_COLUMNS}, summary"

OVERVIEW_TABLES = """
CREATE TABLE overview (id INTEGER PRIMARY KEY CHECK (id = 0), packed BLOB NOT NULL);
CREATE TABLE overview_is_current (id INTEGER PRIMARY KEY CHECK (id = 0));
CREATE TRIGGER overview_on_insert AFTER INSERT ON files BEGIN DELETE FROM overview_is_current; END;
CREATE TRIGGER overview_on_update AFTER UPDATE ON files BEGIN DELETE FROM overview_is_current; END;
CREATE TRIGGER overview_on_delete AFTER DELETE ON files BEGIN DELETE FROM overview_is_current; END;
"""

PackedSummary = tuple[Summary, tuple[int, int] | None]
"""A pair: a summary, and if its first message is cut, the byte offset and size of that message's line, else None."""


class FileRow(FileStamp, frozen=True, array_like=True, gc=False):
    """A row of the table `files` without the summary: the file's size, times and inode when it was read, and its agent.

    `row` is the row's id. `has_tools` is 1 if the texts include tool calls and results.
    """

    row: int
    agent: str
    marks: str
    kind: int
    has_tools: int

    def is_current(self, file: FoundFile) -> bool:
        """Return True if `file` is the version that this row was made from, and still belongs to the same agent."""
        if not self.has_stamp_of(file):
            return False
        # Most files have no marks (content that only one agent writes); for these, `owner` is the agent.
        agent = file.agent(self.found_marks()) if self.marks else file.owner
        return self.agent == agent or self.kind == TRANSCRIPT

    def holds(self, file: FoundFile, tools: bool) -> bool:
        """Return True if the index has this version of the file; with `tools`, also its tool calls and results."""
        return self.is_current(file) and bool(self.has_tools) >= tools

    def may_have_grown(self, file: FoundFile) -> bool:
        """Return True if the file may be the indexed one with lines appended: it is larger and has the same inode."""
        return file.size > self.size and (self.inode, self.device) == (file.inode, file.device)

    def found_marks(self) -> Marks | None:
        """Return the marks found in the file (content that only one agent writes); None if there are none."""
        return Marks(frozenset(self.marks.split())) if self.marks else None


class ListRow(FileRow, frozen=True, array_like=True, gc=False):
    """A row of the index with the facts that lists and searches need to select and sort sessions."""

    modified: float | None
    hidden: bool
    id: str | None
    cwd: str
    name: str | None
    labels: tuple[str, ...]


RowT = TypeVar("RowT", bound=FileRow)


def file_row(values: Sequence[Any]) -> FileRow:
    """Return a `FileRow` from the values of `CHECKED_COLUMNS`, after verifying their checksum.

    Raises:
        sqlite3.DatabaseError: the row is damaged.
    """
    return _checked((_path_of(values[0]), *_summed(values)[1:]), FileRow)


def with_sum(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of a row of the table `files` with their checksum appended."""
    identity, path, *stamp = row[:7]
    return (*row, _sum_of((path, *stamp, identity, *row[7:10], row[11])))


def damaged(why: str) -> sqlite3.DatabaseError:
    """Return an error for damage that SQLite cannot detect, with the result code of a corrupt database."""
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def unread_bytes(known: FileStamp | None, file: FileStamp) -> int:
    """Estimate the number of bytes to read of a changed file: the appended bytes if the file has grown, else all."""
    return file.size - known.size if known is not None and file.size > known.size else file.size


def read_rows(connection: sqlite3.Connection, ids: Iterable[int] | None = None) -> list[ListRow]:
    """Return the `ListRow`s with these ids, or all of them, from the table `files`.

    Raises:
        sqlite3.DatabaseError, ValueError: the index is damaged.
    """
    ask = f"SELECT {_LIST_COLUMNS} FROM files"
    if ids is None:
        return [_list_row(values) for values in connection.execute(ask)]
    return [_list_row(values) for row in ids for values in connection.execute(f"{ask} WHERE id = ?", (row,))]


def read_overview(connection: sqlite3.Connection) -> list[ListRow] | None:
    """Return all list rows from the overview (one packed value); None if the overview is outdated or damaged."""
    if connection.execute("SELECT 1 FROM overview_is_current").fetchone() is None:
        return None
    # Reading the packed list rows as a blob copies them once; a SELECT would copy them twice.
    with connection.blobopen("overview", "packed", 0, readonly=True) as packed:
        return _unpack_overview(packed.read())


def renew_overview(connection: sqlite3.Connection) -> None:
    """Update the overview (all list rows as one packed value). The caller must hold the lock of the index.

    Raises:
        UnicodeEncodeError: a path is not valid text, so no overview can be written.
    """
    packed = connection.execute("SELECT packed FROM overview").fetchone()
    known = {row.row: row for row in (_unpack_overview(packed[0]) if packed is not None else None) or ()}
    connection.execute("BEGIN IMMEDIATE")
    kept: list[ListRow] = []
    changed: list[int] = []
    for identity, *stamp in connection.execute(f"SELECT id, {STAMP_COLUMNS} FROM files"):
        row = known.get(identity)
        if row is not None and row.has_stamp_of(FileStamp(_path_of(stamp[0]), *stamp[1:])):
            kept.append(row)
        else:
            changed.append(identity)
    kept += read_rows(connection, changed)
    # A scan finds files in the order of their paths, and compares each file with its row. With rows in the same order,
    # this reads memory in sequence, which is faster.
    kept.sort(key=attrgetter("path"))
    connection.execute("INSERT OR REPLACE INTO overview VALUES (0, ?)", (sealed(msgspec.msgpack.encode(kept)),))
    connection.execute("INSERT OR REPLACE INTO overview_is_current VALUES (0)")
    connection.execute("COMMIT")


def pack_summary(summary: Summary, first_at: tuple[int, int] | None) -> bytes:
    """Pack a summary without its path; `first_at` is the line (offset, size) of the first message if that is cut."""
    return sealed(_encode(([getattr(summary, name) for name in _FIELDS], first_at)), summary.path)


def unpack_summary(path: str, packed: bytes) -> PackedSummary:
    """Unpack a summary; if its first message is cut, also return the offset and size of that message's line.

    Raises:
        ValueError: the bytes are damaged.
    """
    values, first_at = _decode_summary(opened(packed, path))
    values[_LABELS] = tuple(values[_LABELS])
    return Summary(path=path, **dict(zip(_FIELDS, values, strict=True))), first_at


def read_first_messages(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the first message of every indexed file by path; "" for a file without messages.

    Raises:
        sqlite3.Error: the index is damaged.
    """
    found: dict[str, str] = {}
    try:
        for stored, packed in connection.execute("SELECT path, summary FROM files"):
            path = os.fsdecode(stored)
            found[path] = _decode_summary(opened(packed, path))[0][_FIRST_MESSAGE] or ""
    except (ValueError, TypeError, LookupError) as error:
        raise damaged("a summary in the index is damaged") from error
    return found


def sealed(content: bytes, owner: str = "") -> bytes:
    """Return a value with a checksum in front, by which `opened` detects a changed value and a value of another owner.

    `owner` is the path of a session file, or a text that identifies another row.
    """
    return zlib.crc32(content, zlib.crc32(os.fsencode(owner))).to_bytes(_SUM_BYTES, "big") + content


def opened(packed: bytes, owner: str = "") -> memoryview:
    """Return a value without its checksum, after verifying that `sealed` made it for this `owner` (such as a path).

    Raises:
        ValueError: the checksum is wrong.
    """
    content = memoryview(packed)[_SUM_BYTES:]
    if zlib.crc32(content, zlib.crc32(os.fsencode(owner))).to_bytes(_SUM_BYTES, "big") != packed[:_SUM_BYTES]:
        raise ValueError("a checksum in the index is wrong")
    return content


def _path_of(stored: bytes | None) -> str:
    if stored is None:
        # If the disk has lost a part of the database file, SQLite reads empty values there.
        raise damaged("a row of the index has no path")
    if not isinstance(stored, bytes):
        raise damaged("a path in the index is not stored as bytes")
    return os.fsdecode(stored)


def _list_row(values: tuple[Any, ...]) -> ListRow:
    path = _path_of(values[0])
    try:
        summary, _ = unpack_summary(path, values[-1])
    except (TypeError, LookupError, ValueError) as error:
        raise damaged(f"a summary in the index is damaged: {error}") from error
    known = _summed(values[:-1])
    about = (summary.modified, summary.hidden, summary.id, summary.cwd, summary.name, summary.labels)
    return _checked((path, *known[1:], *about), ListRow)


def _summed(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of a row without their checksum (the last value), after verifying it."""
    if _sum_of(values[:-1]) != values[-1]:
        raise damaged("a row of the index has a wrong checksum")
    return values[:-1]


def _sum_of(values: Sequence[Any]) -> int:
    return zlib.crc32(_encode(values))


def _checked(values: tuple[Any, ...], kind: type[RowT]) -> RowT:
    """Return the values as a row of type `kind`, after checking their types: another program may have changed them."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise damaged(f"a row of the index is damaged: {error}") from error


def _unpack_overview(packed: bytes | None) -> list[ListRow] | None:
    try:
        return _decode_overview(opened(packed)) if packed is not None else None
    except (ValueError, TypeError):
        return None


_SUM_BYTES = 4
_FIELDS = tuple(name for name in Summary.__struct_fields__ if name != "path")
_FIRST_MESSAGE = _FIELDS.index("first_message")
_LABELS = _FIELDS.index("labels")
_encode = msgspec.msgpack.Encoder().encode
_decode_summary = msgspec.msgpack.Decoder(tuple[list[Any], tuple[int, int] | None]).decode
_decode_overview = msgspec.msgpack.Decoder(list[ListRow]).decode
