"""Whole files: moved on one disk and across disks, beside programs that write; nothing is lost, hidden or opened up."""

from __future__ import annotations

import ctypes
import errno
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.store.write import copies, old_versions
from sessionbrowse.store.write import moves as moves_module
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.old_versions import OldVersion, hidden_beside, nobody_has_open
from tests.faults.fault_injection import after, failing_disk
from tests.support.change_helpers import LONG_AGO_NS
from tests.support.file_helpers import picture


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on another disk."""
    if not os.path.isdir("/dev/shm"):
        pytest.skip("there is no second disk")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if os.stat(folder).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("/dev/shm is on the same disk")
        yield Path(folder)


def add(path: Path, content: bytes) -> Callable[[], None]:
    """Return a function that appends to a file if it is there, as pi does for every line."""

    def write() -> None:
        if path.exists():
            with path.open("ab") as file:
                file.write(content)

    return write


def test_only_a_file_that_no_program_has_open_is_provably_free(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n")
    with path.open("rb") as ours:
        assert nobody_has_open(ours.fileno(), 1)
        with path.open("ab"):
            assert not nobody_has_open(ours.fileno(), 0.01)
        with path.open("rb"):
            assert not nobody_has_open(ours.fileno(), 0.01)
        assert nobody_has_open(ours.fileno(), 1)


def test_without_a_proof_an_old_version_rests_for_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_versions, "_take_lease", lambda _: None)
    old, heir = tmp_path / ".a.jsonl.1.old", tmp_path / "a.jsonl"
    old.write_bytes(b"one\nlate\n")
    heir.write_bytes(b"one\n")
    assert not old_versions.remove(OldVersion(str(old), str(heir), 4, 4), 0)
    assert heir.read_bytes() == b"one\nlate\n"
    clock = time.time_ns() + 601 * 1_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: clock)
    assert old_versions.remove(OldVersion(str(old), str(heir), 4, 4), 0)
    assert os.listdir(tmp_path) == ["a.jsonl"]
    assert heir.read_bytes() == b"one\nlate\n"


@pytest.mark.parametrize(
    ("name", "old", "size", "heir", "heir_size", "expected"),
    [
        ("nothing came", b"h\na\n", 4, b"H!\na\n", 5, b"H!\na\n"),
        ("one line came", b"h\na\nb\n", 4, b"H!\na\n", 5, b"H!\na\nb\n"),
        ("both got lines", b"h\na\nb\n", 4, b"H!\na\nc\n", 5, b"H!\na\nc\nb\n"),
        ("it is carried over already", b"h\na\nb\n", 4, b"H!\na\nb\nc\n", 5, b"H!\na\nb\nc\n"),
        ("another line came first", b"h\na\nb\n", 4, b"H!\na\nc\nb\n", 5, b"H!\na\nc\nb\n"),
        ("a kill left half of it", b"h\na\nbcd\n", 4, b"H!\na\nbc", 5, b"H!\na\nbcd\n"),
        ("half of it and another line", b"h\na\nbcd\n", 4, b"H!\na\nbc\ne\n", 5, b"H!\na\nbc\ne\nbcd\n"),
        ("an unfinished line went on", b"h\nab\n", 3, b"H!\na", 4, b"H!\nab\n"),
        ("an unfinished line, and a new one", b"h\nab\n", 3, b"H!\na\nc\n", 4, b"H!\na\nc\nab\n"),
        ("sizes are unknown", b"h\na\nb\n", 2, b"H!\na\nc\n", 3, b"H!\na\nc\nb\n"),
        ("the same line twice", b"h\na\nb\nb\n", 4, b"H!\na\nb\nc\n", 5, b"H!\na\nb\nc\nb\n"),
    ],
)
def test_late_lines_are_carried_over_once(
    tmp_path: Path, name: str, old: bytes, size: int, heir: bytes, heir_size: int, expected: bytes
) -> None:
    hidden, path = tmp_path / ".a.old", tmp_path / "a.jsonl"
    hidden.write_bytes(old)
    path.write_bytes(heir)
    assert old_versions.remove(OldVersion(str(hidden), str(path), size, heir_size), 1), name
    assert path.read_bytes() == expected, name
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_only_hidden_names_of_ours_are_taken_from_the_journal() -> None:
    for suffix in ("old", "new", "gone", "0.gone"):
        assert old_versions.is_hidden_name(hidden_beside("/s/x.jsonl", "0a1b2c3d", suffix)), suffix
    assert old_versions.is_hidden_name("/s/.x.jsonl.0123456789abcdef.tmp")
    for name in ("x.jsonl", ".x.jsonl", ".bashrc", ".bashrc.old", ".config.new", ".x.0a1b2c3d.jsonl", "x.0a1b2c3d.old"):
        assert not old_versions.is_hidden_name(f"/s/{name}"), name


def test_an_old_version_without_an_heir_stays(tmp_path: Path) -> None:
    hidden = tmp_path / ".a.old"
    hidden.write_bytes(b"h\nlate\n")
    assert not old_versions.remove(OldVersion(str(hidden), str(tmp_path / "gone.jsonl"), 2, 2), 0)
    assert hidden.read_bytes() == b"h\nlate\n"


def test_a_move_across_disks_carries_over_what_comes_at_any_moment(tmp_path: Path, other_disk: Path) -> None:
    source, target = tmp_path / "a.jsonl", other_disk / "a.jsonl"

    def move() -> Moves:
        target.unlink(missing_ok=True)
        source.write_bytes(b"header\none\n")
        os.utime(source, ns=(LONG_AGO_NS, LONG_AGO_NS))
        moves = Moves("0a")
        moves.move(str(source), str(target))
        assert moves.remove_old_versions(2) == []
        return moves

    with failing_disk() as disk:
        move()
    assert target.stat().st_mtime_ns == LONG_AGO_NS
    at_once = 0
    for at in range(2, len(disk.calls) + 1):
        with failing_disk(at, after(add(source, b"late\n"))):
            move()
        found = target.read_bytes()
        assert found in (b"header\none\nlate\n", b"header\none\n"), (at, disk.calls[at - 1])
        at_once += found.endswith(b"late\n")
        if source.exists():
            assert source.read_bytes() == b"late\n"
            source.unlink()
        assert os.listdir(other_disk) == ["a.jsonl"]
        assert os.listdir(tmp_path) == []
    assert at_once >= 2


def test_a_file_always_has_a_name_that_is_listed(tmp_path: Path, other_disk: Path) -> None:
    source, target = tmp_path / "a.jsonl", other_disk / "a.jsonl"
    unlisted: list[str] = []

    def look() -> None:
        if not source.exists() and not target.exists():
            unlisted.append("now")

    with failing_disk() as disk:
        source.write_bytes(b"header\n")
        moves = Moves("0a")
        moves.move(str(source), str(target))
        moves.remove_old_versions(2)
    for at in range(2, len(disk.calls) + 1):
        target.unlink(missing_ok=True)
        source.write_bytes(b"header\n")
        with failing_disk(at - 1, after(look)):
            moves = Moves("0a")
            moves.move(str(source), str(target))
            moves.remove_old_versions(2)
    assert unlisted == []


def test_a_bind_mount_is_another_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a" / "x.jsonl", tmp_path / "b" / "x.jsonl"
    for folder in (source.parent, target.parent):
        folder.mkdir()
    source.write_bytes(b"header\n")
    real = moves_module.rename_to_free

    def bound(first: str, second: str) -> bool:
        if os.path.dirname(first) != os.path.dirname(second):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), second)
        return real(first, second)

    monkeypatch.setattr(moves_module, "rename_to_free", bound)
    moves = Moves("0a")
    moves.move(str(source), str(target))
    assert moves.remove_old_versions(2) == []
    assert {os.path.basename(path): content for path, (content, _) in picture(tmp_path).items()} == {
        "x.jsonl": b"header\n"
    }
    assert target.exists()


def test_a_writer_that_holds_the_original_open_loses_nothing(tmp_path: Path, other_disk: Path) -> None:
    source, target = tmp_path / "a.jsonl", other_disk / "a.jsonl"
    source.write_bytes(b"header\n")
    moves = Moves("0a")
    with source.open("ab", buffering=0) as held:
        moves.move(str(source), str(target))
        held.write(b"late\n")
        (old,) = moves.remove_old_versions(0)
        held.write(b"later\n")
        assert old.hidden == hidden_beside(str(source), "0a", "old")
        assert target.read_bytes() == b"header\nlate\n"
    assert moves.remove_old_versions(2) == []
    assert target.read_bytes() == b"header\nlate\nlater\n"
    assert os.listdir(tmp_path) == []


def test_moves_beside_a_writer_lose_no_line(tmp_path: Path, other_disk: Path) -> None:
    """The writer opens, waits a little, appends and closes; a line to a file without a header is not lost either."""
    first, second = tmp_path / "a.jsonl", other_disk / "a.jsonl"
    first.write_bytes(b"header\n")
    written: list[bytes] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            for path in (first, second):
                try:
                    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
                except FileNotFoundError:
                    continue
                if number % 3 == 0:
                    stop.wait(0.001)
                number += 1
                os.write(descriptor, b"%d\n" % number)
                written.append(b"%d" % number)
                os.close(descriptor)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(20):
            moves = Moves(f"{number:02x}")
            moves.move(str(first), str(second))
            assert moves.remove_old_versions(5) == []
            back = Moves(f"b{number:02x}")
            back.move(str(second), str(first))
            assert back.remove_old_versions(5) == []
    finally:
        stop.set()
        writer.join(timeout=60)
    lines = first.read_bytes().split(b"\n")
    assert lines[0] == b"header"
    assert sorted(lines[1:-1]) == sorted(written)


def test_what_a_kill_left_of_a_move_is_taken_back_or_finished_from_every_moment(
    tmp_path: Path, other_disk: Path
) -> None:
    source, target = tmp_path / "a.jsonl", other_disk / "a.jsonl"

    class Killed(BaseException):
        pass

    def killed() -> None:
        raise Killed

    with failing_disk() as disk:
        source.write_bytes(b"header\n")
        Moves("0a").move(str(source), str(target))
    moments = len(disk.calls)
    for finishes in (False, True):
        for at in range(2, moments + 1):
            for path in (*tmp_path.iterdir(), *other_disk.iterdir()):
                path.unlink()
            source.write_bytes(b"header\n")
            with failing_disk(at - 1, after(killed)), pytest.raises(Killed):
                Moves("0a").move(str(source), str(target))
            add(source, b"late\n")()
            add(target, b"other\n")()
            moves = Moves("0a")
            (moves.finish if finishes else moves.move_back)(str(source), str(target))
            assert moves.remove_old_versions(2) == []
            kept, gone = (target, source) if finishes else (source, target)
            assert not gone.exists(), at
            lines = kept.read_bytes().split(b"\n")
            assert lines[0] == b"header", at
            assert b"late" in lines or b"other" in lines, at
            assert [name for name in (*os.listdir(tmp_path), *os.listdir(other_disk)) if name != "a.jsonl"] == [], at


def test_a_folder_moves_to_another_disk_with_modes_times_links_and_late_lines(tmp_path: Path, other_disk: Path) -> None:
    folder = tmp_path / "session"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "x.jsonl").write_bytes(b"header\n")
    (folder / "deep" / "x.jsonl").chmod(0o600)
    (folder / "link").symlink_to("deep/x.jsonl")
    (folder / "deep").chmod(0o700)
    os.utime(folder / "deep" / "x.jsonl", ns=(LONG_AGO_NS, LONG_AGO_NS))
    os.utime(folder / "deep", ns=(LONG_AGO_NS, LONG_AGO_NS))
    moves = Moves("0a")
    with (folder / "deep" / "x.jsonl").open("ab", buffering=0) as held:
        target = other_disk / "session"
        moves.move(str(folder), str(target))
        assert (target / "deep").stat().st_mtime_ns == LONG_AGO_NS
        assert (target / "deep" / "x.jsonl").stat().st_mtime_ns == LONG_AGO_NS
        held.write(b"late\n")
    assert moves.remove_old_versions(2) == []
    assert (target / "deep" / "x.jsonl").read_bytes() == b"header\nlate\n"
    assert (target / "deep" / "x.jsonl").stat().st_mode & 0o777 == 0o600
    assert (target / "deep").stat().st_mode & 0o777 == 0o700
    assert os.readlink(target / "link") == "deep/x.jsonl"
    assert os.listdir(tmp_path) == []


def test_macos_exchanges_names_by_its_own_call(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[bytes, bytes, int]] = []

    class Library:
        """The C library of macOS, as far as it is used."""

        def renamex_np(self, old: bytes, new: bytes, flags: ctypes.c_uint) -> int:
            calls.append((old, new, flags.value))
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Library())
    assert moves_module.exchange("a", "b")
    assert moves_module.rename_to_free("a", "b")
    assert calls == [(b"a", b"b", 2), (b"a", b"b", 4)]
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    assert not moves_module.exchange("a", "b")


# ---- access rights -------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept_or_the_move_is_refused(
    tmp_path: Path, other_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "a.jsonl", other_disk / "a.jsonl"
    source.write_bytes(b"header\n")
    os.chown(source, 12345, 54321)
    Moves("0a").move(str(source), str(target))
    assert (target.stat().st_uid, target.stat().st_gid) == (12345, 54321)

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fchown", refused)
    with pytest.raises(RefusedWrite, match="owner"):
        Moves("0b").move(str(target), str(tmp_path / "b.jsonl"))
    assert target.exists()
    assert not (tmp_path / "b.jsonl").exists()
    monkeypatch.setattr(os, "fchown", lambda _, owner, group: refused() if owner == -1 else None)
    target.chmod(0o660)
    os.chown(target, 0, 54321)
    Moves("0c").move(str(target), str(tmp_path / "c.jsonl"))
    assert (tmp_path / "c.jsonl").stat().st_mode & 0o777 == 0o600, "another group would get in"


def test_an_access_list_that_cannot_be_kept_cuts_the_mode_to_the_owner(
    tmp_path: Path, other_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "a.jsonl", other_disk / "a.jsonl"
    source.write_bytes(b"header\n")
    source.chmod(0o664)

    def refused(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "getxattr", lambda descriptor, name: b"an access list")
    monkeypatch.setattr(os, "setxattr", refused)
    Moves("0a").move(str(source), str(target))
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_new_folder_is_open_to_nobody_whom_its_model_shuts_out(tmp_path: Path) -> None:
    model = tmp_path / "private"
    model.mkdir(mode=0o700)
    copies.make_folder(str(tmp_path / "a" / "b"), str(model))
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b")] == [0o700, 0o700]


def test_a_new_folder_can_be_written_by_its_owner_even_if_its_model_cannot(tmp_path: Path) -> None:
    model = tmp_path / "closed"
    model.mkdir(mode=0o550)
    copies.make_folder(str(tmp_path / "a" / "b"), str(model))
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b")] == [0o750, 0o750]
