"""A machine behind a real sshd on the loopback address, started as the present user, with keys of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote

from tests.services.machines.other_machine import OtherMachine, write_program

SSHD = next(filter(os.path.exists, filter(None, (shutil.which("sshd"), "/usr/sbin/sshd"))), None)
LIMIT_S = 20

_CLIENT = """#!/bin/sh
here=${0%/*}
. "$here/settings"
if [ -n "$cut" ]; then SSH -F "$here/config" "$@" | { dd bs=1 count="$cut" 2>/dev/null; kill $$; }; fi
exec SSH -F "$here/config" "$@"
"""


def no_sshd() -> str | None:
    """Return why no sshd can be had, None if it can."""
    if SSHD is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        return "sshd is not installed"
    if os.geteuid() == 0 and not os.path.isdir("/run/sshd"):
        return "an sshd of root needs the directory /run/sshd"
    return None


class SshMachine(OtherMachine):
    """A machine to which the real ssh leads; its login shell is `shell`, its programs are those of `form`."""

    def __init__(self, folder: Path, form: str = "gnu", shell: str = "/bin/sh", start: str = "") -> None:
        super().__init__(folder, form, shell)
        self.folder = folder
        self.port = _free_port()
        ssh = shutil.which("ssh") or "ssh"
        write_program(self.ssh, _CLIENT.replace("SSH", ssh))
        for name in ("host_key", "key"):
            make_key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
            subprocess.run(make_key, check=True, timeout=LIMIT_S)
        key = (folder / "host_key.pub").read_text()
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {key}")
        self.configure("")
        command = f'{start}exec {quote(shell)} -c "$SSH_ORIGINAL_COMMAND"'
        environment = f"HOME={self.home} SHELL={shell} PATH={self.path} MACHINE_TOKEN={self.token}"
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile {folder}/pid\n"
            f"AuthorizedKeysFile {folder}/key.pub\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
            f"SetEnv {environment}\nForceCommand {command}\nMaxSessions 100\n"
        )

    def configure(self, further: str) -> None:
        """Write the client's configuration, `further` before the rest."""
        (self.ssh.parent / "config").write_text(
            f"{further}\nHost *\nIdentityFile {self.folder}/key\nIdentitiesOnly yes\nStrictHostKeyChecking yes\n"
            f"GlobalKnownHostsFile none\nUserKnownHostsFile {self.known_hosts}\nPort {self.port}\n"
            "Host mini.local\nHostName 127.0.0.1\n"
        )

    @contextmanager
    def running_sshd(self) -> Iterator[None]:
        """Run sshd inside the block."""
        command = [SSHD or "", "-D", "-e", "-f", str(self.folder / "sshd_config")]
        with (self.folder / "log").open("wb") as log:
            sshd = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                limit = time.monotonic() + LIMIT_S
                while not _answers(self.port):
                    assert sshd.poll() is None, (self.folder / "log").read_text()
                    assert time.monotonic() < limit
                yield
            finally:
                sshd.terminate()
                sshd.wait(timeout=LIMIT_S)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as one:
        return bool(one.recv(4))
    return False
