"""The program that counts cost beside the browser."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

import pytest
from msgspec.structs import replace

from sessionbrowse.services.background import programs, usage_program
from sessionbrowse.services.background.monitor_messages import BrowserScope
from sessionbrowse.services.background.usage_program import CountingFailed, UsageProgram, answer, answer_until_idle
from sessionbrowse.services.usage.question import UsageAnswer, UsageCounter, UsageQuestion
from tests.support.index_support import folder
from tests.support.search_support import index_of
from tests.support.session_files import answer as paid
from tests.support.session_files import header

QUESTIONS = (UsageQuestion(), UsageQuestion(by="family", period="week", cwds=("/home/dev/webshop",)))


@pytest.fixture
def scope(tmp_path: Path) -> BrowserScope:
    root = tmp_path / "s"
    folder(root).joinpath("shop.jsonl").write_bytes(header(id="shop") + paid("a", None) + paid("b", "a", second=3))
    return BrowserScope(cache=str(tmp_path / "cache"), home=str(tmp_path), environ={}, roots=(str(root),))


@pytest.fixture
def program(scope: BrowserScope) -> Iterator[UsageProgram]:
    program = UsageProgram(scope)
    yield program
    program.close()


def test_the_program_answers_as_this_process_would(scope: BrowserScope, program: UsageProgram) -> None:
    for asked in QUESTIONS:
        assert program.ask(asked) == answer(scope, asked)


def test_a_file_that_changes_between_two_questions_is_counted(scope: BrowserScope, program: UsageProgram) -> None:
    index_of(Path(scope.roots[0]), Path(scope.cache))
    first = program.ask(UsageQuestion())
    with next(Path(scope.roots[0]).rglob("shop.jsonl")).open("ab") as shop:
        shop.write(paid("c", "b", second=9))
    second = program.ask(UsageQuestion())
    assert second.table.total.total[0] == first.table.total.total[0] + 1
    assert second == answer(scope, UsageQuestion())


def test_a_program_that_was_killed_is_started_again(scope: BrowserScope, program: UsageProgram) -> None:
    program.ask(UsageQuestion())
    channel = program._channel
    assert channel is not None
    assert channel._program is not None
    os.kill(channel.process_id, signal.SIGKILL)
    channel._program.wait(30)
    assert program.ask(UsageQuestion()) == answer(scope, UsageQuestion())


def test_an_idle_program_ends(scope: BrowserScope) -> None:
    questions: SimpleQueue[UsageQuestion] = SimpleQueue()
    questions.put(UsageQuestion())
    sent: list[UsageAnswer] = []
    with closing(UsageCounter(scope.as_scope(), Path(scope.cache))) as counter:
        try:
            answer_until_idle(counter, questions, sent.append, 0.01)
        finally:
            gc.enable()
    assert sent == [answer(scope, UsageQuestion())]


def test_a_name_that_is_no_utf_8_is_counted(tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"s\xff")
    folder(root).joinpath("shop.jsonl").write_bytes(header(id="shop") + paid("a", None))
    scope = BrowserScope(cache=str(tmp_path / "cache"), home=str(tmp_path), environ={}, roots=(str(root),))
    program = UsageProgram(scope)
    try:
        assert program.ask(UsageQuestion(by="session")) == answer(scope, UsageQuestion(by="session"))
    finally:
        program.close()


def test_a_program_that_fails_is_reported_in_a_sentence(
    scope: BrowserScope, program: UsageProgram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(CountingFailed, match="could not be counted"):
        UsageProgram(replace(scope, roots=(str(tmp_path / "gone"),))).ask(UsageQuestion())
    monkeypatch.setattr(programs, "PROGRAM", "sessionbrowse.no_such_program")
    with pytest.raises(CountingFailed, match="could not be counted"):
        program.ask(UsageQuestion())


def test_without_processes_the_browser_counts_itself(
    scope: BrowserScope, program: UsageProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert program.ask(UsageQuestion()) == answer(scope, UsageQuestion())
    monkeypatch.setattr(usage_program, "start_job", lambda *_: None)
    assert program.ask(UsageQuestion()) == answer(scope, UsageQuestion())
