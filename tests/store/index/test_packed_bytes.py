"""Packed bytes of the index that are damaged: each function that unpacks them refuses them with one kind of error."""

from __future__ import annotations

import random
import zlib
from array import array
from collections.abc import Callable

import msgspec
import pytest

from sessionbrowse.store.index.packed_places import (
    pack_integers,
    unpack_integers,
    unpack_links,
    unpack_places,
)

UNPACKERS: list[Callable[[bytes], object]] = [
    unpack_integers,
    unpack_links,
    lambda packed: unpack_places([packed]),
]
ODD: list[bytes] = [
    b"",
    b"\x00",
    b"\x09" + b"1" * 9,
    b"\x02" + b"1" * 3,
    zlib.compress(b""),
    zlib.compress(msgspec.msgpack.encode({"x": 1})),
    zlib.compress(msgspec.msgpack.encode([b"\xff", b"\xff", b"\xff"])),
]


@pytest.mark.parametrize("unpack", UNPACKERS)
def test_damaged_bytes_are_refused(unpack: Callable[[bytes], object]) -> None:
    chance = random.Random(7)
    refused = 0
    for packed in [*ODD, *(chance.randbytes(chance.randrange(40)) for _ in range(300))]:
        try:
            unpack(packed)
        except ValueError:
            refused += 1
    assert refused > 100


def test_numbers_come_back() -> None:
    for numbers in ([], [0], [1, 2, 70_000], [2**40, 3], list(range(1000))):
        assert unpack_integers(pack_integers(numbers)) == array("q", numbers) or not numbers
        assert list(unpack_integers(pack_integers(numbers))) == numbers
