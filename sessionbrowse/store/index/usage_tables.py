"""Tables of model requests in the index: the requests of each file, and an 8-byte identity (hash) of each request.

The identities alone show which files contain the same requests, so the requests of most files are never unpacked. Every
file has a row, even without requests, so a lost row is detected. Every value has a checksum that covers the file's id
and version, so a value of another file or of an older version is detected.
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
"""For more files than this, `read_sums` reads the whole table `usage` instead of the rows of these files."""
_COMPRESSION = 1
_encode = msgspec.msgpack.Encoder().encode
_decode_usage = msgspec.msgpack.Decoder(FileRequests).decode
_decode_sums = msgspec.msgpack.Decoder(FileSums).decode


PackedUsage = list[bytes]
"""The identities (hashes), sums and contents of a file's model requests, as three byte strings with checksums."""

FoundSums: TypeAlias = "tuple[array[int], FileSums]"
"""The identities of a file's model requests, and the sums of their tokens and cost."""


def pack_usage(usage: FileRequests, file: int, stamp: FileStamp) -> PackedUsage:
    """Pack the model requests of a file. `file` is the file's id, `stamp` identifies the file's version.

    Raises:
        OverflowError: a sum has more than 64 bits. UnicodeEncodeError: a text contains a lone surrogate.
    """
    values = [b"", b"", b""]
    if usage.requests:
        identities = array("Q", usage.identities).tobytes()
        values = [identities, _encode(sums_of(usage)), zlib.compress(_encode(usage), _COMPRESSION)]
    return [sealed(value, f"{column} {_owner(file, stamp)}") for column, value in enumerate(values)]


def write_usage(connection: sqlite3.Connection, file: int, packed: PackedUsage) -> None:
    """Store the packed model requests of a file, in place of the requests stored before."""
    connection.execute("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)", (file, *packed))


def read_usage(connection: sqlite3.Connection, row: FileRow) -> FileRequests:
    """Return the model requests of a file.

    Raises:
        sqlite3.DatabaseError: the model requests are damaged or missing.
    """
    found = connection.execute("SELECT requests FROM usage WHERE file = ?", (row.row,)).fetchone()
    if found is None:
        raise damaged("model requests are missing in the index")
    try:
        content = _opened_requests(row, found[0])
        return _decode_usage(zlib.decompress(content)) if content else NO_USAGE
    except (ValueError, TypeError, zlib.error) as error:
        raise damaged(f"model requests in the index are damaged: {error}") from error


def check_requests(connection: sqlite3.Connection, rows: Mapping[int, FileRow]) -> None:
    """Verify the stored model requests of the given files in one database; `rows` are the files by id.

    Raises:
        sqlite3.DatabaseError: model requests are damaged.
    """
    try:
        for file, packed in connection.execute("SELECT file, requests FROM usage"):
            if file in rows:
                _opened_requests(rows[file], packed)
    except (ValueError, TypeError) as error:
        raise damaged(f"model requests in the index are damaged: {error}") from error


def read_sums(
    connection: sqlite3.Connection, rows: Mapping[int, FileRow]
) -> Iterator[tuple[FileRow, FoundSums | None]]:
    """Yield each file with the hashes and total cost of its model requests, or with None if the file has no requests.

    Files whose values are damaged or missing are skipped; `rows` are the files by id.
    """
    ask = "SELECT file, identities, sums FROM usage"
    found: Iterable[tuple[int, bytes, bytes]]
    with suppress(sqlite3.Error):
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
