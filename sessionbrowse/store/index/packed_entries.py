"""Pack the entries of a session into two values: the positions of their lines, and other facts.

Ids, sizes and kinds take most of the space. Parents, offsets and line numbers are stored only if they do not follow
from the entry before. Other facts of an ordinary message are not stored, because they can be read from its line."""

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
from sessionbrowse.model.session.parents import ROOT
from sessionbrowse.store.index.rows import damaged, opened, sealed

_COMPRESSION = 1
_ID_CHARACTERS = 8

Part = tuple[bytes, bytes]
"""A run of entries in the index: their positions in the file and their facts, both packed as bytes."""


class Places(Struct, frozen=True):
    """Byte offsets and sizes of the lines of consecutive entries."""

    offsets: array[int]
    sizes: array[int]


class _PackedPlaces(Struct, array_like=True):
    """Packed positions. `offsets` and `lines` map an entry's position to its value; they omit predictable values.

    A predictable offset is the end of the entry before; a predictable line number is the next one.
    """

    sizes: bytes
    offsets: dict[int, int]
    lines: dict[int, int]


class _PackedFacts(Struct, array_like=True):
    """The other facts of a run of entries.

    `parents` maps a child's position to its parent: a position, an id, or None. It omits children whose parent is the
    entry before them. `is_sound`: every id is unique, and every parent is in this run, before its child.
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
_decode_places = msgspec.msgpack.Decoder(_PackedPlaces).decode
_decode_row_entries = msgspec.msgpack.Decoder(tuple[bytes, bytes]).decode
_decode_facts = msgspec.msgpack.Decoder(_PackedFacts).decode


class PackedColumns(Columns):
    """Columns from the index; values that take long to unpack are unpacked when they are first used."""

    def __init__(self, parts: Sequence[tuple[_PackedPlaces, _PackedFacts]]) -> None:
        super().__init__(parts[0][1].kinds if parts else ())
        self._parts = [facts for _, facts in parts]
        with_calls = [facts for facts in self._parts if facts.has_calls]
        self._has_calls = bool(with_calls)
        # The ids of tool calls are not stored, so two parts may have calls with the same id.
        self._calls_repeat = len(with_calls) > 1 or any(facts.calls_repeat for facts in with_calls)
        self.is_sound = len(parts) == 1 and self._parts[0].is_sound
        del self.ids, self.parent_ids
        for places, facts in parts:
            first = len(self.sizes)
            sizes, offsets, lines = _unpacked_places(places)
            self.sizes.extend(sizes)
            self.offsets.extend(offsets)
            self.lines.extend(lines)
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
        """The ids of all entries."""
        return list(chain.from_iterable(_unpacked_ids(facts.ids) for facts in self._parts))

    @cached_property
    def parent_ids(self) -> list[str | None]:  # type: ignore[override]
        """The ids of all parents."""
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
        """The positions of all parents; None if they can only be found by ids."""
        if not self.is_sound:
            return None
        found = list(range(ROOT, len(self) - 1))
        for place, parent in self._parts[0].parents.items():
            found[place] = parent if isinstance(parent, int) else ROOT
        return found


def pack(columns: Columns) -> Part:
    """Pack entries into bytes.

    Raises:
        UnicodeEncodeError: a text has half a surrogate pair, which cannot be encoded.
    """
    places = _PackedPlaces(
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
    return zlib.compress(_encode(places), _COMPRESSION), zlib.compress(_encode(facts), _COMPRESSION)


def unpack(parts: Iterable[Part]) -> PackedColumns:
    """Unpack the entries of all parts.

    Raises:
        ValueError: the bytes were not made by `pack`.
    """
    try:
        return PackedColumns([(_opened_places(places), _opened_facts(facts)) for places, facts in parts])
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, IndexError, OverflowError) as error:
        raise ValueError("damaged entries") from error


def sealed_part(file: int, first: int, count: int, part: Part) -> Part:
    """Return a part with checksums that bind it to its place: the file's id, the first entry and the number of them."""
    places, packed = part
    return sealed(places, f"{file} {first} {count}"), sealed(packed, f"{file} {first} {count}")


