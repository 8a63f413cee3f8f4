"""Every verb under every fault at every call that changes the disk: nothing is lost, and the journal is right."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.format.title_slot import SLOT_BYTES, parse_slot
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read.session_file import open_session
from tests.faults.fault_injection import Action, after, failing_disk, in_child
from tests.faults.fault_table import FAULTS, some_calls, survived
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, Store, line, target, user

pytestmark = pytest.mark.slow

Verb = Callable[[Store, Path], object]

VERBS: dict[str, tuple[str, str | None, Verb]] = {
    "rename pi": ("pi", None, lambda store, path: rename(target(path), "ours", context=store.context)),
    "rename atomic": ("atomic", None, lambda store, path: rename(target(path), "ours", context=store.context)),
    "label pi": ("pi", None, lambda store, path: label(target(path), "00000003", "ours", context=store.context)),
    "checkout pi": ("pi", None, lambda store, path: checkout(target(path), "00000006", context=store.context)),
    "rename omp": ("omp", "old", lambda store, path: rename(target(path), "ours", context=store.context)),
    "rename omp without slot": ("omp", None, lambda store, path: rename(target(path), "ours", context=store.context)),
    "label omp": ("omp", "old", lambda store, path: label(target(path), "00000003", "ours", context=store.context)),
    "undo rename pi": ("pi", None, lambda store, path: undo(context=store.context)),
    "undo rename omp": ("omp", "old", lambda store, path: undo(context=store.context)),
}

# Near to others of the table: a kill after a call is one before the next.
SLOW = frozenset({"read-only", "I/O error", "1 byte", "killed after"})


class World:
    """One store with one session, in which one verb meets one fault."""

    def __init__(self, folder: Path, verb: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.store = Store(folder)
        agent, slot, self.run = VERBS[verb]
        self.path = self.store.session(agent, slot=slot)
        if verb.startswith("undo"):
            rename(target(self.path), "named", context=self.store.context)
            os.utime(self.path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        self.before = self.path.read_bytes()

    def act(self) -> None:
        self.run(self.store, self.path)

    def vanish(self) -> None:
        os.unlink(self.path)

    def replace(self) -> None:
        other = self.path.parent / "other"
        other.write_bytes(OTHER)
        os.rename(other, self.path)


def test_a_kill_in_the_moment_in_which_somebody_was_faster_is_mended_by_the_next_change(tmp_path: Path) -> None:
    world = World(tmp_path / "world", "rename pi")
    theirs = line(user("0000000f", "00000008", "typed in that very moment"))

    def overtaken_and_killed(_: str, real: Callable[..., Any], arguments: tuple[Any, ...], __: dict[str, Any]) -> Any:
        with world.path.open("ab") as file:
            file.write(theirs)
        real(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    counted = World(tmp_path / "counted", "rename pi")
    with failing_disk() as disk:
        counted.act()
    at = [number for number, call in enumerate(disk.calls, 1) if call == "write"][1]

    def run() -> None:
        with failing_disk(at, overtaken_and_killed):
            world.act()

    assert in_child(run) == signal.SIGKILL
    session = open_session(world.path)
    assert [session.envelopes[index].id for index in session.active_branch()][-2] == "00000008", "theirs is off it"
    with changing(world.store.context):
        pass
    session = open_session(world.path)
    assert [session.envelopes[index].id for index in session.active_branch()][-2] == "0000000f"
    assert session.name == "ours"


OTHER = b"".join(
    [line({"type": "session", "version": 3, "id": "another", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/x"})]
    + [line(value) for value in CONVERSATION]
)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("fault", "step"),
    [
        *((name, 3) for name in FAULTS if name not in SLOW),
        *(pytest.param(name, 1, marks=pytest.mark.stress) for name in FAULTS),
    ],
)
def test_nothing_is_lost_and_the_journal_is_right_whatever_call_fails(
    tmp_path: Path, verb: str, fault: str, step: int, record_property: object
) -> None:
    world = World(tmp_path / "counted", verb)
    with failing_disk() as counted:
        world.act()
    clean = world.path.read_bytes()
    broken = some_calls(len(counted.calls), step, f"{verb} {fault}")
    for at in broken:
        world = World(tmp_path / "world", verb)
        action = FAULTS[fault] or after(world.vanish if fault == "vanished" else world.replace)
        if fault.startswith("killed"):

            def run(world: World = world, at: int = at, action: Action = action) -> None:
                with failing_disk(at, action):
                    world.act()

            assert in_child(run) == signal.SIGKILL
        else:
            with failing_disk(at, action), suppress(SessionBrowseError):
                world.act()
        with failing_disk():
            _check(world, fault, clean, (verb, fault, at, counted.calls[at - 1]))
    survived(record_property, verb, fault, len(broken))


def _check(world: World, fault: str, clean: bytes, case: tuple[Any, ...]) -> None:
    path, context = world.path, world.store.context
    if fault == "vanished" and not path.exists():
        return
    is_other = fault == "replaced" and b'"another"' in path.read_bytes()[: SLOT_BYTES * 2]
    before = OTHER if is_other else world.before
    with changing(context):
        pass  # what a kill left is settled
    content = path.read_bytes()
    if parse_slot(content) is not None:
        head, body = content[:SLOT_BYTES], content[SLOT_BYTES:]
        body_before = before[SLOT_BYTES:] if parse_slot(before) is not None else before
        assert head in (clean[:SLOT_BYTES], before[:SLOT_BYTES]) or is_other, case
        assert body.startswith(body_before), case
    else:
        assert content.startswith(before), case
    _check_lines(content, case)
    _check_journal(world, is_other, case)
    left = [name for name in os.listdir(path.parent) if name not in (path.name, "other")]
    assert all(name.endswith(".lock") for name in left), case
    # The next change finds everything in order.
    undone = label(target(path, open_session(path).agent), "00000002", "next", force=True, context=context)
    assert undone.label == "next", case
    assert open_session(path).labels[1].text == "next", case
    _check_lines(path.read_bytes(), case)


def _check_lines(content: bytes, case: tuple[Any, ...]) -> None:
    """Every line is a whole record, but for pieces of our own line that a failing disk left."""
    for raw in content.split(b"\n"):
        try:
            json.loads(raw or b"{}")
        except ValueError:
            assert raw.startswith(b'{"type":"'[: len(raw)]), case
            assert raw.count(b'"type":"session_info"') + raw.count(b'"type":"label"') + raw.count(b'"custom"') <= 1, (
                case
            )
            assert b'"message"' not in raw, case


def _check_journal(world: World, is_other: bool, case: tuple[Any, ...]) -> None:
    changes = list(world.store.context.journal.changes().values())
    if is_other or not changes:
        return
    last = changes[-1]
    session = open_session(world.path)
    assert last.state in ("done", "failed"), case
    made = {
        "rename": session.name == "ours",
        "label": bool(session.labels),
        "checkout": any(envelope.type == "custom" for envelope in session.envelopes),
        "undo": session.name != "named",
    }
    expected = made[last.verb] if last.verb != "rename" or not case[0].startswith("undo") else session.name == "named"
    assert (last.state == "done") == expected, (case, last)
