"""Every verb on whole files under every fault at every call that changes the disk: all of it is done, or nothing."""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from sessionbrowse.errors import LostForGood, SessionBrowseError
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.services.undo import undo, undoable
from sessionbrowse.store.write import moves
from tests.faults.fault_injection import (
    Action,
    after,
    failing_disk,
    fails_with,
    in_child,
    killed_before,
    replaced,
)
from tests.faults.fault_table import AGAIN, FAULTS, some_calls, survived
from tests.faults.fault_worlds import FILE_VERBS, THEIRS, Looks, World, kept
from tests.support.file_helpers import own_system_trash

pytestmark = pytest.mark.slow

# Every verb has one row of which every run takes some calls; `make stress` runs the whole table.
KILLED_IN_EVERY_RUN = frozenset(
    {
        "fork pi",
        "delete omp",
        "restore omp",
        "archive pi",
        "relocate",
        "manager begins pi",
        "prune pi",
        "delete pi and companions",
        "archive pi and companions",
        "relocate pi and companions",
    }
)
LEFTOVER = re.compile(r"/\.[^/]+\.(?:tmp|lock)$")
MOST_CALLS_OF_A_RECOVERY = 40
"""The second fault is at one of the first calls of the recovery that change the disk; some recoveries have fewer."""
APPENDS = frozenset({"manager appends pi", "manager appends omp", "manager names omp"})


class Case:
    """One verb and one fault; what the store looks like before and after the verb without a fault."""

    def __init__(self, folder: Path, verb: str, fault: str, data_home: Path) -> None:
        self.folder, self.name, self.fault, self.data_home = folder, verb, fault, data_home
        self.verb = FILE_VERBS[verb]
        world = self.world()
        self.before, self.trash_before, self.folders_before = world.looks(), world.trashed(), world.folders()
        self.changes_before = len(world.store.context.journal.changes())
        with failing_disk() as disk:
            world.act()
        self.calls = disk.calls
        self.after = world.looks()

    def world(self) -> World:
        """Make the verb's store anew, in the same place: paths are part of what files hold."""
        return World(self.folder / "world", self.verb, self.data_home)

    def meets(self, world: World, at: int) -> None:
        """Run the verb with the fault at a call."""
        action: Action | None = FAULTS[self.fault]
        if self.fault.startswith("killed"):
            assert action is not None

            def run(action: Action = action) -> None:
                with failing_disk(at, action):
                    world.act()

            assert in_child(run) == signal.SIGKILL
            return
        happens = action or after(world.vanish if self.fault == "vanished" else world.replace)
        with failing_disk(at, happens), suppress(SessionBrowseError):
            world.act()


def rows() -> Iterator[ParameterSet]:
    for verb in FILE_VERBS:
        quick = "killed before" if verb in KILLED_IN_EVERY_RUN else "no space"
        yield pytest.param(verb, quick, 3)
        for fault in FAULTS:
            yield pytest.param(verb, fault, 1, marks=pytest.mark.stress)


@pytest.mark.parametrize(("verb", "fault", "step"), list(rows()))
def test_a_verb_on_files_is_done_or_not_whatever_call_fails(
    tmp_path: Path, own_home: Path, verb: str, fault: str, step: int, record_property: object
) -> None:
    own_system_trash()
    case = Case(tmp_path, verb, fault, own_home / ".local" / "share")
    assert case.before != case.after
    broken = some_calls(len(case.calls), step, verb)
    for at in broken:
        world = case.world()
        case.meets(world, at)
        with failing_disk():
            with changing(world.store.context):
                pass  # what a kill left is settled
            where = (verb, fault, at, case.calls[at - 1])
            if fault in ("vanished", "replaced"):
                check_nothing_else_is_lost(case, world, where)
            else:
                check_all_or_nothing(case, world, where)
    survived(record_property, verb, fault, len(broken))


