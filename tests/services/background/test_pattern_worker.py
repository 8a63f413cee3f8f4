"""The pattern worker answers from another process, which is killed with a pattern that has no end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from sessionbrowse.services.background.pattern_worker import PatternStopped, PatternWorker

ENDLESS, TEXT = "(a+)+x", "a" * 5_000
PATIENCE_SECONDS = 20.0


@pytest.fixture
def worker() -> Iterator[PatternWorker]:
    made = PatternWorker()
    yield made
    made.close()


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def is_alive(process_id: int) -> bool:
    """Whether a process is there and no zombie."""
    state = subprocess.run(
        ["ps", "-o", "state=", "-p", str(process_id)], capture_output=True, text=True, check=False, timeout=60
    )
    return state.stdout.strip() not in {"", "Z"}


def process_of(worker: PatternWorker) -> int:
    channel = worker._channel
    return channel.process_id if channel is not None else 0


def test_it_finds_the_first_matches_or_all_in_texts_of_every_kind(worker: PatternWorker) -> None:
    texts = ["Cat concat", "dog", "\ud800 cat\x00"]
    assert worker.first_spans("cat", texts) == [(0, 3), None, (2, 5)]
    assert worker.spans("cat", texts, every=True) == [[(0, 3), (7, 10)], [], [(2, 5)]]


def test_one_process_answers_many_questions(worker: PatternWorker) -> None:
    worker.first_spans("a", ["a"])
    process = process_of(worker)
    assert [worker.first_spans("a", [text]) for text in ("a", "b")] == [[(0, 1)], [None]]
    assert process_of(worker) == process


@pytest.mark.slow
def test_a_pattern_without_end_is_stopped_after_a_while_and_the_next_one_is_answered() -> None:
    worker = PatternWorker(limit_seconds=2.0)
    try:
        with pytest.raises(PatternStopped, match="took too long and was stopped"):
            worker.first_spans(ENDLESS, [TEXT])
        assert worker.first_spans("b", ["ab"]) == [(1, 2)]
    finally:
        worker.close()


@pytest.mark.slow
def test_a_pattern_that_is_slow_in_every_text_is_stopped_too(worker: PatternWorker) -> None:
    quadratic = "(?P<one>a)(?P=one)*$!"
    worker.first_spans(quadratic, ["a" * 2_500])

    def ask_again() -> None:
        for _ in range(200):
            worker.first_spans(quadratic, ["a" * 2_500])

    with pytest.raises(PatternStopped, match="took too long and was stopped"):
        ask_again()
    plain = ["some text " * 100_000] * 10
    assert worker.first_spans("no such thing", plain) == [None] * 10


@pytest.mark.parametrize("end", ["cancelled", "closed"])
def test_a_pattern_is_killed_when_nobody_waits_for_it(worker: PatternWorker, end: str) -> None:
    over = threading.Event()
    failures: list[str] = []

    def ask() -> None:
        try:
            worker.first_spans(ENDLESS, [TEXT], over.is_set)
        except PatternStopped as error:
            failures.append(error.sentence)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    wait_for(lambda: process_of(worker))
    process = process_of(worker)
    if end == "cancelled":
        over.set()
    else:
        worker.close()
    asking.join(PATIENCE_SECONDS)
    assert failures == ["The pattern search was stopped."]
    assert not is_alive(process)


def test_who_waits_behind_another_question_can_give_up(worker: PatternWorker) -> None:
    over = threading.Event()

    def ask() -> None:
        with suppress(PatternStopped):
            worker.first_spans(ENDLESS, [TEXT], over.is_set)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    wait_for(lambda: process_of(worker))
    with pytest.raises(PatternStopped):
        worker.first_spans("a", ["a"], lambda: True)
    over.set()
    asking.join(PATIENCE_SECONDS)
    assert not asking.is_alive()


def test_a_process_that_died_idle_is_replaced(worker: PatternWorker) -> None:
    worker.first_spans("a", ["a"])
    os.kill(process_of(worker), signal.SIGKILL)
    wait_for(lambda: not is_alive(process_of(worker)))
    assert worker.first_spans("a", ["a"]) == [(0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("kill", "limit"), [(os.kill, "1"), (os.killpg, "600")], ids=["alone", "with its group"])
def test_it_ends_with_whoever_asked_even_while_it_matches(kill: Callable[[int, int], None], limit: str) -> None:
    command = [sys.executable, "-m", __name__, limit]
    asker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert asker.stdout is not None
    try:
        process = int(asker.stdout.readline())
        assert is_alive(process)
    finally:
        kill(asker.pid, signal.SIGKILL)
        asker.wait(PATIENCE_SECONDS)
        asker.stdout.close()
    wait_for(lambda: not is_alive(process))


def ask_without_end() -> None:
    """Be a process that asks for a pattern without end, and says which process searches."""
    worker = PatternWorker(limit_seconds=float(sys.argv[1]))
    threading.Thread(target=lambda: worker.first_spans(ENDLESS, [TEXT]), daemon=True).start()
    wait_for(lambda: process_of(worker))
    print(process_of(worker), flush=True)
    time.sleep(PATIENCE_SECONDS)


if __name__ == "__main__":
    ask_without_end()
