"""Looks at other machines from the lists: by the key, stopped by it, at the start; copies told in the preview."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.config import MachineSettings, Settings
from tests.services.machines.conftest import MakeMachine
from tests.services.machines.conftest import make_machine as make_machine
from tests.services.machines.other_machine import OtherMachine, write_program
from tests.support.mirrors import STORE, mirror, mirrored
from tests.support.session_files import answer, header, user, written
from tests.support.tui_support import Driven, browsing

FOLDER = "--home-dev-webshop--"
SESSION = header(id="s-1") + user("a", None, "about jwt") + answer("b", "a")


@pytest.fixture
def machine(make_machine: MakeMachine) -> OtherMachine:
    made = make_machine()
    made.write(f".pi/agent/sessions/{FOLDER}/1_s-1.jsonl", SESSION)
    return made


def options(own_home: Path, look: Any = "asked", **more: Any) -> dict[str, Any]:
    own = own_home / ".pi/agent/sessions" / FOLDER
    own.mkdir(parents=True, exist_ok=True)
    written(own, header(id="h-1"), user("a", None, "a session here"), answer("b", "a"), name="1_h-1.jsonl")
    machines = (MachineSettings(name="mini", host="mini.local", look=look),)
    return {
        "home": str(own_home),
        "environ": dict(os.environ),
        "settings": Settings(machines=machines, scope="all"),
        **more,
    }


def titles(browser: Driven) -> set[str]:
    return {title for title in ("about jwt", "a session here") if title in "\n".join(browser.rows("#sessions"))}


async def test_a_look_by_the_key_lists_the_sessions_of_the_machine(machine: OtherMachine, own_home: Path) -> None:
    async with browsing(**options(own_home)) as browser:
        assert titles(browser) == {"a session here"}
        await browser.run("look")
        assert browser.toasts()[-1] == "mini: 1 session file, 1 new."
        assert titles(browser) == {"a session here", "about jwt"}
        assert "@mini" in "\n".join(browser.rows("#sessions"))


async def test_the_key_stops_a_running_look_and_the_next_goes_on(
    machine: OtherMachine, own_home: Path, tmp_path: Path
) -> None:
    real = machine.ssh.read_text()
    write_program(machine.ssh, '#!/bin/sh\necho $$ >>"${0%/*}/pids"\nexec sleep 100\n')
    async with browsing(**options(own_home)) as browser:
        await browser.press_now("ctrl+l")
        await browser.until(lambda: (machine.ssh.parent / "pids").exists())
        assert "Looking at mini" in browser.toasts()[-1]
        await browser.press("ctrl+l")
        assert browser.toasts()[-1] == "The look was stopped; the next look goes on."
        (pid,) = (machine.ssh.parent / "pids").read_text().split()
        await browser.until(lambda: not Path(f"/proc/{pid}/cmdline").exists() or not _is_alive(int(pid)))
        write_program(machine.ssh, real)
        await browser.press("ctrl+l")
        assert titles(browser) == {"a session here", "about jwt"}


async def test_a_machine_set_to_start_is_looked_at_when_the_browser_starts_and_no_other(
    machine: OtherMachine, own_home: Path
) -> None:
    async with browsing(**options(own_home)):
        pass
    assert not (machine.ssh.parent / "calls").exists()
    async with browsing(**options(own_home, roots=[str(own_home / ".pi/agent/sessions")], look="start")) as browser:
        assert titles(browser) == {"a session here"}
    assert not (machine.ssh.parent / "calls").exists()
    async with browsing(**options(own_home, look="start")) as browser:
        assert titles(browser) == {"a session here", "about jwt"}
    assert len(machine.calls) == 1


async def test_the_preview_tells_since_when_the_copies_on_two_machines_differ(own_home: Path) -> None:
    given = options(own_home)
    here = own_home / ".pi/agent/sessions" / FOLDER / "1_h-1.jsonl"
    mirror("mini")
    mirrored("mini", f"{STORE}/{FOLDER}/1_h-1.jsonl", here.read_bytes())
    async with browsing(**given) as browser:
        assert "2 copies, the same" in browser.screen_text()
    more = user("c", "b", "only there", second=7)
    mirrored("mini", f"{STORE}/{FOLDER}/1_h-1.jsonl", here.read_bytes(), more)
    async with browsing(**given) as browser:
        assert "2 copies, apart since 2026-08-13" in browser.screen_text()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
