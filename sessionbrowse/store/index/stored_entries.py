"""The places, ids and parents of a file's entries, and their packing for the database.

Parent ids and offsets are stored only if they cannot be derived from the previous entry.
"""

from __future__ import annotations

from array import array
from itertools import accumulate

import msgspec
from msgspec import Struct

from sessionbrowse.store.index.rows import pack_small, unpack


class StoredEntries(Struct, frozen=True):
    """The entries of a file, in file order: byte offset and size of each entry's line, its id and its parent's id.

    `has_boundary` is True if an entry ends the context before it, such as a compaction.
    """

    offsets: array[int]
    sizes: array[int]
    ids: list[str | None]
    parent_ids: list[str | None]
    has_boundary: bool


class _PackedEntries(Struct, array_like=True):
    """Entries in the database. `gaps` are the bytes between each line and the previous entry's line, nearly all zero.

    `parents` has the parent ids of the entries whose parent is not the entry before.
    """

    sizes: list[int]
    gaps: list[int]
    ids: list[str | None]
    parents: dict[int, str | None]
    has_boundary: bool


_decode = msgspec.msgpack.Decoder(_PackedEntries).decode


def pack_entries(entries: StoredEntries) -> bytes:
    """Pack the entries of a file.

    Raises:
        UnicodeEncodeError: a text contains a lone surrogate, which cannot be encoded.
    """
    ends = [0, *[offset + size + 1 for offset, size in zip(entries.offsets, entries.sizes, strict=True)]]
    gaps = [offset - end for offset, end in zip(entries.offsets, ends, strict=False)]
    expected = [None, *entries.ids]
    parents = {place: parent for place, parent in enumerate(entries.parent_ids) if parent != expected[place]}
    return pack_small(_PackedEntries(entries.sizes.tolist(), gaps, entries.ids, parents, entries.has_boundary))


def unpack_entries(packed: bytes) -> StoredEntries:
    """Return the entries of a file from the bytes that `pack_entries` has made.

    Raises:
        sqlite3.DatabaseError: the bytes were not made by `pack_entries`.
    """
    return unpack(packed, _entries_of)


def _entries_of(packed: bytes) -> StoredEntries:
    found = _decode(packed)
    sizes, ids = found.sizes, found.ids
    parent_ids: list[str | None] = [None, *ids][: len(ids)]
    for place, parent in found.parents.items():
        parent_ids[place] = parent
    ends = accumulate([size + gap + 1 for size, gap in zip(sizes, found.gaps, strict=True)])
    offsets = array("q", [end - size - 1 for end, size in zip(ends, sizes, strict=True)])
    if len(ids) != len(sizes):
        raise ValueError("entries are missing")
    return StoredEntries(offsets, array("q", sizes), ids, parent_ids, found.has_boundary)
