"""Our answers equal those of the real pi 1.6.0 (and 0.87.1) for the recorded sessions in tests/golden/pi.tar.xz.

`make interop` asks the real programs afresh; `python -m tests.interop --record` makes the archive anew.
"""

from __future__ import annotations

import pytest

from sessionbrowse.agents import PI
from tests.interop.__main__ import GOLDEN, judge_sets
from tests.interop.differences import Judgement
from tests.interop.recording import SessionSet, unpack

pytestmark = pytest.mark.slow

ASPECTS = (
    "listed",
    "opens",
    "header",
    "id",
    "cwd",
    "name",
    "leaf",
    "entry ids",
    "entry types",
    "labels",
    "label times",
    "branch",
    "branch at",
    "tree",
    "context",
    "context digests",
    "model",
    "thinking level",
    "list: id",
    "list: cwd",
    "list: name",
    "list: parent",
    "list: created",
    "list: modified",
    "list: messages",
    "list: first message",
    "list: problem",
    "order of the list",
    "row ids",
    "row depth",
    "row connectors",
    "row gutters",
    "row foldable",
    "row active",
    "row texts",
    "lost in decoding",
    "older version",
    "oracle agrees with itself",
)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> list[SessionSet]:
    return unpack(GOLDEN / "pi.tar.xz", tmp_path_factory.mktemp("golden-pi"))


@pytest.fixture(scope="module")
def judgement(sessions: list[SessionSet]) -> Judgement:
    return judge_sets(sessions)


def test_the_archive_holds_all_odd_files_and_a_hundred_that_pi_wrote(sessions: list[SessionSet]) -> None:
    odd = {each.name: len(each.answers) for each in sessions}.pop("edge")
    written = sum(len(each.answers) for each in sessions) - odd
    assert odd >= 91
    assert written >= 100
    assert {each.version for each in sessions} == {PI.tested_versions[0]}


@pytest.mark.slow
@pytest.mark.parametrize("aspect", ASPECTS)
def test_we_answer_as_pi_does(judgement: Judgement, aspect: str) -> None:
    differing = [f for f in judgement.unexplained if f.aspect == aspect]
    assert [(f.file, f.detail, f.theirs, f.ours) for f in differing] == []
    assert judgement.compared[aspect] > 0


def test_nothing_else_differs_and_no_reason_is_stale(judgement: Judgement) -> None:
    assert [(f.file, f.aspect, f.detail, f.theirs, f.ours) for f in judgement.unexplained] == []
    assert judgement.unused == []


def test_reading_changed_no_file(sessions: list[SessionSet], judgement: Judgement) -> None:
    for each in sessions:
        assert all(each.path(answer).stat().st_mtime_ns == answer["mtime_ns"] for answer in each.answers)
