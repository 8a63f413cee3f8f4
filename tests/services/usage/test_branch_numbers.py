"""The cost of a branch is one number: in `stats --by branch`, the tree, the comparison and the preview of a pruning."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.usage.branch_costs import abandoned_share, branch_costs, dollars_of, first_rows
from sessionbrowse.services.clean.clean import Where, branches_plan, clean_session
from sessionbrowse.services.inspect.compare import compare_branch, cost_words
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.session_files import answer, entry, header, user, written

PRICES = ["0.25", "1.5", "0", "-3", "1e300", "null"]


def usage(price: str, tokens: int) -> dict[str, Any]:
    return {"input": tokens, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": json.loads(price)}}


def session_with_branches(folder: Path, seed: int) -> Session:
    """A session with branches in branches; some prices are none, negative or absurd, some lines stand twice."""
    dice = random.Random(seed)
    lines, parents = [header(cwd="/p"), user("e0", None)], ["e0"]
    for number in range(1, 30):
        name, below = f"e{number}", parents[-1] if dice.random() < 0.7 else dice.choice(parents)
        spent = usage(dice.choice(PRICES), number)
        kind = dice.choice(["answer", "answer", "answer", "user", "compaction", "model_usage"])
        # omp sets the leaf back after such a note, so nothing is ever below it.
        parents += [name] * (kind != "model_usage")
        if kind == "answer":
            lines.append(answer(name, below, second=number, usage=spent))
        elif kind == "user":
            lines.append(user(name, below, second=number))
        else:
            more = {"summary": "s", "firstKeptEntryId": "e0", "tokensBefore": 9} if kind == "compaction" else {}
            lines.append(entry(kind, name, below, second=number, usage=spent, provider="p", model="m", **more))
    return open_session(written(folder, *lines), "omp")


@pytest.fixture
def rows_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return a function that gives the rows of `stats --by branch` by the ids of the branches' leaves."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def ask(root: Path) -> dict[str, dict[str, Any]]:
        command = ["stats", "--by", "branch", "--json", "--root", str(root), "--agent", "omp"]
        assert main(command) == 0
        return {row["leaf_id"]: row for row in json.loads(capsys.readouterr().out)["rows"]}

    return ask


@pytest.mark.parametrize("seed", range(12))
def test_every_place_has_the_number_of_stats_by_branch(seed: int, tmp_path: Path, rows_of: Any) -> None:
    root = tmp_path / "root"
    folder = root / "-p"
    folder.mkdir(parents=True)
    session = session_with_branches(folder, seed)
    costs, rows = branch_costs(session), rows_of(root)
    begins = first_rows(costs, range(len(session.ids)))
    assert {session.ids[leaf] for leaf in costs.totals} == set(rows)
    for leaf, totals in costs.totals.items():
        row = rows[session.ids[leaf]]
        dollars = None if row["cost"] is None else float(row["cost"])
        assert dollars_of(totals) == dollars, "the tree's row"
        assert abandoned_share(totals) == float(row["abandoned"]["cost"] or 0)
        members = [index for index in range(len(session.ids)) if costs.leaf_of[index] == leaf]
        assert begins.get(members[0]) == (dollars or None)
        assert session.leaf is not None
        for index in members:
            compared = compare_branch(session, index, session.leaf)
            assert compared.right.branch_cost == dollars, "wherever in the branch the cursor stands"
    plan = branches_plan((), all_abandoned=True)
    removed = clean_session(Target(session.path, "omp"), "prune", plan, Where(), dry_run=True).preview.removed
    gone = [leaf for leaf in costs.totals if leaf != costs.leaf_of[session.leaf or 0]]
    assert removed.branches == len(gone)
    assert removed.requests == sum(rows[session.ids[leaf]]["requests"] for leaf in gone)
    assert removed.cost == sum(float(rows[session.ids[leaf]]["cost"] or 0) for leaf in gone)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.05, 0.05, 0.05), "whole branch $0.05, abandoned"),
        ((0.05, 0.05, 0.0), "whole branch $0.05"),
        ((0.02, 0.05, 0.03), "whole branch $0.05, $0.03 of it abandoned · $0.02 after the split"),
        ((None, 0.05, 0.05), "whole branch $0.05, abandoned · $0 after the split"),
    ],
)
def test_two_figures_of_one_branch_say_their_difference(numbers: tuple[Any, Any, Any], words: str) -> None:
    assert cost_words(*numbers) == words
