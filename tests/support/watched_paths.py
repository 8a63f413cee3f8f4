"""Every path that Python code opens for writing or changes, as the interpreter's audit events tell it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sessionbrowse.store.write import moves

# What each event's path arguments are, and where its `dir_fd` stands if it has one.
_CHANGES = {
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
}
_watched: list[set[str]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    # A module that is imported for the first time meanwhile is compiled: that is Python's doing.
    if not _watched or (arguments and isinstance(arguments[0], str) and "/__pycache__/" in arguments[0]):
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes | os.PathLike) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _watched[-1].add(os.path.realpath(os.fsdecode(path)))
    elif event in _CHANGES:
        for at, fd_at in _CHANGES[event]:
            _note(arguments[at], arguments[fd_at] if fd_at is not None else -1)


def _note(path: Any, descriptor: int) -> None:
    """Note a name, not what a link of that name leads to: a name is what these calls change."""
    if not isinstance(path, str | bytes | os.PathLike):
        return
    name = os.fsdecode(path)
    if descriptor not in (-1, None):
        name = os.path.join(os.readlink(f"/proc/self/fd/{descriptor}"), name)
    folder, last = os.path.split(os.path.abspath(name))
    _watched[-1].add(os.path.join(os.path.realpath(folder), last))


sys.addaudithook(_hook)  # there is no way to take one back, so it looks only where a test asks


@contextmanager
def watched() -> Iterator[set[str]]:
    """Collect every path that is opened for writing or changed."""
    _watched.append(set())
    patch = pytest.MonkeyPatch()
    for name in ("exchange", "rename_to_free"):
        patch.setattr(moves, name, _told(getattr(moves, name)))
    try:
        yield _watched[-1]
    finally:
        patch.undo()
        _watched.pop()


def _told(real: Any) -> Any:
    """These calls go past Python, so nobody audits them."""

    def call(first: str, second: str) -> bool:
        _note(first, -1)
        _note(second, -1)
        return bool(real(first, second))

    return call
