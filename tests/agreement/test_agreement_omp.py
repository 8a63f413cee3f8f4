"""Our answers equal those of the real omp 18.3.4 for the recorded sessions in tests/golden/omp.tar.xz.

`make interop` asks the real program afresh; `python -m tests.interop --record` makes the archive anew.
"""

from __future__ import annotations

import pytest

from sessionbrowse.agents import OMP
from tests.interop.__main__ import GOLDEN, judge_sets
from tests.interop.differences import Judgement
from tests.interop.recording import SessionSet, unpack

pytestmark = pytest.mark.slow

ASPECTS = (
    "listed",
    "opens",
    "header",
    "title slot",
    "id",
    "cwd",
    "name",
    "leaf",
    "entry ids",
    "entry types",
    "labels",
    "branch",
    "branch at",
    "tree",
    "context",
    "model",
    "thinking level",
    "list: id",
    "list: cwd",
    "list: name",
    "list: parent",
    "list: created",
    "list: modified",
    "list: bytes",
    "list: messages",
    "list: first message",
    "list: problem",
    "list: tokens",
    "list: cost",
    "order of the list",
    "row ids",
    "row lines",
    "lost in decoding",
)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[SessionSet]:
    return unpack(GOLDEN / "omp.tar.xz", tmp_path_factory.mktemp("golden-omp"))


@pytest.fixture(scope="module")
def judgement(sessions: list[SessionSet]) -> Judgement:
    return judge_sets(sessions)


def test_the_archive_holds_odd_files_and_a_hundred_that_omp_wrote(sessions: list[SessionSet]) -> None:
    odd = {each.name: len(each.answers) for each in sessions}.pop("edge")
    written = sum(len(each.answers) for each in sessions) - odd
    assert odd >= 140
    assert written >= 100
    assert {each.version for each in sessions} == {OMP.tested_versions[0]}


@pytest.mark.slow
@pytest.mark.parametrize("aspect", ASPECTS)
def test_we_answer_as_omp_does(judgement: Judgement, aspect: str) -> None:
    differing = [f for f in judgement.unexplained if f.aspect == aspect]
    assert [(f.file, f.detail, f.theirs, f.ours) for f in differing] == []
    assert judgement.compared[aspect] > 0


def test_nothing_else_differs_and_no_reason_is_stale(judgement: Judgement) -> None:
    assert [(f.file, f.aspect, f.detail, f.theirs, f.ours) for f in judgement.unexplained] == []
    assert judgement.unused == []


def test_reading_changed_no_file(sessions: list[SessionSet], judgement: Judgement) -> None:
    for each in sessions:
        assert all(each.path(answer).stat().st_mtime_ns == answer["mtime_ns"] for answer in each.answers)
