"""Searching one session: whole texts, tool output too, as by a scan over every decoded entry."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.format.javascript import words
from sessionbrowse.model.search.entry_text import message_text, tool_text
from sessionbrowse.model.search.session_search import search_session
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.data.jobs import Job, Lane
from sessionbrowse.tui.session.state import TreeRows, TreeState
from sessionbrowse.tui.session.tree_search import make_rows
from tests.support.index_support import answer, entry, folder, header, result, user, write
from tests.support.program_search import search_text

VOCABULARY = [
    "login", "Login", "über", "ÜBER", "日本語", 'say "no"', "back\\slash", "a/b/c", "tab\there", "\x1b[31m", "K", "é",
    "İstanbul", "foo_bar", "e\u0301", "\u2028", "🎉", "ends\n", "12k", "message", "type", "x",
]  # fmt: skip


def found(session: Session, query: str, among: Any = None) -> list[int]:
    every = range(len(session.parents)) if among is None else among
    return [index for _, some in search_session(session, query, every) for index in some]


def by_hand(session: Session, query: str) -> list[int]:
    tokens = words(query.lower())
    if not tokens:
        return []
    texts = []
    for index in range(len(session.parents)):
        fields = session.fields(index)
        texts.append("\n".join((search_text(session, index), message_text(fields), tool_text(fields))).lower())
    return [index for index, text in enumerate(texts) if all(token in text for token in tokens)]


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
        query = " ".join(dice.choices(VOCABULARY, k=dice.choice([1, 1, 2])))[dice.choice([0, 0, 1]) :]
        expected = by_hand(session, query)
        assert found(session, query) == expected, query
        some += bool(expected)
        assert found(session, query, expected) == expected
    assert some > 20


def test_blocks_of_plain_text_are_searched_as_they_lie(tmp_path: Path) -> None:
    lines = [user(str(n), str(n - 1) if n else None, f"number {n} {'needle' if n % 7 == 3 else ''}") for n in range(50)]
    session = open_session(write(folder(tmp_path) / "a.jsonl", header(), *lines))
    assert found(session, "needle number") == [n for n in range(50) if n % 7 == 3]
    assert found(session, "needle 1") == [n for n in range(50) if n % 7 == 3 and "1" in str(n)]
    assert found(session, "timestamp") == [], "what is no text is not found"


def test_a_search_stops_when_nobody_waits(tmp_path: Path) -> None:
    session = open_session(write(folder(tmp_path) / "a.jsonl", header(), user("1", None, "x")))
    assert list(search_session(session, "x", [0], lambda: True)) == []
    assert list(search_session(session, "  ", [0])) == []


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
    made = make_rows(session, TreeState(query="needle"), None, job())
    assert made is not None
    assert [row.index for row in made.rows if row.matches] == [2, 3]
    assert [row.index for row in rows.rows(session, hits=[0]) if row.matches] == [0]


def test_a_longer_query_looks_among_what_was_found_and_another_filter_keeps_it(tmp_path: Path) -> None:
    session = story(tmp_path)
    first = make_rows(session, TreeState(query="need"), None, job())
    assert first is not None
    longer = make_rows(session, TreeState(query="needle fo"), first, job())
    assert longer is not None
    assert (list(longer.found), longer.entries) == ([3], 2)
    filtered = make_rows(session, TreeState("no-tools", "need"), first, job())
    assert filtered is not None
    assert filtered.found == first.found
    assert [row.index for row in filtered.rows if row.matches] == [3]
    shorter = make_rows(session, TreeState(query="nee"), longer, job())
    assert shorter is not None
    assert shorter.entries == 5


def test_a_letter_taken_back_shows_the_rows_that_were_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = story(tmp_path)
    everything = make_rows(session, TreeState(), None, job())
    first = make_rows(session, TreeState(query="need"), everything, job())
    longer = make_rows(session, TreeState(query="needle fo"), first, job())
    other = make_rows(session, TreeState("no-tools", "needle fo"), longer, job())
    assert first is not None
    assert longer is not None
    assert everything is not None
    monkeypatch.setattr("sessionbrowse.tui.session.tree_search.search_session", None)
    again = make_rows(session, TreeState(query="need"), longer, job())
    assert again is not None
    assert again.unfolded is first.unfolded
    cleared = make_rows(session, TreeState(), longer, job())
    assert cleared is not None
    assert cleared.unfolded is everything.unfolded
    filtered = make_rows(session, TreeState("no-tools", "need"), other, job())
    assert filtered is not None
    assert ([row.index for row in filtered.rows if row.matches], filtered.found) == ([3], first.found)


def test_what_nobody_waits_for_is_not_made(tmp_path: Path) -> None:
    session = story(tmp_path)
    lane = Lane("rows", lambda outcome: None)
    stale = Job(lane, lane.stamp)
    lane.cancel()
    assert make_rows(session, TreeState(query="needle"), None, stale) is None


def test_a_search_that_takes_long_hands_over_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_SECONDS", "SOON_SECONDS", "MORE_SECONDS"):
        monkeypatch.setattr(f"sessionbrowse.tui.session.tree_search.{name}", -1.0)
    monkeypatch.setattr("sessionbrowse.tui.session.tree_search.FIRST_ENTRIES", 1)
    monkeypatch.setattr("sessionbrowse.tui.session.tree_search.PART_ENTRIES", 2)
    session = story(tmp_path)
    handed: list[TreeRows] = []
    lane = Lane("rows", lambda outcome: handed.append(outcome.value))
    made = make_rows(session, TreeState(query="needle"), None, Job(lane, lane.stamp))
    assert made is not None
    assert made.finished
    assert [(one.finished, one.searched) for one in handed] == [(False, 1), (False, 3)]


def test_hits_around_the_cursor_are_handed_over_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessionbrowse.tui.session.tree_search.SOON_SECONDS", 60.0)
    monkeypatch.setattr("sessionbrowse.tui.session.tree_search.FIRST_ENTRIES", 20)
    lines = [user(str(n), str(n - 1) if n else None, f"number {n} {'needle' if n % 2 else ''}") for n in range(90)]
    session = open_session(write(folder(tmp_path) / "a.jsonl", header(), *lines))
    handed: list[TreeRows] = []
    lane = Lane("rows", lambda outcome: handed.append(outcome.value))
    made = make_rows(session, TreeState(query="needle"), None, Job(lane, lane.stamp), cursor=50, room=(10, 10))
    assert made is not None
    assert list(made.found) == list(range(1, 90, 2))
    assert [list(one.found) for one in handed] == [list(range(31, 70, 2))]
    handed.clear()
    # Below the last entry there is nothing to wait for.
    make_rows(session, TreeState(query="needle"), None, Job(lane, lane.stamp), cursor=89, room=(10, 10))
    assert [list(one.found) for one in handed] == [list(range(69, 90, 2))]
