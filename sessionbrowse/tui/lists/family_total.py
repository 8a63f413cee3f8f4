"""The cost of a session's family (the session with its forks, copies and subagents), for the preview."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

from sessionbrowse.text import tokens
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.paned_screen import ListScreen

if TYPE_CHECKING:
    from sessionbrowse.services.usage.usage_listing import UsageRow

QUIET_SECONDS = 5.0
"""Seconds to wait after sessions changed before computing the shown total cost again, in case more changes follow.

The computation is slow, because it reads the costs of all sessions.
"""


class FamilyTotals:
    """Computes in the background the cost of the previewed session's family (with its forks, copies and subagents).

    `has_family(path)` returns True if sessions related to the session at `path` are known.
    Totals are computed after a scan of the disk, because computing them would delay the scan. `changed` is called when
    a computation has ended.
    """

    def __init__(self, screen: ListScreen, has_family: Callable[[str], bool], changed: Callable[[], None]) -> None:
        self._screen = screen
        self._has_family = has_family
        self._changed = changed
        self._lines: dict[str, Line] = {}
        self._path: str | None = None
        self._awaits_scan = self._is_counting = False
        self._timer: Timer | None = None

    def line(self, path: str) -> Line | None:
        """Return the line with the total cost of a session and its related sessions; None if there is no total.

        While the total is being computed, the line shows "…".
        """
        is_awaited = path == self._path and (self._awaits_scan or self._is_counting)
        return self._lines.get(path) or (_line("…") if is_awaited and self._has_family(path) else None)

    def ask(self, path: str) -> None:
        """Compute the cost of a session and its related sessions, unless cached; if a scan runs, wait for its end."""
        self._path = path
        self._awaits_scan = self._screen.state.scanning
        if path not in self._lines and not self._awaits_scan:
            self._count()

    def scanned(self) -> None:
        """If the scan of the disk has ended, compute the total cost that was requested during the scan."""
        if self._awaits_scan and not self._screen.state.scanning and self._path is not None:
            self.ask(self._path)

    def forget(self) -> None:
        """Drop the cached total costs, because sessions changed; keep the shown total until it is computed again."""
        self._lines = {path: line for path, line in self._lines.items() if path == self._path}
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._screen.set_timer(QUIET_SECONDS, self._count) if self._lines else None

    def _count(self) -> None:
        path, count = self._path, self._screen.browser.source.count_usage
        if path is None or count is None:
            return
        is_listed, self._is_counting = self._has_family(path), True

        def work(job: Job) -> tuple[str, Line | None]:
            from sessionbrowse.services.usage.question import UsageQuestion
            from sessionbrowse.store.find.discover import has_own_folder

            if not is_listed and not has_own_folder(path):
                return path, None
            rows = count(UsageQuestion(family_of=path)).table.rows
            return path, _total(rows[0]) if rows else None

        self._screen.lane("family", self._take).ask(work)

    def _take(self, outcome: Outcome) -> None:
        self._is_counting = False
        # If a total cannot be computed, the preview shows no total; the statistics screen reports the error.
        if outcome.error is None:
            path, line = outcome.value
            self._lines.pop(path, None)
            if line is not None:
                self._lines[path] = line
        self._changed()


def _total(row: UsageRow) -> Line:
    from sessionbrowse.model.usage.request import tokens_of
    from sessionbrowse.services.usage.stats_document import cents

    total = row.totals.total
    return _line(f"{cents(total)} · {tokens(tokens_of(total))} tokens")


def _line(text: str) -> Line:
    return [("⊞ ", "branch"), ("family total ", "dim"), (text, "dim")]
