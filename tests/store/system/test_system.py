"""What a system lacks is answered by the nearest that it has: macOS and Windows, as far as Linux can play them."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import msgspec
import pytest

from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.trash_directories import put_in_systems
from sessionbrowse.store.find import discover
from sessionbrowse.store.find.roots import Scope, places_of
from sessionbrowse.store.system import files
from sessionbrowse.store.system.files import take_lock
from sessionbrowse.store.system.processes import is_alive, lsof_writers
from sessionbrowse.store.system.trash_places import homes_of, listed
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.in_use import holders
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.trash import NoTrash
from tests.support.session_files import header


@pytest.mark.parametrize("lacks", [(), ("pread", "pwrite")], ids=["linux", "windows"])
def test_bytes_at_an_offset_are_read_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks) -> None:
    pread = files.seek_and_read if lacks else files.pread
    for name in lacks:
        monkeypatch.delattr(os, name)
    path = tmp_path / "x"
    path.write_bytes(b"0123456789")
    descriptor = os.open(path, os.O_RDWR | files.CLOEXEC | files.NOFOLLOW | files.NONBLOCK)
    try:
        assert pread(descriptor, 4, 3) == b"3456"
        assert pread(descriptor, 40, 8) == b"89"
        assert pread(descriptor, 4, 100) == b""
        assert files.pwrite(descriptor, b"ab", 9) == 2
    finally:
        os.close(descriptor)
    assert path.read_bytes() == b"012345678ab"


def test_macos_is_asked_to_empty_the_cache_of_its_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    asked: list[object] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda descriptor, command: asked.append(command))
    monkeypatch.setattr(os, "fsync", lambda descriptor: asked.append("fsync"))
    files.flush(9)
    assert asked == [51]

    def refused(descriptor: int, command: int) -> None:
        raise OSError(25, "a network disk has no such command")

    monkeypatch.setattr(fcntl, "fcntl", refused)
    files.flush(9)
    assert asked == [51, "fsync"]


def test_a_directory_that_cannot_be_opened_is_read_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent/sessions/--w--/s.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(header())
    around = ChangeContext.real().around
    for opens in (True, False):
        monkeypatch.setattr(discover, "OPENS_DIRECTORIES", opens)
        skipped: list[discover.Skipped] = []
        places = places_of(Scope(around=around, roots=(str(tmp_path / "agent"),)))
        assert [file.path for file in discover.discover(places, skipped=skipped.append)] == [str(path)]
        assert skipped == []


def test_a_lock_is_had_by_one_at_a_time_on_windows_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lock"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert take_lock(first)
    assert not take_lock(second)
    assert not take_lock(second, shared=True)
    held: set[int] = set()

    def locking(descriptor: int, mode: int, size: int) -> None:
        if mode == 0:
            held.discard(descriptor)
        elif held - {descriptor}:
            raise OSError(13, "locked")
        else:
            held.add(descriptor)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0))
    assert take_lock(first)
    assert not take_lock(second)
    assert not take_lock(second, shared=True)
    held.clear()
    assert take_lock(second, shared=True)
    assert held == set()
    os.close(first)
    os.close(second)


def test_a_process_that_runs_is_told_from_one_that_ended() -> None:
    assert is_alive(os.getpid())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(60)
    assert not is_alive(ended.pid)
    assert is_alive(1)
    assert not is_alive(2**70)


def test_windows_asks_the_kernel_and_sends_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("on Windows os.kill(pid, 0) is Ctrl+C"))
    closed: list[int] = []

    class Kernel:
        def OpenProcess(self, access: int, inherit: bool, pid: int) -> int:
            return pid if pid in (7, 8) else 0

        def GetExitCodeProcess(self, process: int, code) -> int:
            code._obj.value = 259 if process == 7 else 0
            return 1

        def CloseHandle(self, process: int) -> None:
            closed.append(process)

    monkeypatch.setattr(ctypes, "WinDLL", lambda name, use_last_error: Kernel(), raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: 87, raising=False)
    assert [is_alive(pid, "win32") for pid in (7, 8, 9)] == [True, False, False]
    assert closed == [7, 8]
    monkeypatch.setattr(ctypes, "get_last_error", lambda: 5, raising=False)
    assert is_alive(9, "win32"), "another user's process may not be asked, but it runs"


def test_lsof_tells_who_writes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lsof(output: bytes):
        return lambda command, **_: subprocess.CompletedProcess(command, 0, output, b"")

    assert list(lsof_writers("x", lsof(b"p12\nf3\nar\np34\nf4\naw\nf5\nau\np56\nf1\nau\n"))) == [34, 56]
    assert list(lsof_writers("x", lsof(b"garbage\np\naw\n"))) == []
    assert list(lsof_writers("x", lsof(b""))) == []

    def slow(command, **_):
        raise subprocess.TimeoutExpired(command, 0.3)

    assert list(lsof_writers("x", slow)) == []
    program = tmp_path / "lsof"
    program.write_text("#!/bin/sh\nprintf 'p77\\nf3\\naw\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
    assert list(holders(str(program), [], proc=str(tmp_path / "no-proc"))) == [77]


@pytest.fixture
def mac(tmp_path: Path) -> Path:
    """A Mac's home, whose trash has an item of the same name already."""
    home = tmp_path / "home"
    (home / ".Trash").mkdir(parents=True)
    (home / ".Trash" / "s.jsonl").write_text("another session")
    return home


