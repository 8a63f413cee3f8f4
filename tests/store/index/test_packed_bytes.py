"""Packed bytes of the index that are damaged: each function that unpacks them refuses them with one kind of error."""

from __future__ import annotations

import random
import sqlite3
import zlib
from collections.abc import Callable

import msgspec
import pytest

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.model.session.columns import Columns
from sessionbrowse.store.index.packed_entries import pack_entries, unpack_entries
from sessionbrowse.store.index.packed_places import unpack_links, unpack_places
from sessionbrowse.store.index.rows import unpack_summary

SOUND = Columns()
for number in range(5):
    SOUND.add(Envelope(type="message", id=f"i{number}", parent_id=f"i{number - 2}"), number + 2, number * 100, 99)
PLACES, FACTS = pack_entries(SOUND)

UNPACKERS: dict[str, Callable[[bytes], object]] = {
    "links": lambda packed: unpack_links([packed]),
    "places": lambda packed: unpack_places([packed]),
    "entries by places": lambda packed: unpack_entries([(packed, FACTS)]),
    "entries by facts": lambda packed: unpack_entries([(PLACES, packed)]),
    "summary": unpack_summary,
}
ODD: list[object] = [
    *(b"", b"\x00", "text", 7, None, zlib.compress(b""), PLACES[:-1], FACTS[:-1], PLACES + FACTS[:9]),
    *(
        zlib.compress(msgspec.msgpack.encode(value))
        for value in (
            {"x": 1},
            [b"\xff", b"\xff", b"\xff"],
            [[1], [2, 3], [4]],
            [[1 << 63], [0], [0]],
            [["a"], {9: "b"}, [], [3], {}, {}, False, False],
            [["a"] * 5, {}, [], [0] * 5, {}, {}, False, False],
            [["a"], None],
        )
    ),
]


@pytest.mark.parametrize("name", UNPACKERS)
def test_damaged_bytes_are_refused(name: str) -> None:
    chance = random.Random(7)
    refused = 0
    pieces = [*ODD, *(chance.randbytes(chance.randrange(40)) for _ in range(300))]
    for sound in (PLACES, FACTS):
        for at in range(len(sound)):
            pieces.append(sound[:at] + bytes([sound[at] ^ 1 << chance.randrange(8)]) + sound[at + 1 :])
    for packed in pieces:
        try:
            UNPACKERS[name](packed)  # type: ignore[arg-type]
        except sqlite3.DatabaseError:
            refused += 1
    assert refused > 100


def test_entries_come_back_as_they_were() -> None:
    for columns in (SOUND, Columns()):
        found = unpack_entries([pack_entries(columns)])
        assert (found.ids, found.parent_ids, found.offsets) == (columns.ids, columns.parent_ids, columns.offsets)
