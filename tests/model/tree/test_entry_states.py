"""The state of an entry is what the whole context tells, however little of it is worked out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sessionbrowse.model.context.build import build
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.entry_states import EntryStates
from tests.support.context_sample import answer, bash, call, result, session, system, text, user


def random_lines(dice: random.Random) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for number in range(dice.randint(1, 25)):
        some_id = f"e{dice.randrange(number + 1)}"
        line: dict[str, Any] = dice.choice(
            [
                user("q"),
                user("q", role="unheard"),
                answer("a"),
                answer([text("a"), call("c1", path="x")], dice.choice(["toolUse", "error", "aborted"])),
                result("c1"),
                bash("ls"),
                system("s"),
                {"type": "compaction", "summary": "s", "firstKeptEntryId": some_id},
                {"type": "compaction", "summary": "s", "firstKeptEntryId": "nowhere"},
                {"type": "reset_boundary"},
                {"type": "context_edit", "targetId": some_id},
                {"type": "context_edit", "targetId": some_id, "replacement": {"content": "new"}},
                {"type": "custom_message", "customType": "x", "content": "c", "display": True},
                {"type": "branch_summary", "fromId": some_id, "summary": dice.choice(["", "s"])},
            ]
        )
        if number and dice.random() < 0.1:
            line = {**line, "parentId": some_id if some_id != f"e{number}" else None}
        lines.append(line)
    return lines


def by_the_whole_context(asked: Session, index: int) -> str:
    branch = asked.active_branch()
    if index not in branch:
        return "abandoned"
    kinds = [asked.envelopes[each].type for each in branch]
    boundary = max((at for at, kind in enumerate(kinds) if kind in ("compaction", "reset_boundary")), default=0)
    sent = {message.index for message in build(asked, asked.leaf).messages}
    kept = next((at for at in range(boundary) if branch[at] in sent), boundary)
    return "compacted" if branch.index(index) < kept else "active"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_states_are_those_of_the_whole_context(agent: str) -> None:
    dice = random.Random(agent)
    seen = set()
    for _ in range(400):
        asked = session(agent, random_lines(dice))
        states = EntryStates(asked)
        for index in range(len(asked.ids)):
            assert states.of(index) == by_the_whole_context(asked, index)
            seen.add(states.of(index))
    assert seen == {"active", "abandoned", "compacted"}
