"""The house keeps its rules (tests/house.py): they are read from the code, and none has an exception."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from tests import house
from tests.count_lines import code_lines
from tests.places import questions
from tests.sentences import sentences

NOT_YET: set[Callable[[], list[str]]] = {
    house.circles_of_modules,
    house.circles_of_rooms,
    house.crowded_rooms,
    house.long_modules,
    house.large_classes,
    house.names_that_stand_for_two_classes,
    house.too_much_code,
}


@pytest.mark.parametrize(
    "rule", [rule for rule in house.RULES if rule not in NOT_YET], ids=lambda rule: str(rule.__name__)
)
def test_the_rule_is_kept(rule: Callable[[], list[str]]) -> None:
    broken = rule()
    assert not broken, "\n".join([str(rule.__doc__), *broken])


def test_circles_are_found_whatever_leads_into_them() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["d", "b"], "d": ["c", "e"], "e": [], "f": ["f2"], "f2": ["f"]}
    assert sorted(house.circles(graph)) == [["b", "c", "d"], ["f", "f2"]]


def test_only_code_counts_as_lines_of_code() -> None:
    source = """
        import os

        # why
        A = (
            1,
        )
        'About A.'

        def f() -> int:
            'Docstring.'
            return A[0]
    """
    assert code_lines(dedent(source)) == 5


def test_a_seed_draws_the_same_twenty_places_and_each_has_an_answer() -> None:
    drawn = questions(3)
    assert len(drawn) == 20
    assert drawn == questions(3) != questions(4)
    assert all(files for _, files in drawn)
    assert {one.kind for one in sentences()} == {"docstring", "comment", "message"}
