"""Pack the entries of a session into two byte strings: the positions of their lines, and the other facts.

The ids of the entries, the sizes of their lines and their kinds (type, role, model and so on) take most of the space.
Parent ids, offsets and line numbers are stored only if they cannot be derived from the previous entry. Most other facts
of usual entries are not stored; the entry's line is read when they are needed.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise, repeat

import msgspec
from msgspec import Struct

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES
from sessionbrowse.model.session.columns import Columns, Kind, Time
from sessionbrowse.store.index.packed_places import (
    COMPRESSION,
    ID_CHARACTERS,
    PackedPlaces,
    Part,
    opened_places,
    pack_integers,
    parents_of,
    unpack_integers,
    unpacked_ids,
    unpacked_places,
)


class _PackedFacts(Struct, array_like=True):
    """The other facts of a run of consecutive entries: ids, parents, kinds and so on.

    `parents` maps an entry's position to its parent: a position, an id, or None. Entries whose parent is the previous
    entry are omitted. `is_sound`: every id is unique, and every parent is in this run, before its child.
    """

    ids: bytes | list[str | None]
    parents: dict[int, int | str | None]
    is_sound: bool
    kinds: list[Kind]
    codes: bytes
    kept: dict[int, Envelope]
    times: dict[int, Time]
    has_calls: bool
    calls_repeat: bool


_encode = msgspec.msgpack.Encoder().encode
_decode_facts = msgspec.msgpack.Decoder(_PackedFacts).decode


class PackedColumns(Columns):
    """Columns (see `Columns`) of entries from the index; ids and parent ids are unpacked at their first use."""

    def __init__(self, parts: Sequence[tuple[PackedPlaces, _PackedFacts]]) -> None:
        super().__init__(parts[0][1].kinds if parts else ())
        self._parts = [facts for _, facts in parts]
        with_calls = [facts for facts in self._parts if facts.has_calls]
        self._has_calls = bool(with_calls)
        # True if two tool calls may have the same id. The ids of calls are not stored, so calls of different runs of
        # entries cannot be compared, and are assumed to share an id.
        self._calls_repeat = len(with_calls) > 1 or any(facts.calls_repeat for facts in with_calls)
        self.is_sound = len(parts) == 1 and self._parts[0].is_sound
        del self.ids, self.parent_ids
        for places, facts in parts:
            first = len(self.sizes)
            sizes, offsets = unpacked_places(places)
            self.sizes.extend(sizes)
            self.offsets.extend(offsets)
            self.lines.extend(_unpacked_lines(places, len(sizes)))
            codes = unpack_integers(facts.codes)
            if len(codes) != len(sizes) or max(codes, default=-1) >= len(facts.kinds):
                raise ValueError("damaged entries")
            known = [self.kinds.code(kind) for kind in facts.kinds]
            if known == list(range(len(known))):
                self.codes.extend(array("I", codes))
            else:
                self.codes.extend(array("I", [known[code] for code in codes]))
            self.kept.update({first + place: envelope for place, envelope in facts.kept.items()})
            self.some_times.update({first + place: time for place, time in facts.times.items()})

    @cached_property
    def ids(self) -> list[str | None]:  # type: ignore[override]
        """The id of every entry."""
        return list(chain.from_iterable(unpacked_ids(facts.ids) for facts in self._parts))

    @cached_property
    def parent_ids(self) -> list[str | None]:  # type: ignore[override]
        """The parent id of every entry."""
        found: list[str | None] = []
        first = 0
        for facts in self._parts:
            count = len(facts.ids) // 4 if isinstance(facts.ids, bytes) else len(facts.ids)
            ids = self.ids[first : first + count]
            named: list[str | None] = [None, *ids[:-1]] if ids else []
            for place, parent in facts.parents.items():
                named[place] = ids[parent] if isinstance(parent, int) else parent
            found += named
            first += count
        return found

    def parents(self) -> list[int] | None:
        """Return the position of every entry's parent; None if parents must be looked up by their ids."""
        if not self.is_sound:
            return None
        return parents_of(len(self), self._parts[0].parents)


def pack(columns: Columns) -> Part:
    """Pack entries into two byte strings: the positions of their lines, and their other facts.

    Raises:
        UnicodeEncodeError: a text contains a lone surrogate, which cannot be encoded.
    """
    places = PackedPlaces(
        pack_integers(columns.sizes),
        _jumps(columns.offsets, columns.sizes),
        _jumps(columns.lines, None),
    )
    ids, parent_ids = columns.ids, columns.parent_ids
    parents, is_sound = _packed_parents(ids, parent_ids)
    codes, kinds = columns.codes, columns.kinds.all
    used = sorted(set(codes))
    if len(used) < len(kinds):
        numbers = {code: number for number, code in enumerate(used)}
        codes, kinds = array("I", [numbers[code] for code in codes]), [kinds[code] for code in used]
    facts = _PackedFacts(
        _packed_ids(ids),
        parents,
        is_sound,
        kinds,
        pack_integers(codes),
        {place: each for place, each in columns.kept.items() if _is_stored(each, columns.sizes[place])},
        _sibling_times(columns, parents),
        columns.has_calls,
        columns.calls_repeat,
    )
    return zlib.compress(_encode(places), COMPRESSION), zlib.compress(_encode(facts), COMPRESSION)


