"""The doctor names exactly the odd fields on which the real pi and omp stop, and repairs each.

The verdicts of the programs are in `tests/golden/odd_fields.tsv`; `tests/interop` compares them with the programs.
"""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.model.clean.damage import NO_DAMAGE
from sessionbrowse.services.clean.doctor import Examined, examine
from tests.interop.odd_fields import digest, read_repaired, read_table, repaired
from tests.interop.shapes import shapes

REFUSED = {"bad-header", "no-header", "not-listed", "empty-file"}
OTHER = {"call-without-result", "result-without-call", "title-slot-size"}
PROGRAMS = [(agent, version) for agent in ("pi", "omp") for version in AGENTS[agent].tested_versions]
DECLARED = {
    "pi * usage:id=null": "pi never shows entries of the type `usage`, so it draws this tree; it is damage",
    "* * compaction:parentId=null": "what the summary says to keep is above another root, so nothing is kept",
    'omp * title_change:title=""': "omp never takes the name from this entry; that the slot differs tells of a crash",
    "pi 0.87.1 system:message.tools*": "only pi 1.6 draws which tools a system prompt adds and removes",
    'omp 18.2.3 *:message="odd"': "only omp 18.3 fails on a message that is a text when it draws the tree",
}
"""Where the doctor and a version of a program differ, and the reason: the doctor says what the newest version does."""


def said(examined: Examined) -> str:
    """Return the doctor's verdict in the words of the table; the kinds `OTHER` are not asked of the programs."""
    kinds = {one.kind for one in examined.damage} - OTHER - NO_DAMAGE
    if "no-header" in kinds or any(f"{examined.agent} refuses" in one.reason for one in examined.damage):
        return "refuses"
    for one in examined.damage:
        if (
            "stops with an error" in one.agent_does
            or "hangs when it draws" in one.agent_does
            or "fails on" in one.reason
        ):
            return "stops"
    return "refuses" if kinds & REFUSED else "otherwise" if kinds else "reads"


@pytest.mark.parametrize("program", PROGRAMS, ids=" ".join)
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 9])
def test_the_doctor_says_what_the_program_does_for_each_odd_field(tmp_path: Path, program: tuple[str, str], step: int):
    kept = read_table()[program]
    path = tmp_path / "session.jsonl"
    unlike, used = [], set()
    counts: Counter[str] = Counter()
    for shape in list(shapes(program[0]))[::step]:
        path.write_bytes(shape.content)
        verdict = said(examine(str(path), program[0]))
        counts[verdict] += 1
        if verdict != kept[shape.name]:
            name = f"{' '.join(program)} {shape.name}"
            declared = {pattern for pattern in DECLARED if fnmatchcase(name, pattern)}
            used |= declared
            unlike += [] if declared else [f"{name}: {kept[shape.name]}, the doctor {verdict}"]
    assert unlike == []
    if step == 1:
        assert used == {
            pattern for pattern in DECLARED if fnmatchcase(" ".join(program), " ".join(pattern.split()[:2]))
        }
    assert sum(counts.values()) * step >= 400
    assert min(counts.values()) * step > 5, counts


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=" ".join)
def test_every_field_on_which_the_program_stops_is_repaired_as_the_program_has_seen_it(
    tmp_path: Path, program: tuple[str, str]
):
    kept = read_repaired()[program]
    stopping = [shape for shape in shapes(program[0]) if shape.name in kept]
    assert {shape.name: digest(repaired(program[0], shape, tmp_path)) for shape in stopping} == kept
    assert len(stopping) > 100
