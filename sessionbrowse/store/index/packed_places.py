"""Unpack the facts of entries that a search needs: the positions of their lines, their ids and their parents.

`packed_entries` packs them. This module is separate because importing `packed_entries` and the modules that decode
entries would take a tenth of the time of a search.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import Struct

from sessionbrowse.store.index.rows import unpack


class Places(Struct, frozen=True):
    """The positions of consecutive entries in a file: byte offset, size and 1-based number of each entry's line."""

    offsets: array[int]
    sizes: array[int]
    lines: array[int]


class EntryLinks(Struct, frozen=True):
    """The ids of a session's entries and of their parents, and the set of entry types that occur."""

    ids: list[str | None]
    parent_ids: list[str | None]
    types: set[str]


class PackedPlaces(Struct, array_like=True):
    """The lines of a run of entries: sizes, and the gap between each line and the previous entry's line.

    `gaps` are in bytes, `skipped` in lines. Nearly all are zero, because entries usually follow each other directly.
    """

    sizes: list[int]
    gaps: list[int]
    skipped: list[int]


class _PackedLinks(Struct, array_like=True):
    """The first fields of the packed facts of a run of entries, for code that needs no other fields."""

    ids: list[str | None]
    parents: dict[int, str | None]
    kinds: list[list[Any]]


_decode_places = msgspec.msgpack.Decoder(PackedPlaces).decode
_decode_links = msgspec.msgpack.Decoder(_PackedLinks).decode


def unpack_places(parts: Iterable[bytes]) -> Places:
    """Return the line positions of all entries of a file from the packed positions of each run of entries.

    Raises:
        sqlite3.DatabaseError: the bytes were not made by `pack_entries`.
    """
    found = Places(array("q"), array("q"), array("q"))
    for part in parts:
        places = unpack(part, _places_of)
        found.offsets.extend(places.offsets)
        found.sizes.extend(places.sizes)
        found.lines.extend(places.lines)
    return found


def unpack_links(parts: Iterable[bytes]) -> EntryLinks:
    """Return the ids and parent ids of all entries of a file from the packed facts of each run of entries.

    Raises:
        sqlite3.DatabaseError: the bytes were not made by `pack_entries`.
    """
    links = EntryLinks([], [], set())
    for part in parts:
        found = unpack(part, _links_of)
        links.ids.extend(found.ids)
        links.parent_ids.extend(found.parent_ids)
        links.types.update(found.types)
    return links


def parent_ids_of(ids: list[str | None], parents: dict[int, str | None]) -> list[str | None]:
    """Return the parent id of each entry in a run: that in `parents`, else the id of the previous entry."""
    found: list[str | None] = [None, *ids][: len(ids)]
    for place, parent in parents.items():
        found[place] = parent
    return found


def _places_of(packed: bytes) -> Places:
    places = _decode_places(packed)
    sizes = places.sizes
    ends = accumulate([size + gap + 1 for size, gap in zip(sizes, places.gaps, strict=True)])
    offsets = array("q", [end - size - 1 for end, size in zip(ends, sizes, strict=True)])
    return Places(offsets, array("q", sizes), array("q", accumulate([skipped + 1 for skipped in places.skipped])))


def _links_of(packed: bytes) -> EntryLinks:
    found = _decode_links(packed)
    return EntryLinks(found.ids, parent_ids_of(found.ids, found.parents), {kind[0] for kind in found.kinds})