def as_finder(home: Path):
    """Return a stand-in for macOS's trash: an item gets another name if its own is taken."""

    def to_trash(path: str) -> None:
        target = home / ".Trash" / Path(path).name
        while target.exists():
            target = target.with_name(f"{target.stem} 2{target.suffix}")
        os.rename(path, target)

    return to_trash


def test_what_went_to_the_trash_of_a_mac_comes_back(mac: Path) -> None:
    path = mac / "s.jsonl"
    path.write_text("my session")
    places = homes_of(str(mac / "data"), str(mac), "darwin")
    assert places == (str(mac / ".Trash"),)
    item = trash.put(str(path), places, Moves("x"), as_finder(mac))
    assert item.item == str(mac / ".Trash" / "s 2.jsonl")
    assert not path.exists()
    assert trash.find(item, places) is not None
    trash.take_back(item, Moves("y"))
    assert path.read_text() == "my session"
    assert listed(places[0]) == {"s.jsonl"}


def test_a_failed_trashing_leaves_the_older_items_of_a_mac_alone(mac: Path) -> None:
    path = mac / "s.jsonl"
    path.write_text("another session, and more of it")

    def refused(path: str) -> None:
        raise OSError(1, "Operation not permitted")

    with pytest.raises(NoTrash, match="nothing was changed"):
        trash.put(str(path), homes_of("", str(mac), "darwin"), Moves("x"), refused)
    assert path.exists()
    assert listed(str(mac / ".Trash")) == {"s.jsonl"}


def test_a_trash_that_a_mac_does_not_show_is_not_used(mac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mac / "s.jsonl"
    path.write_text("my session")
    real = os.listdir

    def listdir(directory="."):
        if str(directory) == str(mac / ".Trash"):
            raise PermissionError(1, "Operation not permitted", directory)
        return real(directory)

    monkeypatch.setattr(os, "listdir", listdir)
    with pytest.raises(NoTrash, match="Full Disk Access"):
        trash.put(str(path), homes_of("", str(mac), "darwin"), Moves("x"), as_finder(mac))
    assert path.read_text() == "my session"


def test_windows_says_why_its_trash_is_not_used(tmp_path: Path) -> None:
    context = ChangeContext.real()
    context = msgspec.structs.replace(context, around=msgspec.structs.replace(context.around, platform="win32"))
    path = tmp_path / "s.jsonl"
    path.write_text("my session")
    with pytest.raises(NoTrash, match="Windows does not tell"):
        put_in_systems(
            str(path),
            Change(id="c", verb="delete", path=str(path), agent="pi", time=""),
            context,
            Moves("x"),
            lambda path: pytest.fail("used"),
        )
    assert path.exists()
