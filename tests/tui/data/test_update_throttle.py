"""What the disk says reaches the screens no faster than they can draw it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from sessionbrowse.tui.lists.scan_updates import REST, UpdateThrottle


class Screens:
    """Screens that take a second to draw, and timers that run when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0
        self.told: list[tuple[set[str], set[str]]] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def publish(self, updates: Any) -> None:
        self.told.append(({summary.path for summary in updates.summaries}, set(updates.gone)))
        self.now += 1.0

    def set_timer(self, seconds: float, call: Callable[[], None]) -> object:
        self.timers.append((seconds, call))
        return call


def test_the_first_change_is_told_at_once_and_a_flood_once_the_screens_have_rested() -> None:
    screens = Screens()
    announcing = UpdateThrottle(screens.publish, cast(Any, screens), clock=lambda: screens.now)

    def change(path: str) -> None:
        announcing.add([cast(Any, SimpleNamespace(path=path))], ())

    change("a")
    assert screens.told == [({"a"}, set())]
    for path in ("a", "b", "a"):
        change(path)
    announcing.add((), ["b"])
    assert len(screens.told) == 1
    assert announcing.pause.due
    [(seconds, tell)] = screens.timers
    assert seconds == REST * 1.0
    tell()
    assert screens.told[1:] == [({"a"}, {"b"})]
    assert not announcing.pause.due
