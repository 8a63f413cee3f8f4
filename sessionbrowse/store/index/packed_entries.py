"""Pack the entries of a session into two byte strings: the positions of their lines, and the other facts.

Parent ids, offsets and line numbers are stored only if they cannot be derived from the previous entry. Most facts of
usual entries are not stored; the entry's line is read when they are needed.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from functools import reduce

import msgspec
from msgspec import Struct

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES
from sessionbrowse.model.session.columns import Columns, Kind, Time, joined
from sessionbrowse.store.index.packed_places import PackedPlaces, parent_ids_of, unpack_places
from sessionbrowse.store.index.rows import damaged, pack, unpack

_LEVEL = 1

Part = tuple[bytes, bytes]
"""A run of consecutive entries in the index: the packed positions of their lines, and their packed other facts."""


class _PackedFacts(Struct, array_like=True):
    """The facts of a run of consecutive entries except the positions of their lines: ids, parents, kinds and so on.

    `parents` has the parent ids of the entries whose parent is not the entry before. `times` are the timestamps of the
    entries that have siblings.
    """

    ids: list[str | None]
    parents: dict[int, str | None]
    kinds: list[Kind]
    codes: list[int]
    kept: dict[int, Envelope]
    times: dict[int, Time]
    has_calls: bool
    calls_repeat: bool


_decode_facts = msgspec.msgpack.Decoder(_PackedFacts).decode


def pack_entries(columns: Columns) -> Part:
    """Pack entries into two byte strings: the positions of their lines, and their other facts.

    Raises:
        UnicodeEncodeError: a text contains a lone surrogate, which cannot be encoded.
    """
    ids, parent_ids, sizes = columns.ids, columns.parent_ids, columns.sizes
    ends = [0, *[offset + size + 1 for offset, size in zip(columns.offsets, sizes, strict=True)]]
    places = PackedPlaces(
        list(sizes),
        [offset - end for offset, end in zip(columns.offsets, ends, strict=False)],
        [line - before - 1 for line, before in zip(columns.lines, [0, *columns.lines], strict=False)],
    )
    expected = [None, *ids]
    parents = {place: parent for place, parent in enumerate(parent_ids) if parent != expected[place]}
    children = Counter(parent_ids) if parents else Counter()
    facts = _PackedFacts(
        list(ids),
        parents,
        columns.kinds.all,
        list(columns.codes),
        {place: each for place, each in columns.kept.items() if _is_stored(each, sizes[place])},
        {at: time for at, time in columns.known_times() if at in parents or children[parent_ids[at]] > 1},
        columns.has_calls,
        columns.calls_repeat,
    )
    return pack(places, _LEVEL), pack(facts, _LEVEL)


def unpack_entries(parts: Iterable[Part]) -> Columns:
    """Return all entries from the runs of entries that `pack_entries` has packed.

    Raises:
        sqlite3.DatabaseError: the bytes were not made by `pack_entries`.
    """
    return reduce(joined, map(_unpacked, parts), Columns())


def _unpacked(part: Part) -> Columns:
    places, columns = unpack_places(part[:1]), unpack(part[1], _columns_of)
    if not len(places.sizes) == len(places.lines) == len(columns.ids):
        raise damaged("entries are missing in the index")
    columns.lines, columns.offsets, columns.sizes = places.lines, places.offsets, places.sizes
    return columns


def _columns_of(packed: bytes) -> Columns:
    facts = _decode_facts(packed)
    if len(facts.ids) != len(facts.codes) or max(facts.codes, default=-1) >= len(facts.kinds):
        raise ValueError("facts of entries are missing")
    columns = Columns(facts.kinds, has_calls=facts.has_calls, calls_repeat=facts.calls_repeat)
    columns.ids, columns.parent_ids = facts.ids, parent_ids_of(facts.ids, facts.parents)
    columns.codes = array("I", facts.codes)
    columns.kept, columns.some_times = facts.kept, facts.times
    return columns


def _is_stored(envelope: Envelope, size: int) -> bool:
    """Return True if the facts of an entry must be stored: they are needed at once, or cannot be read again."""
    about = (envelope.text, envelope.target_id, envelope.problem, envelope.fault, envelope.schema, envelope.id_value)
    return any(each is not None for each in about) or size > MAX_LISTED_LINE_BYTES or envelope.type == "session"
