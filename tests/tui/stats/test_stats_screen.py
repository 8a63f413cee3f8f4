"""The statistics as a user meets them: opened, sorted, gone into, and changed by the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sessionbrowse.model.usage.request import ABANDONED, COST, Totals
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.background.search_messages import FindPaths, Refresh
from sessionbrowse.services.background.usage_program import CountingFailed, answer
from sessionbrowse.services.usage.question import UsageAnswer, UsageQuestion
from sessionbrowse.services.usage.stats import cents
from sessionbrowse.services.usage.usage_listing import UsageRow
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.paint.spans import line_width
from sessionbrowse.tui.stats.chart import chart, periods, table_head, table_row
from sessionbrowse.tui.stats.screen import ALL, PERIODS, TABLES, TIMES, span_named
from tests.support.search_support import searched_source
from tests.support.tui_support import NOW_MS, Driven, browsing, demo_options


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    target = tmp_path_factory.mktemp("store") / "demo"
    options = demo_options(target)
    return {"source": searched_source(options, target, target.parent / "cache"), **options}


def row(key: str, cost: int, abandoned: int = 0) -> UsageRow:
    totals = Totals()
    totals.parts[0][:] = [1, 5, 0, 0, 0, 0, cost - abandoned, 0, 0]
    totals.parts[1][:] = [1, 5, 0, 0, 0, 0, abandoned, 0, 0]
    return UsageRow(key, totals)


async def choose(browser: Driven, command_id: str, number: int) -> None:
    """Choose the answer of this number in the dialog of a command."""
    await browser.run(command_id)
    await browser.press(*["down"] * number, "enter")


async def test_the_figures_of_a_folder_and_of_all_sessions(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign")
        assert browser.screen_name == "stats"
        everything = browser.screen_text()
        assert browser.row_list("#stats-rows").count > 1
        await browser.press("escape", "tab", "dollar_sign")
        one = browser.screen_text()
        assert "~/webshop" in one
        assert "all sessions" in everything
        assert "abandoned" in everything


@pytest.mark.slow
async def test_tables_periods_and_orders_are_chosen(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign")
        for shown in ("session", "model", "family", "branch", "agent", "provider", "project"):
            await choose(browser, "stats_table", TABLES.index(shown))
            assert f"by {shown}, cost first" in browser.screen_text()
        for shown in ("week", "month", "day"):
            await choose(browser, "stats_period", PERIODS.index(shown))
            assert f"per {shown}," in browser.screen_text()
        for shown in ("abandoned", "tokens", "time", "name", "cost"):
            await browser.press("ctrl+s")
            assert f"{shown} first" in browser.screen_text()


async def test_a_choice_limits_the_figures_to_a_time(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign")
        everything = browser.screen_text()
        assert "this month" not in everything
        for shown in TIMES[1:]:
            await choose(browser, "stats_times", TIMES.index(shown))
            assert f"{shown} · all sessions" in browser.screen_text()
        await choose(browser, "stats_times", 0)
        assert browser.screen_text() == everything


async def test_brackets_go_through_the_spans_of_time(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign", "right_square_bracket")
        assert "last 30 days · all sessions" in browser.screen_text()
        await browser.press("right_square_bracket")
        assert "last 7 days · all sessions" in browser.screen_text()
        await browser.press("left_square_bracket", "left_square_bracket", "left_square_bracket")
        assert f"{TIMES[-1]} · all sessions" in browser.screen_text()


def test_months_add_up_with_the_rest(demo: dict[str, Any], tmp_path: Path) -> None:
    scope = BrowserScope(cache=str(tmp_path), home=str(tmp_path), environ={}, roots=tuple(demo["roots"]))
    one, other = (span_named(name, NOW_MS) for name in ("last month", "this month"))
    spans = [(None, one.since), (one.since, one.until), (one.until, other.until), (other.until, None)]
    found = [answer(scope, UsageQuestion(since=since, until=until)).table.total.total for since, until in spans]
    assert one.until == other.since
    assert found[1][COST]
    assert sum(each[COST] for each in found) == answer(scope, UsageQuestion()).table.total.total[COST]


@pytest.mark.parametrize(
    ("name", "begin", "end"),
    [
        ("last 30 days", (2025, 12, 17), (2026, 1, 16)),
        ("last 7 days", (2026, 1, 9), (2026, 1, 16)),
        ("this month", (2026, 1, 1), (2026, 2, 1)),
        ("last month", (2025, 12, 1), (2026, 1, 1)),
        ("this week", (2026, 1, 12), (2026, 1, 19)),
        ("last week", (2026, 1, 5), (2026, 1, 12)),
        ("today", (2026, 1, 15), (2026, 1, 16)),
    ],
)
def test_a_span_is_one_of_local_days(name: str, begin: tuple[int, int, int], end: tuple[int, int, int]) -> None:
    now = datetime(2026, 1, 15, 12, 30).timestamp() * 1000
    expected = [datetime(*day).timestamp() * 1000 for day in (begin, end)]
    assert [span_named(name, now).since, span_named(name, now).until] == expected
    assert span_named(ALL, now).is_all


async def test_enter_goes_to_sessions_and_entries_and_escape_comes_back(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign", "enter")
        assert "by session" in browser.screen_text()
        await browser.press("enter")
        assert browser.screen_name == "session"
        await browser.press("escape")
        assert browser.screen_name == "stats"
        await browser.press("escape")
        assert "by project" in browser.screen_text()
        await choose(browser, "stats_table", 2)
        await browser.press("enter")
        assert "by session" in browser.screen_text()
        await browser.press("escape", "escape")
        assert browser.screen_name == "browse"


async def test_enter_while_another_table_is_counted_opens_a_row_of_that_table(demo: dict[str, Any]) -> None:
    may_count = threading.Event()
    count: Callable[[UsageQuestion], UsageAnswer] = demo["source"].count_usage

    def late(question: UsageQuestion) -> UsageAnswer:
        assert question.by == "project" or may_count.wait(60)
        return count(question)

    async with browsing(**(demo | {"source": replace(demo["source"], count_usage=late)})) as browser:
        await browser.press("dollar_sign", "down")
        await browser.press_now("enter", "enter")
        assert browser.screen_name == "stats"
        may_count.set()
        await browser.settle()
        assert browser.screen_name == "session"
        await browser.press("escape")
        assert "by session" in browser.screen_text()
        await browser.press("escape")
        assert "by project" in browser.screen_text()


async def test_the_dearest_abandoned_branch_opens_at_its_end(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign")
        await choose(browser, "stats_table", 4)
        await browser.press("ctrl+s")
        rows = browser.row_list("#stats-rows")
        shown = [each.totals.parts[ABANDONED][COST] for each in browser.app.screen._rows]  # type: ignore[attr-defined]
        assert shown == sorted(shown, reverse=True)
        assert shown[0]
        path, _, leaf = str(rows.key).rpartition(":")
        await browser.press("enter")
        assert browser.screen_name == "session"
        session = open_session(path)
        opened = browser.app.screen.entry_id  # type: ignore[attr-defined]
        # The tree hides the last entry of some branches; then the cursor is on the entry above it.
        branch = session.branch(session.index_by_id[leaf])
        assert session.index_by_id[opened] in branch[-3:]
        assert session.index_by_id[opened] not in session.active_branch()


async def test_a_filter_of_the_list_counts_here_too(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("slash")
        await browser.type("refactor")
        await browser.press("escape", "dollar_sign")
        await choose(browser, "stats_table", 1)
        assert 0 < browser.row_list("#stats-rows").count < 4
        assert '"refactor"' in browser.screen_text()


async def test_escape_clears_a_search_typed_here_before_it_leaves(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign")
        everything = browser.screen_text()
        assert "] limit days" in browser.footer()
        await browser.press("slash")
        await browser.type("agent:omp")
        await browser.press("enter")
        assert "in found sessions" in browser.screen_text()
        await browser.press("escape")
        assert browser.screen_text() == everything
        await browser.press("escape")
        assert browser.screen_name == "browse"


async def test_the_scope_changes_by_the_key_of_the_lists(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("tab", "dollar_sign")
        one = browser.screen_text()
        assert "~/webshop" in one.splitlines()[0]
        await browser.press("tab")
        assert "all sessions" in browser.screen_text()
        assert browser.row_list("#stats-rows").count > 1
        await browser.press("tab")
        assert browser.screen_text() == one


async def test_a_filter_is_typed_kept_and_cleared(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign")
        everything = browser.screen_text()
        await browser.press("slash")
        await browser.type("refactor")
        filtered = browser.screen_text().splitlines()
        assert 'all sessions · "refactor"' in filtered[0]
        assert filtered[1] != everything.splitlines()[1]
        await browser.press("enter")
        assert browser.screen_text().splitlines()[:2] == filtered[:2]
        await choose(browser, "stats_table", 1)
        assert "by session" in browser.screen_text()
        assert 0 < browser.row_list("#stats-rows").count < 4
        await choose(browser, "stats_table", 0)
        await browser.press("slash", "escape")
        assert browser.screen_name == "stats"
        assert browser.screen_text() == everything


async def test_a_pattern_filters_and_a_wrong_one_says_why(demo: dict[str, Any]) -> None:
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign", "slash")
        await browser.type("re:refac+tor")
        await browser.until(lambda: "1 match" in browser.screen_text() or "2 matches" in browser.screen_text())
        await browser.type("(")
        await browser.until(lambda: "No sessions with" in browser.screen_text())
        assert "missing )" in browser.screen_text().splitlines()[-2]


async def test_a_new_session_that_matches_the_filter_is_counted(
    demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessionbrowse.tui.stats.screen.REFRESH_SECONDS", 0.001)
    async with browsing(**demo) as browser:
        await browser.press("dollar_sign", "slash")
        await browser.type("refactor")
        await browser.press("enter")
        sent: list[Any] = []
        monkeypatch.setattr(browser.app.search_client, "send", sent.append)
        browser.app.screen.sessions_changed(SessionUpdates())  # type: ignore[attr-defined]
        await browser.until(lambda: len(sent) == 2)
        assert isinstance(sent[0], Refresh)
        assert (sent[1].text, isinstance(sent[1], FindPaths)) == ("refactor", True)
        monkeypatch.undo()
        screen: Any = browser.app.screen
        screen._find()


async def test_a_changed_session_is_counted_again(demo: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[UsageQuestion] = []
    count = demo["source"].count_usage

    def counting(question: UsageQuestion) -> UsageAnswer:
        asked.append(question)
        return count(question)  # type: ignore[no-any-return]

    monkeypatch.setattr("sessionbrowse.tui.stats.screen.REFRESH_SECONDS", 0.001)
    async with browsing(**{**demo, "source": replace(demo["source"], count_usage=counting)}) as browser:
        await browser.press("dollar_sign")
        assert len(asked) == 1
        browser.app.screen.sessions_changed(SessionUpdates())  # type: ignore[attr-defined]
        await browser.until(lambda: len(asked) == 2)


async def test_changes_while_counting_are_counted_once_afterwards(demo: dict[str, Any]) -> None:
    asked: list[UsageQuestion] = []
    may_end = threading.Event()
    count = demo["source"].count_usage

    def counting(question: UsageQuestion) -> UsageAnswer:
        asked.append(question)
        assert len(asked) == 1 or may_end.wait(20)
        return count(question)  # type: ignore[no-any-return]

    async with browsing(**{**demo, "source": replace(demo["source"], count_usage=counting)}) as browser:
        await browser.press("dollar_sign")
        screen = browser.app.screen
        screen.sessions_changed(SessionUpdates())  # type: ignore[attr-defined]
        try:
            await browser.until(lambda: len(asked) == 2)
            for _ in range(5):
                screen.sessions_changed(SessionUpdates())  # type: ignore[attr-defined]
        finally:
            may_end.set()
        await browser.until(lambda: len(asked) == 3)
        await browser.until(lambda: "counting" not in browser.screen_text())
        assert len(asked) == 3


async def test_a_failure_says_what_to_do(demo: dict[str, Any]) -> None:
    def fail(_: UsageQuestion) -> UsageAnswer:
        raise CountingFailed("What the sessions cost could not be counted.")

    async with browsing(**{**demo, "source": replace(demo["source"], count_usage=fail)}) as browser:
        await browser.press("dollar_sign")
        assert "could not be counted. F5 tries again." in " ".join(browser.screen_text().split())


def test_only_one_model_is_counted(demo: dict[str, Any], tmp_path: Path) -> None:
    scope = BrowserScope(cache=str(tmp_path), home=str(tmp_path), environ={}, roots=tuple(demo["roots"]))
    for by in ("model", "provider"):
        for each in answer(scope, UsageQuestion(by)).table.rows:
            key = None if each.key is None else str(each.key)
            found = answer(scope, UsageQuestion("session", only=(by, key)))
            assert found.table.total.total == found.chart.total.total == each.totals.total


@pytest.mark.parametrize("width", [20, 60, 80, 120, 200])
def test_lines_fit_every_width(width: int) -> None:
    rows = [row(f"2026-{month:02d}-{day:02d}", day * 10**11, day * 10**10) for month in (9, 10) for day in range(1, 29)]
    lines = chart(rows, "day", width, 8)
    assert len(lines) == 8
    assert all(line_width(line) <= width for line in lines)
    assert all(
        line_width(line) <= width for line in (table_head(width, "project"), table_row(rows[0], "~/a/b" * 40, width, 9))
    )
    assert not chart([], "day", width, 8)


def test_abandoned_money_is_another_sign_not_only_another_colour() -> None:
    text = "\n".join("".join(cell for cell, _ in line) for line in chart([row("2026-11-01", 100, 60)], "day", 60, 8))
    assert "░" in text
    assert "█" in text


def test_periods_have_no_gaps() -> None:
    assert periods("2026-03-01", "day", 2) == ["2026-02-28", "2026-03-01"]
    assert periods("2026-W01", "week", 2) == ["2025-W52", "2026-W01"]
    assert periods("2026-01", "month", 2) == ["2025-12", "2026-01"]
    assert cents([0] * 9) == "$0.00"
