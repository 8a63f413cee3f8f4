"""Values in JavaScript's words. What is expected was printed by Node 24."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from sessionbrowse.format.json_value import (
    MISSING,
    Json,
    is_true,
    json_bytes,
    loads,
    number,
    string,
    stringify_head,
    to_number,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (123456789012345680000, "123456789012345680000"),
        (12345678901234567890123, "1.2345678901234568e+22"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (5e-324, "5e-324"),
        (2**53 + 1, "9007199254740992"),
        (10**400, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_print_with_the_shortest_digits(value: float, expected: str):
    assert number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (MISSING, "undefined"),
        (None, "null"),
        (True, "true"),
        ("text", "text"),
        ([1, None, [2, [], "x"], {}], "1,,2,,x,[object Object]"),
        ([], ""),
        ([[[]]], ""),
        ({"a": 1}, "[object Object]"),
    ],
)
def test_every_value_has_a_text(value: Any, expected: str):
    assert string(value) == expected


def test_lists_nested_deeper_than_python_recurses_have_a_text_too():
    nested: list[Any] = [1]
    for _ in range(5_000):
        nested = [nested]
    assert string(nested) == "1"
    assert stringify_head(nested, 40) == ("[" * 40, True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", 0),
        (" 5\n", 5),
        ("0x10", 16),
        ("0b11", 3),
        ("1e3", 1000),
        (".5", 0.5),
        ("1_0", math.nan),
        ("nan", math.nan),
        ("-0x1", math.nan),
        ("Infinity", math.inf),
        (None, 0),
        (True, 1),
        ([5], 5),
        ([1, 2], math.nan),
        ({}, math.nan),
        (MISSING, math.nan),
    ],
)
def test_values_count_as_numbers(value: Any, expected: float):
    assert to_number(value) == pytest.approx(expected, nan_ok=True)


def test_some_values_are_false():
    assert not any(map(is_true, [MISSING, None, False, 0, -0.0, math.nan, ""]))
    assert all(map(is_true, [True, 1, " ", "0", [], {}, math.inf]))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"b":1,"2":[1,{"x":null}],"1":"a","01":1}', '{"1":"a","2":[1,{"x":null}],"b":1,"01":1}'),
        (r'"\u001f\b\f\n\r\t\"\\\/"', r'"\u001f\b\f\n\r\t\"\\/"'),
        (r'"\u2028\u007f\ud800"', '"\u2028\x7f\\ud800"'),
        ('{"a":1e400,"b":-0,"c":1e-7}', '{"a":null,"b":0,"c":1e-7}'),
        ("[]", "[]"),
    ],
)
def test_values_are_written_as_stringify_does(written: str, expected: str):
    assert stringify_head(json.loads(written), 100) == (expected, False)


@pytest.mark.parametrize("value", [math.inf, [-math.inf], {"Infinity": '"Infinity\\', "a": math.inf}, "-Infinity"])
def test_an_infinite_number_is_written_as_one_that_programs_read_as_infinity(value: Json):
    assert loads(json_bytes(value)) == value


def test_only_the_head_of_a_large_value_is_written():
    assert stringify_head("😀" * 30, 40) == ('"' + "😀" * 19 + "\ud83d", True)
    assert stringify_head({"k" * 39: 1}, 40) == ('{"' + "k" * 38, True)
    assert stringify_head("x" * 38, 40) == ('"' + "x" * 38 + '"', False)
    assert stringify_head(["x" * 10_000_000] * 3, 40)[0] == '["' + "x" * 38
