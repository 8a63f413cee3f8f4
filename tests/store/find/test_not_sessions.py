"""What lies in session directories and is no session, and files that two mounts show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents.base import Place
from sessionbrowse.store.find import discover
from tests.support.change_helpers import CONVERSATION, header, line

NAME = "2026-08-13T08-00-00-000Z_019beea5.jsonl"
APPLE_DOUBLE = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        " + b"\0" * 60


def session(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(line, [header(), *CONVERSATION])))
    return path


def found(*roots: Path) -> set[str]:
    places = [Place("pi", str(root), "projects", "test") for root in roots]
    return {file.path for file in discover.discover(places, include_nested=True, include_archived=True)}


def test_what_macos_and_programs_for_synchronising_leave_is_no_session(tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    own = session(root / "--p--" / NAME)
    dotted = session(root / "--p--/._mine.jsonl")
    for name in (f"._{NAME}", "._gone.jsonl"):
        (root / "--p--" / name).write_bytes(APPLE_DOUBLE)
    for name in (
        f".syncthing.{NAME}.tmp",
        f"~syncthing~{NAME}.tmp",
        f".{NAME}.icloud",
        f".{NAME}.Ab3dE6",
        f"{NAME}.!sync",
        f"{NAME}.conflict1",
        f".unison.{NAME}.1a2b.unison.tmp",
    ):
        session(root / "--p--" / name)
    session(root / ".stversions/--p--" / NAME.replace(".jsonl", "~20261126-230000.jsonl"))
    session(root / "--p--/.stversions" / NAME.replace(".jsonl", "~20261126-230000.jsonl"))
    session(root / "--p--/.sync/Archive" / NAME)
    session(root / "--p--/@eaDir/x" / NAME)
    assert found(root) == {str(own), str(dotted)}


def test_a_file_that_two_mounts_show_is_found_once_and_a_changed_snapshot_of_it_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link stands for the second mount; its files seem to be on another device."""
    root, view = tmp_path / "sessions", tmp_path / "view"
    first, second = session(root / "--p--" / NAME), session(root / "--p--" / f"x{NAME}")
    view.symlink_to(root)
    identity, listing = discover._Walk._identity, discover._Walk._listing

    def elsewhere(status: os.stat_result, **changed: int) -> os.stat_result:
        named: Any = status.__reduce__()[1][1]
        return os.stat_result((*status[:2], -1, *status[3:]), named | changed)

    def identity_of(walk: Any, directory: str) -> tuple[int, int] | None:
        known = identity(walk, directory)
        return (-1, known[1]) if known is not None and directory.startswith(str(view)) else known

    def listing_of(walk: Any, directory: str, suffixes: tuple[str, ...]) -> Any:
        if not directory.startswith(str(view)):
            return listing(walk, directory, suffixes)
        before, walk._directories = walk._directories, set()
        files, folders = listing(walk, directory, suffixes)
        walk._directories = before
        changed = {str(view / "--p--" / f"x{NAME}"): {"st_mtime_ns": 5}}
        return {
            name: elsewhere(status, **changed.get(os.path.join(directory, name), {})) for name, status in files.items()
        }, folders

    monkeypatch.setattr(discover._Walk, "_identity", identity_of)
    monkeypatch.setattr(discover._Walk, "_listing", listing_of)
    assert found(root, view) == {str(first), str(second), str(view / "--p--" / f"x{NAME}")}
    assert found(view) == {str(view / "--p--" / NAME), str(view / "--p--" / f"x{NAME}")}
