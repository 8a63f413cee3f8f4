"""What follows the cursor comes at once after a rest, and once when quick moves come to a stop."""

from __future__ import annotations

from typing import Any

from sessionbrowse.tui.shell.paned_screen import PAUSE_SECONDS, QUICK_SECONDS, Resting


class Clock:
    """A widget's timers, and the time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Any] = []

    def set_timer(self, delay: float, callback: Any) -> Any:
        clock = self

        class Timer:
            due = clock.now + delay

            def stop(self) -> None:
                clock.timers.remove(self)

            def ring(self) -> None:
                self.stop()
                callback()

        self.timers.append(Timer())
        return self.timers[-1]

    def go_on(self, seconds: float) -> None:
        self.now += seconds
        for timer in [timer for timer in self.timers if timer.due <= self.now]:
            timer.ring()


def test_a_move_after_a_rest_is_followed_at_once_and_quick_ones_when_they_stop() -> None:
    clock, done = Clock(), []
    resting = Resting(clock, lambda: done.append(clock.now), lambda: clock.now)  # type: ignore[arg-type]
    assert resting.moved()
    for _ in range(20):
        clock.go_on(QUICK_SECONDS / 6)
        assert not resting.moved()
        assert resting.due
    assert done == []
    clock.go_on(PAUSE_SECONDS)
    assert done == [clock.now]
    assert not resting.due
    clock.go_on(QUICK_SECONDS)
    assert resting.moved()
    assert clock.timers == []


def test_what_is_called_off_does_not_follow() -> None:
    clock, done = Clock(), []
    resting = Resting(clock, lambda: done.append(clock.now), lambda: clock.now)  # type: ignore[arg-type]
    resting.moved()
    assert not resting.moved()
    resting.cancel()
    clock.go_on(1)
    assert done == []
