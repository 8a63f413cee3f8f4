"""Helpers for tests of files: a trash of their own, snapshots of a directory, processes that are forked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import reload
from pathlib import Path
from typing import Any

import pytest
import send2trash
from send2trash import plat_other

from sessionbrowse.store.system import files

Picture = dict[str, tuple[bytes, int]]


def own_system_trash() -> None:
    """Let send2trash see the home of this test: it looks once, when it is imported."""
    reload(plat_other)
    send2trash.send2trash = plat_other.send2trash


def picture(*folders: Path) -> Picture:
    """Return every file below the folders with its content and time of change in nanoseconds."""
    found: Picture = {}
    for folder in folders:
        for here, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(here, name)
                if not os.path.islink(path):
                    found[path] = (Path(path).read_bytes(), os.lstat(path).st_mtime_ns)
    return found


def counted_forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the processes that are forked from now on; the list grows."""
    forks: list[int] = []
    fork = os.fork

    def counted() -> int:
        forks.append(fork())
        return forks[-1]

    monkeypatch.setattr(os, "fork", counted)
    return forks


def replace_reads(monkeypatch: pytest.MonkeyPatch, name: str, function: Callable[..., Any]) -> None:
    """Replace a function such as `pread` in every module of the program that reads files by it."""
    real = getattr(files, name)
    for module in [module for key, module in sys.modules.items() if key.startswith("sessionbrowse.")]:
        if getattr(module, name, None) is real:
            monkeypatch.setattr(module, name, function)


def unmeasured_environ() -> dict[str, str]:
    """Return this process's environment for a program that `make coverage` does not measure: measuring imports more."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
