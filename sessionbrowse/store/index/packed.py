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


class Places(Struct, frozen=True):
    """Where the lines of consecutive entries lie: byte offsets and sizes."""

    offsets: array[int]
    sizes: array[int]


class _PackedPlaces(Struct, array_like=True):
    lines: bytes
    offsets: bytes
    sizes: bytes


Part = tuple[bytes, bytes]
"""One run of entries as stored: where they lie, and what is known of them."""

_encode = msgspec.msgpack.Encoder().encode
_decode_places = msgspec.msgpack.Decoder(_PackedPlaces).decode
_decode_envelopes = msgspec.msgpack.Decoder(list[Envelope]).decode


def no_entries() -> Entries:
    """Return an empty run, to be filled."""
    return Entries([], array("q"), array("q"), array("q"))


def pack(entries: Entries) -> Part:
    """Return the entries as bytes.

    Raises:
        UnicodeEncodeError: a text holds half a surrogate pair, which has no bytes.
    """
    columns = [column.tobytes() for column in (entries.lines, entries.offsets, entries.sizes)]
    return (
        zlib.compress(_encode(_PackedPlaces(*columns)), _COMPRESSION),
        zlib.compress(_encode(entries.envelopes), _COMPRESSION),
    )


def unpack(parts: Iterable[Part]) -> Entries:
    """Return the entries of all parts.

    Raises:
        ValueError: the bytes are none that `pack` made.
    """
    entries = no_entries()
    for places, envelopes in parts:
        columns = _columns(places)
        try:
            entries.extend(Entries(_decode_envelopes(zlib.decompress(envelopes)), *columns))
        except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ValueError("damaged entries") from error
    return entries


def unpack_places(parts: Iterable[bytes]) -> Places:
    """Return where the entries lie, from the first halves of all parts.

    Raises:
        ValueError: the bytes are none that `pack` made.
    """
    found = Places(array("q"), array("q"))
    for part in parts:
        _, offsets, sizes = _columns(part)
        found.offsets.extend(offsets)
        found.sizes.extend(sizes)
    return found


def _columns(places: bytes) -> tuple[array[int], array[int], array[int]]:
    try:
        packed = _decode_places(zlib.decompress(places))
    except (zlib.error, msgspec.MsgspecError) as error:
        raise ValueError("damaged entries") from error
    columns = (array("q"), array("q"), array("q"))
    for column, held in zip(columns, (packed.lines, packed.offsets, packed.sizes), strict=True):
        column.frombytes(held)
    return columns
