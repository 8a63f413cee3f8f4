"""A stand-in for another machine: a home of its own, and a program `ssh` that runs the command there by a shell."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from pathlib import Path
from secrets import token_hex

from sessionbrowse.config import MachineSettings
from sessionbrowse.services.machines.look import look
from sessionbrowse.services.machines.results import LookResult
from sessionbrowse.store.own.mirrors import path_here

LIMIT_S = 10
FORMS = ("gnu", "busybox", "bsd")
NEEDED = ("sh", "env", "find", "stat", "sort", "cksum", "head", "tail", "cat", "awk", "grep", "date", "uname")
"""The programs that the script uses over there."""

_SSH = """#!/bin/sh
here=${0%/*}
. "$here/settings"
printf '%s\\n' "$*" >>"$here/calls"
for command; do :; done
cd "$there" || exit 255
run() {
set -- PATH="$path" HOME="$there" SHELL="$shell" MACHINE_TOKEN="$token" BASH_ENV="$start_file"
env -i "$@" $apart "$shell" -c "$command"
}
if [ -n "$said" ]; then run | tee -a "$said"; exit; fi
if [ -n "$cut" ]; then run | { dd bs=1 count="$cut" 2>/dev/null; kill $$; }; fi
run
"""
_BSD_FIND = """#!/bin/sh
for word; do case $word in -printf) echo "find: -printf: unknown primary" >&2; exit 1;; esac; done
exec {find} "$@"
"""
_BSD_STAT = """#!/bin/sh
[ "$1" = -f ] || { echo "stat: illegal option -- c" >&2; exit 1; }
format=$2
shift 2
[ "$format" = '%i %z %Fm %Fc %N' ] && format='%i %s %.9Y %.9Z %n'
exec {stat} -c "$format" "$@"
"""


class OtherMachine:
    """A machine whose files are `home`; `form` chooses its programs: GNU, BusyBox, or like those of BSD."""

    def __init__(self, folder: Path, form: str = "gnu", shell: str = "/bin/sh") -> None:
        self.home, self._bin, self.top = folder / "home", folder / "bin", str(folder / "sessionbrowse" / "machines")
        self.home.mkdir(parents=True)
        self._bin.mkdir()
        self.token = token_hex(8)
        self._shell, self._path = shell, os.defpath.removeprefix(":")
        if form != "gnu":
            self._path = str(tools(folder / "tools", form))
            self._shell = f"{self._path}/sh"
        write_program(self._bin / "ssh", _SSH)
        self._settings = {"there": str(self.home), "path": self._path, "shell": self._shell, "token": self.token}
        # What runs over there does not end with ssh here.
        self._settings["apart"] = f"{found} -w" if (found := shutil.which("setsid")) else ""
        self.cut(None)

    @property
    def search_path(self) -> str:
        """The value of PATH with which the stand-in is the program `ssh`."""
        return f"{self._bin}{os.pathsep}{os.environ['PATH']}"

    @property
    def path(self) -> Path:
        """The folder with the programs over there, if they are not those of this machine."""
        return Path(self._path)

    @property
    def ssh(self) -> Path:
        """The program `ssh`."""
        return self._bin / "ssh"

    @property
    def calls(self) -> list[str]:
        """The command lines with which ssh was called."""
        return (self._bin / "calls").read_text().splitlines()

    def cut(self, after: int | None) -> None:
        """Break connections off after a number of bytes, from now on."""
        self.set("cut", "" if after is None else str(after))

    def set(self, name: str, value: str) -> None:
        """Change a setting of the stand-in."""
        self._settings[name] = value
        text = "".join(f"{name}='{value}'\n" for name, value in self._settings.items())
        (self._bin / "settings").write_text(text)

    def write(self, path: str, content: bytes) -> Path:
        """Write a file over there."""
        there = self.home / path
        there.parent.mkdir(parents=True, exist_ok=True)
        there.write_bytes(content)
        return there

    def here(self, path: str | Path) -> Path:
        """Return the path in the mirror for a path below home."""
        return Path(path_here("mini", str(self.home / path), self.top))

    def mirrored(self) -> dict[str, bytes]:
        """Return the mirror's files by their paths below home."""
        top = self.here("")
        return {str(each.relative_to(top)): each.read_bytes() for each in top.rglob("*") if each.is_file()}

    def files(self) -> dict[str, bytes]:
        """Return the regular files over there by their paths below home."""
        found = (each for each in self.home.rglob("*") if stat.S_ISREG(each.lstat().st_mode))
        return {str(each.relative_to(self.home)): each.read_bytes() for each in found}

    def look(self, roots: tuple[str, ...] = (), **options: object) -> LookResult:
        """Look at the machine."""
        return look(MachineSettings(name="mini", host="mini.local", roots=roots), top=self.top, **options)  # type: ignore[arg-type]

    def all_ended(self) -> bool:
        """Return True once nothing runs over there, and False if something still does after some seconds."""
        limit = time.monotonic() + LIMIT_S
        while self.running():
            if time.monotonic() > limit:
                return False
        return True

    def running(self) -> list[str]:
        """Return the programs that run over there now."""
        mark, found = f"MACHINE_TOKEN={self.token}".encode(), []
        for each in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (each / "environ").read_bytes():
                    found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


def tools(folder: Path, form: str) -> Path:
    """Make a folder with the needed programs in the form of BusyBox or BSD."""
    folder.mkdir()
    busybox = shutil.which("busybox") if form == "busybox" else None
    has = os.popen(f"{busybox} --list").read().split() if busybox else []
    for name in NEEDED:
        (folder / name).symlink_to(busybox if name in has else shutil.which(name) or name)  # type: ignore[arg-type]
    if form == "bsd":
        for name, text in (("find", _BSD_FIND), ("stat", _BSD_STAT)):
            (folder / name).unlink()
            write_program(folder / name, text.replace("{" + name + "}", shutil.which(name) or name))
    return folder


def write_program(path: Path, text: str) -> None:
    """Write a program that a shell runs."""
    path.write_text(text)
    path.chmod(0o755)


def missing(form: str) -> str | None:
    """Return why a form of programs cannot be had on this machine, None if it can."""
    if sys.platform == "win32":
        return "there is no POSIX shell"
    if form == "busybox" and shutil.which("busybox") is None:
        return "BusyBox is not installed"
    if form == "bsd" and sys.platform != "linux":
        return "find and stat of GNU are needed"
    return None
