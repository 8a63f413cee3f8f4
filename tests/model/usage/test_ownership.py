"""Each paid request counts once, in whatever files it stands, and every sum is exactly that of its parts."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.usage.ownership import UsageFile, decide, totals_by
from sessionbrowse.model.usage.request import (
    ABANDONED,
    ALL_TIME,
    ANSWER,
    COMPACTION,
    COMPACTION_ENTRY,
    COST,
    KEPT,
    NOT_PRICED,
    PARTS,
    REQUESTS,
    RESULT,
    SUBAGENTS,
    UNRECORDED,
    FileRequests,
    Request,
    Span,
    Totals,
    add,
    nothing,
    sums_of,
    tokens_of,
)
from sessionbrowse.model.usage.request_reader import identity_of

SOURCE = ("anthropic", "sonnet")


def request(time: float | None, amount: int = 100, tokens: int = 10, **more: Any) -> Request:
    values: dict[str, Any] = {"entry": 0, "kind": ANSWER, "part": KEPT, **more}
    return Request(
        source=0, input=tokens, output=0, cache_read=0, cache_write=0, reasoning=0, amount=amount, time=time, **values
    )


def file(path: str, requests: Sequence[Request], first_entry: str | None = None, **more: Any) -> UsageFile:
    identities = [identity_of(each, SOURCE, 0) for each in requests]
    usage = FileRequests(list(requests), identities, [SOURCE], ["leaf"], first_entry or path)
    return UsageFile(path, sums_of(usage), array("Q", identities), lambda: usage, **more)


def summed(files: Sequence[UsageFile], span: Span = ALL_TIME) -> Totals:
    total = Totals()
    decided = decide(files)
    for each in files:
        for part in totals_by(each, decided.get(each.path), span, lambda _: None).values():
            total.merge(part)
    return total


def by_part(files: Sequence[UsageFile]) -> dict[str, int]:
    return {name: amounts[COST] for name, amounts in zip(PARTS, summed(files).parts, strict=True) if amounts[COST]}


# ---- random stores -----------------------------------------------------------------------------------------------


class World(Struct):
    """Files, and the requests that were paid for, with the part in which each must be counted."""

    files: dict[str, UsageFile]
    paid: dict[float, int]
    held: dict[str, list[Request]]


def make_world(dice: random.Random) -> World:
    """Sessions with forks, clones, extracted branches, merges, archived copies, free copies and subagents."""
    held: dict[str, list[Request]] = {}
    facts: dict[str, dict[str, Any]] = {}
    paid: dict[float, int] = {}
    clock = 0

    def spend(**more: Any) -> Request:
        nonlocal clock
        clock += 1
        made = request(clock, dice.choice([NOT_PRICED, dice.randint(1, 10**13)]), dice.randint(1, 99), **more)
        paid[clock] = made.amount
        return made

    def new(path: str, requests: Iterable[Request], **more: Any) -> None:
        held[path] = [
            replace(each, part=dice.choice([KEPT, ABANDONED])) if each.part < COMPACTION else each for each in requests
        ]
        facts[path] = {"created": clock, **more}

    new("/s/0.jsonl", [])
    for step in range(1, dice.randint(2, 25)):
        path, source = f"/s/{step}.jsonl", dice.choice(sorted(held))
        verb = dice.choice(
            ["answer", "answer", "answer", "new", "fork", "extract", "merge", "archive", "free", "subagent"]
        )
        if verb == "answer":
            kind = dice.choice([ANSWER, ANSWER, COMPACTION_ENTRY])
            part = COMPACTION if kind == COMPACTION_ENTRY else dice.choice([KEPT, ABANDONED])
            held[source] += [spend(kind=kind, part=part) for _ in range(dice.randint(1, 4))]
        elif verb == "new":
            new(path, [spend()])
        elif verb == "fork":
            new(path, held[source][: dice.randint(0, len(held[source]))], parent_path=source)
        elif verb == "extract":
            new(path, [each for each in held[source] if dice.random() < 0.5], parent_path=source)
        elif verb == "merge":
            both = {each.time: each for each in held[source] + held[dice.choice(sorted(held))]}
            new(path, both.values())
        elif verb == "archive":
            new(path, held[source], archived=True, created=facts[source]["created"])
        elif verb == "free":
            new(path, [replace(each, amount=NOT_PRICED) for each in held[source]], parent_path=source)
        elif verb == "subagent":
            began = clock
            own = [spend() for _ in range(dice.randint(1, 3))]
            child = f"{source.removesuffix('.jsonl')}/{step}.jsonl"
            new(child, own, nested=True, parent_path=source)
            clock += 1
            tokens = sum(each.tokens for each in own)
            held[source].append(
                request(clock, 7, tokens, kind=RESULT, part=SUBAGENTS, call=f"c{step}", began=began + 0.5)
            )
    return World({path: file(path, held[path], **facts[path]) for path in held}, paid, held)


@given(st.integers(0, 10**9))
@settings(max_examples=300, deadline=None)
@pytest.mark.slow
def test_a_store_costs_what_its_distinct_requests_cost(seed: int) -> None:
    dice = random.Random(seed)
    world = make_world(dice)
    files = list(world.files.values())
    found = summed(files)
    total = found.total
    assert total[COST] == sum(amount for amount in world.paid.values() if amount != NOT_PRICED)
    assert total[REQUESTS] == len(world.paid)
    assert not any(found.undecided)
    # The parts are exactly the total, in every one of the sums.
    joined = nothing()
    for part in found.parts:
        add(joined, part)
    assert joined == total
    # A request is kept if any session kept it.
    kept = {
        each.time
        for path, requests in world.held.items()
        for each in requests
        if each.part == KEPT and not world.files[path].nested
    }
    nested = {each.time for path, requests in world.held.items() if world.files[path].nested for each in requests}
    mine = sum(world.paid[at] for at in kept - nested if at is not None and world.paid[at] != NOT_PRICED)
    if not nested:
        assert found.parts[KEPT][COST] == mine
    dice.shuffle(files)
    assert summed(files) == found
    # The same store under another path, as through a second root, costs nothing more.
    again = [
        *files,
        *[file(f"/other{each.path}", each.load().requests, created=each.created) for each in files if not each.nested],
    ]
    assert summed(again).total[COST] == total[COST]


@given(st.integers(0, 10**9), st.data())
@settings(max_examples=150, deadline=None)
def test_any_subset_of_the_files_costs_what_it_holds(seed: int, data: st.DataObject) -> None:
    world = make_world(random.Random(seed))
    paths = sorted(world.files)
    chosen = [path for path in paths if data.draw(st.booleans())]
    files = [world.files[path] for path in chosen]
    held = {each.time for path in chosen for each in world.held[path] if each.kind != RESULT}
    prices = {at: max([each.amount for path in chosen for each in world.held[path] if each.time == at]) for at in held}
    expected = sum(price for price in prices.values() if price != NOT_PRICED)
    found = summed(files)
    # Without the child's file, its usage is that on the tool result of its parent.
    results = {
        each.time: max(0, *[other.amount for path in chosen for other in world.held[path] if other.time == each.time])
        for path in chosen
        for each in world.held[path]
        if each.kind == RESULT and not is_held(each, world, chosen)
    }
    assert found.total[COST] + found.undecided[COST] == expected + sum(results.values())


def is_held(result: Request, world: World, chosen: Sequence[str]) -> bool:
    """Tell whether the child's requests are in one of the chosen files that may be the child's."""
    holders = [path for path in chosen if result.time in {each.time for each in world.held[path]}]
    folders = tuple(path.removesuffix(".jsonl") + "/" for path in holders)
    children = [path for path in chosen if path.startswith(folders)] if folders else []
    inside = [
        each
        for path in children
        for each in world.held[path]
        if each.time is not None and result.began is not None and result.time is not None
        if result.began <= each.time <= result.time and each.kind != RESULT
    ]
    return bool(inside)


@given(st.integers(0, 10**9), st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=100, deadline=None)
def test_spans_of_time_add_up_to_the_total(seed: int, one: int, other: int) -> None:
    files = list(make_world(random.Random(seed)).files.values())
    first, second = sorted([one, other])
    spans = [Span(None, first), Span(first, second), Span(second, None)]
    joined = Totals()
    for span in spans:
        joined.merge(summed(files, span))
    assert joined == summed(files)


# ---- named cases -------------------------------------------------------------------------------------------------


def test_a_session_and_its_36_forks_cost_what_one_of_them_costs() -> None:
    """One tool counted such a task 36 times (ccusage issue 1634): $214 for about $6."""
    paid = [request(at, 6 * 10**12 // 40) for at in range(40)]
    forks = [file(f"/s/{n}.jsonl", paid, "root", created=n, parent_path="/s/0.jsonl" if n else None) for n in range(37)]
    found = summed(forks)
    assert found.total[COST] == 6 * 10**12
    assert found.copies[REQUESTS] == 36 * 40
    assert found.copies[COST] == 36 * 6 * 10**12


def test_the_oldest_header_owns_and_then_the_parent_of_the_other() -> None:
    paid = [request(1)]
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"created": 1}, {"created": 2}),
        ({"created": 2}, {}),
        ({"created": 1}, {"created": 1, "parent_path": "/z"}),
        ({"created": 1}, {"created": 1, "archived": True}),
        ({"created": 1}, {"created": 1, "nested": True}),
    ]
    for facts in cases:
        owner, other = file("/z", paid, **facts[0]), file("/a", paid, **facts[1])
        decided = decide([other, owner])
        assert [decided["/z"][0][0], decided["/a"][0][0]] == [0, 1], facts
    assert decide([file("/b", paid), file("/a", paid)])["/a"][0][0] == 0


def test_a_copy_without_money_takes_none_away() -> None:
    free = file("/a/tan.jsonl", [request(1, NOT_PRICED), request(2, 5)], created=2)
    assert by_part([file("/a/s.jsonl", [request(1, 100)], created=1), free]) == {"kept": 105}
    # Even if the copy is the owner.
    assert by_part([file("/a/s.jsonl", [request(1, 100)], created=3), free]) == {"kept": 105}


def test_what_any_session_keeps_is_kept() -> None:
    left = file("/a", [request(1, part=ABANDONED), request(2, part=ABANDONED)], created=1)
    assert by_part([left, file("/b", [request(1, part=KEPT)], created=2)]) == {"kept": 100, "abandoned": 100}


def child_of(parent: str, at: Sequence[float], tokens: int = 10, **more: Any) -> UsageFile:
    return file(f"{parent}/run.jsonl", [request(each, 50, tokens) for each in at], nested=True, created=9, **more)


def result(tokens: int, **more: Any) -> Request:
    return request(100, 40, tokens, kind=RESULT, part=SUBAGENTS, began=10, call="c", **more)


def test_a_child_that_stands_on_both_sides_counts_in_its_own_file() -> None:
    parent = file("/p.jsonl", [request(10), result(20)], created=1)
    assert by_part([parent]) == {"kept": 100, "subagents": 40}
    assert by_part([parent, child_of("/p", [20, 30])]) == {"kept": 100, "subagents": 100}
    # Requests outside of the call have nothing to do with it.
    assert by_part([parent, child_of("/p", [2, 200])]) == {"kept": 100, "subagents": 140}
    # A session that names it as its parent is its child, unless it is a fork.
    apart = file("/q.jsonl", [request(20), request(30)], parent_path="/p.jsonl", created=5)
    assert by_part([parent, apart]) == {"kept": 100, "subagents": 200}
    fork = file("/q.jsonl", [request(10), request(20), request(30)], "/p.jsonl", parent_path="/p.jsonl", created=5)
    assert by_part([parent, fork]) == {"kept": 300, "subagents": 40}


def test_a_child_of_unequal_sums_counts_and_the_result_is_undecided() -> None:
    files = [file("/p.jsonl", [request(10), result(25)], created=1), child_of("/p", [20, 30])]
    found = summed(files)
    assert by_part(files) == {"kept": 100, "subagents": 100}
    assert (found.undecided[REQUESTS], found.undecided[COST]) == (1, 40)


def test_children_that_ran_at_once_are_told_apart_by_their_sums() -> None:
    two = [request(100, 40, 20, kind=RESULT, began=10, call="a"), request(101, 40, 30, kind=RESULT, began=10, call="b")]
    files = [
        file("/p.jsonl", [request(10), *two], created=1),
        file("/p/a.jsonl", [request(20, 50, 15), request(21, 50, 15)], nested=True),
        file("/p/b.jsonl", [request(22, 50, 20)], nested=True),
    ]
    assert by_part(files) == {"kept": 100, "subagents": 150}


def test_a_task_that_names_its_child_counts_where_the_child_is() -> None:
    parent = file("/p.jsonl", [request(10), result(1, child="run")], created=1)
    assert by_part([parent]) == {"kept": 100, "subagents": 40}
    assert by_part([parent, child_of("/p", [20, 30])]) == {"kept": 100, "subagents": 100}
    # A fork without the folder of the children knows no better.
    fork = file("/f.jsonl", [request(10), result(1, child="run")], created=0)
    assert by_part([parent, fork, child_of("/p", [20, 30])]) == {"kept": 100, "subagents": 100}


def test_a_request_without_a_time_counts_once_and_the_other_is_undecided() -> None:
    old, new = file("/a", [request(None)], created=1), file("/b", [request(5)], created=2)
    for files in ([old, new], [new, old]):
        found = summed(files)
        assert (found.total[REQUESTS], found.undecided[REQUESTS]) == (1, 1)
    assert summed([old]).total[REQUESTS] == 1
    assert summed([old, file("/b", [request(5, tokens=11)], created=2)]).undecided[REQUESTS] == 0
    assert summed([old, file("/b", [request(None)], created=2)]).undecided[REQUESTS] == 1


def test_compactions_without_usage_are_counted_once_and_cost_nothing() -> None:
    silent = request(3, 0, 0, kind=COMPACTION_ENTRY, part=COMPACTION)
    found = summed([file("/a", [silent], created=1), file("/b", [silent], created=2)])
    assert found.total[UNRECORDED] == 1
    assert found.total[REQUESTS] == tokens_of(found.total) == found.copies[REQUESTS] == 0


@pytest.mark.parametrize("time", [0, 899_999, 900_000, -1])
def test_a_quarter_of_an_hour_holds_its_first_moment_and_not_its_last(time: float) -> None:
    usage = file("/a", [request(time)]).sums
    assert [cell[0] for cell in usage.cells] == [time // 900_000]
