"""The browser's questions about cost."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.usage.request import COST, PER_DOLLAR
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.background.usage_program import answer
from sessionbrowse.services.usage import question
from sessionbrowse.services.usage.counting import Counting
from sessionbrowse.services.usage.question import UsageCounter, UsageQuestion
from sessionbrowse.services.usage.stats import counting_of
from sessionbrowse.services.usage.usage_listing import UsageListing
from tests.support.index_support import folder
from tests.support.search_support import index_of
from tests.support.session_files import answer as paid
from tests.support.session_files import header, user


@pytest.fixture
def scope(tmp_path: Path) -> BrowserScope:
    shop = folder(tmp_path / "s")
    shop.joinpath("shop.jsonl").write_bytes(
        header(id="shop") + user("a", None) + paid("b", "a", second=2) + paid("c", "a", second=3, model="opus")
    )
    bank = folder(tmp_path / "s", "--home-dev-bank--")
    bank.joinpath("bank.jsonl").write_bytes(header(id="bank", cwd="/home/dev/bank") + paid("d", None, second=4))
    return BrowserScope(cache=str(tmp_path / "cache"), home=str(tmp_path), environ={}, roots=(str(tmp_path / "s"),))


def dollars(scope: BrowserScope, asked: UsageQuestion) -> dict[Any, float]:
    return {row.key: row.totals.total[COST] / PER_DOLLAR for row in answer(scope, asked).table.rows}


def test_a_question_is_about_folders_files_an_agent_a_model_or_a_time(scope: BrowserScope) -> None:
    everything = {"/home/dev/webshop": 0.5, "/home/dev/bank": 0.25}
    shop = str(next(Path(scope.roots[0]).rglob("shop.jsonl")))
    assert dollars(scope, UsageQuestion()) == everything
    assert dollars(scope, UsageQuestion(agent="pi")) == everything
    assert dollars(scope, UsageQuestion(agent="omp")) == {}
    assert dollars(scope, UsageQuestion(cwds=("/home/dev/bank",))) == {"/home/dev/bank": 0.25}
    assert dollars(scope, UsageQuestion(by="model", paths=(shop,))) == {
        "anthropic/sonnet": 0.25,
        "anthropic/opus": 0.25,
    }
    only = UsageQuestion(only=("model", "anthropic/opus"))
    assert dollars(scope, only) == {"/home/dev/webshop": 0.25}
    assert dollars(scope, UsageQuestion(since=1_786_608_003_000)) == dict.fromkeys(everything, 0.25)
    assert dollars(scope, UsageQuestion(until=1_786_608_003_000)) == {"/home/dev/webshop": 0.25}


def test_a_family_is_one_row_in_which_copied_requests_count_once(scope: BrowserScope) -> None:
    shop = next(Path(scope.roots[0]).rglob("shop.jsonl"))
    fork = shop.with_name("fork.jsonl")
    fork.write_bytes(
        header(id="fork", parentSession=str(shop))
        + b"".join(shop.read_bytes().splitlines(keepends=True)[1:])
        + paid("f", "c", second=9)
    )
    child = shop.with_suffix("") / "child.jsonl"
    child.parent.mkdir()
    child.write_bytes(header(id="child") + paid("g", None, second=11))
    index_of(Path(scope.roots[0]), Path(scope.cache))
    for path in (shop, fork, child):
        assert list(dollars(scope, UsageQuestion(family_of=str(path))).values()) == [1.0]
    assert dollars(scope, UsageQuestion(family_of=str(shop.parents[1] / "--home-dev-bank--" / "bank.jsonl"))) == {}


def test_a_family_is_not_counted_before_its_files_are_in_the_index(scope: BrowserScope) -> None:
    shop = next(Path(scope.roots[0]).rglob("shop.jsonl"))
    shop.with_name("copy.jsonl").write_bytes(shop.read_bytes())
    assert dollars(scope, UsageQuestion(family_of=str(shop))) == {}


def test_the_rows_of_a_chart_are_in_the_order_of_time(scope: BrowserScope) -> None:
    later = folder(Path(scope.roots[0])) / "later.jsonl"
    later.write_bytes(header(id="later") + paid("e", None, timestamp=1_788_000_000_000))
    chart = answer(scope, UsageQuestion(period="month", sort="requests")).chart
    assert [row.key for row in chart.rows] == ["2026-08"]
    days = [str(row.key) for row in answer(scope, UsageQuestion(period="day")).chart.rows]
    assert len(days) == 2
    assert days == sorted(days)


def test_what_was_counted_is_kept_until_a_file_changes(scope: BrowserScope, monkeypatch: pytest.MonkeyPatch) -> None:
    index_of(Path(scope.roots[0]), Path(scope.cache))
    counted: list[object] = []

    def counting_again(found: UsageListing) -> Counting:
        counted.append(found)
        return counting_of(found)

    monkeypatch.setattr(question, "counting_of", counting_again)
    with closing(UsageCounter(scope.as_scope(), Path(scope.cache))) as counter:
        for asked in (UsageQuestion(agent="pi"), UsageQuestion("session", agent="pi"), UsageQuestion(since=0)):
            assert counter.answer(asked) == answer(scope, asked)
        # Once by the counter, and once by each answer it is compared with.
        assert len(counted) == 4
        with next(Path(scope.roots[0]).rglob("bank.jsonl")).open("ab") as bank:
            bank.write(paid("e", "d", second=5))
        rows = counter.answer(UsageQuestion(agent="pi")).table.rows
        assert {row.key: row.totals.total[COST] / PER_DOLLAR for row in rows} == {
            "/home/dev/webshop": 0.5,
            "/home/dev/bank": 0.5,
        }
        index_of(Path(scope.roots[0]), Path(scope.cache))
        assert counter.answer(UsageQuestion(agent="pi")).table.rows == rows
