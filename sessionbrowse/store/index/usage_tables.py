"""The index's tables of paid requests: for each file its requests, and their identities in 8 bytes each.

The identities alone tell which files hold the same requests, so that most files' requests are never unpacked.
"""

from __future__ import annotations

import sqlite3
import zlib
from array import array
from collections.abc import Iterable, Iterator

import msgspec

from sessionbrowse.model.usage.request import NO_USAGE, FileRequests
from sessionbrowse.model.usage.sums import FileSums, sums_of
from sessionbrowse.store.index.rows import damaged, opened, sealed

_ASK_ALL_ABOVE = 500
"""Number of files above which a whole table is read instead of single rows."""
_COMPRESSION = 1
_encode = msgspec.msgpack.Encoder().encode
_decode_usage = msgspec.msgpack.Decoder(FileRequests).decode
_decode_sums = msgspec.msgpack.Decoder(FileSums).decode


PackedUsage = tuple[bytes, bytes, bytes]
"""The identities, the sums and the requests of a file, packed."""


def pack_usage(usage: FileRequests) -> PackedUsage | None:
    """Pack the requests of a file; None if it has none.

    Raises:
        OverflowError: a sum has more than 64 bits. UnicodeEncodeError: a text has half a surrogate pair.
    """
    if not usage.requests:
        return None
    identities = array("Q", usage.identities).tobytes()
    packed = zlib.compress(_encode(usage), _COMPRESSION)
    return sealed(identities), sealed(_encode(sums_of(usage))), sealed(packed)


def write_usage(connection: sqlite3.Connection, file: int, packed: PackedUsage | None) -> None:
    """Store the requests of a file in place of earlier ones."""
    connection.execute("DELETE FROM usage WHERE file = ?", (file,))
    if packed is not None:
        connection.execute("INSERT INTO usage VALUES (?, ?, ?, ?)", (file, *packed))


def read_usage(connections: Iterable[sqlite3.Connection], file: int) -> FileRequests:
    """Return the requests of a file from the first of the databases that has it.

    Raises:
        sqlite3.DatabaseError: they are damaged.
    """
    for connection in connections:
        row = connection.execute("SELECT requests FROM usage WHERE file = ?", (file,)).fetchone()
        if row is not None:
            try:
                return _decode_usage(zlib.decompress(opened(row[0])))
            except (ValueError, TypeError, zlib.error) as error:
                raise damaged(f"requests are damaged: {error}") from error
    return NO_USAGE


def read_sums(connection: sqlite3.Connection, files: Iterable[int]) -> Iterator[tuple[int, array[int], FileSums]]:
    """Yield the identities and the sums of those of the files that this database has.

    Raises:
        sqlite3.DatabaseError: they are damaged.
    """
    wanted = set(files)
    ask = "SELECT file, identities, sums FROM usage"
    rows: Iterable[tuple[int, bytes, bytes]]
    if len(wanted) > _ASK_ALL_ABOVE:
        rows = connection.execute(ask)
    else:
        rows = connection.execute(f"{ask} WHERE file IN ({','.join('?' * len(wanted))})", tuple(wanted))
    for file, identities, sums in rows:
        if file in wanted:
            found = array("Q")
            try:
                found.frombytes(opened(identities))
                yield file, found, _decode_sums(opened(sums))
            except (ValueError, TypeError) as error:
                raise damaged(f"sums are damaged: {error}") from error