def opened_parts(file: int, parts: Sequence[tuple[int, int, Sequence[bytes]]], begin: int = 0) -> list[list[bytes]]:
    """Return the values of the parts of a file from entry `begin` on, in order and without their checksums.

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


def ends_at(entries: Columns, last: int) -> bool:
    """Tell whether the last entry is at the offset `last`: the last part of a damaged index may be missing."""
    return (entries.offsets[-1] if len(entries) else 0) == last


def unpack_places(parts: Iterable[bytes]) -> Places:
    """Return the places of all entries; `parts` are the packed positions (the first value) of every `Part`.

    Raises:
        ValueError: the bytes were not made by `pack`.
    """
    found = Places(array("q"), array("q"))
    try:
        for part in parts:
            sizes, offsets, _ = _unpacked_places(_opened_places(part))
            found.offsets.extend(offsets)
            found.sizes.extend(sizes)
    except (zlib.error, msgspec.MsgspecError, IndexError, OverflowError) as error:
        raise ValueError("damaged entries") from error
    return found


def _opened_places(packed: bytes) -> _PackedPlaces:
    return _decode_places(zlib.decompress(packed))


def _opened_facts(packed: bytes) -> _PackedFacts:
    return _decode_facts(zlib.decompress(packed))


def _unpacked_places(places: _PackedPlaces) -> tuple[array[int], array[int], array[int]]:
    sizes = array("q", unpack_integers(places.sizes))
    offsets = _run_on(places.offsets, sizes)
    lines = array("q")
    starts = [*sorted(places.lines), len(sizes)]
    for place, behind in pairwise(starts):
        lines.extend(range(places.lines[place], places.lines[place] + behind - place))
    if not len(sizes) == len(offsets) == len(lines):
        raise ValueError("damaged entries")
    return sizes, offsets, lines


def _run_on(jumps: dict[int, int], sizes: array[int]) -> array[int]:
    offsets = array("q")
    starts = [*sorted(jumps), len(sizes)]
    for place, behind in pairwise(starts):
        offsets.extend(accumulate([size + 1 for size in sizes[place : behind - 1]], initial=jumps[place]))
    return offsets


def _jumps(values: array[int], sizes: array[int] | None) -> dict[int, int]:
    """Return, by position, the first value and every value that is not its predecessor plus the expected step."""
    if not values:
        return {}
    steps = repeat(1) if sizes is None else [size + 1 for size in sizes]
    count = len(values)
    jumps = {0: values[0]}
    if values != array("q", accumulate(islice(steps, count - 1), initial=values[0])):
        behind = [value + step for value, step in zip(values, steps, strict=False)]
        jumps.update({place: values[place] for place in range(1, count) if values[place] != behind[place - 1]})
    return jumps


def pack_row_entries(entries: Sequence[int], ends: Sequence[int]) -> bytes:
    """Pack the entry numbers of text rows: `entries` ascending, `ends` the positions where each row's entries end."""
    gaps = [entry - before for before, entry in zip([0, *entries], entries, strict=False)]
    counts = [end - before for before, end in zip([0, *ends], ends, strict=False)]
    return zlib.compress(_encode((pack_integers(gaps), pack_integers(counts))), _COMPRESSION)


def unpack_row_entries(packed: bytes) -> list[Sequence[int]]:
    """Return for each text row the numbers of its entries.

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
    """Unpack numbers from bytes.

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


def _packed_ids(ids: Sequence[str | None]) -> bytes | list[str | None]:
    """Pack ids; most have eight hex digits, which fit into four bytes."""
    try:
        joined = "".join(ids)  # type: ignore[arg-type]
    except TypeError:
        return list(ids)
    if set(map(len, ids)) <= {_ID_CHARACTERS}:  # type: ignore[arg-type]
        with suppress(ValueError):
            packed = bytes.fromhex(joined)
            if packed.hex() == joined:
                return packed
    return list(ids)


def _unpacked_ids(packed: bytes | list[str | None]) -> list[str | None]:
    if isinstance(packed, list):
        return packed
    digits = packed.hex()
    return [digits[at : at + _ID_CHARACTERS] for at in range(0, len(digits), _ID_CHARACTERS)]


def _packed_parents(
    ids: Sequence[str | None], parent_ids: Sequence[str | None]
) -> tuple[dict[int, int | str | None], bool]:
    """Return the parents other than the entry before, by the child's position, and True if the run is sound."""
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
    """Return the timestamps of the entries that may have siblings, by position."""
    places = set(parents) | {parent + 1 for parent in parents.values() if isinstance(parent, int)}
    return {place: time for place, time in columns.known_times() if place in places} if places else {}


def _is_stored(envelope: Envelope, size: int) -> bool:
    """Tell whether an entry's decoded facts must be stored: needed at once, or not readable from its line."""
    about = (envelope.text, envelope.target_id, envelope.problem, envelope.fault, envelope.schema, envelope.id_value)
    return any(each is not None for each in about) or size > MAX_LISTED_LINE_BYTES or envelope.type == "session"
