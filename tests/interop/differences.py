"""Where we differ from the real programs on purpose, and why that is better for whoever has such a file.

Nothing else may differ: a test fails for any other difference, for another answer of ours than the one written here,
and for a line here that nothing uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from .compare import Finding


class Difference(Struct, frozen=True):
    """One file: what the program does with it, why we do otherwise, and our answers (by aspect, or aspect and place)."""

    file: str
    they: str
    why: str
    ours: dict[str, Any]


DIFFERENCES: tuple[Difference, ...] = ()


class Judgement(Struct, frozen=True):
    """The comparisons made by aspect, those that differ without a reason, and reasons that nothing needs."""

    compared: dict[str, int]
    explained: list[Finding]
    unexplained: list[Finding]
    unused: list[str]


def judge(findings: Iterable[Finding], files: Iterable[str]) -> Judgement:
    """Sort findings by whether they agree; `files` are all that were compared (`agent/set/path`)."""
    known = {difference.file: difference for difference in DIFFERENCES}
    compared: dict[str, int] = {}
    explained: list[Finding] = []
    unexplained: list[Finding] = []
    used: set[tuple[str, str]] = set()
    for finding in findings:
        compared[finding.aspect] = compared.get(finding.aspect, 0) + 1
        if finding.agrees:
            continue
        difference = known.get(finding.file)
        ours = difference.ours if difference is not None else {}
        place = f"{finding.aspect} @ {finding.detail}"
        key = place if place in ours else finding.aspect
        if key in ours and ours[key] == finding.ours:
            explained.append(finding)
            used.add((finding.file, key))
        else:
            unexplained.append(finding)
    present = set(files)
    unused = [
        f"{difference.file}: {key}"
        for difference in DIFFERENCES
        if difference.file in present
        for key in difference.ours
        if (difference.file, key) not in used
    ]
    return Judgement(compared, explained, unexplained, unused)
