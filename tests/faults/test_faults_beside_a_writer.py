"""Verbs that move whole files beside a live writer, with a fault at each call that changes the disk.

No line is lost or displaced (a line of a session is in a file with its header that is listed, or in the trash), and at
no moment is a session unlisted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest

from sessionbrowse.errors import SessionBrowseError
from tests.faults.fault_injection import failing_disk
from tests.faults.fault_table import BROKEN, beside_a_writer
from tests.faults.fault_worlds import Verb, World
from tests.faults.live_runs import ACTIONS, NO_FAULT, LiveRun, Run
from tests.faults.live_worlds import LIVE_VERBS, SEAMS, TRASH, LiveWorld, failing
from tests.support.disks import mounted
from tests.support.file_helpers import own_system_trash

pytestmark = pytest.mark.slow

DISKS = ("one disk", "two disks")
MOST_SHOWN = 12
SHARED_MEMORY = Path("/dev/shm")


@pytest.mark.parametrize("disks", DISKS)
@pytest.mark.parametrize("verb", LIVE_VERBS)
def test_a_verb_beside_a_writer_loses_nothing_in_a_few_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, disks: str, record_property: object
) -> None:
    with data_home_of(verb, disks, tmp_path, monkeypatch) as data_home:
        check(some_runs(verb, disks, tmp_path, data_home), tmp_path, data_home, record_property)


@pytest.mark.stress
@pytest.mark.parametrize("disks", DISKS)
@pytest.mark.parametrize("verb", LIVE_VERBS)
def test_a_verb_beside_a_writer_loses_nothing_whatever_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, disks: str, record_property: object
) -> None:
    with in_memory(tmp_path) as folder, data_home_of(verb, disks, folder, monkeypatch) as data_home:
        check(all_runs(verb, disks, folder, data_home), folder, data_home, record_property)


def test_a_move_that_forgets_late_lines_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(world: World, *, removes: bool) -> None:
        hidden, target = world.path.with_name(".a.jsonl.old"), world.path.parent / "archive" / "a.jsonl"
        target.parent.mkdir(exist_ok=True)
        world.path.rename(hidden)
        with open(target, "wb") as file:
            file.write(hidden.read_bytes())
        if removes:
            hidden.unlink()

    kinds: set[str] = set()
    with data_home_of("archive pi", "one disk", tmp_path, monkeypatch) as data_home:
        for number in range(200):
            act = partial(careless, removes=number % 2 == 0)
            verb = Verb(prepare=lambda world: world.session(), act=act, can_be_undone=False)
            run = Run(verb=f"careless {number}", disks="one disk", seam="nothing else", action=NO_FAULT, at=1)
            found = LiveRun(run, verb, tmp_path, data_home, begins=2).made()
            kinds |= {sentence.split(":")[0] for sentence in found.sentences}
            if kinds == set(BROKEN):
                break
    assert kinds == set(BROKEN)


def check(runs: Sequence[Run], folder: Path, data_home: Path, record_property: object) -> None:
    """Carry all runs out, note what they found, and fail with the first ones that found something."""
    broken: list[str] = []
    counts = [0] * len(BROKEN)
    for run in runs:
        found = LiveRun(run, LIVE_VERBS[run.verb].verb, folder, data_home).made()
        counts = [sum(pair) for pair in zip(counts, found.counts, strict=True)]
        broken += [f"{run}: {sentence}" for sentence in found.sentences]
    beside_a_writer(record_property, runs[0].verb, len(runs), counts)
    assert not broken, "\n".join([f"{len(broken)} sentences, the first of them:", *broken[:MOST_SHOWN]])


def all_runs(verb: str, disks: str, folder: Path, data_home: Path) -> list[Run]:
    """Return a run for every fault at every call; what fails all the time beside it takes turns."""
    calls = {seam: calls_of(verb, seam, folder, data_home) for seam in SEAMS}
    runs = [Run(verb=verb, disks=disks, seam=seam, action=NO_FAULT, at=at) for seam, at in calls.items()]
    for at in range(1, max(calls.values()) + 1):
        for turn, action in enumerate(ACTIONS):
            seam = list(SEAMS)[(at + turn) % len(SEAMS)]
            if at <= calls[seam]:
                runs.append(Run(verb=verb, disks=disks, seam=seam, action=action, at=at))
    return runs


def some_runs(verb: str, disks: str, folder: Path, data_home: Path) -> list[Run]:
    """Return a few runs of different kinds; another few for each verb."""
    calls = calls_of(verb, "nothing else", folder, data_home)
    chooser = Random(f"{verb} on {disks}")
    return [
        Run(verb=verb, disks=disks, seam=seam, action=action, at=chooser.randint(1, calls))
        for seam, action in zip(chooser.sample(list(SEAMS), 2), chooser.sample(list(ACTIONS), 2), strict=True)
    ]


def calls_of(verb: str, seam: str, folder: Path, data_home: Path) -> int:
    """Return the number of calls that change the disk in a run without a fault or a writer."""
    world = LiveWorld(folder / "world", LIVE_VERBS[verb].verb, data_home, seam)
    with failing(seam), failing_disk() as disk, suppress(SessionBrowseError):
        world.act()
    return len(disk.calls)


@contextmanager
def data_home_of(verb: str, disks: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Prepare the disks, and return the user's data directory, in which the trash is; skip without a second disk."""
    second = LIVE_VERBS[verb].second_disk
    with ExitStack() as until:
        data_home = folder / "data"
        if disks == "two disks" and second == TRASH:
            data_home = until.enter_context(other_disk(folder)) / "data"
        elif disks == "two disks":
            place = folder / "world" / "home" / second
            place.parent.mkdir(parents=True)
            until.enter_context(mounted(place))
        # The system's trash is on the disk of the home that the environment names.
        for name, path in {"HOME": folder, "XDG_DATA_HOME": data_home}.items():
            monkeypatch.setenv(name, str(path))
        own_system_trash()
        yield data_home


@contextmanager
def in_memory(folder: Path) -> Iterator[Path]:
    """Return a new folder in memory, which is faster; where there is none, the given one."""
    if not SHARED_MEMORY.is_dir():
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="sessionbrowse-", dir=SHARED_MEMORY, ignore_cleanup_errors=True) as made:
        yield Path(made)


@contextmanager
def other_disk(folder: Path) -> Iterator[Path]:
    """Return a new folder on another disk than a given one; skip where there is none."""
    for other in (SHARED_MEMORY, Path(tempfile.gettempdir())):
        if other.is_dir() and other.stat().st_dev != folder.stat().st_dev:
            with tempfile.TemporaryDirectory(prefix="sessionbrowse-", dir=other, ignore_cleanup_errors=True) as made:
                yield Path(made)
            return
    pytest.skip("there is no second disk: no /dev/shm")
