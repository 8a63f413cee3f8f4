from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from sessionbrowse.store.own.mirrors import read_state
from tests.services.machines.conftest import MakeMachine
from tests.services.machines.other_machine import FORMS, OtherMachine

SESSIONS = ".pi/agent/sessions/--a--"
HEADER = b'{"type":"session","id":"s","cwd":"/"}\n'
NEVER = float("-inf")
LINE = b'{"type":"message","id":"e"}\n'
SLOT = b'{"type":"title","title":"%s"}'


def slot(title: bytes) -> bytes:
    return (SLOT % title).ljust(255) + b"\n"


def long_ago(path: Path, seconds: int = 100) -> None:
    now = path.stat().st_mtime
    os.utime(path, (now - seconds, now - seconds))


@pytest.mark.parametrize("form", FORMS)
def test_a_look_brings_sessions_with_their_times_and_the_next_only_what_is_new(
    form: str, make_machine: MakeMachine
) -> None:
    machine = make_machine(form)
    there = machine.write(f"{SESSIONS}/s.jsonl", HEADER + LINE * 1000)
    machine.write(".codex/sessions/2026/01/02/rollout.jsonl.zst", b"packed\x00no end")
    machine.write(f"{SESSIONS}/s/agent.jsonl", HEADER)
    machine.write(".pi/agent/auth.json", b"secret")
    long_ago(there)
    result = machine.look()
    assert (result.error, result.new, result.files, result.left_out) == (None, 3, 3, {})
    whole = machine.files()
    del whole[".pi/agent/auth.json"]
    assert machine.mirrored() == whole
    here = machine.here(f"{SESSIONS}/s.jsonl")
    assert abs(here.stat().st_mtime - there.stat().st_mtime) < (1 if form == "busybox" else 0.001)
    assert here.stat().st_mode & 0o777 == 0o400
    inode = here.stat().st_ino
    with there.open("ab") as file:
        file.write(LINE + b'{"torn')
    result = machine.look()
    assert (result.new, result.grown, result.replaced) == (0, 1, 0)
    assert result.received < 3000
    assert here.read_bytes() == HEADER + LINE * 1001 + b'{"torn'
    assert here.stat().st_ino == inode


def test_a_rewritten_title_slot_costs_its_block_and_the_tail(machine: OtherMachine) -> None:
    start, body = slot(b"one") + HEADER, LINE * 10_000
    there = machine.write(f"{SESSIONS}/s.jsonl", start + body)
    machine.look()
    inode = machine.here(f"{SESSIONS}/s.jsonl").stat().st_ino
    there.write_bytes(slot(b"two") + HEADER + body + LINE)
    result = machine.look()
    assert (result.grown, result.replaced) == (1, 0)
    assert result.received < 4096 + 3000
    here = machine.here(f"{SESSIONS}/s.jsonl")
    assert (here.read_bytes(), here.stat().st_ino) == (there.read_bytes(), inode)


def test_a_change_in_the_middle_and_a_shorter_file_come_whole(machine: OtherMachine) -> None:
    there = machine.write(f"{SESSIONS}/s.jsonl", HEADER + LINE * 1000)
    machine.look()
    there.write_bytes(HEADER + LINE * 500 + LINE.replace(b"e", b"f", 1) + LINE * 499)
    assert machine.look().replaced == 1
    assert machine.mirrored() == machine.files()
    there.write_bytes(HEADER)
    assert machine.look().replaced == 1
    assert machine.mirrored() == machine.files()


@pytest.mark.slow
def test_an_unchanged_look_and_one_grown_file_cost_little_beside_many_files(machine: OtherMachine) -> None:
    for number in range(500):
        machine.write(f"{SESSIONS}/{number}.jsonl", HEADER)
    machine.write(f"{SESSIONS}/tool-results/s.jsonl", HEADER)
    # The clock over there tells whole seconds: files of the present second count as changed since a look in it.
    limit, written = time.monotonic() + 10, int(time.time())
    while int(time.time()) == written:
        assert time.monotonic() < limit
    assert machine.look(recent_s=NEVER).new == 500
    assert machine.look(recent_s=NEVER).received < 500
    with machine.write(f"{SESSIONS}/7.jsonl", HEADER).open("ab") as file:
        file.write(LINE)
    result = machine.look(recent_s=NEVER)
    assert (result.grown, result.replaced) == (1, 0)
    assert result.received < len(LINE) + 1000
    assert machine.look(recent_s=NEVER).received < 500


def test_without_cksum_and_awk_over_there_changed_files_come_whole(make_machine: MakeMachine) -> None:
    machine = make_machine("bsd")
    (machine.path / "cksum").unlink()
    (machine.path / "awk").unlink()
    there = machine.write(f"{SESSIONS}/s.jsonl", HEADER)
    machine.write(f"{SESSIONS}/t.jsonl", HEADER)
    machine.look(recent_s=NEVER)
    there.write_bytes(HEADER + LINE)
    result = machine.look(recent_s=NEVER)
    assert (result.error, result.replaced, result.grown) == (None, 1, 0)
    assert machine.mirrored() == machine.files()


def test_files_that_are_deleted_over_there_leave_the_mirror(machine: OtherMachine) -> None:
    one, other = machine.write(f"{SESSIONS}/s.jsonl", HEADER), machine.write(f"{SESSIONS}x/s.jsonl", HEADER)
    machine.look()
    one.unlink()
    assert machine.look().gone == 1
    assert machine.mirrored() == machine.files()
    assert not machine.here(SESSIONS).exists()
    other.unlink()
    other.mkdir()
    machine.write(f"{SESSIONS}x/s.jsonl/inner.jsonl", HEADER)
    assert machine.look().error is None
    assert machine.mirrored() == machine.files()


def test_working_directories_are_there_or_gone_by_the_word_of_that_machine(machine: OtherMachine) -> None:
    project = machine.home / "it's $HOME `x`\n"
    project.mkdir()
    for number, cwd in enumerate((str(project), "/nowhere/at/all", "relative")):
        text = json.dumps({"type": "session", "cwd": cwd}) + "\n"
        machine.write(f"{SESSIONS}/{number}.jsonl", text.encode())
    machine.look()
    state = read_state("mini", machine.top)
    assert state is not None
    assert state.directories == {str(project): True, "/nowhere/at/all": False}
    assert abs(state.clock_offset) < 5000


def test_the_states_of_many_working_directories_cost_a_byte_each(machine: OtherMachine) -> None:
    for number in range(300):
        text = json.dumps({"type": "session", "cwd": f"/nowhere/at/all/{number}" if number else str(machine.home)})
        machine.write(f"{SESSIONS}/{number}.jsonl", text.encode() + b"\n")
    machine.look(recent_s=NEVER)
    result = machine.look(recent_s=NEVER)
    assert (result.error, result.new) == (None, 0)
    assert result.received < 500 + 300
    state = read_state("mini", machine.top)
    assert state is not None
    assert [path for path, is_there in state.directories.items() if is_there] == [str(machine.home)]
    assert len(state.directories) == 300
