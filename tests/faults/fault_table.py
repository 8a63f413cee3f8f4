"""What the tests of faults count, and the table in which the whole run's counts are printed at its end."""

from __future__ import annotations

import errno
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

from tests.faults.fault_injection import Action, fails_with, killed_after, killed_before, writes_only

FAULTS: dict[str, Action | None] = {
    "no space": fails_with(errno.ENOSPC),
    "read-only": fails_with(errno.EROFS),
    "I/O error": fails_with(errno.EIO),
    "1 byte": writes_only(lambda size: 1),
    "half": writes_only(lambda size: size // 2),
    "all but 1": writes_only(lambda size: size - 1),
    "killed before": killed_before,
    "killed after": killed_after,
    "vanished": None,
    "replaced": None,
}
"""Every fault at a call that changes the disk; the last two happen to the session's file just before it."""

AGAIN = "again"
"""The runs in which the recovery after a first fault meets another one."""
REAL_DISK = ("full disk", "read-only disk", "no permission")
BROKEN = ("lost", "displaced", "unlisted", "other")
"""What a run beside a writer may break: lines, lines, sessions, and all else (modes, times, undo, leftovers)."""
_PROPERTY = "faults survived"
_LIVE_PROPERTY = "run beside a writer"


def some_calls(calls: int, step: int, case: str) -> range:
    """Return the numbers of the calls to break, from 1: every `step`th, from a first one that the case's name picks."""
    return range(1 + zlib.crc32(case.encode()) % min(step, calls), calls + 1, step)


def survived(record_property: object, verb: str, fault: str, count: int) -> None:
    """Note that a verb survived so many faults of a kind."""
    assert callable(record_property)
    record_property(_PROPERTY, [verb, fault, count])


def fault_table(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return the table of all faults that were noted in tests that passed: a row for each verb."""
    counts: dict[str, Counter[str]] = {}
    for report in reports:
        for name, value in report.user_properties:
            if name == _PROPERTY:
                assert isinstance(value, list)
                verb, fault, count = value
                counts.setdefault(verb, Counter())[fault] += count
    if not counts:
        return []
    columns = [*FAULTS, AGAIN, *REAL_DISK]
    totals = sum(counts.values(), Counter())
    width = max(map(len, (*counts, "all verbs")))
    rows = [(verb, counts[verb]) for verb in sorted(counts)] + [("all verbs", totals)]
    lines = [f"{'':<{width}}  " + "  ".join(columns)]
    for verb, row in rows:
        cells = "  ".join(f"{row[column] or '':>{len(column)}}" for column in columns)
        lines.append(f"{verb:<{width}}  {cells}")
    return lines


def beside_a_writer(record_property: object, verb: str, runs: int, found: Sequence[int]) -> None:
    """Note runs of a verb beside a writer, and how much of each kind in `BROKEN` they broke."""
    assert callable(record_property)
    record_property(_LIVE_PROPERTY, [verb, runs, *found])


def live_table(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return the table of all runs beside a writer, of failed tests too: a row for each verb."""
    rows: dict[str, list[int]] = {}
    for report in reports:
        for name, value in report.user_properties:
            if name == _LIVE_PROPERTY:
                assert isinstance(value, list)
                verb, *counts = value
                rows[verb] = [sum(pair) for pair in zip(rows.get(verb, [0] * len(counts)), counts, strict=True)]
    if not rows:
        return []
    rows = dict(sorted(rows.items())) | {"all verbs": [sum(column) for column in zip(*rows.values(), strict=True)]}
    columns, width = ("runs", *BROKEN), max(map(len, rows))
    lines = [f"{'':<{width}}  " + "  ".join(f"{column:>9}" for column in columns)]
    return lines + [f"{verb:<{width}}  " + "  ".join(f"{count:>9}" for count in row) for verb, row in rows.items()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables at the end of the run, whichever processes made them."""
    passed, failed = (terminalreporter.stats.get(kind, []) for kind in ("passed", "failed"))
    tables = {
        "faults survived, at calls that change the disk": fault_table(passed),
        "whole files beside a writer, with a fault at every call that changes the disk": live_table([*passed, *failed]),
    }
    for title, lines in tables.items():
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)
