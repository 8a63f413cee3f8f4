"""A disk that fails on demand: counts the calls that change it, and at the n-th one fails, shortens or kills.

`os` itself is patched, so that whatever way leads to the disk is counted. A kill is a real SIGKILL of a forked child:
no `finally` runs, as in life.
"""

from __future__ import annotations

import builtins
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sessionbrowse.store.write import atomic_rename

Action = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""What happens at the chosen call: gets its name, the real function and the arguments."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGING = (
    *("write", "pwrite", "sendfile", "fsync", "rename", "replace", "link", "symlink", "unlink", "utime"),
    *("mkdir", "rmdir", "fchmod", "ftruncate"),
)


class Disk:
    """The calls that changed the disk, in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []


@contextmanager
def failing_disk(at: int | None = None, action: Action | None = None) -> Iterator[Disk]:
    """Count every call that changes the disk; at the `at`-th (from 1) do `action` in its place."""
    disk = Disk()
    places: dict[str, Any] = dict.fromkeys((*_CHANGING, "open"), os) | {
        "exchange": atomic_rename,
        "rename_to_free": atomic_rename,
        "file": builtins,
    }
    attributes = {name: "open" if name == "file" else name for name in places}
    originals = {name: getattr(place, attributes[name]) for name, place in places.items()}
    # No test cuts the power, so nobody waits for the platter.
    real = originals | {"fsync": lambda descriptor: None}

    def patched(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if name == "open" and not (len(arguments) > 1 and arguments[1] & _WRITING):
                return real[name](*arguments, **named)
            if name == "file" and not set("wax+") & set(_mode(arguments, named)):
                return real[name](*arguments, **named)
            disk.calls.append(name)
            if len(disk.calls) == at and action is not None:
                return action(name, real[name], arguments, named)
            return real[name](*arguments, **named)

        return call

    for name, place in places.items():
        setattr(place, attributes[name], patched(name))
    try:
        yield disk
    finally:
        for name, place in places.items():
            setattr(place, attributes[name], originals[name])


def _mode(arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    return str(arguments[1] if len(arguments) > 1 else named.get("mode", "r"))


def fails_with(code: int) -> Action:
    """Fail with an error number; nothing is done."""

    def action(_: str, __: Callable[..., Any], arguments: tuple[Any, ...], ___: dict[str, Any]) -> Any:
        raise OSError(code, os.strerror(code))

    return action


def writes_only(share: Callable[[int], int]) -> Action:
    """Write only a part; calls that write nothing fail as on a full disk."""

    def action(name: str, real: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if name not in ("write", "pwrite"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        descriptor, content, *rest = arguments
        return real(descriptor, bytes(content)[: share(len(content))], *rest, **named)

    return action


def killed_before(_: str, __: Callable[..., Any], ___: tuple[Any, ...], ____: dict[str, Any]) -> Any:
    """Kill this process before the call."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_after(_: str, real: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Kill this process after the call."""
    try:
        real(*arguments, **named)
    finally:
        os.kill(os.getpid(), signal.SIGKILL)


def after(change: Callable[[], object]) -> Action:
    """Let something happen to the file just before the call."""

    def action(_: str, real: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        change()
        return real(*arguments, **named)

    return action


def in_child(run: Callable[[], object]) -> int:
    """Run something in a forked child; return the signal that killed it, 0 if it ended by itself."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            run()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
