"""The index's tables of paid requests: for each file its requests, and their identities in 8 bytes each.

The identities alone tell which files hold the same requests, so that most files' requests are never unpacked.
Every file has a row, also without requests, and every value is sealed with the version of its file: a row that is lost,
another file's or an older one's is never believed.
"""

from __future__ import annotations

import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

import msgspec

from sessionbrowse.model.usage.request import NO_USAGE, FileRequests
from sessionbrowse.model.usage.sums import FileSums, sums_of
from sessionbrowse.store.find.discover import FileStamp
from sessionbrowse.store.index.rows import FileRow, damaged, opened, sealed

_ASK_ALL_ABOVE = 500
"""Number of files above which a whole table is read instead of single rows."""
_COMPRESSION = 1
_encode = msgspec.msgpack.Encoder().encode
_decode_usage = msgspec.msgpack.Decoder(FileRequests).decode
_decode_sums = msgspec.msgpack.Decoder(FileSums).decode


PackedUsage = list[bytes]
"""The identities, the sums and the requests of a file, packed; each is only its checksum if there are no requests."""

FoundSums: TypeAlias = "tuple[array[int], FileSums]"
"""The identities and the sums of a file."""


def pack_usage(usage: FileRequests, file: int, stamp: FileStamp) -> PackedUsage:
    """Pack the requests of the version `stamp` of the file with the id `file`.

    Raises:
        OverflowError: a sum has more than 64 bits. UnicodeEncodeError: a text has half a surrogate pair.
    """
    values = [b"", b"", b""]
    if usage.requests:
        identities = array("Q", usage.identities).tobytes()
        values = [identities, _encode(sums_of(usage)), zlib.compress(_encode(usage), _COMPRESSION)]
    return [sealed(value, f"{column} {_owner(file, stamp)}") for column, value in enumerate(values)]


def write_usage(connection: sqlite3.Connection, file: int, packed: PackedUsage) -> None:
    """Store the requests of a file in place of earlier ones."""
    connection.execute("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)", (file, *packed))


def read_usage(connections: Iterable[sqlite3.Connection], row: FileRow) -> FileRequests:
    """Return the requests of a file from the first of the databases that has it.

    Raises:
        sqlite3.DatabaseError: they are damaged or missing.
    """
    for connection in connections:
        found = connection.execute("SELECT requests FROM usage WHERE file = ?", (row.row,)).fetchone()
        if found is not None:
            try:
                content = _opened_requests(row, found[0])
                return _decode_usage(zlib.decompress(content)) if content else NO_USAGE
            except (ValueError, TypeError, zlib.error) as error:
                raise damaged(f"requests are damaged: {error}") from error
    raise damaged("requests are missing")


def check_requests(connection: sqlite3.Connection, rows: Mapping[int, FileRow]) -> None:
    """Check the requests of all files with these ids that this database has.

    Raises:
        sqlite3.DatabaseError: they are damaged.
    """
    try:
        for file, packed in connection.execute("SELECT file, requests FROM usage"):
            if file in rows:
                _opened_requests(rows[file], packed)
    except (ValueError, TypeError) as error:
        raise damaged(f"requests are damaged: {error}") from error


def read_sums(
    databases: Iterable[tuple[int, sqlite3.Connection]], rows: Mapping[int, FileRow]
) -> Iterator[tuple[FileRow, FoundSums | None]]:
    """Yield each file with its identities and sums, or None if it has no requests; leave out those that are damaged.

    `databases` are pairs of a shard's number, 0 for the main database, and the connection; `rows` are the files by id.
    """
    left = dict(rows)
    for number, connection in databases:
        wanted = {row: each for row, each in left.items() if not number or each.shard == number}
        # A row that one database has lost may be in the next; the caller reads the files that are in none.
        with suppress(sqlite3.Error):
            for row, found in _read_sums(connection, wanted) if wanted else ():
                if left.pop(row.row, None) is not None:
                    yield row, found


def _read_sums(
    connection: sqlite3.Connection, rows: Mapping[int, FileRow]
) -> Iterator[tuple[FileRow, FoundSums | None]]:
    ask = "SELECT file, identities, sums FROM usage"
    found: Iterable[tuple[int, bytes, bytes]]
    if len(rows) > _ASK_ALL_ABOVE:
        found = connection.execute(ask)
    else:
        found = connection.execute(f"{ask} WHERE file IN ({','.join('?' * len(rows))})", tuple(rows))
    for file, identities, sums in found:
        row = rows.get(file)
        if row is None:
            continue
        with suppress(ValueError, TypeError):
            owner = _owner(file, row)
            content, held = opened(sums, f"1 {owner}"), array("Q")
            held.frombytes(opened(identities, f"0 {owner}"))
            yield row, (held, _decode_sums(content)) if content else None


def _opened_requests(row: FileRow, packed: bytes) -> memoryview:
    return opened(packed, f"2 {_owner(row.row, row)}")


def _owner(file: int, stamp: FileStamp) -> str:
    return f"{file} {stamp.size} {stamp.mtime_ns} {stamp.ctime_ns}"
