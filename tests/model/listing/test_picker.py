"""The orders and threads of pi 1.5.2's session picker, and its matching of letters in order."""

from __future__ import annotations

import math
import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.model.listing.picker import (
    fuzzy,
    ordered,
    scattered,
    threads,
)
from sessionbrowse.model.listing.summary import Summary


def session(name: str = "", *, path: str = "", text: str = "", modified: float = 0, **more: object) -> Summary:
    own = path or f"/{name or text}.jsonl"
    return Summary(agent="pi", path=own, name=name or None, first_message=text or None, modified=modified, **more)  # type: ignore[arg-type]


# ---- matching ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        # -100 equal, -10 for a word's start, -5 for each further letter of a run, 0.1 for each place.
        ("ab", "ab", -100 - 10 - 5 - 10 + 0.1),
        ("b", "ab", 0.1),
        ("b", "a b", -10 + 0.2),
        ("ac", "abc", -5 - 10 + 2 + 0.2),
        ("x", "abc", None),
        ("", "abc", 0.0),
        ("ABC", "xabc", -5 - 10 + 0.1 + 0.2 + 0.3),
    ],
)
def test_the_score_of_letters_is_pis(query: str, text: str, expected: float | None):
    got = fuzzy(query, text)
    assert got == expected or (got is not None and expected is not None and math.isclose(got, expected))


def test_letters_and_digits_are_also_tried_the_other_way_round():
    swapped, plain = fuzzy("12abc", "abc12"), fuzzy("abc12", "abc12")
    assert plain is not None
    assert swapped == plain + 5
    assert fuzzy("12-abc", "abc12") is None


@pytest.mark.slow
@given(st.text(max_size=8), st.text(max_size=30))
def test_letters_match_if_and_only_if_they_stand_in_this_order(query: str, text: str):
    places = iter(text.lower())
    in_order = all(letter in places for letter in query.lower())
    swapped = re.fullmatch(r"([a-z]+)([0-9]+)|([0-9]+)([a-z]+)", query.lower())
    if not swapped:
        assert (fuzzy(query, text) is not None) == in_order


# ---- orders ------------------------------------------------------------------------------------------------------

SESSIONS = [
    session("beta", modified=1, bytes=30, cost=1.0),
    session("", text="alpha", modified=3, bytes=10, cost=3.0),
    session("Alpha", modified=2, bytes=20, cost=0.0),
]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("newest", [1, 2, 0]),
        ("threaded", [1, 2, 0]),
        ("name", [2, 0, 1]),
        ("size", [0, 2, 1]),
        ("cost", [1, 0, 2]),
    ],
)
def test_each_order_orders(sort: str, order: list[int]):
    assert ordered(SESSIONS, sort) == [SESSIONS[index] for index in order]


def test_equal_times_stand_by_the_files_times():
    older, newer = session("a", modified=5, mtime_ns=1), session("b", modified=5, mtime_ns=2)
    assert ordered([older, newer], "newest") == [newer, older]
    assert ordered([session("x"), session("y")], "newest") == [session("x"), session("y")]


# ---- threads -----------------------------------------------------------------------------------------------------


def drawn(*summaries: Summary) -> list[str]:
    rows = []
    for summary, lasts in threads(summaries):
        connector = "" if len(lasts) == 1 else "└ " if lasts[-1] else "├ "
        rows.append("".join("  " if last else "│ " for last in lasts[1:-1]) + connector + (summary.name or ""))
    return rows


def test_children_stand_below_their_parent_and_the_thread_with_the_newest_member_first():
    assert drawn(
        session("old", modified=1),
        session("child of old", modified=9, parent_path="/old.jsonl"),
        session("grandchild", modified=2, parent_path="/child of old.jsonl"),
        session("quiet child", modified=3, parent_path="/old.jsonl"),
        session("new", modified=5),
        session("orphan", modified=4, parent_path="/gone.jsonl"),
    ) == ["old", "├ child of old", "│ └ grandchild", "└ quiet child", "new", "orphan"]


def test_sessions_whose_parents_form_a_loop_are_there():
    assert drawn(
        session("a", modified=1, parent_path="/c.jsonl"),
        session("b", modified=2, parent_path="/a.jsonl"),
        session("c", modified=3, parent_path="/b.jsonl"),
        session("self", modified=0, parent_path="/self.jsonl"),
    ) == ["a", "└ b", "  └ c", "self"]


def test_a_chain_of_2000_forks_and_a_loop_of_20_000_sessions_take_no_time():
    begun = time.perf_counter()
    chain = [session(f"s{n}", parent_path=f"/s{n - 1}.jsonl", modified=n) for n in range(2000)]
    assert [len(lasts) for _, lasts in threads(chain)] == list(range(1, 2001))
    star = [session(f"s{n}", parent_path="/s0.jsonl", modified=n) for n in range(20_000)]
    assert len(threads(star)) == 20_000
    assert time.perf_counter() - begun < 10


@given(st.lists(st.integers(0, 12), max_size=12))
def test_every_session_is_in_the_threads_once(parents: list[int]):
    summaries = [session(f"s{n}", parent_path=f"/s{parent}.jsonl", modified=n % 3) for n, parent in enumerate(parents)]
    rows = threads(summaries)
    assert sorted(summary.path for summary, _ in rows) == sorted(summary.path for summary in summaries)
    for (_, above), (_, here) in pairwise(rows):
        assert len(here) <= len(above) + 1


_some_text = st.text(alphabet="abAB1 2é-_ßİΣ", max_size=8)


@given(st.text(alphabet="ab12.^]\\-İ", min_size=1, max_size=6), st.text(alphabet="abAB12.^]\\-İ \n", max_size=12))
def test_scattered_letters_are_where_they_have_a_score(query: str, text: str):
    assert (scattered(query).match(text.lower()) is not None) == (fuzzy(query, text) is not None)