def unpack(parts: Iterable[Part]) -> PackedColumns:
    """Return all entries from the runs of entries that `pack` has packed.

    Raises:
        ValueError: the bytes were not made by `pack`.
    """
    try:
        return PackedColumns([(opened_places(places), _opened_facts(facts)) for places, facts in parts])
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, IndexError, OverflowError) as error:
        raise ValueError("damaged entries") from error


def ends_at(entries: Columns, last: int) -> bool:
    """Return True if the last entry's line begins at the offset `last`; a damaged index may lack the last entries."""
    return (entries.offsets[-1] if len(entries) else 0) == last


def _opened_facts(packed: bytes) -> _PackedFacts:
    return _decode_facts(zlib.decompress(packed))


def _unpacked_lines(places: PackedPlaces, count: int) -> array[int]:
    lines = array("q")
    for place, behind in pairwise([*sorted(places.lines), count]):
        lines.extend(range(places.lines[place], places.lines[place] + behind - place))
    if len(lines) != count:
        raise ValueError("damaged entries")
    return lines


def _jumps(values: array[int], sizes: array[int] | None) -> dict[int, int]:
    """Return, by position, the first of `values` and each value that differs from the predicted one.

    The predicted value is the previous value plus the size of the previous line and its newline; if `sizes` is None,
    it is the previous value plus 1.
    """
    if not values:
        return {}
    steps = repeat(1) if sizes is None else [size + 1 for size in sizes]
    count = len(values)
    jumps = {0: values[0]}
    if values != array("q", accumulate(islice(steps, count - 1), initial=values[0])):
        behind = [value + step for value, step in zip(values, steps, strict=False)]
        jumps.update({place: values[place] for place in range(1, count) if values[place] != behind[place - 1]})
    return jumps


def _packed_ids(ids: Sequence[str | None]) -> bytes | list[str | None]:
    """Pack ids: into four bytes each if all have eight hex digits, as most do, else into a list."""
    try:
        joined = "".join(ids)  # type: ignore[arg-type]
    except TypeError:
        return list(ids)
    if set(map(len, ids)) <= {ID_CHARACTERS}:  # type: ignore[arg-type]
        with suppress(ValueError):
            packed = bytes.fromhex(joined)
            if packed.hex() == joined:
                return packed
    return list(ids)


def _packed_parents(
    ids: Sequence[str | None], parent_ids: Sequence[str | None]
) -> tuple[dict[int, int | str | None], bool]:
    """Return the parent of each entry in a run, by position, and True if the run is sound.

    Entries whose parent is the previous entry are omitted. A run of entries is sound if every id is unique and every
    parent is in the run, before its child.
    """
    parents: dict[int, int | str | None] = {}
    if parent_ids[:1] not in ([], [None]):
        parents[0] = parent_ids[0]
    is_sound = not parents and None not in ids and len(set(ids)) == len(ids)
    if parent_ids[1:] == ids[:-1]:
        return parents, is_sound
    by_id: dict[str | None, int] = {}
    if is_sound:
        by_id = {entry_id: place for place, entry_id in enumerate(ids)}
    for place in range(1, len(ids)):
        named = parent_ids[place]
        if named != ids[place - 1]:
            found = by_id.get(named, place) if named is not None else None
            is_known = found is None or found < place
            parents[place] = found if is_known else named
            is_sound = is_sound and is_known
        elif named is None:
            parents[place] = None
    return parents, is_sound


def _sibling_times(columns: Columns, parents: dict[int, int | str | None]) -> dict[int, Time]:
    """Return, by position, the timestamps of the entries that may have siblings."""
    places = set(parents) | {parent + 1 for parent in parents.values() if isinstance(parent, int)}
    return {place: time for place, time in columns.known_times() if place in places} if places else {}


def _is_stored(envelope: Envelope, size: int) -> bool:
    """Return True if the facts of an entry must be stored: they are needed at once, or cannot be read again."""
    about = (envelope.text, envelope.target_id, envelope.problem, envelope.fault, envelope.schema, envelope.id_value)
    return any(each is not None for each in about) or size > MAX_LISTED_LINE_BYTES or envelope.type == "session"
