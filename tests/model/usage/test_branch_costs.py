"""The cost of each branch, counted once over the tree."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import pytest

from sessionbrowse.model.usage.branch_costs import BranchCosts, branch_costs, row_costs
from tests.support.session_files import answer, header, opened, user


def priced(entry_id: str, parent: str | None, dollars: float) -> bytes:
    return answer(entry_id, parent, usage={"input": 1, "output": 1, "cost": {"total": dollars}})


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
    for name, index in session.index_by_id.items():
        here = {name}
        while more := {one for one, above in parent.items() if above in here} - here:
            here |= more
        above = parent[name]
        if above is None or sum(other == above for other in parent.values()) > 1:
            assert costs.branch[index] == sum(price[one] for one in here)
        else:
            assert costs.branch[index] == costs.branch[session.index_by_id[above]]
        assert costs.own[index] == price[name]
    for shown in ({*range(40)}, {index for index in range(40) if dice.random() < 0.5} | {0}):
        spent = row_costs(session, costs, shown)
        assert set(spent) == shown
        if len(shown) == 40:
            assert sum(spent.values()) == sum(price.values())


def test_a_branch_begins_after_the_branch_point(tmp_path: Path) -> None:
    lines = [user("u1", None, "x"), priced("a1", "u1", 1), priced("a2", "a1", 2), priced("a3", "a2", 4)]
    session = opened(tmp_path, header(), *lines, priced("b1", "a1", 8))
    costs, at = branch_costs(session), session.index_by_id
    assert costs.branch[at["a3"]] == 6, "a3 is on the branch that begins with a2"
    assert costs.branch[at["b1"]] == 8
    assert costs.branch[at["a1"]] == 15


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
    again = branch_costs(session, BranchCosts(array("d", [0, 5, 2]), first.branch))
    assert list(again.own) == [0, 5, 2, 8], "those of before are taken as they are"
    assert list(again.branch) == [15, 15, 2, 8]
    assert branch_costs(session, again) is again


def test_ten_thousand_entries_below_each_other_are_no_recursion(tmp_path: Path) -> None:
    lines = [user("e0", None, "x"), *[priced(f"e{n}", f"e{n - 1}", 0.5) for n in range(1, 10_000)]]
    costs = branch_costs(opened(tmp_path, header(), *lines))
    assert costs.branch[0] == 9_999 * 0.5


def test_absurd_prices_cost_nothing(tmp_path: Path) -> None:
    costs = branch_costs(
        opened(tmp_path, header(), user("u1", None, "x"), priced("a1", "u1", -3), priced("a2", "a1", 1e300))
    )
    assert list(costs.branch) == [0, 0, 0]