SECOND_FAULTS: dict[str, tuple[Action, bool]] = {
    "I/O error": (fails_with(errno.EIO), False),
    "I/O error from there on": (fails_with(errno.EIO), True),
    "no space from there on": (fails_with(errno.ENOSPC), True),
    "killed before": (killed_before, False),
}
"""The faults that the recovery meets after a first fault, and whether all its later calls fail too."""
FIRST_FAULTS = {name: fault for name, fault in SECOND_FAULTS.items() if name != "I/O error"}


@pytest.mark.parametrize("count", [3, pytest.param(120, marks=pytest.mark.stress)])
@pytest.mark.parametrize("verb", [verb for verb in FILE_VERBS if FILE_VERBS[verb].is_noted])
def test_a_verb_on_files_is_done_or_not_if_its_recovery_fails_too(
    tmp_path: Path, own_home: Path, verb: str, count: int, record_property: object
) -> None:
    own_system_trash()
    case = Case(tmp_path, verb, "no space", own_home / ".local" / "share")
    chooser = Random(f"{verb} {count}")
    for _ in range(count):
        world = case.world()
        first, at = chooser.choice(list(FIRST_FAULTS)), chooser.randint(1, len(case.calls))
        meets(world.act, at, *FIRST_FAULTS[first])
        seconds = []
        for _ in range(chooser.randint(1, 2)):
            second, later = chooser.choice(list(SECOND_FAULTS)), chooser.randint(1, MOST_CALLS_OF_A_RECOVERY)
            seconds.append((second, later))
            meets(partial(recover, world), later, *SECOND_FAULTS[second])
        with failing_disk():
            recover(world)
            check_all_or_nothing(case, world, (verb, first, at, case.calls[at - 1], *seconds))
    survived(record_property, verb, AGAIN, count)


def meets(act: Callable[[], object], at: int, action: Action, lasting: bool) -> None:
    """Do something in which a call meets a fault; in a child, which a fault may kill."""

    def run() -> None:
        with failing_disk(at, action, lasting=lasting), suppress(SessionBrowseError):
            act()

    assert in_child(run) in (0, signal.SIGKILL)


def recover(world: World) -> None:
    """Let the next change recover what was cut off."""
    with changing(world.store.context):
        pass


def check_all_or_nothing(case: Case, world: World, where: tuple[Any, ...]) -> None:
    now = world.looks()
    if not case.verb.is_noted:
        # What a kill leaves of a session manager, which has no journal: a lock that others take for dead, or a hidden
        # file by a name that omp knows as a leftover and no program lists.
        now = {path: look for path, look in now.items() if not LEFTOVER.search(path)}
    if case.name == "prune omp":
        # omp takes the lock of a dead process for gone.
        now = {path: look for path, look in now.items() if not path.endswith("/.a.jsonl.lock")}
    if case.name == "delete omp for good" and now != case.after:
        # What is removed for good goes piece by piece, the session last: while it is there, it is whole.
        now = {path: look for path, look in now.items() if path.endswith("/a.jsonl")}
        assert list(now.values()) == [look for path, look in case.before.items() if path.endswith("/a.jsonl")], where
        return
    if case.name in APPENDS:
        check_appended(case, world, now, where)
        return
    assert now in (case.before, case.after), (where, difference(now, case.before), difference(now, case.after))
    is_done = now == case.after
    if case.verb.is_noted:
        changes = list(world.store.context.journal.changes().values())
        assert not [change for change in changes if change.state == "pending"], where
        own = changes[case.changes_before :]
        assert is_done == any(change.state == "done" for change in own), (where, own)
    if not is_done:
        assert world.trashed() == case.trash_before, (where, difference(world.trashed(), case.trash_before))
        if case.verb.is_noted:
            assert world.folders() == case.folders_before, where
        # Each new session has another id, and what a kill left of a session manager stays beside.
        has_new_id = "fork" in case.name or "new session" in case.name
        retry(world, case.after if case.verb.is_noted and not has_new_id else None, where)
    elif case.verb.can_be_undone:
        undo(context=world.store.context)
        assert world.looks() == case.before, where
        assert world.folders() == case.folders_before, where
    check_every_listed_change(world, where)


