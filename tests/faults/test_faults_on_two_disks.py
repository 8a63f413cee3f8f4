"""Every fault at every call of the verbs that reach a trash on another disk: all of it is done, or nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from sessionbrowse.services.transaction.change import changing
from tests.faults.fault_injection import failing_disk
from tests.faults.fault_table import FAULTS, some_calls, survived
from tests.faults.test_faults_of_files import Case, check_all_or_nothing, check_nothing_else_is_lost
from tests.support.file_helpers import own_system_trash

pytestmark = pytest.mark.slow

VERBS = (
    *("delete pi", "delete omp", "delete omp, own trash", "restore omp"),
    *("undo delete", "undo fork", "unpack omp", "undo unpack"),
)


def rows() -> Iterator[ParameterSet]:
    for verb in VERBS:
        yield pytest.param(verb, "killed after", 4)
        for fault in FAULTS:
            yield pytest.param(verb, fault, 1, marks=pytest.mark.stress)


@pytest.mark.parametrize(("verb", "fault", "step"), list(rows()))
def test_a_verb_that_reaches_another_disk_is_done_or_not_whatever_call_fails(
    tmp_path: Path,
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    fault: str,
    step: int,
    record_property: object,
) -> None:
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("there is no second disk")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        data_home = Path(other) / "data"
        monkeypatch.setenv("XDG_DATA_HOME", str(data_home))
        own_system_trash()
        case = Case(tmp_path, verb, fault, data_home)
        broken = some_calls(len(case.calls), step, verb)
        for at in broken:
            world = case.world()
            case.meets(world, at)
            with failing_disk():
                with changing(world.store.context):
                    pass
                where = (verb, fault, at, case.calls[at - 1])
                (check_nothing_else_is_lost if fault in ("vanished", "replaced") else check_all_or_nothing)(
                    case, world, where
                )
        survived(record_property, f"{verb}, two disks", fault, len(broken))
