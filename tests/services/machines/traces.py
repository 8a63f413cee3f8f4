"""Traces by strace of all that the script of a look does on the other machine, without the login shell's own doings."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from shlex import quote

from msgspec import Struct

_CALL = re.compile(r"(\w+)\((.*)\)\s+= (.*)")
_REAL = re.compile(r"\d+<([^>]*)>")
_MADE = re.compile(r"(?:clone3?|v?fork)\(.*\)\s+= (\d+)")
_READS = ("stat", "access", "readlink", "open", "getcwd", "chdir", "exec", "exit", "wait", "clone", "fork", "kill")
_WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)")
LIMIT_S = 30


class Trace(Struct):
    """The real paths of opened files, and the calls that change a file, or try to."""

    opened: set[str]
    changing: list[str]


def no_strace() -> str | None:
    """Return why nothing can be traced, None if it can."""
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed"
    done = subprocess.run(
        [strace, "-y", "-e", "trace=openat", "true"], capture_output=True, timeout=LIMIT_S, check=False
    )
    return None if done.returncode == 0 and b"AT_FDCWD<" in done.stderr else "nothing can be traced here"


def traced(log: Path, shell: str) -> str:
    """Return the command that starts the login shell with its command under strace."""
    log.mkdir()
    calls = "%file,%process,fchmod,fchown,ftruncate,fallocate,fsetxattr"
    words = f"exec {shutil.which('strace')} -ff -qq -y -s 4096 -o {quote(str(log))}/t -e trace={calls}"
    return f'{words} {quote(shell)} -c "$SSH_ORIGINAL_COMMAND"; '


def trace_of(log: Path) -> Trace:
    """Return what the processes of the script did: those from `sh -s` on, but for the login shell that it asks."""
    files = {path.suffix[1:]: path.read_text(errors="replace").splitlines() for path in log.iterdir()}
    children = {pid for lines in files.values() for line in lines for pid in _MADE.findall(line)}
    trace = Trace(set(), [])
    waiting = [(pid, False) for pid in files.keys() - children]
    while waiting:
        pid, is_script = waiting.pop()
        for line in files.get(pid, ()):
            if (made := _MADE.match(line)) is not None:
                waiting.append((made[1], is_script))
            elif (call := _CALL.match(line)) is not None:
                is_script = _take(trace, call, is_script)
    return trace


def _take(trace: Trace, call: re.Match[str], is_script: bool) -> bool:
    name, words, answer = call.groups()
    if name == "execve" and answer == "0":
        return ', ["sh", "-s"]' in words or (is_script and '"-c", "env"]' not in words)
    if not is_script:
        return False
    real = _REAL.match(answer)
    if "open" in name and real is not None:
        trace.opened.add(real[1])
    if not any(one in name for one in _READS) or (
        "open" in name and _WRITING.search(words) and '"/dev/null"' not in words
    ):
        trace.changing.append(call[0])
    return True
