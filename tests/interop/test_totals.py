"""The totals of a session are those that the real pi and omp count, to the last bit of the sum of money."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.session.rules import RULES
from sessionbrowse.store.read.session_file import open_session
from tests.interop import looking, real
from tests.support.agent_totals import totals
from tests.support.session_files import entry, header, user

SESSIONS = 220


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, looking.Look]]:
    """Ask the real programs."""
    try:
        with looking.programs() as asked:
            yield asked
    except real.Unavailable as reason:
        pytest.fail(str(reason))


@pytest.mark.interop
@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_totals_are_those_of_the_program(agent: str, looks: dict[str, looking.Look], tmp_path: Path) -> None:
    for seed in range(SESSIONS):
        path = tmp_path / f"{seed}.jsonl"
        path.write_bytes(made_up(random.Random(seed)))
        assert counted(path, agent) == looks[agent](path)["totals"], seed


@pytest.mark.interop
@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_totals_of_real_sessions_are_those_of_the_program(agent: str, looks: dict[str, looking.Look]) -> None:
    corpus = real.oracle_folder().parent / "corpus"
    paths = sorted((corpus / agent).rglob("*.jsonl"))
    if not paths:
        pytest.skip(f"no real sessions in {corpus}")
    compared = 0
    for path in paths:
        theirs = looks[agent](path)
        # The program itself fails on answers without usage.
        if theirs["opens"] and theirs.get("totals") is not None:
            assert counted(path, agent) == theirs["totals"], path.name
            compared += 1
    assert 2 * compared >= len(paths)


def counted(path: Path, agent: str) -> list[float]:
    spent = totals(RULES[agent], open_session(path, agent).envelopes)
    return [spent.input, spent.output, spent.cache_read, spent.cache_write, spent.cost]


def made_up(dice: random.Random) -> bytes:
    """A session with every entry that may hold usage, on several branches."""
    lines = [header(id=f"s-{dice.random()}"), user("0", None)]
    for number in range(1, dice.randint(2, 60)):
        above = str(dice.randrange(max(0, number - 4), number))
        lines.append(dice.choice(_MAKERS)(dice, str(number), above, number))
    return b"".join(lines)


def usage(dice: random.Random) -> dict[str, Any]:
    counts = {
        name: dice.choice([0, dice.randint(0, 200_000)]) for name in ("input", "output", "cacheRead", "cacheWrite")
    }
    price = dice.choice([0, dice.random() / 10, dice.randint(1, 900_000) * 0.75e-6, 1e-7 * dice.random()])
    return {**counts, "totalTokens": sum(counts.values()), "cost": {**dict.fromkeys(counts, 0), "total": price}}


def _answer(dice: random.Random, own: str, above: str, at: int) -> bytes:
    message = {"role": "assistant", "content": [], "provider": "p", "model": "m", "api": "a", "stopReason": "stop"}
    return entry("message", own, above, at, message=message | {"timestamp": at, "usage": usage(dice)})


def _result(dice: random.Random, own: str, above: str, at: int) -> bytes:
    message: dict[str, Any] = {
        "role": "toolResult",
        "toolCallId": own,
        "content": [],
        "isError": False,
        "timestamp": at,
    }
    message["toolName"] = dice.choice(["task", "subagent"])
    if dice.random() < 0.5:
        message["usage"] = usage(dice)
    if dice.random() < 0.7:
        message["details"] = {"results": [{"id": "0-A", "usage": usage(dice)}], "usage": usage(dice)}
    return entry("message", own, above, at, message=message)


def _entry(kind: str, **more: Any) -> Any:
    def make(dice: random.Random, own: str, above: str, at: int) -> bytes:
        return entry(kind, own, above, at, provider="p", model="m", usage=usage(dice), **more)

    return make


def _user(_: random.Random, own: str, above: str, at: int) -> bytes:
    return user(own, above, "go on", at)


_MAKERS = (
    _answer,
    _answer,
    _answer,
    _result,
    _user,
    _entry("compaction", summary="s", firstKeptEntryId="0", tokensBefore=1),
    _entry("branch_summary", summary="s", fromId="0"),
    _entry("usage", note="warm"),
    _entry("model_usage", purpose="title", api="a", stopReason="stop"),
    _entry("session_summary", summary="s", summarizedThroughId="0"),
)


def test_made_up_sessions_hold_every_kind_of_usage() -> None:
    kinds = {json.loads(each)["type"] for seed in range(20) for each in made_up(random.Random(seed)).splitlines()}
    assert {"compaction", "branch_summary", "usage", "model_usage", "session_summary"} <= kinds
