"""The state of an entry: abandoned, before what the last boundary keeps, or active."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sessionbrowse.format.entries import Compaction
from sessionbrowse.model.context.build import build
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.entry_states import EntryStates
from tests.support.context_sample import answer, bash, call, compaction, result, session, system, text, user

VERBATIM = {"strategy": "verbatim-lines"}


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
                {"type": "compaction", "summary": "s", "firstKeptEntryId": some_id, "details": VERBATIM},
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


def by_the_kept_entry(asked: Session, index: int) -> str:
    """The state by the last boundary on the active branch: entries before the one whose id it names are compacted."""
    branch, context = asked.active_branch(), asked.rules.context
    if index not in branch:
        return "abandoned"
    entries = [asked.entry(each) for each in branch]
    ends = [
        at
        for at, entry in enumerate(entries)
        if (asked.envelopes[branch[at]].type == "reset_boundary" and context == "omp")
        or (isinstance(entry, Compaction) and (context != "atomic" or entry.details == VERBATIM))
    ]
    boundary = max(ends, default=0)
    entry = entries[boundary]
    # atomic quotes the entries that it keeps in one message.
    kept_id = entry.first_kept_entry_id if isinstance(entry, Compaction) and context != "atomic" else None
    kept = next((at for at in range(boundary) if kept_id and asked.ids[branch[at]] == kept_id), boundary)
    return "compacted" if branch.index(index) < kept else "active"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_entries_before_those_that_the_last_boundary_keeps_are_compacted_and_not_sent(agent: str) -> None:
    dice = random.Random(agent)
    seen = set()
    for _ in range(400):
        asked = session(agent, random_lines(dice))
        states, sent = EntryStates(asked), {message.index for message in build(asked, asked.leaf).messages}
        for index in range(len(asked.ids)):
            state = states.of(index)
            assert state == by_the_kept_entry(asked, index)
            assert state != "compacted" or index not in sent
            seen.add(state)
    assert seen == {"active", "abandoned", "compacted"}


HISTORY = {"openaiRemoteCompaction": {"provider": "openai", "replacementHistory": [{}]}}
SNAPSHOT = {"anthropicCompaction": {"provider": "anthropic", "content": "so far"}}


@pytest.mark.parametrize(
    ("kept", "data", "through", "compacted"),
    [
        pytest.param("e1", None, None, 1, id="the entry that it names"),
        pytest.param("", SNAPSHOT, "e1", 2, id="what follows the last one that a snapshot covers"),
        pytest.param("e1", HISTORY, None, 3, id="nothing beside the history of the provider"),
        pytest.param("e1", HISTORY, "e1", 2, id="what follows the history of the provider"),
    ],
)
def test_omp_keeps_what_the_data_of_the_compaction_says(
    kept: str, data: object, through: str | None, compacted: int
) -> None:
    more = {"preserveData": data, "providerReplayThroughEntryId": through}
    asked = session("omp", [user("one"), user("two"), user("three"), compaction("so far", kept, **more), user("four")])
    states = EntryStates(asked)
    assert [states.of(index) for index in range(5)] == ["compacted"] * compacted + ["active"] * (5 - compacted)
    sent = {message.index for message in build(asked, asked.leaf).messages}
    assert sent == {*range(compacted, 5)}
