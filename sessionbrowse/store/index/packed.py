"""One session's entries as one value: facts, lines, offsets and sizes, packed for the index and unpacked at once."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from sessionbrowse.format.envelope import Envelope

_COMPRESSION = 1


class Entries(Struct):
    """Consecutive entries of a session: `lines` are 1-based, `offsets` and `sizes` bytes of the file."""

    envelopes: list[Envelope]
    lines: array[int]
    offsets: array[int]
    sizes: array[int]

    def extend(self, more: Entries) -> None:
        """Add the entries that come next."""
        self.envelopes += more.envelopes
        self.lines += more.lines
        self.offsets += more.offsets
        self.sizes += more.sizes


class _Packed(Struct, array_like=True):
    lines: bytes
    offsets: bytes
    sizes: bytes
    envelopes: list[Envelope]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Packed).decode


def no_entries() -> Entries:
    """Return an empty run, to be filled."""
    return Entries([], array("q"), array("q"), array("q"))


def pack(entries: Entries) -> bytes:
    """Return the entries as bytes.

    Raises:
        UnicodeEncodeError: a text holds half a surrogate pair, which has no bytes.
    """
    columns = [column.tobytes() for column in (entries.lines, entries.offsets, entries.sizes)]
    return zlib.compress(_encode(_Packed(*columns, entries.envelopes)), _COMPRESSION)


def unpack(parts: Iterable[bytes]) -> Entries:
    """Return the entries of all parts.

    Raises:
        ValueError: the bytes are none that `pack` made.
    """
    entries = no_entries()
    for part in parts:
        try:
            packed = _decode(zlib.decompress(part))
        except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ValueError("damaged entries") from error
        columns = [array("q"), array("q"), array("q")]
        for column, held in zip(columns, (packed.lines, packed.offsets, packed.sizes), strict=True):
            column.frombytes(held)
        entries.extend(Entries(packed.envelopes, columns[0], columns[1], columns[2]))
    return entries

