"""What stores of files cost: by the index, without one, again, and after changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.usage.request import COST, PER_DOLLAR, REQUESTS, Span
from sessionbrowse.services.list import gather
from sessionbrowse.services.usage import counting
from sessionbrowse.services.usage.stats import BY, Stats, cents, money, plain, stats, stats_document
from sessionbrowse.services.usage.usage_listing import gather_usage
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.usage_tables import read_sums
from tests.conftest import CORPUS
from tests.support.index_support import folder, scope_of
from tests.support.session_files import answer, entry, header, line, user


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert opened is not None
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Days begin at four or five in the morning, UTC."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def asked(root: Path, by: str, index: Index | None = None, **more: Any) -> Stats:
    return stats(gather_usage(scope_of(root), index), by, **more)


def costs(found: Stats) -> dict[Any, float]:
    return {row.key: row.totals.total[COST] / PER_DOLLAR for row in found.rows}


def make_store(root: Path) -> Path:
    """A session, a fork of it, a subagent's session, an archived copy, one of another project and day."""
    here = folder(root)
    lines = [user("a", None), answer("b", "a", second=2), answer("c", "a", second=3)]
    first = here / "first.jsonl"
    first.write_bytes(header(id="first") + b"".join(lines))
    fork = header(id="fork", timestamp="2026-08-13T09:00:00.000Z", parentSession=str(first))
    (here / "fork.jsonl").write_bytes(fork + b"".join(lines) + answer("d", "b", second=4))
    (here / "first").mkdir()
    (here / "first" / "run.jsonl").write_bytes(header(id="run") + answer("e", None, second=5))
    (here / "archive").mkdir()
    (here / "archive" / "first.jsonl").write_bytes(header(id="first") + b"".join(lines))
    other = answer("f", None, model="opus", timestamp=1_788_000_000_000)
    (folder(root, "--home-dev-bank--") / "other.jsonl").write_bytes(header(id="other", cwd="/home/dev/bank") + other)
    return first


