"""Packed bytes of the index that are damaged: each function that unpacks them refuses them with one kind of error."""

from __future__ import annotations

import random
import sqlite3
import zlib
from array import array
from collections.abc import Callable

import msgspec
import pytest

from sessionbrowse.store.index.rows import pack_small, stored_entries, unpack_entries

OFFSETS, SIZES = array("q", [0, 100, 200]), array("q", [99, 99, 99])
SOUND = pack_small(stored_entries(OFFSETS, SIZES, ["a", "b", "c"], [None, "a", None], {}))
UNPACKERS: dict[str, Callable[[bytes], object]] = {"entries": unpack_entries}
ODD: list[object] = [
    *(b"", b"\x00", "text", 7, None, zlib.compress(b""), SOUND[:-1]),
    *(
        zlib.compress(msgspec.msgpack.encode(value))
        for value in (
            {"x": 1},
            [b"\xff", b"\xff", b"\xff"],
            [[1], [2, 3], [4]],
            [[1 << 63], [0], [0]],
            [[1], [0], ["a"], {9: "b"}, {}],
            [[1], [0], ["a"] * 5, {}, {}],
        )
    ),
]


@pytest.mark.parametrize("name", UNPACKERS)
def test_damaged_bytes_are_refused(name: str) -> None:
    chance = random.Random(7)
    refused = 0
    pieces = [*ODD, *(chance.randbytes(chance.randrange(40)) for _ in range(300))]
    for at in range(len(SOUND)):
        pieces.append(SOUND[:at] + bytes([SOUND[at] ^ 1 << chance.randrange(8)]) + SOUND[at + 1 :])
    for packed in pieces:
        try:
            UNPACKERS[name](packed)  # type: ignore[arg-type]
        except sqlite3.DatabaseError:
            refused += 1
    assert refused > 100
