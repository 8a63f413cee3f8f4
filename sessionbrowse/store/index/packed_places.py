"""Unpack what a search needs of packed entries: the positions of their lines, their ids and their parents.

`packed_entries` packs them. It is a module of its own because it needs those that decode entries, which take a tenth
of the time of a search to import.
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
"""A run of entries in the index: their positions in the file and their facts, both packed as bytes."""


class EntryLinks(Struct, frozen=True):
    """The ids and the parents' positions of all entries of a session, and the types of its entries."""

    ids: list[str | None]
    parents: list[int]
    types: frozenset[str]


class Places(Struct, frozen=True):
    """The lines of some consecutive entries: the byte offset of each in the file, and its size."""

    offsets: array[int]
    sizes: array[int]


class PackedPlaces(Struct, array_like=True):
    """Packed positions. `offsets` and `lines` map an entry's position to its value; they omit predictable values.

    A predictable offset is the end of the entry before; a predictable line number is the next one.
    """

    sizes: bytes
    offsets: dict[int, int]
    lines: dict[int, int]


class _PackedLinks(Struct, array_like=True):
    """The first values of packed facts, for readers that need no others."""

    ids: bytes | list[str | None]
    parents: dict[int, int | str | None]
    is_sound: bool
    kinds: list[list[Any]]


_encode = msgspec.msgpack.Encoder().encode
_decode_places = msgspec.msgpack.Decoder(PackedPlaces).decode
_decode_row_entries = msgspec.msgpack.Decoder(tuple[bytes, bytes]).decode
_decode_links = msgspec.msgpack.Decoder(_PackedLinks).decode


def sealed_part(file: int, first: int, count: int, part: Part) -> Part:
    """Return a part with checksums, which fail if it is found in another file or at other entries."""
    places, packed = part
    return sealed(places, f"{file} {first} {count}"), sealed(packed, f"{file} {first} {count}")


def opened_parts(file: int, parts: Sequence[tuple[int, int, Sequence[bytes]]], begin: int = 0) -> list[list[bytes]]:
    """Check the parts of a file from entry `begin` on, and return their values in order, without the checksums.

    Each part is given as its first entry, the number of its entries, and the values.

    Raises:
        sqlite3.DatabaseError: a part is damaged, missing, or another file's.
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
        raise damaged("entries are damaged") from error
    return found


def unpack_places(parts: Iterable[bytes]) -> Places:
    """Return the places of all entries from their packed positions, which are the first value of each `Part`.

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
    """Return ids and parents from the packed facts of the only part of a session; None if ids have to be searched.

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
    """Return the positions of the parents of `count` entries of a sound run."""
    found = list(range(ROOT, count - 1))
    for place, parent in parents.items():
        found[place] = parent if isinstance(parent, int) else ROOT
    return found


def opened_places(packed: bytes) -> PackedPlaces:
    """Return the positions of a part as they are packed."""
    return _decode_places(zlib.decompress(packed))


def unpacked_places(places: PackedPlaces) -> tuple[array[int], array[int]]:
    """Return the sizes and the offsets of a part's lines.

    Raises:
        ValueError: they are damaged.
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


def pack_row_entries(entries: Sequence[int], ends: Sequence[int]) -> bytes:
    """Pack the entry numbers of text rows: `entries` ascending, `ends` the positions where each row's entries end."""
    gaps = [entry - before for before, entry in zip([0, *entries], entries, strict=False)]
    counts = [end - before for before, end in zip([0, *ends], ends, strict=False)]
    return zlib.compress(_encode((pack_integers(gaps), pack_integers(counts))), COMPRESSION)


def unpack_row_entries(packed: bytes) -> list[Sequence[int]]:
    """Return the entry numbers of each text row.

    Raises:
        ValueError: the bytes were not made by `pack_row_entries`.
    """
    try:
        gaps, counts = _decode_row_entries(zlib.decompress(packed))
    except (zlib.error, msgspec.MsgspecError) as error:
        raise ValueError("damaged rows") from error
    entries = list(accumulate(unpack_integers(gaps)))
    ends = list(accumulate(unpack_integers(counts)))
    return [entries[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def pack_integers(numbers: Sequence[int]) -> bytes:
    """Pack non-negative numbers into bytes: their width, then all lowest bytes, all second bytes, and so on.

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
    """Return ids from the form in which they are packed."""
    if isinstance(packed, list):
        return packed
    digits = packed.hex()
    return [digits[at : at + ID_CHARACTERS] for at in range(0, len(digits), ID_CHARACTERS)]
