"""Rows of the index as Python values (`FileRow`), and the packing of values that the database stores as bytes.

All rows are decoded at once, because fetching 10,000 rows with a column for each value takes longer than getting the
status of 10,000 files.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from sessionbrowse.agents import Marks
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FileStamp, FoundFile

ORDINARY, TRANSCRIPT, FOREIGN = 0, 1, 2
"""The kinds of indexed files: sessions, indusagi's transcripts, and files of other formats, stored without content."""

PackedSummary = tuple[Summary, tuple[int, int] | None]
"""A pair: a summary, and if its first message is cut, the byte offset and size of that message's line, else None."""
T = TypeVar("T")


class FileRow(FileStamp, frozen=True, array_like=True, gc=False):
    """A file in the index: its size, times and inode when it was read, its agent, and the values that lists sort by.

    `row` is the file's id. `has_tools` is 1 if the texts include tool calls and results.
    """

    row: int
    agent: str
    marks: str
    kind: int
    has_tools: int
    modified: float | None
    hidden: bool
    id: str | None
    cwd: str
    name: str | None
    labels: tuple[str, ...]

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


def damaged(why: str) -> sqlite3.DatabaseError:
    """Return an error for damage that SQLite cannot detect, with the result code of a corrupt database."""
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def unread_bytes(known: FileStamp | None, file: FileStamp) -> int:
    """Estimate the number of bytes to read of a changed file: the appended bytes if the file has grown, else all."""
    return file.size - known.size if known is not None and file.size > known.size else file.size


def pack(value: object) -> bytes:
    """Pack a value for the database, which is a struct, a tuple or None.

    Raises:
        UnicodeEncodeError, OverflowError: a text has a lone surrogate, or a number more than 64 bits.
    """
    return _encode(value)


def pack_small(value: object) -> bytes:
    """Pack and compress a value for the database; raises the same errors as `pack`."""
    return zlib.compress(_encode(value), 1)


def unpack(packed: bytes, decode: Callable[[bytes], T]) -> T:
    """Return the value that `pack` or `pack_small` has packed; `decode` is the method of a decoder for its type.

    Raises:
        sqlite3.DatabaseError: the bytes are damaged.
    """
    try:
        # A packed struct or tuple never begins with the byte that begins all compressed values.
        return decode(zlib.decompress(packed) if packed[:1] == b"x" else packed)
    except (ValueError, TypeError, LookupError, OverflowError, zlib.error) as error:
        raise damaged(f"a value in the index is damaged: {error}") from error


def write_row(connection: sqlite3.Connection, row: FileRow) -> None:
    """Store the row of a file; it replaces an earlier one.

    Raises:
        UnicodeEncodeError: a text of the row has a lone surrogate.
    """
    values = (os.fsencode(row.path), row.row, _encode(row))
    connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", values)


def read_rows(connection: sqlite3.Connection, path: str | None = None) -> list[FileRow]:
    """Return the rows of all files, or only of the file at `path`.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    ask, values = ("", ()) if path is None else (" WHERE path = ?", (os.fsencode(path),))
    found = connection.execute(f"SELECT row FROM files{ask}", values).fetchall()
    try:
        # With the header of a MessagePack array in front, one call decodes all rows.
        return _decode_rows(b"\xdd" + len(found).to_bytes(4, "big") + b"".join([packed for (packed,) in found]))
    except (ValueError, TypeError) as error:
        raise damaged(f"a row of the index is damaged: {error}") from error


def pack_summary(summary: Summary, first_at: tuple[int, int] | None) -> bytes:
    """Pack a summary; `first_at` is the line (offset, size) of the first message if that is cut."""
    return pack((msgspec.structs.astuple(summary), first_at))


def unpack_summary(packed: bytes) -> PackedSummary:
    """Unpack a summary; if its first message is cut, also return the offset and size of that message's line.

    Raises:
        sqlite3.DatabaseError: the bytes are damaged.
    """
    return unpack(packed, _summary_of)


def read_first_messages(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the first message of every indexed file by path; "" for a file without messages.

    Raises:
        sqlite3.Error: the index is damaged.
    """
    found: dict[str, str] = {}
    for (packed,) in connection.execute("SELECT summary FROM contents"):
        values, _ = unpack(packed, _decode_summary)
        found[values[_PATH]] = values[_FIRST_MESSAGE] or ""
    return found


def _summary_of(packed: bytes) -> PackedSummary:
    values, first_at = _decode_summary(packed)
    fields = dict(zip(Summary.__struct_fields__, values, strict=True))
    return Summary(**fields | {"labels": tuple(fields["labels"])}), first_at


_PATH, _FIRST_MESSAGE = map(Summary.__struct_fields__.index, ("path", "first_message"))
_encode = msgspec.msgpack.Encoder().encode
_decode_rows = msgspec.msgpack.Decoder(list[FileRow]).decode
_decode_summary = msgspec.msgpack.Decoder(tuple[list[Any], tuple[int, int] | None]).decode
