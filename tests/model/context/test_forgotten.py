"""What a compaction forgot: files, commands and labels that the summary does not mention."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.context.build import build
from sessionbrowse.model.context.forgotten import MOST_JUDGED, Forgotten, forgotten
from sessionbrowse.store.read.session_file import open_session
from tests.support.session_files import answer, entry, header, user, written


def call(entry_id: str, parent: str, name: str, **arguments: Any) -> bytes:
    return answer(
        entry_id, parent, content=[{"type": "toolCall", "id": entry_id, "name": name, "arguments": arguments}]
    )


def losses(tmp_path: Path, summary: str, kept: str = "u2", *more: bytes) -> Forgotten:
    lines = [
        user("u1", None, "Mend the login."),
        call("a1", "u1", "read", path="src/login.py"),
        call("a2", "a1", "edit", path="src/session store.py", oldText="a", newText="b"),
        call("a3", "a2", "bash", command="pytest -q   tests/login\necho done"),
        call("a4", "a3", "bash", command="ls"),
        entry("message", "t4", "a4", message={"role": "toolResult", "toolCallId": "a1", "content": []}),
        entry("message", "b1", "t4", message={"role": "bashExecution", "command": "git stash", "output": ""}),
        entry("label", "l1", "b1", targetId="a2", label="Works Now"),
        *more,
        user("u2", f"x{len(more) - 1}" if more else "l1", "Go on."),
        call("a5", "u2", "read", path="src/kept.py"),
        entry("compaction", "c1", "a5", summary=summary, firstKeptEntryId=kept, tokensBefore=9),
    ]
    session = open_session(str(written(tmp_path, header(), *lines)))
    index = session.index_by_id["c1"]
    return forgotten(session, index, [left.index for left in build(session, index).left_out])


def names(found: tuple[tuple[str, int], ...]) -> list[str]:
    return [name for name, _ in found]


def test_what_the_summary_does_not_mention_is_forgotten_newest_first(tmp_path: Path) -> None:
    lost = losses(tmp_path, "Nothing of note.")
    assert names(lost.files) == ["src/login.py", "src/session store.py"]
    assert names(lost.commands) == ["git stash", "pytest -q tests/login"]
    assert lost.labels == (("Works Now", 2),)
    assert dict(lost.files)["src/login.py"] == 5, "the call's result"


def test_a_file_is_mentioned_by_path_or_name_and_a_command_by_its_first_line(tmp_path: Path) -> None:
    summary = "Changed `login.py` and src/session store.py; ran pytest -q tests/login, then GIT STASH. works now"
    assert losses(tmp_path, summary) == Forgotten()


def test_a_name_within_another_word_is_no_mention(tmp_path: Path) -> None:
    summary = "See mylogin.py, login.pyc, src/login.pyc and libsrc/login.pyx; git stashes; networks nowhere."
    lost = losses(tmp_path, summary)
    assert "src/login.py" in names(lost.files)
    assert "git stash" in names(lost.commands)
    assert names(lost.labels) == ["Works Now"]


def test_what_the_context_keeps_is_not_forgotten(tmp_path: Path) -> None:
    assert losses(tmp_path, "Nothing.", kept="u1") == Forgotten()


@pytest.mark.slow
def test_thousands_of_texts_in_a_megabyte_of_summary_take_moments(tmp_path: Path) -> None:
    more = []
    parent = "l1"
    for number in range(2 * MOST_JUDGED):
        more.append(call(f"x{number}", parent, "bash", command=f"make {number} " + "a" * 50))
        parent = f"x{number}"
    began = time.process_time()
    lost = losses(tmp_path, "make 1 " + "a" * 1_000_000, "u2", *more)
    assert time.process_time() - began < 20
    assert len(lost.commands) == MOST_JUDGED
