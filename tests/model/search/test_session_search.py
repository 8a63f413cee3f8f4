"""Searching one session: whole texts and tool output, with the grammar and word forms of all searches."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.search.entry_facts import facts_in
from sessionbrowse.model.search.query import parse_search
from sessionbrowse.model.search.relevance import evidence_in, terms_of
from sessionbrowse.model.search.session_search import search_session
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.data.jobs import Job, Lane
from sessionbrowse.tui.session.tree_rows import TreeRows, TreeState, compute_rows
from tests.support.index_support import answer, entry, folder, header, result, user, write
from tests.support.program_search import search_text

VOCABULARY = [
    "login", "Login", "über", "ÜBER", "日本語", 'say "no"', "back\\slash", "a/b/c", "tab\there", "\x1b[31m", "K", "é",
    "İstanbul", "foo_bar", "fooBar", "foo bar", "e\u0301", "\u2028", "🎉", "ends\n", "12k", "message", "running", "run",
]  # fmt: skip


def found(session: Session, text: str, *, some: bool = False) -> list[int]:
    every, query = range(len(session.parents)), parse_search(text)
    return [index for _, hits in search_session(session, query, every, some=some) for index in hits]


def by_hand(session: Session, text: str) -> list[int]:
    """Judge every decoded entry as the search over all sessions judges the entries that it reads."""
    query = parse_search(text)
    terms, hits = terms_of(query), []
    for index in range(len(session.parents)):
        fields, mark = session.fields(index), session.labels.get(index)
        own = facts_in(fields, tools=True).text or search_text(session, index)
        evidence = evidence_in(terms, f"{mark.text}\n{own}" if mark is not None else own, "")
        hits += [index] if not terms or (evidence is not None and all(evidence.weights)) else []
    return hits


@pytest.mark.parametrize("seed", range(6))
def test_every_answer_is_that_of_a_scan_over_the_decoded_entries(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    lines: list[Any] = [header()]
    for step in range(60):
        text = " ".join(dice.choices(VOCABULARY, k=dice.randint(0, 5)))
        made, parent = f"e{step}", f"e{step - 1}" if step else None
        kind = dice.randrange(5)
        if kind == 0:
            lines.append(user(made, parent, text))
        elif kind == 1:
            lines.append(answer(made, parent, text, command=dice.choice(VOCABULARY)))
        elif kind == 2:
            lines.append(result(made, parent, text))
        elif kind == 3:
            lines.append(entry("compaction", made, parent, summary=text, firstKeptEntryId="e0", tokensBefore=12_345))
        else:
            lines.append(entry("label", made, parent, targetId="e0", label=dice.choice(VOCABULARY)))
    session = open_session(write(folder(tmp_path) / "a.jsonl", *lines))
    some = 0
    for _ in range(60):
        query = " ".join(dice.choices(VOCABULARY, k=dice.choice([1, 1, 2]))).replace('"', "").strip()
        expected = by_hand(session, query)
        assert found(session, query) == expected, query
        assert set(found(session, query, some=True)) >= set(expected)
        some += bool(expected)
    assert some > 20


def conversation(tmp_path: Path) -> Session:
    """A question with two answers; the first has a failed call and a label, the second is the leaf."""
    lines = [
        user("1", None, "Run the benchmark of the login page"),
        answer("2", "1", "It runs.", command="hey -n 2000 http://localhost"),
        result("3", "2", "Requests/sec: 812"),
        answer("4", "3", "There are two ways to log in"),
        entry("label", "5", "4", targetId="4", label="two-ways"),
        user("6", "1", "Another way"),
    ]
    return open_session(write(folder(tmp_path) / "a.jsonl", header(), *lines))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("hey -n", [1]),
        ("benchmarks", [0]),
        ("logging", [3]),
        ('"two ways"', [3]),
        ("ways -another", [3, 4]),
        ("re:Requests/sec: \\d+", [2]),
        ("role:user", [0, 5]),
        ("role:tool", [2]),
        ("role:toolCall", [1]),
        ("role:toolcall -benchmark hey", [1]),
        ("tool:bash", [1, 2]),
        ("label:two", [3]),
        ("branch:abandoned way", [3, 4]),
        ("branch:active", [0, 5]),
        ("after:2999", []),
        ("agent:omp name:x project:y way", [3, 4, 5]),
    ],
)
def test_a_tree_is_searched_with_the_grammar_of_all_searches(tmp_path: Path, query: str, expected: list[int]) -> None:
    assert found(conversation(tmp_path), query) == expected


def test_what_is_no_text_is_not_found(tmp_path: Path) -> None:
    assert found(conversation(tmp_path), "timestamp") == []


def test_a_search_stops_when_nobody_waits(tmp_path: Path) -> None:
    session = open_session(write(folder(tmp_path) / "a.jsonl", header(), user("1", None, "x")))
    assert list(search_session(session, parse_search("x"), [0], lambda: True)) == []


def job() -> Job:
    lane = Lane("rows", lambda outcome: None)
    return Job(lane, lane.stamp)


def story(tmp_path: Path) -> Session:
    path = write(
        folder(tmp_path) / "a.jsonl",
        header(),
        user("1", None, "Find it"),
        answer("2", "1", "", command="grep -rn needle src"),
        result("3", "2", "src/a.py:1: haystack"),
        answer("4", "3", "Found a needle"),
        user("5", "1", "Another way"),
    )
    return open_session(path)


def test_a_call_of_an_answer_without_words_is_found_by_its_result(tmp_path: Path) -> None:
    session = story(tmp_path)
    made = compute_rows(session, TreeState(query="needle"), TreeRows(), job())
    assert made is not None
    assert [row.index for row in made.rows if row.matches] == [2, 3]
    assert [row.index for row in rows.rows(session, hits=[0]) if row.matches] == [0]


def test_another_filter_or_fold_keeps_the_hits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = story(tmp_path)
    first = compute_rows(session, TreeState(query="need"), TreeRows(), job())
    assert first is not None
    monkeypatch.setattr("sessionbrowse.tui.session.tree_rows.search_session", None)
    filtered = compute_rows(session, TreeState("no-tools", "need"), first, job())
    assert filtered is not None
    assert ([row.index for row in filtered.rows if row.matches], filtered.found) == ([3], first.found)
    whole = compute_rows(session, TreeState(query="need", whole=True), first, job())
    assert whole is not None
    assert len(whole.rows) == 4
    assert ([whole.rows[at].index for at in whole.hits], whole.stops) == ([2, 3], None)


def test_entries_with_some_words_are_shown_if_none_has_all(tmp_path: Path) -> None:
    session = story(tmp_path)
    made = compute_rows(session, TreeState(query="needle zebra"), TreeRows(), job())
    assert made is not None
    assert (made.found, made.some) == ([1, 3], True)
    nothing = compute_rows(session, TreeState(query="zebra"), TreeRows(), job())
    assert nothing is not None
    assert (list(nothing.found), nothing.some) == ([], False)


def test_what_nobody_waits_for_is_not_made(tmp_path: Path) -> None:
    session = story(tmp_path)
    lane = Lane("rows", lambda outcome: None)
    stale = Job(lane, lane.stamp)
    lane.cancel()
    assert compute_rows(session, TreeState(query="needle"), TreeRows(), stale) is None


def test_a_long_search_hands_over_the_hits_around_the_cursor_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FIRST_SECONDS", -1.0), ("MORE_SECONDS", 60.0), ("FIRST_ENTRIES", 20)):
        monkeypatch.setattr(f"sessionbrowse.tui.session.tree_rows.{name}", value)
    lines = [user(str(n), str(n - 1) if n else None, f"number {n} {'needle' if n % 2 else ''}") for n in range(90)]
    session = open_session(write(folder(tmp_path) / "a.jsonl", header(), *lines))
    handed: list[TreeRows] = []
    lane = Lane("rows", lambda outcome: handed.append(outcome.value))
    made = compute_rows(session, TreeState(query="needle"), TreeRows(), Job(lane, lane.stamp), begin=50)
    assert made is not None
    assert (list(made.found), made.searched) == (list(range(1, 90, 2)), None)
    assert [(list(one.found), one.searched) for one in handed] == [(list(range(31, 50, 2)), 20)]
