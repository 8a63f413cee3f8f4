"""A disk that fails on demand: counts the calls that change it, and at the n-th one fails, shortens or kills.

`os` itself is patched, so that whatever way leads to the disk is counted. A kill is a real signal to a forked child: no
`finally` runs, as in life.
"""

from __future__ import annotations

import builtins
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sessionbrowse.store.write import moves

Action = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""What happens at the chosen call: gets its name, the real function and the arguments."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGING = (
    *("write", "pwrite", "sendfile", "fsync", "rename", "replace", "link", "symlink", "unlink", "utime"),
    *("mkdir", "rmdir", "fchmod", "fchown", "chmod", "chown", "ftruncate"),
)
CHILD_LIMIT_S = 30
"""The time after which a forked child counts as hung, and is ended."""


class Disk:
    """The calls that changed the disk, in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []


@contextmanager
def failing_disk(
    at: int | None = None,
    action: Action | None = None,
    before: Callable[[int, str], None] | None = None,
    *,
    lasting: bool = False,
) -> Iterator[Disk]:
    """Count every call that changes the disk; at the `at`-th (from 1) do `action` in its place.

    If the fault is `lasting`, all later calls meet it too. `before` gets the number and the name of each such call just
    before it is made.
    """
    disk = Disk()

    def patched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        # No test cuts the power, so nobody waits for the platter.
        real = (lambda descriptor: None) if name == "fsync" else original

        def call(*arguments: Any, **named: Any) -> Any:
            if name == "open" and not (len(arguments) > 1 and arguments[1] & _WRITING):
                return real(*arguments, **named)
            if name == "file" and not set("wax+") & set(_mode(arguments, named)):
                return real(*arguments, **named)
            disk.calls.append(name)
            number = len(disk.calls)
            if before is not None:
                before(number, name)
            if at is not None and action is not None and (number == at or (lasting and number > at)):
                return action(name, real, arguments, named)
            return real(*arguments, **named)

        return call

    with ExitStack() as patches:
        for name in (*_CHANGING, "open"):
            patches.enter_context(replaced(os, name, patched(name, getattr(os, name))))
        patches.enter_context(replaced(builtins, "open", patched("file", builtins.open)))
        for name in ("exchange", "rename_to_free"):
            patches.enter_context(replaced(moves, name, patched(name, getattr(moves, name))))
        yield disk


@contextmanager
def replaced(place: Any, name: str, value: object) -> Iterator[None]:
    """Give an attribute another value for as long as the block lasts."""
    former = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, former)


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


def ended_by(number: int) -> Action:
    """End this process by a signal before the call."""

    def action(_: str, __: Callable[..., Any], ___: tuple[Any, ...], ____: dict[str, Any]) -> Any:
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    return action


killed_before = ended_by(signal.SIGKILL)


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
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(CHILD_LIMIT_S)
        try:
            run()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