def test_every_kind_of_rows_adds_up_to_the_same_total(tmp_path: Path, index: Index) -> None:
    make_store(tmp_path / "s")
    expected = {
        "project": {"/home/dev/webshop": 1.0, "/home/dev/bank": 0.25},
        "model": {"anthropic/sonnet": 1.0, "anthropic/opus": 0.25},
        "provider": {"anthropic": 1.25},
        "agent": {"pi": 1.25},
        "day": {"2026-08-13": 1.0, "2026-08-29": 0.25},
        "week": {"2026-W33": 1.0, "2026-W35": 0.25},
        "month": {"2026-08": 1.25},
    }
    for by in BY:
        without = asked(tmp_path / "s", by)
        assert without == asked(tmp_path / "s", by, index) == asked(tmp_path / "s", by, index), by
        assert costs(without) == expected.get(by, costs(without))
        assert (without.total.total[REQUESTS], without.total.total[COST]) == (5, 125 * PER_DOLLAR // 100)
        assert [part[REQUESTS] for part in without.total.parts] == [4, 0, 0, 1]
        assert without.total.copies[REQUESTS] == 4
        for span in (Span(since=1_786_608_003_000), Span(until=1_786_608_003_000)):
            assert asked(tmp_path / "s", by, span=span) == asked(tmp_path / "s", by, index, span=span)


def test_rows_name_their_sessions_branches_and_families(tmp_path: Path) -> None:
    first = make_store(tmp_path / "s")
    session = next(row for row in asked(tmp_path / "s", "session").rows if row.key == str(first))
    assert (session.path, session.id, session.name, session.sessions) == (str(first), "first", "question", 1)
    assert session.agent_total == (36, 0.5)
    branches = {row.leaf_id for row in asked(tmp_path / "s", "branch").rows if row.path == str(first)}
    assert branches == {"b", "c"}
    family = next(row for row in asked(tmp_path / "s", "family").rows if row.sessions > 1)
    assert (family.key, family.sessions) == (str(first.parent / "archive" / "first.jsonl"), 4)


def test_a_changed_session_changes_the_figures(tmp_path: Path, index: Index) -> None:
    first = make_store(tmp_path / "s")
    assert costs(asked(tmp_path / "s", "month", index)) == {"2026-08": 1.25}
    with first.open("ab") as file:
        file.write(answer("g", "c", second=9))
    assert costs(asked(tmp_path / "s", "month", index)) == {"2026-08": 1.5}
    first.unlink()
    # The archived copy has no `g`.
    assert costs(asked(tmp_path / "s", "month", index)) == {"2026-08": 1.25}


def test_nothing_is_counted_again_while_no_file_changed(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path / "s")
    expected = asked(tmp_path / "s", "project", index)
    monkeypatch.setattr(counting, "Counting", lambda _: pytest.fail("counted again"))
    assert asked(tmp_path / "s", "project", index) == expected


def test_one_folder_reads_the_sums_of_its_files_only(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path / "s")
    in_bank: Callable[[Any], bool] = lambda session: session.cwd == "/home/dev/bank"  # noqa: E731
    expected = {by: asked(tmp_path / "s", by, chosen=in_bank) for by in BY}
    assert asked(tmp_path / "s", "project", index, chosen=in_bank) == expected["project"]
    monkeypatch.setattr(counting, "decide", lambda _: pytest.fail("decided again"))
    read: list[int] = []

    def reading(connection: Any, rows: Any) -> Any:
        read.append(len(rows))
        return read_sums(connection, rows)

    monkeypatch.setattr(counting, "read_sums", reading)
    for by in BY:
        assert asked(tmp_path / "s", by, index, chosen=in_bank) == expected[by], by
    assert set(read) == {1}


def test_days_are_those_of_the_time_zone_now(tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    at = 1_786_593_600_000  # 2026-08-13T04:00:00Z
    path = folder(tmp_path / "s") / "s.jsonl"
    path.write_bytes(header() + answer("a", None, timestamp=at) + answer("b", "a", timestamp=at - 1))
    assert list(costs(asked(tmp_path / "s", "day", index))) == ["2026-08-12", "2026-08-13"]
    for zone, days in (("UTC", ["2026-08-13"]), ("Asia/Kathmandu", ["2026-08-13"])):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert list(costs(asked(tmp_path / "s", "day", index))) == days


def test_a_damaged_index_is_no_reason_for_wrong_figures(tmp_path: Path, index: Index) -> None:
    make_store(tmp_path / "s")
    expected = asked(tmp_path / "s", "agent", index)
    index.connection.execute("UPDATE settled SET packed = x'00112233445566'")
    assert asked(tmp_path / "s", "agent", index) == expected


def test_rows_are_chosen_sorted_and_limited(tmp_path: Path, index: Index) -> None:
    make_store(tmp_path / "s")

    def keys(by: str, **more: Any) -> list[Any]:
        return [row.key for row in asked(tmp_path / "s", by, index, **more).rows]

    in_bank: Callable[[Any], bool] = lambda session: session.cwd == "/home/dev/bank"  # noqa: E731
    assert keys("project", chosen=in_bank) == ["/home/dev/bank"]
    assert keys("project", limit=1) == ["/home/dev/webshop"]
    assert asked(tmp_path / "s", "project", index, limit=1).rows_left_out == 1
    assert asked(tmp_path / "s", "project", index, limit=1).total.total[REQUESTS] == 5
    assert keys("project", sort="name") == ["/home/dev/bank", "/home/dev/webshop"]
    assert keys("project", sort="time") == ["/home/dev/bank", "/home/dev/webshop"]
    assert keys("day", sort="cost") == ["2026-08-13", "2026-08-29"]


def test_the_document_holds_exact_money(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    document = stats_document(asked(tmp_path / "s", "project"), Span(since=0))
    assert document["since"] == "1970-01-01T00:00:00.000Z"
    assert (document["total"]["cost"], document["total"]["copies"]) == ("1.25", {"requests": 4, "cost": "1.00"})
    assert document["total"]["abandoned"] == {"requests": 0, "tokens": 0, "cost": None}
    assert [row["name"] for row in document["rows"]] == ["webshop", "bank"]
    assert [money(each) for each in (None, 0, 1, 10**11, 1_234_567 * 10**12)] == [
        None, "0.00", "0.000000000001", "0.10", "1234567.00",
    ]  # fmt: skip
    assert [plain(each) for each in (0, 0.5, 0.0000001, 12.345)] == ["0.00", "0.50", "0.0000001", "12.345"]
    shown = [cents([1, 0, 0, 0, 0, 0, amount, 0, 0]) for amount in (0, 1, 5 * 10**9, 123_456 * 10**10)]
    assert shown == ["$0.00", "<$0.01", "$0.01", "$1,234.56"]


def test_nothing_found_is_zeros_and_no_cost(tmp_path: Path) -> None:
    folder(tmp_path / "s")
    document = stats_document(asked(tmp_path / "s", "day"), Span())
    assert (document["total"]["requests"], document["total"]["cost"], document["rows"]) == (0, None, [])


def test_a_version_1_file_beside_its_converted_copy_is_counted_once(tmp_path: Path) -> None:
    """A real session and its copy by another program hold the same 453 answers, 439 of them with tokens."""
    pair = sorted(CORPUS.glob("*/sessions/*badlogic*/*.jsonl"))
    if len(pair) != 2:
        pytest.skip("the real sessions are not here")
    each = [asked(path.parent, "agent").total.total for path in pair]
    both = asked(CORPUS, "project").rows
    row = next(row for row in both if str(row.key).endswith("pi-mono"))
    assert each[0] == each[1] == row.totals.total
    assert row.totals.total[REQUESTS] == row.totals.copies[REQUESTS] == 439


def test_model_usage_as_the_last_line_abandons_nothing(tmp_path: Path) -> None:
    path = folder(tmp_path / "s") / "s.jsonl"
    spent = {"input": 1, "output": 1, "cost": {"total": 1}}
    path.write_bytes(
        header() + user("a", None) + answer("b", "a", second=2) + user("c", "b", second=3) + answer("d", "c", second=4)
        + entry("model_usage", "e", "b", second=5, purpose="title", provider="p", model="m", usage=spent)
    )  # fmt: skip
    found = asked(tmp_path / "s", "agent").total
    assert [part[REQUESTS] for part in found.parts] == [3, 0, 0, 0]


def test_files_that_are_no_sessions_cost_nothing(tmp_path: Path) -> None:
    here = folder(tmp_path / "s")
    (here / "odd.jsonl").write_bytes(b"garbage\n" + line({"type": "message"}) + b'{"type":"message"')
    (here / "empty.jsonl").write_bytes(b"")
    (here / "good.jsonl").write_bytes(header() + answer("a", None))
    assert asked(tmp_path / "s", "session").total.total[REQUESTS] == 1


def test_the_list_takes_the_same_files(tmp_path: Path, index: Index) -> None:
    make_store(tmp_path / "s")
    everything = gather.gather_summaries(scope_of(tmp_path / "s", hidden=True, archived=True))
    counted = {row.path for row in asked(tmp_path / "s", "session", index).rows}
    assert counted == {summary.path for summary in everything}
