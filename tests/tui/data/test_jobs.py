"""Background work: only the newest request counts, and nothing holds up the end."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from sessionbrowse.tui.data.jobs import PATIENCE_SECONDS, Job, Lane, Outcome


class Receiver:
    """Collects outcomes and tells when a certain number is there."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self._changed = threading.Condition()

    def __call__(self, outcome: Outcome) -> None:
        with self._changed:
            self.outcomes.append(outcome)
            self._changed.notify_all()

    def wait_for(self, count: int) -> list[Outcome]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.outcomes) >= count, timeout=10)
        return self.outcomes


def test_a_result_arrives_with_its_stamp() -> None:
    receiver = Receiver()
    lane = Lane("numbers", receiver)
    stamp = lane.ask(lambda job: 42)
    assert receiver.wait_for(1) == [Outcome("numbers", stamp, 42)]
    assert lane.is_current(receiver.outcomes[0])


def test_what_follows_again_and_again_never_keeps_a_result_from_arriving() -> None:
    receiver = Receiver()
    lane = Lane("growing", receiver)
    begun, go_on = threading.Event(), threading.Event()

    def slow(job: Job) -> int:
        begun.set()
        go_on.wait(10)
        return 1

    lane.follow(slow)
    assert begun.wait(10)
    for number in (2, 3, 4):
        lane.follow(partial(lambda number, job: number, number))
    assert lane.busy
    go_on.set()
    outcomes = receiver.wait_for(2)
    assert [outcome.value for outcome in outcomes] == [1, 4]
    assert all(map(lane.is_current, outcomes))


def test_only_the_newest_request_is_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sessionbrowse.tui.data.jobs.PATIENCE_SECONDS", 60.0)
    receiver = Receiver()
    lane = Lane("letters", receiver)
    begun, go_on = threading.Event(), threading.Event()

    def slow(job: Job) -> str:
        begun.set()
        go_on.wait(10)
        return "old"

    def request(number: int, job: Job) -> str:
        return f"request {number}"

    lane.ask(slow)
    begun.wait(10)
    for number in range(20):
        lane.ask(partial(request, number))
    go_on.set()
    outcomes = receiver.wait_for(1)
    assert [outcome.value for outcome in outcomes] == ["request 19"]


def test_a_job_sees_that_nobody_waits_for_it_any_more() -> None:
    receiver = Receiver()
    lane = Lane("scan", receiver)
    begun, stopped = threading.Event(), threading.Event()

    def endless(job: Job) -> None:
        begun.set()
        while not job.cancelled():
            time.sleep(0)
        stopped.set()

    lane.ask(endless)
    begun.wait(10)
    lane.cancel()
    assert stopped.wait(10)
    assert receiver.outcomes == []


def test_a_job_that_pauses_goes_on_as_soon_as_something_else_is_asked_for() -> None:
    receiver = Receiver()
    lane = Lane("rows", receiver)
    begun = threading.Event()

    def pausing(job: Job) -> str:
        begun.set()
        job.pause(60)
        return "stale"

    lane.ask(pausing)
    begun.wait(10)
    lane.ask(lambda _: "newest")
    assert [outcome.value for outcome in receiver.wait_for(1)] == ["newest"]


def test_values_emitted_early_arrive_in_order_and_the_last_says_so() -> None:
    receiver = Receiver()
    lane = Lane("scan", receiver)

    def work(job: Job) -> str:
        job.emit(1)
        job.emit(2)
        return "end"

    lane.ask(work)
    outcomes = receiver.wait_for(3)
    assert [(outcome.value, outcome.last) for outcome in outcomes] == [(1, False), (2, False), ("end", True)]


def test_what_came_before_the_receiver_is_kept_for_it() -> None:
    lane = Lane("early")
    done = threading.Event()

    def work(job: Job) -> str:
        job.emit("first")
        done.set()
        return "last"

    lane.ask(work)
    done.wait(10)
    receiver = Receiver()
    lane.connect(receiver)
    assert [outcome.value for outcome in receiver.wait_for(2)] == ["first", "last"]


def test_an_error_is_a_value() -> None:
    receiver = Receiver()
    lane = Lane("broken", receiver)
    error = ValueError("no")

    def work(job: Job) -> None:
        raise error

    lane.ask(work)
    assert receiver.wait_for(1)[0].error is error


def test_a_stuck_job_does_not_hold_up_the_next_one() -> None:
    receiver = Receiver()
    lane = Lane("mount", receiver)
    begun, never = threading.Event(), threading.Event()

    def stuck(job: Job) -> None:
        begun.set()
        never.wait(30)

    lane.ask(stuck)
    begun.wait(10)
    running = lane._running
    assert running is not None
    running.started -= PATIENCE_SECONDS
    lane.ask(lambda job: "next")
    assert receiver.wait_for(1)[0].value == "next"
    never.set()


def test_threads_do_not_keep_the_program_alive() -> None:
    lane = Lane("daemon")
    begun, never = threading.Event(), threading.Event()

    def stuck(job: Job) -> None:
        begun.set()
        never.wait(30)

    lane.ask(stuck)
    begun.wait(10)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("sessionbrowse"))
    never.set()
