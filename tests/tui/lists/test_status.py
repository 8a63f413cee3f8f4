"""The status of sessions in the list and in the preview: a sign in one cell, a word, and nothing to say if done."""

from __future__ import annotations

from typing import get_args

import pytest

from sessionbrowse.model.listing.summary import SessionStatus, Summary
from sessionbrowse.text import width
from sessionbrowse.tui.data.library import SessionRow
from sessionbrowse.tui.lists.rows import RECENT_MS, ListStyle, session_row
from sessionbrowse.tui.paint.spans import STATUS_SIGNS
from sessionbrowse.tui.reading.documents import summary_parts
from tests.support.change_helpers import NOW_MS
from tests.support.tui_support import summary

STYLE = ListStyle(now_ms=NOW_MS, home="/home/dev")


def session(status: SessionStatus | None, changed_ms: float = NOW_MS - 2 * RECENT_MS) -> Summary:
    return summary("/s/a.jsonl", name="alive", mtime_ns=int(changed_ms) * 1_000_000, modified=changed_ms, status=status)


def row(found: Summary, style: ListStyle = STYLE) -> str:
    return "".join([text for text, _ in session_row(SessionRow(found), 60, style)])


@pytest.mark.parametrize(
    ("status", "cells"),
    [("interrupted", "π!"), ("aborted", "π■"), ("error", "π⊗"), ("pending", "π◔"), ("complete", "π "), (None, "π ")],
)
def test_a_row_shows_behind_the_agent_how_its_session_ended(status: SessionStatus | None, cells: str) -> None:
    assert f"{cells}  10m" in row(session(status))
    assert width(row(session(status))) == 60


def test_every_status_but_the_usual_one_has_a_sign_of_its_own_one_cell_wide() -> None:
    assert {*STATUS_SIGNS, "complete"} == set(get_args(SessionStatus))
    assert len({sign for sign, _ in STATUS_SIGNS.values()}) == len(STATUS_SIGNS)
    assert {width(sign) for sign, _ in STATUS_SIGNS.values()} == {1}


def test_a_session_that_may_be_running_shows_that_instead() -> None:
    assert "π○" in row(session("interrupted", NOW_MS - 1000))
    assert "π●  10m" in row(session("interrupted"), ListStyle(now_ms=NOW_MS, home="", in_use=frozenset(["/s/a.jsonl"])))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("interrupted", "π pi · ! interrupted · "),
        ("aborted", "π pi · ■ aborted · "),
        ("error", "π pi · ⊗ error · "),
        ("pending", "π pi · ◔ pending · "),
        ("complete", "π pi · done · "),
        (None, "π pi · 10m"),
    ],
)
def test_the_preview_has_the_word(status: SessionStatus | None, words: str) -> None:
    parts = summary_parts(session(status), "/home/dev", NOW_MS)
    lines = ["".join([text for text, _ in line]) for part in parts for line in part.rows(60)]
    assert lines[1].startswith(words)
