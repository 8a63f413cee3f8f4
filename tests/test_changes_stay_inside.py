"""Whatever a session, a name or an id says: nothing outside the session's folder and our state is ever changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.checkout import checkout
from sessionbrowse.services.label import label
from sessionbrowse.services.rename import rename
from sessionbrowse.services.undo import undo
from tests.change_helpers import CONVERSATION, Store, entry, header, target

_CHANGES = {"os.rename", "os.remove", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"}
_watched: list[set[str]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes | os.PathLike) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _watched[-1].add(os.path.realpath(os.fsdecode(path)))
    elif event in _CHANGES:
        for argument in arguments[:2]:
            if isinstance(argument, str | bytes | os.PathLike):
                _watched[-1].add(os.path.realpath(os.fsdecode(argument)))


sys.addaudithook(_hook)  # there is no way to take one back, so it looks only where a test asks


@contextmanager
def watched() -> Iterator[set[str]]:
    """Collect every path that is opened for writing or changed."""
    _watched.append(set())
    try:
        yield _watched[-1]
    finally:
        _watched.pop()


def test_the_watch_sees_what_it_should(tmp_path: Path) -> None:
    with watched() as paths:
        os.close(os.open(tmp_path / "a", os.O_WRONLY | os.O_CREAT))
        os.rename(tmp_path / "a", tmp_path / "b")
        (tmp_path / "b").read_bytes()
        os.mkdir(tmp_path / "c")
    assert paths == {str(tmp_path / name) for name in "abc"}


ESCAPES = ["../../../escaped", "/escaped", "-rf", "a/../../b", "x\0y", "~/escaped", "..", "CON", "\ud800", "x" * 300]


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize("text", ESCAPES)
def test_no_name_id_or_directory_leads_out(tmp_path: Path, agent: str, text: str) -> None:
    store = Store(tmp_path)
    head = header(id=text, cwd=text, parentSession=text, title=text, previousSessionFiles=[text])
    odd = entry("custom", text, "00000008", customType=text, data={"path": text})
    path = store.session(agent, [*CONVERSATION, odd], head=[head], slot="old")
    allowed = (str(path.parent) + "/", str(store.state), str(store.state.parent))
    changes = 0
    with watched() as paths:
        for change in (
            lambda: rename(target(path, agent), text, bench=store.bench),
            lambda: label(target(path, agent), text, text, bench=store.bench),
            lambda: label(target(path, agent), "00000003", text, bench=store.bench),
            lambda: checkout(target(path, agent), text, bench=store.bench),
            lambda: checkout(target(path, agent), "00000006", bench=store.bench),
            lambda: undo(text, bench=store.bench),
            lambda: undo(bench=store.bench),
            lambda: undo(bench=store.bench),
        ):
            with suppress(SessionBrowseError):
                change()
                changes += 1
    assert changes >= 5
    assert [changed for changed in paths if not changed.startswith(allowed)] == []
    assert paths