def check_every_listed_change(world: World, where: tuple[Any, ...]) -> None:
    """Each id that `undo --list` prints can be undone, newest first, or is truly lost; it is not printed again."""
    context = world.store.context
    for row in undoable(context):
        # A session that was to be deleted for good is listed, and the undo says that it is gone.
        with suppress(*[LostForGood] * ("for good" in where[0])):
            undo(row.undo_id, context=context)
        assert row.undo_id not in {left.undo_id for left in undoable(context)}, (where, row)
    assert undoable(context) == [], where


def retry(world: World, expected: Looks | None, where: tuple[Any, ...]) -> None:
    """What was not done can be done again."""
    world.act()
    if expected is not None:
        assert world.looks() == expected, where


def check_appended(case: Case, world: World, now: Looks, where: tuple[Any, ...]) -> None:
    """Nothing that was there changed but a title slot; the rest is our lines, or the beginning of one."""
    (name,) = [path for path in case.before if case.before[path][0] == b"" or path.endswith("a.jsonl")]
    assert now.keys() == case.before.keys(), where
    assert {path: now[path] for path in now if path != name} == {
        path: case.before[path] for path in now if path != name
    }, where
    slot = 256 if "omp" in case.name else 0
    old, new, content = case.before[name][0], case.after[name][0], now[name][0]
    assert content[:slot] in (old[:slot], new[:slot]), where
    assert content[slot : len(old)] == old[slot:], where
    added = content[len(old) :]
    assert new[len(old) :].startswith(added.removesuffix(b"\n")) or added.startswith(new[len(old) :]), (where, added)
    assert world.manager is not None
    world.manager.append_custom_entry("next")
    lines = world.path.read_bytes().split(b"\n")
    assert lines[-1] == b"", where
    assert b'"customType":"next"' in lines[-2], where


def check_nothing_else_is_lost(case: Case, world: World, where: tuple[Any, ...]) -> None:
    """Whatever another program did to the session: what it wrote, and every other file, is somewhere."""
    found = kept(world.looks()) | kept(world.trashed())
    session = str(world.path.relative_to(world.store.home))
    wanted = kept({path: look for path, look in case.before.items() if path != session})
    if case.name == "delete omp for good":
        wanted = set()
    assert wanted <= found, (where, wanted - found)
    if case.fault == "replaced" and case.name != "delete omp for good":
        assert kept({"": (THEIRS, 0)}) <= {content[: len(THEIRS)] for content in found} | found, where
    pending = [one for one in world.store.context.journal.changes().values() if one.state == "pending"]
    assert pending == [], where


def difference(now: Looks, expected: Looks) -> dict[str, str]:
    """Say which files differ, for the message of a failed test."""

    def how(path: str) -> str:
        return "more" if path not in expected else "missing" if path not in now else "other"

    return {path: how(path) for path in now.keys() | expected.keys() if now.get(path) != expected.get(path)}


@pytest.mark.parametrize("verb", ["archive pi", "delete omp, own trash", "relocate"])
@pytest.mark.parametrize("fault", ["no space", pytest.param("killed before", marks=pytest.mark.stress), "vanished"])
def test_a_disk_that_cannot_rename_to_a_free_name_in_one_step_loses_nothing_either(
    tmp_path: Path, own_home: Path, verb: str, fault: str
) -> None:
    own_system_trash()
    with replaced(moves, "rename_to_free", lambda source, target: False):
        case = Case(tmp_path, verb, fault, own_home / ".local" / "share")
        assert "link" in case.calls
        for at in range(1, len(case.calls) + 1):
            world = case.world()
            case.meets(world, at)
            with failing_disk():
                with changing(world.store.context):
                    pass
                where = (verb, fault, at, case.calls[at - 1])
                (check_nothing_else_is_lost if fault == "vanished" else check_all_or_nothing)(case, world, where)
