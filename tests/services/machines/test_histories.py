"""Random histories of another machine's files, with looks between the changes, some of which break off."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sessionbrowse.agents import Place
from sessionbrowse.services.machines import look as look_module
from sessionbrowse.store.own.mirrors import MirrorState, write_state
from tests.services.machines.conftest import MakeMachine
from tests.services.machines.other_machine import OtherMachine

SESSIONS = ".pi/agent/sessions"
NAMES = ("--a--/s.jsonl", "--a--/t.jsonl", "--b--/s.jsonl", "--b--/s/agent.jsonl", "--b c'--/ü.jsonl")
NEVER = float("-inf")
"""Seconds with which no file counts as just changed, so that nothing hides a bad comparison of rows."""


class History:
    """Files over there that change at random, and all contents that each of them had."""

    def __init__(self, machine: OtherMachine, rng: random.Random) -> None:
        self.machine, self.rng = machine, rng
        self.top = machine.home / SESSIONS
        self.had: dict[str, list[bytes]] = {}
        self.top.mkdir(parents=True)
        place = Place("pi", str(self.top), "projects", "default")
        now = time.time_ns() // 1_000_000
        state = MirrorState(name="mini", host="mini.local", home=str(machine.home), places=(place,), asked=now)
        write_state(state, machine.top)
        for _ in range(3):
            self.append()
        self.remember()

    def line(self) -> bytes:
        return b'{"id":"%d","text":"%s"}\n' % (self.rng.randrange(10**6), b"x" * self.rng.choice((1, 50, 3000, 9000)))

    def change(self) -> None:
        self.rng.choice(
            (
                self.append,
                self.append,
                self.tear,
                self.shrink,
                self.slot,
                self.replace,
                self.delete,
                self.move_directory,
                self.jump,
                self.same_size,
                self.middle,
            )
        )()
        self.remember()

    def remember(self) -> None:
        for name, content in self.machine.files().items():
            self.had.setdefault(name, []).append(content)

    def path(self) -> Path:
        path = self.top / self.rng.choice(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def some(self) -> tuple[Path, bytes]:
        path = self.path()
        return path, path.read_bytes() if path.exists() else b""

    def append(self) -> None:
        path = self.path()
        with path.open("ab") as file:
            file.write(b"".join(self.line() for _ in range(self.rng.randrange(5))))

    def tear(self) -> None:
        path = self.path()
        with path.open("ab") as file:
            file.write(self.line()[: self.rng.randrange(1, 20)])

    def shrink(self) -> None:
        path, content = self.some()
        path.write_bytes(content[: self.rng.randrange(len(content) + 1)])

    def slot(self) -> None:
        path = self.path()
        with path.open("r+b" if path.exists() else "wb") as file:
            file.write((b'{"title":"%d"' % self.rng.randrange(10**6)).ljust(255) + b"\n")
            if self.rng.random() < 0.5:
                file.seek(0, os.SEEK_END)
                file.write(self.line())

    def replace(self) -> None:
        path, content = self.some()
        other = path.with_name("other")
        other.write_bytes(content + self.line() if self.rng.random() < 0.5 else self.line() * 3)
        other.replace(path)

    def delete(self) -> None:
        self.path().unlink(missing_ok=True)

    def move_directory(self) -> None:
        folders = [each for each in self.top.iterdir() if each.is_dir()]
        if folders and self.rng.random() < 0.3:
            shutil.rmtree(self.rng.choice(folders))
        elif folders:
            goal = self.top / f"--{self.rng.randrange(4)}--"
            if not goal.exists():
                self.rng.choice(folders).rename(goal)

    def jump(self) -> None:
        path = self.path()
        if path.exists():
            os.utime(path, (0, self.rng.randrange(-(10**9), 3 * 10**9)))

    def same_size(self) -> None:
        self._edit(0)

    def middle(self) -> None:
        self._edit(100)

    def _edit(self, margin: int) -> None:
        path, content = self.some()
        if len(content) > 2 * margin:
            at = self.rng.randrange(margin, len(content) - margin)
            with path.open("r+b") as file:
                status = path.stat()
                file.seek(at)
                file.write(bytes([content[at] ^ 1]) if content[at] != 10 and content[at] ^ 1 != 10 else b"y")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def check_beginnings(self) -> None:
        for name, content in self.machine.mirrored().items():
            assert any(
                had.startswith(content) and (not content or content.endswith(b"\n") or self.was_whole(name, content))
                for had in self.had[name]
            ), f"{name} is no beginning of what it was: {content!r}"

    def was_whole(self, name: str, content: bytes) -> bool:
        return content in self.had[name]


def live(machine: OtherMachine, seed: int, recent_s: float, patch: Callable[[Callable[[], None]], None]) -> None:
    history = History(machine, random.Random(seed))
    rng = history.rng

    def meanwhile() -> None:
        if rng.random() < 0.3:
            history.change()

    patch(meanwhile)
    for _ in range(rng.randrange(2, 6)):
        for _ in range(rng.randrange(1, 4)):
            history.change()
        machine.cut(int(10 ** rng.uniform(1.7, rng.choice((2.7, 3.8)))) if rng.random() < 0.6 else None)
        machine.look(recent_s=recent_s)
        history.check_beginnings()
    machine.cut(None)
    patch(lambda: None)
    result = machine.look(recent_s=recent_s)
    assert (result.error, result.left_out) == (None, {})
    assert machine.mirrored() == machine.files(), f"seed {seed}"
    assert machine.all_ended()


CASES = (("gnu", look_module.RECENT_S), ("gnu", NEVER), ("busybox", look_module.RECENT_S), ("bsd", NEVER))


def live_many(
    seeds: range, make: MakeMachine, form: str, recent_s: float, patch: Callable[[Callable[[], None]], None]
) -> None:
    machine = make(form)
    for seed in seeds:
        live(machine, seed, recent_s, patch)
        shutil.rmtree(machine.home)
        shutil.rmtree(machine.top)
        machine.home.mkdir()


@pytest.mark.slow
@pytest.mark.parametrize(("form", "recent_s"), CASES)
def test_a_whole_look_leaves_equal_files_and_a_broken_one_beginnings(
    form: str, recent_s: float, make_machine: MakeMachine, at_sending: Callable[[Callable[[], None]], None]
) -> None:
    live_many(range(4), make_machine, form, recent_s, at_sending)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(100, 175), marks=pytest.mark.slow, id="300 in all"),
        pytest.param(range(1000, 2250), marks=pytest.mark.stress, id="5,000 in all"),
    ],
)
@pytest.mark.parametrize(("form", "recent_s"), CASES)
def test_many_histories(
    seeds: range,
    form: str,
    recent_s: float,
    make_machine: MakeMachine,
    at_sending: Callable[[Callable[[], None]], None],
) -> None:
    live_many(seeds, make_machine, form, recent_s, at_sending)
