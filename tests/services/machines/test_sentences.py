"""The ends of a connection, and the sentences that tell them."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from sessionbrowse.store.own.mirrors import read_state
from tests.services.machines.conftest import MakeMachine
from tests.services.machines.other_machine import OtherMachine, write_program

SESSIONS = ".pi/agent/sessions/--a--"
LINE = b'{"type":"session","cwd":"/"}\n'
NO_SHELL = "mini's login shell did not start `sh`."

TOLD = (
    (
        "unknown key",
        "No ED25519 host key is known for mini.local and you have requested strict checking.\\r\\n"
        "Host key verification failed.\\r\\n",
        "No ED25519 host key is known for mini.local and you have requested strict checking. Host key verification"
        " failed. (try `ssh mini.local` once by hand)",
    ),
    (
        "no key",
        "A banner\\nu@mini.local: Permission denied (publickey).\\r\\n",
        "u@mini.local: Permission denied (publickey). (try `ssh mini.local` once by hand)",
    ),
    (
        "unknown name",
        "ssh: Could not resolve hostname \\033[31mmini.local\\033[0m: Name or service not known\\r\\n",
        "ssh: Could not resolve hostname mini.local: Name or service not known (try `ssh mini.local` once by hand)",
    ),
    (
        "refused",
        "ssh: connect to host mini.local port 22: Connection refused\\r\\n",
        "ssh: connect to host mini.local port 22: Connection refused (try `ssh mini.local` once by hand)",
    ),
)
ASLEEP = (
    "ssh: connect to host mini.local port 22: Connection timed out",
    "ssh: connect to host mini.local port 22: No route to host",
    "Connection timed out during banner exchange",
    "Connection to mini.local port 22 timed out",
    "ssh: connect to host mini.local port 22: Operation timed out",
)


def ssh_says(machine: OtherMachine, text: str) -> None:
    write_program(machine.ssh, f"#!/bin/sh\n{text}\n")


@pytest.mark.parametrize(("words", "sentence"), [each[1:] for each in TOLD], ids=[each[0] for each in TOLD])
def test_what_ssh_refuses_is_told_in_its_own_words(words: str, sentence: str, machine: OtherMachine) -> None:
    ssh_says(machine, f"printf '{words}' >&2; exit 255")
    result = machine.look()
    assert (result.error, result.asleep) == (sentence, False)
    state = read_state("mini", machine.top)
    assert state is not None
    assert (state.error, state.seen) == (sentence, None)


@pytest.mark.parametrize("words", ASLEEP)
def test_a_machine_that_does_not_answer_is_asleep_and_its_mirror_stays(words: str, machine: OtherMachine) -> None:
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    machine.look()
    before = read_state("mini", machine.top)
    ssh_says(machine, f"echo '{words}' >&2; exit 255")
    result = machine.look()
    assert (result.error, result.asleep, result.files) == ("mini did not answer.", True, 1)
    after = read_state("mini", machine.top)
    assert before is not None
    assert after is not None
    assert (after.seen, after.files) == (before.seen, 1)
    assert machine.mirrored() == machine.files()


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (
            "printf '\\033[2JThis account is\\007not available.\\n'; exit 1",
            "mini answered: This account is not available.",
        ),
        ("exit 3", NO_SHELL),
        ("echo starting; exit 127", NO_SHELL),
        ("while :; do echo noise; done", NO_SHELL),
        ("sleep 100", NO_SHELL),
        ("cat", NO_SHELL),
    ],
    ids=["nologin", "ends", "another shell", "noise", "silent", "echo"],
)
def test_a_login_without_a_shell_is_told(program: str, sentence: str, machine: OtherMachine) -> None:
    ssh_says(machine, program)
    assert machine.look(silence_s=0.5).error == sentence


@pytest.mark.parametrize(
    ("start_file", "error"),
    [
        ("echo welcome; head -c 100000 /dev/zero; echo", None),
        ("read line", None),
        ("printf 'no new\\nline'", None),
        ("sleep 0.2", None),
        ("exit 4", NO_SHELL),
        ("exec cat >/dev/null", NO_SHELL),
    ],
    ids=["prints", "reads a line", "prints half a line", "sleeps", "ends", "takes all"],
)
def test_start_files_of_the_login_shell(start_file: str, error: str | None, make_machine: MakeMachine) -> None:
    bash = Path("/bin/bash")
    if not bash.exists():
        pytest.skip("bash is not installed")
    machine = make_machine(shell=str(bash))
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    machine.set("start_file", str(machine.write("start", start_file.encode())))
    result = machine.look(silence_s=2)
    assert (result.error, result.new) == (error, 0 if error else 1)
    assert machine.all_ended()


def test_variables_of_the_login_shell_choose_the_places_and_no_others_cross_the_line(machine: OtherMachine) -> None:
    other = machine.home / "elsewhere"
    machine.write(".profile", f"echo hello\nexport PI_CODING_AGENT_DIR={other} TOKEN=secret1\n".encode())
    machine.write(".omp/agent/.env", b"SECRET_KEY=secret2\nexport OMP_PROFILE=work\nXDG_DATA_HOME=/nowhere\n")
    machine.write(".pi/agent/settings.json", b"{}")
    machine.write(".omp/profiles/work/agent/sessions/-a/s.jsonl", LINE)
    machine.write("elsewhere/sessions/--a--/s.jsonl", LINE)
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    said = machine.home.parent / "said"
    machine.set("said", str(said))
    result = machine.look()
    assert (result.error, result.new) == (None, 2)
    state = read_state("mini", machine.top)
    assert state is not None
    assert state.home == str(machine.home)
    assert {place.env.get("OMP_PROFILE") for place in state.places if place.agent == "omp"} >= {"work"}
    assert b"secret" not in said.read_bytes()


def test_a_directory_that_the_user_names_is_looked_at_too(machine: OtherMachine) -> None:
    machine.write("work/.pi/agent/sessions/--a--/s.jsonl", LINE)
    machine.write("work/.pi/agent/auth.json", b"{}")
    result = machine.look(("~/work/.pi/agent",))
    assert (result.error, result.new) == (None, 1)
    state = read_state("mini", machine.top)
    assert state is not None
    named = state.rooted
    assert [(place.agent, place.root) for place in named] == [("pi", f"{machine.home}/work/.pi/agent/sessions")]
    assert machine.look(("~/work/.pi/agent",)).files == 1


@pytest.mark.slow
def test_a_stopped_look_leaves_nothing_running_and_the_next_goes_on(machine: OtherMachine) -> None:
    for number in range(300):
        machine.write(f"{SESSIONS}/{number}.jsonl", LINE)
    stop = threading.Event()
    result = machine.look(progress=lambda done, *_: stop.set() if done == 250 else None, cancelled=stop.is_set)
    assert (result.stopped, result.error) == (True, None)
    assert machine.all_ended()
    result = machine.look()
    assert 0 < result.new < 300
    assert machine.mirrored() == machine.files()


def test_a_look_that_breaks_off_says_how_far_it_came(machine: OtherMachine) -> None:
    for number in range(3):
        machine.write(f"{SESSIONS}/{number}.jsonl", LINE * 3000)
    machine.cut(200_000)
    assert machine.look().error == "The look at mini broke off after 2 of 3 files; the next look goes on."
    machine.cut(None)
    assert machine.look().error is None
    assert machine.mirrored() == machine.files()


def test_two_looks_at_once_are_one(machine: OtherMachine) -> None:
    machine.write(f"{SESSIONS}/s.jsonl", LINE)
    inner: list[str | None] = []
    machine.look(progress=lambda *_: inner.append(machine.look().error))
    assert inner == ["Another look at mini is running."]


def test_without_ssh_the_sentence_says_so(machine: OtherMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "Install OpenSSH" in (machine.look().error or "")


@pytest.mark.skipif(sys.platform != "linux", reason="the session of a process is read in /proc")
def test_ssh_can_ask_nothing_and_runs_in_a_session_of_its_own(machine: OtherMachine) -> None:
    ssh_says(machine, 'echo "$SSH_ASKPASS_REQUIRE $(cut -d" " -f6 /proc/$$/stat) $$ $*" >&2; exit 255')
    words = (machine.look().error or "").split(" ")
    assert words[0] == "never"
    assert words[1] == words[2]
    assert "BatchMode=yes" in words
    assert words[words.index("--") + 1] == "mini.local"
