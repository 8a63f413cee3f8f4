"""A price that cannot be right counts in no sum, on no screen and in no order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.format.entries import Cost, Usage
from sessionbrowse.model.clean.plan import CleanPlan
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.usage.branch_costs import branch_costs, dollars_of
from sessionbrowse.model.usage.request import MAX_DOLLARS, price_of
from sessionbrowse.services.clean.clean import Where, clean_session
from sessionbrowse.services.inspect.compare import compare
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.tui.reading.documents import usage_line
from tests.support.agent_totals import totals
from tests.support.full_reading import summary_in_full
from tests.support.session_files import answer, entry, header, line, user, written

GOOD = 0.02
ODD = ["-58035", "-1e-9", "1e7", "1e300", "1e999", "-1e999"]
"""Prices of one request as they stand in a file: negative, above `MAX_DOLLARS`, beyond all numbers."""
NODE = {"schema": "indus/transcript@1", "kind": "entry"}


def priced(entry_id: str, parent: str | None, price: str) -> bytes:
    return answer(entry_id, parent).replace(b'"total":0.25', f'"total":{price}'.encode())


def with_odd(price: str, **more: Any) -> list[bytes]:
    """Return a session with requests in several kinds of entries, one of them with a good price."""
    spent: dict[str, Any] = {
        "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.25}}
    }
    lines = [
        header(**more),
        user("u1", None, "Begin"),
        priced("a1", "u1", str(GOOD)),
        priced("a2", "a1", price),
        entry("compaction", "c1", "a2", summary="s", firstKeptEntryId="a1", tokensBefore=9, **spent),
        entry("message", "t1", "c1", message={"role": "toolResult", "toolCallId": "x", "content": [], **spent}),
        priced("b1", "u1", price),
    ]
    return [each.replace(b'"total":0.25', f'"total":{price}'.encode()) for each in lines]


@pytest.mark.parametrize("price", [None, 0.0, -1.0, float("nan"), float("inf"), -float("inf"), MAX_DOLLARS * 1.01])
def test_what_is_no_credible_price_is_none(price: float | None) -> None:
    assert price_of(price) == 0
    assert price_of(MAX_DOLLARS) == MAX_DOLLARS


@pytest.mark.parametrize("agent", list(RULES))
@pytest.mark.parametrize("price", ODD)
def test_no_sum_of_a_session_counts_an_odd_price(price: str, agent: str, tmp_path: Path) -> None:
    path = written(tmp_path, *with_odd(price))
    listed = summarise_path(str(path), lambda _: agent)
    session = open_session(path, agent)
    at = session.index_by_id
    costs = branch_costs(session)
    compared = compare(session, at["t1"], at["b1"])
    assert listed is not None
    assert listed.cost == GOOD
    assert summary_in_full(path, agent) == listed
    assert [dollars_of(costs.of(at[name])) for name in ("a1", "b1")] == [GOOD, None]
    assert (compared.left.cost, compared.right.cost) == (GOOD, None)


def test_the_totals_of_the_agent_itself_stay_as_it_counts_them(tmp_path: Path) -> None:
    session = open_session(written(tmp_path, *with_odd("-58035")), "pi")
    assert totals(session.rules, session.envelopes).cost == pytest.approx(GOOD - 4 * 58035)


@pytest.mark.parametrize("price", ODD)
def test_a_copy_without_an_odd_request_saves_no_dollars_for_it(price: str, tmp_path: Path) -> None:
    path = written(tmp_path, *with_odd(price))
    plan = CleanPlan(drop=frozenset({1}))
    done = clean_session(Target(str(path), "pi"), "prune", lambda *_: plan, Where(), dry_run=True)
    assert done.preview.removed.cost == GOOD


def test_a_transcript_counts_no_odd_price(tmp_path: Path) -> None:
    lines = [line({"schema": "indus/transcript@1", "kind": "head", "sessionId": "s", "leaf": "2"})]
    for own, prev, price in (("0", None, GOOD), ("1", "0", -58035), ("2", "1", 1e300)):
        usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": price}}
        message = {"role": "assistant", "content": "x", "usage": usage}
        lines.append(line({**NODE, "id": own, "prev": prev, "role": "assistant", "message": message, "at": "t"}))
    listed = summarise_path(str(written(tmp_path, *lines)), lambda _: "indusagi")
    assert listed is not None
    assert listed.is_transcript
    assert listed.cost == GOOD


def test_the_command_line_lists_and_sorts_by_credible_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    for name, price in (("much", "5"), ("odd", "1e300"), ("negative", "-58035")):
        written(folder, *with_odd(price, id=name, cwd="/p"), name=f"{name}.jsonl")
    root = str(tmp_path / "sessions")
    assert main(["list", "--root", root, "--sort", "cost", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert (rows[0]["id"], rows[0]["cost"]) == ("much", GOOD + 4 * 5)
    assert [row["cost"] for row in rows[1:]] == [GOOD, GOOD]
    assert main(["list", "--root", root]) == 0
    assert "$-" not in (shown := capsys.readouterr().out)
    assert "-$" not in shown
    assert main(["stats", "--root", root, "--by", "session", "--json"]) == 0
    totals_by_id = {row["id"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert totals_by_id["negative"]["agent_total"]["cost"] == str(GOOD)


@pytest.mark.parametrize("price", [-58035.0, 1e7])
def test_the_view_of_an_entry_says_that_it_is_not_priced(price: float) -> None:
    shown = "".join([text for text, _ in usage_line(Usage(input=1.0, cost=Cost(total=price)))])
    assert "not priced" in shown
    assert "$" not in shown
