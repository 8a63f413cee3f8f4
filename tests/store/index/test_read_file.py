"""Reading a file into the index: a file that cannot be read, or is another one meanwhile, gives nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sessionbrowse.agents.base import Marks
from sessionbrowse.store.index import builder
from sessionbrowse.store.index.builder import IndexedFile, read_for_index, read_growth
from sessionbrowse.store.read import content
from tests.support.session_files import answer, header, user, written

LINES = [header(), user("a", None, "first question"), answer("b", "a", "first answer")]
MORE = answer("c", "b", "second answer")


def read(path: Path, agent: str = "pi") -> IndexedFile | None:
    return read_for_index(str(path), lambda _: agent, lambda *_: None, tools=False, restart=lambda: None)


def grown(path: Path, before: IndexedFile, decided: str = "pi") -> IndexedFile | None:
    """Read what a file got since it was read; `decided` is the agent of its content now."""
    assert before.state is not None
    return read_growth(
        str(path),
        "pi",
        Marks(),
        lambda _: decided,
        before.state,
        before.entries,
        lambda *_: None,
        tools=False,
        usage=before.usage,
    )


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return written(tmp_path, *LINES)


def test_lines_that_were_added_are_read_alone(session: Path) -> None:
    before = read(session)
    assert before is not None
    with session.open("ab") as file:
        file.write(MORE)
    after = grown(session, before)
    assert after is not None
    assert after.summary.message_count == before.summary.message_count + 1


def test_a_file_that_was_rewritten_or_got_shorter_is_not_continued(session: Path) -> None:
    before = read(session)
    assert before is not None
    session.write_bytes(LINES[0])
    assert grown(session, before) is None
    session.write_bytes(b"".join(LINES).replace(b"first answer", b"other answer") + MORE)
    assert grown(session, before) is None


def test_a_file_of_another_agent_is_not_continued(session: Path) -> None:
    before = read(session)
    assert before is not None
    with session.open("ab") as file:
        file.write(MORE)
    assert grown(session, before, decided="omp") is None


def test_a_file_that_cannot_be_read_is_left_out(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read(session)
    assert before is not None

    def refuse(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(content, "feed_lines", refuse)
        patched.setattr(builder, "feed_lines", refuse)
        assert read(session) is None
        assert grown(session, before) is None
    session.unlink()
    assert read(session) is None
    assert grown(session, before) is None
    os.mkfifo(session)
    assert read(session) is None


def test_a_packed_session_never_grows(session: Path) -> None:
    before = read(session)
    assert before is not None
    assert grown(session.with_name("session.jsonl.gz"), before) is None
