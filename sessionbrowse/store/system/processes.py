"""Check whether a process is running, and on macOS which processes have a file open."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

LSOF_WAIT_S = 0.3
_STILL_ACTIVE = 259
_QUERY_LIMITED_INFORMATION = 0x1000


def is_alive(pid: int, system: str = sys.platform) -> bool:
    """Return True if the process `pid` is running, even if it belongs to another user."""
    if system == "win32":
        return _is_alive_on_windows(pid)  # On Windows `os.kill` would send Ctrl+C to the process.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _is_alive_on_windows(pid: int) -> bool:
    import ctypes

    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined, unused-ignore]
    process = kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, pid)
    if not process:
        return bool(ctypes.get_last_error() == 5)  # type: ignore[attr-defined, unused-ignore]  # access denied
    try:
        code = ctypes.c_ulong()
        return bool(kernel.GetExitCodeProcess(process, ctypes.byref(code))) and code.value == _STILL_ACTIVE
    finally:
        kernel.CloseHandle(process)


def lsof_writers(path: str, run: Callable[..., subprocess.CompletedProcess[bytes]] = subprocess.run) -> Iterator[int]:
    """Yield the ids of the processes that have a file open for writing; no ids if `lsof` does not answer in time."""
    try:
        command = ["lsof", "-w", "-F", "pa", "--", path]
        done = run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LSOF_WAIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return
    # `lsof` prints a line "p123" for each process, then for each descriptor "ar", "aw" or "au" (read, write, both).
    pid, told = 0, 0
    for line in done.stdout.decode("ascii", "replace").split("\n"):
        if line[:1] == "p" and line[1:].isdigit():
            pid = int(line[1:])
        elif line in ("aw", "au") and pid != told:
            told = pid
            yield pid
