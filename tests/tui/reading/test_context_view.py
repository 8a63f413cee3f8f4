"""The parts of a context: what the session does not hold is a part of its own, on screen and in print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli.output import print_context
from sessionbrowse.model.context import build
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.inspect.documents import context_document
from sessionbrowse.tui.reading.context_view import context_parts
from tests.support.session_files import answer, header, opened, user

WINDOW = 200_000


def session_of(tmp_path: Path, input_tokens: int, *later: bytes) -> Session:
    """A session with 14 tokens of the user's, 20 of an answer, and an answer that counts `input_tokens`."""
    said: dict[str, Any] = {"content": [{"type": "text", "text": "a" * 80}], "stopReason": "stop"}
    usage = {"input": input_tokens, "output": 20, "cacheRead": 0, "cacheWrite": 0}
    return opened(tmp_path, header(), user("u1", None, "q" * 56), answer("a1", "u1", usage=usage, **said), *later)


def on_screen(session: Session) -> tuple[str, str]:
    """Return the line of the context's size, and the legend of its parts."""
    rows = [
        "".join([text for text, _ in row])
        for part in context_parts(build.build(session), WINDOW)[:4]
        for row in part.rows(400)
    ]
    return rows[0], rows[3].replace("\N{NO-BREAK SPACE}", " ")


def printed(session: Session, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_context(context_document(session))
    return capsys.readouterr().out.splitlines()


def sizes(line: str) -> dict[str, str]:
    return {name: size for name, size in re.findall(r"([a-z][a-z ]*) ([\d.]+k?)", line) if name != "free"}


def test_what_the_session_does_not_hold_is_a_part_and_no_other_part_grows(tmp_path, capsys) -> None:
    session = session_of(tmp_path, 8_500, user("u2", "a1", "q" * 40))
    size, legend = on_screen(session)
    assert size.startswith("~8.5k tokens of 200k (4%) · 8.5k by the last answer + ~10 estimated after it")
    assert sizes(legend) == {"system prompt and tools": "8.5k", "user": "24", "assistant": "20"}
    head, parts = printed(session, capsys)[:2]
    assert "8.5k tokens" in head
    assert sizes(parts) == sizes(legend)
    document = context_document(session)
    assert (document["tokens"], document["outside"], document["total"]) == (44, 8_486, 8_530)
    assert sum(document["parts"].values()) + document["outside"] == document["total"]


def test_estimates_above_the_last_answers_count_are_told_and_not_shrunk(tmp_path, capsys) -> None:
    session = session_of(tmp_path, 4)
    size, legend = on_screen(session)
    assert size.startswith("24 tokens of 200k (<1%) · 24 by the last answer · parts estimated at 10 more")
    assert sizes(legend) == {"user": "14", "assistant": "20"}
    assert "together 10 more than the last answer counts" in "\n".join(printed(session, capsys)[:3])
    document = context_document(session)
    assert (document["tokens"], document["outside"], document["total"]) == (34, -10, 24)


def test_without_a_usage_there_is_nothing_outside(tmp_path, capsys) -> None:
    session = opened(tmp_path, header(), user("u1", None, "q" * 56))
    size, legend = on_screen(session)
    assert size.startswith("~14 tokens of 200k (<1%) estimated")
    assert sizes(legend) == {"user": "14"}
    assert "about 14 tokens" in printed(session, capsys)[0]
    document = context_document(session)
    assert (document["outside"], document["total"]) == (None, 14)
