"""Rows of the index as Python values (`FileRow`, `StoredEntries`), and the packing of values that it stores as bytes.

Many rows are decoded at once, because fetching 10,000 rows with a column for each value takes longer than getting the
status of 10,000 files. Parent ids and offsets of entries are stored only if they do not follow from the entry before.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from array import array
from collections.abc import Callable
from itertools import accumulate, chain, count
from operator import add
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from sessionbrowse.agents import Marks
from sessionbrowse.agents.codex import codex_name
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FileStamp, FoundFile

ORDINARY, TRANSCRIPT, FOREIGN = 0, 1, 2
"""The kinds of indexed files: sessions, indusagi's transcripts, and files of other formats, stored without content."""

T = TypeVar("T")


class FileRow(FileStamp, frozen=True, array_like=True, gc=False):
    """A file in the index: its size, times and inode when it was read, and the summary of its session.

    `row` is the file's id. `has_tools` is 1 if the texts include tool calls and results. `first_at` is the byte offset
    and size of the first message's line if the summary has only the beginning of this message, else None.
    """

    row: int
    marks: str
    kind: int
    has_tools: int
    summary: Summary
    first_at: tuple[int, int] | None

    def is_current(self, file: FoundFile) -> bool:
        """Return True if `file` is the version that this row was made from, and still belongs to the same agent."""
        if not self.has_stamp_of(file):
            return False
        # Most files have no marks (content that only one agent writes); for these, `owner` is the agent.
        agent = file.agent(self.found_marks()) if self.marks else file.owner
        return (self.summary.agent == agent and has_its_name(self.summary)) or self.kind == TRANSCRIPT

    def holds(self, file: FoundFile, tools: bool) -> bool:
        """Return True if the index has this version of the file; with `tools`, also its tool calls and results."""
        return self.is_current(file) and bool(self.has_tools) >= tools

    def may_have_grown(self, file: FoundFile) -> bool:
        """Return True if the file may be the indexed one with lines appended: it is larger and has the same inode."""
        return file.size > self.size and (self.inode, self.device) == (file.inode, file.device)

    def found_marks(self) -> Marks | None:
        """Return the marks found in the file (content that only one agent writes); None if there are none."""
        return Marks(frozenset(self.marks.split())) if self.marks else None


def has_its_name(summary: Summary) -> bool:
    """Return False if a Codex session was renamed since; names are in a separate file, so its own file is unchanged."""
    return summary.agent != "codex" or (codex_name(summary.path) or summary.name) == summary.name


def damaged(why: str) -> sqlite3.DatabaseError:
    """Return an error for damage that SQLite cannot detect, with the result code of a corrupt database."""
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def unread_bytes(known: FileStamp | None, file: FileStamp) -> int:
    """Estimate the number of bytes to read of a changed file: the appended bytes if the file has grown, else all."""
    return file.size - known.size if known is not None and file.size > known.size else file.size


def pack(value: object) -> bytes:
    """Pack a value (a struct, a tuple or None) for the database.

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


def write_row(connection: sqlite3.Connection, row: FileRow, packed: bytes) -> None:
    """Store the row of a file, which `pack` has packed; it replaces an earlier one."""
    connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (os.fsencode(row.path), row.row, packed))


def read_rows(connection: sqlite3.Connection, path: str | None = None) -> list[FileRow]:
    """Return the rows of all files, or only of the file at `path`.

    Raises:
        sqlite3.DatabaseError: the index is damaged.
    """
    ask, values = ("", ()) if path is None else (" WHERE path = ?", (os.fsencode(path),))
    found = connection.execute(f"SELECT row FROM files{ask}", values)
    rows: list[FileRow] = []
    try:
        # With the header of a MessagePack array in front, one call decodes many rows.
        while packed := found.fetchmany(_ROWS_AT_ONCE):
            rows += _decode_rows(b"\xdd" + len(packed).to_bytes(4, "big") + b"".join([each for (each,) in packed]))
        return rows
    except (ValueError, TypeError) as error:
        raise damaged(f"a row of the index is damaged: {error}") from error


# The bytes of so many rows fit into memory that is used again for the next ones. To get new memory from the system for
# the bytes of all rows would take as long as decoding them.
_ROWS_AT_ONCE = 100
_encode = msgspec.msgpack.Encoder().encode
_decode_rows = msgspec.msgpack.Decoder(list[FileRow]).decode


# ---- the entries of a file ---------------------------------------------------------------------------------


_Size: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]
_Gap: TypeAlias = Annotated[int, msgspec.Meta(gt=-1 << 53, lt=1 << 53)]


class StoredEntries(Struct, frozen=True, array_like=True):
    """The entries of a file, in file order, as the index stores them: the size of each entry's line, and its id.

    `gaps` are the bytes between each line and the previous entry's line: nearly all zero, -1 where two entries share a
    line. `parents` has the parent ids of the entries whose parent is not the entry before. `boundaries` are the
    compactions, each with the id of the first entry that it keeps, if any; None if the whole session must be read to
    know which entries the model no longer receives.
    """

    sizes: list[_Size] = []
    gaps: list[_Gap] = []
    ids: list[str | None] = []
    parents: dict[int, str | None] = {}
    boundaries: dict[int, str | None] | None = {}

    def place(self, index: int) -> tuple[int, int]:
        """Return the byte offset and the size of an entry's line.

        Raises:
            IndexError: there is no such entry.
        """
        return self._begin(index), self.sizes[index]

    @property
    def end(self) -> int:
        """The byte offset after the last entry's line and its newline."""
        return self._begin(len(self.sizes))

    def offsets(self) -> array[int]:
        """Return the byte offset of each entry's line."""
        return array("q", map(add, accumulate(map(add, self.gaps, chain((0,), self.sizes))), count()))

    def parent_ids(self) -> list[str | None]:
        """Return the id of each entry's parent."""
        found: list[str | None] = [None, *self.ids][: len(self.ids)]
        for index, parent in self.parents.items():
            found[index] = parent
        return found

    def _begin(self, index: int) -> int:
        # A line begins after all gaps up to its own, all lines before it, and one newline for each of these.
        return sum(self.sizes[:index]) + sum(self.gaps[: index + 1]) + index


def stored_entries(
    offsets: array[int],
    sizes: array[int],
    ids: list[str | None],
    parent_ids: list[str | None],
    boundaries: dict[int, str | None] | None,
) -> StoredEntries:
    """Return the entries with these offsets, sizes, ids and parents, of which each list has one for each entry."""
    ends = [0, *[offset + size + 1 for offset, size in zip(offsets, sizes, strict=True)]]
    gaps = [offset - end for offset, end in zip(offsets, ends, strict=False)]
    expected = [None, *ids]
    parents = {place: parent for place, parent in enumerate(parent_ids) if parent != expected[place]}
    return StoredEntries(sizes.tolist(), gaps, ids, parents, boundaries)


def unpack_entries(packed: bytes) -> StoredEntries:
    """Return the entries of a file, which `pack_small` has packed.

    Raises:
        sqlite3.DatabaseError: the bytes are damaged.
    """
    return unpack(packed, _entries_of)


def _entries_of(packed: bytes) -> StoredEntries:
    found = _decode(packed)
    if not len(found.ids) == len(found.sizes) == len(found.gaps) or any(
        not 0 <= index < len(found.ids) for index in found.parents
    ):
        raise ValueError("entries are missing")
    return found


_decode = msgspec.msgpack.Decoder(StoredEntries).decode
