"""The table `usage` of the index: the model requests of each file, their sums, and an identity (hash) for each.

The identities alone show which files contain the same requests, so the requests of most files are never unpacked. Every
file has a row, even without requests.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from sessionbrowse.model.usage.request import NO_USAGE, FileRequests, FileSums, sums_of
from sessionbrowse.store.index.rows import FileRow, damaged, pack, pack_small, unpack

_ASK_ALL_ABOVE = 500
"""For more files than this, `read_sums` reads the whole table `usage` instead of the rows of these files."""
_decode_usage = msgspec.msgpack.Decoder(FileRequests).decode
_decode_sums = msgspec.msgpack.Decoder(tuple[bytes, FileSums] | None).decode

_IDENTITY_BYTES = 8

PackedUsage = tuple[bytes, bytes]
"""The packed identities (hashes) and sums of a file's model requests, and the packed requests without identities."""

FoundSums: TypeAlias = "tuple[array[int], FileSums]"
"""The identities of a file's model requests, and the sums of their tokens and cost."""


def pack_usage(usage: FileRequests) -> PackedUsage:
    """Pack the model requests of a file.

    Raises:
        OverflowError: a sum has more than 64 bits. UnicodeEncodeError: a text contains a lone surrogate.
    """
    sums = (array("Q", usage.identities).tobytes(), sums_of(usage)) if usage.requests else None
    return pack(sums), pack_small(replace(usage, identities=[]))


def read_usage(connection: sqlite3.Connection, row: FileRow) -> FileRequests:
    """Return the model requests of a file.

    Raises:
        sqlite3.DatabaseError: the model requests are damaged or missing.
    """
    found = connection.execute("SELECT sums, requests FROM usage WHERE file = ?", (row.row,)).fetchone()
    if found is None:
        raise damaged("model requests are missing in the index")
    sums, usage = unpack(found[0], _decode_sums), unpack(found[1], _decode_usage)
    identities = sums[0] if sums is not None else b""
    if len(identities) != _IDENTITY_BYTES * len(usage.requests):
        raise damaged("identities of model requests are missing in the index")
    return replace(usage, identities=array("Q", identities).tolist()) if usage.requests else NO_USAGE


def read_sums(
    connection: sqlite3.Connection, rows: Mapping[int, FileRow]
) -> Iterator[tuple[FileRow, FoundSums | None]]:
    """Yield each file with the hashes and total cost of its model requests, or with None if the file has no requests.

    Files whose values are damaged or missing are skipped; `rows` are the files by id.
    """
    ask = "SELECT file, sums FROM usage"
    with suppress(sqlite3.Error):
        if len(rows) > _ASK_ALL_ABOVE:
            found = connection.execute(ask)
        else:
            found = connection.execute(f"{ask} WHERE file IN ({','.join('?' * len(rows))})", tuple(rows))
        for file, packed in found:
            with suppress(sqlite3.DatabaseError, ValueError):
                sums = unpack(packed, _decode_sums)
                if file in rows:
                    yield rows[file], (array("Q", sums[0]), sums[1]) if sums is not None else None
