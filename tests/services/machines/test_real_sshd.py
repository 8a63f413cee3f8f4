"""Looks over the real ssh and sshd, with the login shells and programs that this machine has."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.services.machines import script
from sessionbrowse.store.find.roots import own_places
from sessionbrowse.store.own.mirrors import read_state
from tests.services.machines.other_machine import missing
from tests.services.machines.ssh_machine import SshMachine, no_sshd
from tests.services.machines.test_histories import live_many
from tests.services.machines.traces import no_strace, trace_of, traced

MakeSsh = Callable[..., AbstractContextManager[SshMachine]]
AtSending = Callable[[Callable[[], None]], None]
pytestmark = pytest.mark.slow
SESSIONS = ".pi/agent/sessions/--a--"
LINE = b'{"type":"session","cwd":"/"}\n'
LIMIT_S = 30


@pytest.fixture
def ssh_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeSsh:
    """Make a machine behind sshd, which runs inside the block."""

    @contextmanager
    def made(form: str = "gnu", shell: str = "sh", start: str = "") -> Iterator[SshMachine]:
        program = shutil.which(shell)
        why = no_sshd() or missing(form) or (None if program else f"{shell} is not installed")
        if why is not None:
            pytest.skip(why)
        machine = SshMachine(tmp_path / "machine", form, program or "", start)
        monkeypatch.setenv("PATH", machine.search_path)
        with machine.running_sshd():
            yield machine

    return made


SHELLS = (("gnu", "bash"), ("busybox", "dash"), ("gnu", "fish"), ("gnu", "tcsh"), ("gnu", "zsh"), ("bsd", "dash"))


@pytest.mark.parametrize(("form", "shell"), SHELLS)
def test_every_login_shell_and_form_of_programs(form: str, shell: str, ssh_machine: MakeSsh) -> None:
    with ssh_machine(form, shell) as machine:
        there = machine.write(f"{SESSIONS}/it's ü.jsonl", LINE * 5000)
        machine.write(".codex/sessions/2026/01/02/rollout.jsonl", LINE)
        result = machine.look()
        assert (result.error, result.new) == (None, 2)
        assert machine.mirrored() == machine.files()
        with there.open("ab") as file:
            file.write(LINE * 2)
        result = machine.look()
        assert (result.error, result.grown, result.replaced) == (None, 1, 0) if form != "busybox" else result
        assert machine.mirrored() == machine.files()
        there.unlink()
        assert machine.look().gone == 1
        assert machine.all_ended()


@pytest.mark.parametrize(
    ("start", "error"),
    [
        ("echo welcome; ", None),
        ("read line; ", None),
        ("sleep 0.3; ", None),
        ("exit 3; ", "mini's login shell did not start `sh`."),
        ("echo not available; exit 1; ", "mini answered: not available"),
        ("exec nothing-such; ", "mini's login shell did not start `sh`."),
    ],
)
def test_what_start_files_do(start: str, error: str | None, ssh_machine: MakeSsh) -> None:
    with ssh_machine(start=start) as machine:
        machine.write(f"{SESSIONS}/s.jsonl", LINE)
        assert machine.look(silence_s=10).error == error
        assert machine.all_ended()


def test_an_unknown_and_a_changed_key_are_told_in_the_words_of_ssh(ssh_machine: MakeSsh) -> None:
    with ssh_machine() as machine:
        known = machine.known_hosts.read_text()
        machine.known_hosts.write_text("")
        said = machine.look().error or ""
        assert "host key is known for [127.0.0.1]" in said
        assert "Host key verification failed. (try `ssh mini.local` once by hand)" in said
        machine.known_hosts.write_text(known.split("ssh-")[0] + (machine.folder / "key.pub").read_text())
        assert "has changed" in (machine.look().error or "")
        machine.known_hosts.write_text(known)
        (machine.folder / "key.pub").write_text("")
        assert "Permission denied" in (machine.look().error or "")
        machine.configure("Host mini.local\nHostName nothing.invalid\n")
        assert "nothing.invalid" in (machine.look().error or "")


def test_a_jump_host_with_an_unknown_key_prompts_nowhere(ssh_machine: MakeSsh) -> None:
    with ssh_machine() as machine:
        jump = f"Host jump\nHostName 127.0.0.1\nUserKnownHostsFile {machine.folder}/none\nStrictHostKeyChecking ask\n"
        machine.configure(f"{jump}Host mini.local\nProxyCommand {machine.ssh} -W 127.0.0.1:{machine.port} jump\n")
        code = (
            "import sys; from pathlib import Path; from sessionbrowse.services.machines.look import look;"
            "from sessionbrowse.config import MachineSettings;"
            "error = look(MachineSettings(name='mini', host='mini.local'), top=sys.argv[1]).error;"
            "Path(sys.argv[2]).write_text(str(error))"
        )
        words = [sys.executable, "-c", code, machine.top, str(machine.folder / "said")]
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.executable, words)
        seen = b""
        limit = time.monotonic() + LIMIT_S
        try:
            while time.monotonic() < limit:
                if select.select([terminal], [], [], 0.2)[0]:
                    seen += os.read(terminal, 1000)
        except OSError:
            pass
        os.close(terminal)
        os.waitpid(pid, 0)
        assert seen == b""
        assert "Host key verification failed" in (machine.folder / "said").read_text()


def test_a_stopped_look_leaves_nothing_running_over_there(ssh_machine: MakeSsh) -> None:
    with ssh_machine() as machine:
        with machine.write(f"{SESSIONS}/large.jsonl", b"").open("wb") as file:
            file.write(LINE * 4_000_000)
        for number in range(50):
            machine.write(f"{SESSIONS}/{number}.jsonl", LINE)
        stop = threading.Event()
        result = machine.look(progress=lambda *_: stop.set(), cancelled=stop.is_set)
        assert result.stopped
        assert machine.all_ended()
        assert machine.look().error is None
        assert machine.mirrored() == machine.files()


def test_nothing_is_written_over_there(ssh_machine: MakeSsh) -> None:
    with ssh_machine() as machine:
        machine.write(f"{SESSIONS}/s.jsonl", LINE)
        machine.write(".omp/agent/.env", b"OMP_PROFILE=x\n")

        def state() -> list[tuple[object, ...]]:
            each = sorted(machine.home.rglob("*"))
            return [(path, path.lstat().st_mode, path.lstat().st_mtime_ns, path.lstat().st_ctime_ns) for path in each]

        before, content = state(), machine.files()
        assert machine.look().error is None
        assert machine.look().error is None
        assert (state(), machine.files()) == (before, content)


SECRETS = (
    ".pi/agent/auth.json",
    ".omp/agent/agent.db",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".ssh/id_ed25519",
    ".netrc",
    "dev/shop/.env",
    "dev/shop/main.py",
    f"{SESSIONS}/s/image.png",
    f"{SESSIONS}/notes.txt",
)


@pytest.mark.parametrize(("form", "shell"), SHELLS)
def test_the_script_opens_only_sessions_and_settings_over_there_and_writes_nothing(
    form: str, shell: str, ssh_machine: MakeSsh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (why := no_strace()) is not None:
        pytest.skip(f"{why}; checksums and times are compared by another test")
    log = tmp_path / "trace"
    with ssh_machine(form, shell, traced(log, shutil.which(shell) or "")) as machine:
        for name in (f"{SESSIONS}/s.jsonl", ".codex/sessions/2026/01/02/r.jsonl", ".claude/projects/-a/s.jsonl"):
            machine.write(name, LINE.replace(b'"/"', json.dumps(str(machine.home / "dev/shop")).encode()))
        machine.write(".omp/profiles/work/agent/sessions/-a/s.jsonl", LINE)
        machine.write(".omp/agent/.env", b"OMP_PROFILE=work\n")
        machine.write(".pi/agent/settings.json", b"{}")
        for name in SECRETS:
            machine.write(name, b"secret")
        machine.write("dev/shop/.pi/settings.json", b"{}")
        assert machine.look().new == 4
        with (machine.home / SESSIONS / "s.jsonl").open("ab") as file:
            file.write(LINE)
        assert machine.look().error is None
        trace = trace_of(log)
        assert trace.changing == []
        state = read_state("mini", machine.top)
        assert state is not None
        settings = own_settings(machine.home)
        for path in trace.opened:
            is_ours = path in settings or any(f"{path}/".startswith(f"{place.root}/") for place in state.places)
            is_system = path.startswith(("/usr/", "/lib", "/proc/", str(machine.path))) or path in SYSTEM
            assert is_ours or is_system or os.path.isdir(path), path
        assert {str(machine.home / SESSIONS / "s.jsonl"), str(machine.home / ".omp/agent/.env")} <= trace.opened
        assert trace.opened.isdisjoint(str(machine.home / name) for name in SECRETS)
        # What the trace would tell if the script wrote a file.
        monkeypatch.setattr(script, "BEGIN", f': >"$HOME/made"\n{script.BEGIN}')
        machine.look()
        assert ['made"' in line for line in trace_of(log).changing] == [True]


SYSTEM = ("/dev/null", "/dev/tty", "/etc/ld.so.cache", "/etc/localtime")


def own_settings(home: Path) -> set[str]:
    """Return the paths of settings and `.env` files that the agents' own rules name."""
    named: set[str] = set()
    disk = Surroundings.real().disk

    def read(path: str) -> bytes | None:
        named.add(path)
        return disk.read(path)

    around = Surroundings(
        home=str(home),
        environ={},
        cwd=str(home),
        projects=(str(home / "dev/shop"),),
        disk=replace(disk, read=read),
    )
    own_places(around, AGENTS)
    return named


def through_a_master(machine: SshMachine) -> None:
    machine.configure(f"Host *\nControlMaster auto\nControlPersist 60\nControlPath {machine.folder}/c\n")


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.stress)])
def test_histories_through_one_master_connection(count: int, ssh_machine: MakeSsh, at_sending: AtSending) -> None:
    with ssh_machine() as machine:
        through_a_master(machine)
        try:
            live_many(range(count), lambda _: machine, "gnu", 2.0, at_sending)
        finally:
            command = [str(machine.ssh), "-O", "exit", "mini.local"]
            subprocess.run(command, check=False, capture_output=True, timeout=LIMIT_S)
