"""The cost of each branch, counted once over the tree."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.model.session.session import Session
from sessionbrowse.model.usage.branch_costs import abandoned_share, branch_costs, dollars_of, first_rows, row_costs
from sessionbrowse.model.usage.request import PER_DOLLAR
from tests.support.session_files import answer, entry, header, opened, user


def priced(entry_id: str, parent: str | None, dollars: float) -> bytes:
    return answer(entry_id, parent, usage={"input": 1, "output": 1, "cost": {"total": dollars}})


def branches(session: Session) -> dict[str | None, float | None]:
    """Return the cost of each branch by the id of the entry with which it begins."""
    costs = branch_costs(session)
    first: dict[int, str | None] = {}
    for index, entry_id in enumerate(session.ids):
        first.setdefault(costs.leaf_of[index], entry_id)
    return {entry_id: dollars_of(costs.totals[leaf]) for leaf, entry_id in first.items() if leaf in costs.totals}


@pytest.mark.parametrize("seed", range(20))
def test_a_branch_costs_what_its_entries_cost(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    lines, price = [header(), user("e0", None, "Begin")], {"e0": 0.0}
    parent: dict[str, str | None] = {"e0": None}
    for number in range(1, 40):
        name, below = f"e{number}", f"e{dice.randrange(number)}"
        parent[name] = below
        price[name] = dice.choice([0.0, 0.25, 0.5, 8.0])
        lines.append(priced(name, below, price[name]) if price[name] else user(name, below, "Go on"))
    session = opened(tmp_path, *lines)
    costs = branch_costs(session)
    own: dict[str, float] = {}
    left = set(parent)
    for leaf in reversed(parent):
        at: str | None = leaf
        while at is not None and at in left:
            left.remove(at)
            own[leaf] = own.get(leaf, 0) + price[at]
            at = parent[at]
    for name, index in session.index_by_id.items():
        assert costs.own[index] == price[name]
        leaf = session.ids[costs.leaf_of[index]] or ""
        assert (dollars_of(costs.of(index)) or 0) == own[leaf]
    assert sum(own.values()) == sum(price.values()), "each request is in exactly one branch"
    begins = first_rows(costs, [index for index in range(40) if index % 3 == 0])
    assert all(begins[index] == dollars_of(costs.of(index)) for index in begins)
    assert len({costs.leaf_of[index] for index in begins}) == len(begins)
    for shown in ({*range(40)}, {index for index in range(40) if dice.random() < 0.5} | {0}):
        spent = row_costs(session, costs, shown)
        assert set(spent) == shown
        if len(shown) == 40:
            assert sum(spent.values()) == sum(price.values())


def test_the_active_branch_has_what_it_shares_and_another_begins_with_its_own(tmp_path: Path) -> None:
    lines = [user("u1", None, "x"), priced("a1", "u1", 1), priced("a2", "a1", 2), priced("a3", "a2", 4)]
    session = opened(tmp_path, header(), *lines, priced("b1", "a1", 8))
    assert branches(session) == {"u1": 9, "a2": 6}
    costs, at = branch_costs(session), session.index_by_id
    assert abandoned_share(costs.of(at["a2"])) == 6
    assert abandoned_share(costs.of(at["b1"])) == 0
    assert first_rows(costs, [at["u1"], at["a3"], at["b1"]]) == {at["u1"]: 9, at["a3"]: 6}


def test_below_a_branch_point_the_newest_leaf_has_what_is_shared(tmp_path: Path) -> None:
    lines = [user("u1", None, "x"), priced("a1", "u1", 1), priced("a2", "a1", 2), priced("a3", "a1", 4)]
    session = opened(tmp_path, header(), *lines, priced("b1", "u1", 8))
    assert branches(session) == {"u1": 8, "a1": 5, "a2": 2}


def test_what_is_only_noted_after_an_answer_leaves_it_active(tmp_path: Path) -> None:
    noted: dict[str, Any] = {"usage": {"input": 1, "output": 1, "cost": {"total": 16}}, "provider": "p", "model": "m"}
    lines = [user("u1", None, "x"), priced("a1", "u1", 1), priced("a2", "u1", 2)]
    session = opened(tmp_path, header(), *lines, entry("model_usage", "m1", "a2", **noted))
    assert branches(session) == {"u1": 18, "a1": 1}


def test_a_row_costs_what_came_since_the_row_before_it(tmp_path: Path) -> None:
    lines = [user("u1", None, "x"), priced("a1", "u1", 1), priced("a2", "a1", 2), priced("a3", "a2", 4)]
    session = opened(tmp_path, header(), *lines, priced("b1", "a1", 8))
    costs, at = branch_costs(session), session.index_by_id
    rows = {at["u1"], at["a3"], at["b1"]}
    spent = row_costs(session, costs, rows)
    assert spent == {at["u1"]: 0, at["a3"]: 6, at["b1"]: 8}, "a2 has no row; a1 belongs to two branches"
    assert row_costs(session, costs, {*rows, at["a2"]})[at["a3"]] == 4


def test_only_new_entries_are_read_again(tmp_path: Path) -> None:
    lines = [header(), user("u1", None, "x"), priced("a1", "u1", 1), priced("a2", "a1", 2)]
    first = branch_costs(opened(tmp_path, *lines))
    session = opened(tmp_path, *lines, priced("b1", "a1", 8))
    known = replace(first.usage, requests=[replace(one, amount=5 * PER_DOLLAR) for one in first.usage.requests])
    again = branch_costs(session, replace(first, usage=known))
    assert list(again.own) == [0, 5, 5, 8], "those of before are taken as they are"
    assert [dollars_of(again.of(index)) for index in range(4)] == [13, 13, 5, 13]
    assert branch_costs(session, again) is again


def test_ten_thousand_entries_below_each_other_are_no_recursion(tmp_path: Path) -> None:
    lines = [user("e0", None, "x"), *[priced(f"e{n}", f"e{n - 1}", 0.5) for n in range(1, 10_000)]]
    costs = branch_costs(opened(tmp_path, header(), *lines))
    assert dollars_of(costs.of(0)) == 9_999 * 0.5


def test_absurd_prices_cost_nothing(tmp_path: Path) -> None:
    costs = branch_costs(
        opened(tmp_path, header(), user("u1", None, "x"), priced("a1", "u1", -3), priced("a2", "a1", 1e300))
    )
    assert list(costs.own) == [0, 0, 0]
    assert dollars_of(costs.of(0)) is None
