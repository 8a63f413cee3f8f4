"""What the tests of faults count, and the table in which the whole run's counts are printed at its end."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterable

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

REAL_DISK = ("full disk", "read-only disk", "no permission")
_PROPERTY = "faults survived"


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
    columns = [*FAULTS, *REAL_DISK]
    totals = sum(counts.values(), Counter())
    width = max(map(len, (*counts, "all verbs")))
    rows = [(verb, counts[verb]) for verb in sorted(counts)] + [("all verbs", totals)]
    lines = [f"{'':<{width}}  " + "  ".join(columns)]
    for verb, row in rows:
        cells = "  ".join(f"{row[column] or '':>{len(column)}}" for column in columns)
        lines.append(f"{verb:<{width}}  {cells}")
    return lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table at the end of the run, whichever processes made it."""
    lines = fault_table(terminalreporter.stats.get("passed", []))
    if lines:
        terminalreporter.section("faults survived, at every call that changes the disk")
        for line in lines:
            terminalreporter.write_line(line)
