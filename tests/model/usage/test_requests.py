"""The requests of one file: amounts, identities, parts and branches, read at once or line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.model.usage.request import (
    NO_USAGE,
    NOT_PRICED,
    PARTS,
    FileRequests,
)
from sessionbrowse.model.usage.request_reader import amount_of, token_count
from sessionbrowse.store.index.builder import read_for_index
from tests.support.session_files import answer, entry, header, line, user, written

DOLLAR = 10**12


def usage(folder: Path, *lines: bytes, agent: str = "pi") -> FileRequests:
    path = written(folder, *lines)
    found = read_for_index(str(path), lambda _: agent, lambda *_: None, tools=False, restart=lambda: None)
    return found.usage if found is not None else NO_USAGE


def parts(found: FileRequests) -> list[tuple[int, str]]:
    return [(request.entry, PARTS[request.part]) for request in found.requests]


@pytest.mark.parametrize(
    ("written_price", "amount"),
    [
        (0.25, DOLLAR // 4),
        (1e-12, 1),
        # Half to even, at the last digit that is kept.
        (0.0000000000005, NOT_PRICED),
        (0.0000000000015, 2),
        (0.0000000000025, 2),
        (0.10000000000000002, DOLLAR // 10),
        (3, 3 * DOLLAR),
        (0, NOT_PRICED),
        (-1, NOT_PRICED),
        (None, NOT_PRICED),
        (float("nan"), NOT_PRICED),
        (float("inf"), NOT_PRICED),
        (1e300, NOT_PRICED),
    ],
)
def test_a_price_becomes_an_integer_rounded_half_to_even(written_price: float | None, amount: int) -> None:
    assert amount_of(written_price, 1) == amount
    assert amount_of(written_price, 0) == max(amount, 0)


def test_odd_counts_of_tokens_count_as_none() -> None:
    assert [token_count(count) for count in (3, 2.9, 0, -1, None, float("nan"), 1e300)] == [3, 2, 0, 0, 0, 0, 0]


def test_every_kind_of_request_is_found_with_its_part(tmp_path: Path) -> None:
    spent = {"input": 1, "output": 2, "cost": {"total": 1}, "reasoning": 1}
    found = usage(
        tmp_path,
        header(),
        user("a", None),
        answer("b", "a", "left", second=2),
        answer("c", "a", "kept", second=3, usage=spent),
        entry("compaction", "d", "c", second=4, usage=spent),
        entry("branch_summary", "e", "d", second=5, usage=spent),
        entry("usage", "f", "b", second=6, provider="p", model="m", usage=spent),
        entry("usage", "g", "e", second=7, provider="p", model="m", usage=spent),
        entry(
            "message",
            "h",
            "g",
            second=8,
            message={"role": "toolResult", "toolName": "subagent", "toolCallId": "call", "usage": spent},
        ),
        answer("i", "h", second=9, usage={"input": 0, "output": 0, "cost": {"total": 0}}, stopReason="error"),
        answer("j", "i", second=9, usage={"input": 5, "output": 0, "cost": {"total": 0}}),
    )
    assert parts(found) == [
        (1, "abandoned"),
        (2, "kept"),
        (3, "compaction"),
        (4, "compaction"),
        # It goes where its parent goes, and its parent is on the branch that was left.
        (5, "abandoned"),
        (6, "kept"),
        (7, "subagents"),
        (9, "kept"),
    ]
    assert [request.amount for request in found.requests] == [DOLLAR // 4, *[DOLLAR] * 6, NOT_PRICED]
    assert found.requests[1].reasoning == 1
    assert found.requests[6].call == "call"
    assert found.requests[6].began == found.requests[1].time
    assert {found.leaves[request.leaf] for request in found.requests} == {"f", "j"}


def test_a_file_that_ends_in_bookkeeping_keeps_its_newest_message(tmp_path: Path) -> None:
    spent = {"input": 1, "output": 0, "cost": {"total": 1}}
    lines = [header(), user("a", None), answer("b", "a", second=2), answer("c", "b", second=3)]
    for kind in ("usage", "model_usage", "label", "custom", "session_info"):
        found = usage(tmp_path, *lines, entry(kind, "d", "a", second=4, usage=spent), agent="omp")
        assert {part for _, part in parts(found)[:2]} == {"kept"}, kind
    for moved in (
        entry("custom", "d", "a", second=4, customType="sessionbrowse"),
        entry("model_change", "d", "a", second=4, model="p/m"),
        entry("branch_summary", "d", "a", second=4, summary="left"),
    ):
        assert parts(usage(tmp_path, *lines, moved)) == [(1, "abandoned"), (2, "abandoned")]


def test_loops_and_orphans_end_nothing(tmp_path: Path) -> None:
    found = usage(
        tmp_path,
        header(),
        answer("a", "b", second=1),
        answer("b", "a", second=2),
        answer("c", "c", second=3),
        entry("usage", "d", "d", second=4, usage={"input": 1}),
        answer("e", "gone", second=5),
    )
    assert len(found.requests) == 5
    assert parts(found)[-1] == (4, "kept")


def test_copies_have_the_same_identity_and_other_requests_another(tmp_path: Path) -> None:
    alone = usage(tmp_path, header(), answer("a", None))
    copied = usage(tmp_path, header(id="other"), user("x", None), answer("z", "x", "another text"))
    assert alone.identities == copied.identities
    for more in (
        {"model": "opus"},
        {"provider": "openai"},
        {"timestamp": 1_786_608_000_001},
        {"usage": {"input": 11, "output": 5, "cacheRead": 2, "cacheWrite": 1}},
    ):
        assert usage(tmp_path, header(), answer("a", None, **more)).identities != alone.identities
    # Money is never compared: omp's copies have none.
    free: dict[str, Any] = {"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1, "cost": {"total": 0}}
    assert usage(tmp_path, header(), answer("a", None, usage=free)).identities == alone.identities


def test_a_doubled_line_is_one_request_and_two_equal_answers_are_two(tmp_path: Path) -> None:
    assert len(usage(tmp_path, header(), answer("a", None), answer("a", None)).requests) == 1
    two = usage(tmp_path, header(), answer("a", None), answer("b", "a"))
    assert len(set(two.identities)) == 2
    # In version 1 no entry has an id: its two equal answers are those of the converted file.
    old = usage(tmp_path, header(None), answer(None, None), answer(None, None))
    assert old.identities == two.identities


def test_a_compaction_without_usage_is_not_paid_and_kept_as_unrecorded(tmp_path: Path) -> None:
    found = usage(tmp_path, header(), answer("a", None), entry("compaction", "b", "a", summary="s", second=2))
    assert [request.is_paid for request in found.requests] == [True, False]


def test_each_subagent_of_a_task_is_a_request(tmp_path: Path) -> None:
    spent = {"input": 1, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 1}}
    results = [
        {"id": "0-One", "resolvedModel": "openai/gpt:high", "usage": spent},
        {"id": "1-Two", "usage": spent},
        {"id": "2-Three"},
    ]
    message = {"role": "toolResult", "toolName": "task", "toolCallId": "c", "details": {"results": results}}
    found = usage(tmp_path, header(), entry("message", "a", None, message=message), agent="omp")
    assert [(request.child, found.sources[request.source]) for request in found.requests] == [
        ("0-One", ("openai", "gpt:high")),
        ("1-Two", ("", "")),
    ]
    message["details"] = {"usage": spent, "results": []}
    assert len(usage(tmp_path, header(), entry("message", "a", None, message=message), agent="omp").requests) == 1


def test_foreign_values_in_usage_end_nothing(tmp_path: Path) -> None:
    odd: list[Any] = [None, 1, "x", [], {}, {"input": "1"}, {"input": True, "cost": 3}, {"cost": {"total": "1"}}]
    odd += [{"input": 10**400}, {"input": 1, "cost": {"total": 10**400}}, {"output": 1, "reasoning": 5}]
    for agent in AGENTS:
        for value in odd:
            lines = [
                answer("a", None, usage=value),
                entry("compaction", "b", "a", usage=value),
                entry(
                    "message",
                    "c",
                    "b",
                    message={"role": "toolResult", "toolName": "task", "details": {"results": [value], "usage": value}},
                ),
            ]
            found = usage(tmp_path, header(), *lines, line({"type": "usage", "usage": value}), agent=agent)
            assert all(request.reasoning <= request.output for request in found.requests)
