"""Unpack the facts of entries that a search needs: the positions of their lines, their ids and their parents.

`packed_entries` packs them. This module is separate because importing `packed_entries` and the modules that decode
entries would take a tenth of the time of a search.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import msgspec
from msgspec import Struct

from sessionbrowse.model.session.parents import ROOT
from sessionbrowse.store.index.rows import damaged, opened, sealed

COMPRESSION = 1
ID_CHARACTERS = 8

Part = tuple[bytes, bytes]
"""A run of consecutive entries in the index: the packed positions of their lines, and their packed other facts."""


class EntryLinks(Struct, frozen=True):
    """The ids of a session's entries, the positions of their parents, and the set of entry types that occur."""

    ids: list[str | None]
    parents: list[int]
    types: frozenset[str]


class Places(Struct, frozen=True):
    """The positions of consecutive entries in a file: the byte offset and the size of each entry's line."""

    offsets: array[int]
    sizes: array[int]


class PackedPlaces(Struct, array_like=True):
    """Packed line positions of a run of entries. `offsets` and `lines` omit values that are predictable.

    The two dicts map an entry's position in the run to a value. A predictable offset is the end of the previous entry's
    line; a predictable line number is the previous number plus 1.
    """

    sizes: bytes
    offsets: dict[int, int]
    lines: dict[int, int]


class _PackedLinks(Struct, array_like=True):
    """The first fields of `_PackedFacts` (packed facts of a run of entries), for code that needs no other fields."""

    ids: bytes | list[str | None]
    parents: dict[int, int | str | None]
    is_sound: bool
    kinds: list[list[Any]]


_decode_places = msgspec.msgpack.Decoder(PackedPlaces).decode
_decode_links = msgspec.msgpack.Decoder(_PackedLinks).decode


def sealed_part(file: int, first: int, count: int, part: Part) -> Part:
    """Add checksums to a run of entries; they also detect a run that belongs to another file or other entry numbers."""
    places, packed = part
    return sealed(places, f"{file} {first} {count}"), sealed(packed, f"{file} {first} {count}")


def opened_parts(file: int, parts: Sequence[tuple[int, int, Sequence[bytes]]], begin: int = 0) -> list[list[bytes]]:
    """Verify the stored runs of entries of a file; return the values of each run in order, without checksums.

    A run in `parts` is the number of its first entry, the number of its entries, and its stored values. The first run
    must begin with entry number `begin`.

    Raises:
        sqlite3.DatabaseError: a run is damaged, missing, or belongs to another file.
    """
    found = []
    expected = begin
    try:
        for first, count, values in sorted(parts):
            if first != expected:
                raise ValueError("damaged entries")
            expected += count
            found.append([bytes(opened(value, f"{file} {first} {count}")) for value in values])
    except (TypeError, ValueError) as error:
        raise damaged("a session's entries in the index are damaged") from error
    return found


def unpack_places(parts: Iterable[bytes]) -> Places:
    """Return the line positions of all entries of a file from the packed positions of each run of entries.

    Raises:
        ValueError: the bytes were not made by `pack`.
    """
    found = Places(array("q"), array("q"))
    try:
        for part in parts:
            sizes, offsets = unpacked_places(opened_places(part))
            found.offsets.extend(offsets)
            found.sizes.extend(sizes)
    except (zlib.error, msgspec.MsgspecError, IndexError, OverflowError) as error:
        raise ValueError("damaged entries") from error
    return found


def unpack_links(packed: bytes) -> EntryLinks | None:
    """Return ids and parents of a session's entries; None if parents must be looked up by their ids.

    The session must be stored as one run of entries; `packed` are the packed facts of these entries.

    Raises:
        ValueError: the bytes were not made by `pack`.
    """
    try:
        found = _decode_links(zlib.decompress(packed))
        types = frozenset(kind[0] for kind in found.kinds)
        ids = unpacked_ids(found.ids)
        parents = parents_of(len(ids), found.parents)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, IndexError) as error:
        raise ValueError("damaged entries") from error
    return EntryLinks(ids, parents, types) if found.is_sound else None


def parents_of(count: int, parents: dict[int, int | str | None]) -> list[int]:
    """Return the position of each entry's parent; `parents` has only parents that are not the previous entry."""
    found = list(range(ROOT, count - 1))
    for place, parent in parents.items():
        found[place] = parent if isinstance(parent, int) else ROOT
    return found


def opened_places(packed: bytes) -> PackedPlaces:
    """Return the `PackedPlaces` (offsets in the file, and more) of a run of entries, unpacked from stored bytes."""
    return _decode_places(zlib.decompress(packed))


def unpacked_places(places: PackedPlaces) -> tuple[array[int], array[int]]:
    """Return the sizes and byte offsets of the lines of a run of entries.

    Raises:
        ValueError: the positions are damaged.
    """
    sizes = array("q", unpack_integers(places.sizes))
    offsets = _run_on(places.offsets, sizes)
    if len(sizes) != len(offsets):
        raise ValueError("damaged entries")
    return sizes, offsets


def _run_on(jumps: dict[int, int], sizes: array[int]) -> array[int]:
    offsets = array("q")
    starts = [*sorted(jumps), len(sizes)]
    for place, behind in pairwise(starts):
        offsets.extend(accumulate([size + 1 for size in sizes[place : behind - 1]], initial=jumps[place]))
    return offsets


def pack_integers(numbers: Sequence[int]) -> bytes:
    """Pack non-negative integers into bytes: the width, then the lowest byte of each, then the second byte, and so on.

    Similar bytes are then adjacent, which compresses well.
    """
    largest = max(numbers, default=0)
    width = max(1, (largest.bit_length() + 7) // 8)
    item = 8 if largest > 0xFFFFFFFF else 4
    wide = array("Q" if item == 8 else "I", numbers).tobytes()
    return bytes([width]) + b"".join([wide[plane::item] for plane in range(width)])


def unpack_integers(packed: bytes) -> array[int]:
    """Return the numbers that `pack_integers` packed.

    Raises:
        ValueError: the bytes were not made by `pack_integers`.
    """
    width = packed[0] if packed else 0
    if not 1 <= width <= 8 or (len(packed) - 1) % width:
        raise ValueError("damaged entries")
    count = (len(packed) - 1) // width
    item = 4 if width <= 4 else 8
    wide = bytearray(count * item)
    for plane in range(width):
        wide[plane::item] = packed[1 + plane * count : 1 + (plane + 1) * count]
    numbers = array("I" if item == 4 else "Q")
    numbers.frombytes(bytes(wide))
    return numbers


def unpacked_ids(packed: bytes | list[str | None]) -> list[str | None]:
    """Return ids from their packed form: a list, or four bytes for each id of eight hex digits."""
    if isinstance(packed, list):
        return packed
    digits = packed.hex()
    return [digits[at : at + ID_CHARACTERS] for at in range(0, len(digits), ID_CHARACTERS)]
