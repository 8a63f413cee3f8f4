"""The doctor names exactly the odd fields on which the real pi and omp stop, and repairs each.

The verdicts of the programs are in `tests/golden/odd_fields.tsv`; `tests/interop` compares them with the programs.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sessionbrowse.model.clean.damage import NO_DAMAGE
from sessionbrowse.services.clean.doctor import Examined, examine
from tests.interop.odd_fields import digest, read_repaired, read_table, repaired
from tests.interop.shapes import shapes

REFUSED = {"bad-header", "no-header", "not-listed", "empty-file"}
OF_CALLS = {"call-without-result", "result-without-call"}
NEWEST = {"pi": "1.6.0", "omp": "18.2.3"}
DECLARED = {
    # pi never shows an entry of the type `usage`, so it draws this tree; the entry without id is damage all the same.
    "pi usage:id=null",
    # What the summary says to keep is truly above another root: the program keeps nothing, as the file says.
    "pi compaction:parentId=null",
    "omp compaction:parentId=null",
    # omp never takes the name from this entry; that the title slot differs from it tells of a crash while renaming.
    'omp title_change:title=""',
}


def said(examined: Examined) -> str:
    """Return the doctor's verdict in the words of the table; calls and results that do not match are other damage."""
    kinds = {one.kind for one in examined.damage} - OF_CALLS - NO_DAMAGE
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


@pytest.mark.parametrize("agent", NEWEST)
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 9])
def test_the_doctor_says_what_the_program_does_for_each_odd_field(tmp_path: Path, agent: str, step: int):
    kept = read_table()[agent, NEWEST[agent]]
    path = tmp_path / "session.jsonl"
    unlike = []
    counts: Counter[str] = Counter()
    for shape in list(shapes(agent))[::step]:
        path.write_bytes(shape.content)
        verdict = said(examine(str(path), agent))
        counts[verdict] += 1
        if verdict != kept[shape.name] and f"{agent} {shape.name}" not in DECLARED:
            unlike.append(f"{shape.name}: {agent} {kept[shape.name]}, the doctor {verdict}")
    assert unlike == []
    assert sum(counts.values()) * step >= 400
    assert min(counts.values()) * step > 5, counts


@pytest.mark.parametrize("agent", NEWEST)
def test_every_field_on_which_the_program_stops_is_repaired_as_the_program_has_seen_it(tmp_path: Path, agent: str):
    kept = read_repaired()[agent, NEWEST[agent]]
    stopping = [shape for shape in shapes(agent) if shape.name in kept]
    assert {shape.name: digest(repaired(agent, shape, tmp_path)) for shape in stopping} == kept
    assert len(stopping) > 100
