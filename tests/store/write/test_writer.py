"""The safe writer: what others write meanwhile, failing disks, new files, moved files, omp's lock."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents.change_plans import label_entry, name_entry
from sessionbrowse.errors import ChangedMeanwhile, InUse, RefusedWrite, SessionBrowseError, WriteFailed
from sessionbrowse.format.title_slot import SLOT_BYTES
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read.content import file_blocks
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write import moves, old_versions, writer
from sessionbrowse.store.write.moves import rename as move_file
from sessionbrowse.store.write.old_versions import OldVersion
from sessionbrowse.store.write.whole_files import create_file, rewrite_file, temporary_beside
from sessionbrowse.store.write.writer import lock_path, publish_lock
from tests.faults.fault_injection import after, failing_disk, fails_with, writes_only
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, NOW_MS, Store, line, lines_of, target, user
from tests.support.file_helpers import replace_reads


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def append(store: Store, path: Path, name: str = "ours") -> writer.Appended:
    with writer.opened(target(path)) as file:
        return writer.append_line(
            file, name_entry(name), "a0000000", now_ms=lambda: NOW_MS, new_id=store.context.new_id
        )


def theirs(entry_id: str, parent_id: str) -> bytes:
    return line(user(entry_id, parent_id, "typed meanwhile"))


def add(path: Path, content: bytes) -> Callable[[], None]:
    """Append as pi does: open, append, close."""

    def do() -> None:
        with path.open("ab") as file:
            file.write(content)

    return do


def branch(path: Path) -> list[str | None]:
    session = open_session(path)
    return [session.envelopes[index].id for index in session.active_branch()]


# ---- somebody else is faster -------------------------------------------------------------------------------


def test_a_line_that_slips_in_before_ours_stays_on_the_branch(store: Store) -> None:
    path = store.session()
    with failing_disk(2, after(add(path, theirs("0000000f", "00000008")))) as disk:
        appended = append(store, path)
    assert disk.calls[:2] == ["open", "write"]
    parents = [(value["id"], value["parentId"]) for value in lines_of(path)[-3:]]
    assert parents == [("0000000f", "00000008"), ("a0000000", "00000008"), (appended.entry_id, "0000000f")]
    assert branch(path)[-2:] == ["0000000f", appended.entry_id]
    assert appended.left is None
    assert path.stat().st_mtime_ns != LONG_AGO_NS, "their message is new"


def test_a_line_that_slips_in_behind_ours_is_the_leaf_and_all_is_well(store: Store) -> None:
    path = store.session()
    with failing_disk(3, after(add(path, theirs("0000000f", "00000008")))) as disk:
        appended = append(store, path)
    assert disk.calls[:3] == ["open", "write", "fsync"]
    assert [value["id"] for value in lines_of(path)[-2:]] == ["a0000000", "0000000f"]
    assert branch(path)[-2:] == ["00000008", "0000000f"]
    assert appended.notes == ("Another program is writing to this session now.",)
    assert open_session(path).name == "ours"


def test_a_line_between_writing_and_putting_back_the_time_keeps_its_own_time(store: Store) -> None:
    path = store.session()
    with failing_disk(4, after(add(path, theirs("0000000f", "00000008")))) as disk:
        append(store, path)
    assert disk.calls == ["open", "write", "fsync", "utime", "utime"]
    assert path.stat().st_mtime_ns != LONG_AGO_NS


def test_half_a_line_of_somebody_else_under_ours_is_noticed_and_ours_is_written_again(store: Store) -> None:
    path = store.session()
    with failing_disk(2, after(add(path, b'{"type":"mess'))):
        append(store, path)
    content = path.read_bytes()
    assert b'{"type":"mess{"type":"session_info"' in content, "that half line was lost before we came"
    assert open_session(path).name == "ours"
    assert branch(path)[-2] == "00000008"


def test_a_session_that_grows_while_it_is_read_gets_the_right_parent_at_once(store: Store) -> None:
    path = store.session()
    with writer.opened(target(path)) as file:
        add(path, theirs("0000000f", "00000008"))()
        writer.append_line(file, name_entry("ours"), "a0000000", now_ms=lambda: NOW_MS)
    assert [(value["id"], value["parentId"]) for value in lines_of(path)[-1:]] == [("a0000000", "0000000f")]
    assert len(lines_of(path)) == len(CONVERSATION) + 3


@pytest.mark.parametrize("half", [1, 20, -1])
def test_a_line_that_is_only_half_there_when_we_look_is_waited_for(store: Store, half: int) -> None:
    path = store.session()
    whole = theirs("0000000f", "00000008")
    add(path, whole[:half])()
    with writer.opened(target(path)) as file, failing_disk(2, after(add(path, whole[half:]))):
        writer.append_line(file, name_entry("ours"), "a0000000", now_ms=lambda: NOW_MS, new_id=store.context.new_id)
    assert branch(path)[-2] == "0000000f"
    assert open_session(path).name == "ours"


def test_an_id_that_somebody_took_meanwhile_is_not_used(store: Store) -> None:
    path = store.session()
    with writer.opened(target(path)) as file:
        add(path, theirs("a0000000", "00000008"))()
        appended = writer.append_line(
            file, name_entry("ours"), "a0000000", now_ms=lambda: NOW_MS, new_id=iter(["a0000000", "bbbbbbbb"]).__next__
        )
    assert appended.entry_id == "bbbbbbbb"
    assert open_session(path).problems == ()


def test_a_writer_without_pause_is_given_up_after_a_while(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session()
    real = os.write
    count = iter(range(1_000_000))

    def racing(descriptor: int, content: bytes) -> int:
        add(path, theirs(f"f{next(count):07x}", "00000008"))()
        return real(descriptor, content)

    monkeypatch.setattr(os, "write", racing)
    appended = append(store, path)
    assert "keeps writing" in appended.notes[0]
    assert path.read_bytes().count(b"session_info") == writer.MAX_ATTEMPTS


@pytest.mark.parametrize("how", ["replaced", "shortened", "gone", "other bytes"])
def test_a_file_that_is_not_what_was_read_is_left_alone(store: Store, how: str) -> None:
    path = store.session()
    with writer.opened(target(path)) as file:
        if how == "replaced":
            os.replace(store.session(name="other.jsonl"), path)
        elif how == "shortened":
            path.write_bytes(path.read_bytes()[:300])
        elif how == "other bytes":
            path.write_bytes(path.read_bytes()[:-1] + b" " + b"x" * 100)
        else:
            path.unlink()
        now = path.read_bytes() if path.exists() else None
        with pytest.raises((ChangedMeanwhile, WriteFailed)):
            writer.append_line(file, name_entry("ours"), "a0000000", now_ms=lambda: NOW_MS)
    assert (path.read_bytes() if path.exists() else None) == now


def test_a_change_is_tried_again_where_the_file_changed_while_it_was_read(store: Store) -> None:
    path = store.session()
    newer = store.session(name="newer.jsonl", entries=[*CONVERSATION, user("0000000f", "00000008", "more")])

    def replace() -> None:
        os.replace(newer, path)

    with failing_disk(8, after(replace)) as disk:
        rename(target(path), "ours", context=store.context)
    assert disk.calls.count("open") > 3
    assert open_session(path).name == "ours"
    assert branch(path)[-2] == "0000000f"


# ---- the disk fails ----------------------------------------------------------------------------------------


def test_a_short_write_leaves_a_closed_half_line_that_everybody_skips(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    with failing_disk(2, writes_only(lambda size: size // 2)), pytest.raises(WriteFailed, match="took only 63 of 127"):
        append(store, path, "x" * 16)
    half = path.read_bytes().removeprefix(before)
    assert half.startswith(b'{"type":"session_info"')
    assert half.endswith(b"\n")
    assert (open_session(path).name, branch(path)[-1]) == (None, "00000008")
    append(store, path)
    assert path.read_bytes().startswith(before + half)
    assert (open_session(path).name, branch(path)[-2]) == ("ours", "00000008")


def test_a_disk_that_is_known_to_be_full_is_not_written_to(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session()
    before = path.read_bytes()
    real = os.fstatvfs

    def full(descriptor: int) -> Any:
        values = list(real(descriptor))
        values[1], values[3], values[4] = 1, 0, 0
        return os.statvfs_result(values)

    monkeypatch.setattr(os, "fstatvfs", full)
    with failing_disk() as disk, pytest.raises(WriteFailed, match="The disk is full"):
        append(store, path)
    assert "write" not in disk.calls
    assert path.read_bytes() == before


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_a_disk_that_cannot_be_read_is_a_sentence_too(
    store: Store, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.session(agent)
    before = path.read_bytes()
    real = os.pread
    for at in range(1, 20):
        count = iter(range(1, 1000))

        def failing(descriptor: int, size: int, offset: int, at: int = at, count: Iterator[int] = count) -> bytes:
            if next(count) == at:
                raise OSError(errno.EIO, "Input/output error")
            return real(descriptor, size, offset)

        replace_reads(monkeypatch, "pread", failing)
        with suppress(SessionBrowseError):
            rename(target(path), f"name {at}", context=store.context)
        monkeypatch.undo()
        assert path.read_bytes()[SLOT_BYTES : len(before)] == before[SLOT_BYTES:]
        changes = list(store.context.journal.changes().values())
        assert "pending" not in [change.state for change in changes[:-1]]
        if changes and changes[-1].state == "done":
            assert open_session(path).name == changes[-1].after["name"]


def test_a_slot_written_by_halves_is_finished_or_put_back(store: Store) -> None:
    path = store.session("omp")
    before = path.read_bytes()
    rename(target(path), "warm", context=store.context)
    undo(context=store.context)
    with failing_disk() as disk:
        rename(target(path), "warm", context=store.context)
    undo(context=store.context)
    at = disk.calls.index("pwrite")
    with failing_disk(at + 1, writes_only(lambda size: 40)) as disk:
        rename(target(path), "ours", context=store.context)
    assert disk.calls[at : at + 2] == ["pwrite", "pwrite"]
    assert open_session(path).name == "ours"
    undo(context=store.context)
    assert path.read_bytes() == before


# ---- whole files -------------------------------------------------------------------------------------------


def test_a_new_file_is_there_whole_with_its_time_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    (tmp_path / "like").write_bytes(b"")
    (tmp_path / "like").chmod(0o640)
    like = os.open(tmp_path / "like", os.O_RDONLY)
    create_file(str(path), [b"one\n", b"two\n"], mtime_ns=LONG_AGO_NS, like=like)
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.stat().st_mtime_ns == LONG_AGO_NS
    os.close(like)
    assert sorted(os.listdir(tmp_path)) == ["like", "new.jsonl"]


def test_a_new_file_gets_the_umask_of_the_process_which_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o077)
    try:
        # The umask belongs to all threads: one that makes a file meanwhile must not find another.
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the process's umask was changed"))
        create_file(str(tmp_path / "new.jsonl"), [b"one\n"])
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "new.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    for make in (lambda: path.write_bytes(b"somebody's"), lambda: path.symlink_to("nowhere")):
        make()
        with pytest.raises(RefusedWrite, match="already exists"):
            create_file(str(path), [b"ours"])
        assert os.listdir(tmp_path) == ["new.jsonl"]
        path.unlink()


@pytest.mark.parametrize("links", [True, False])
def test_a_moved_file_keeps_everything_and_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", lambda *_, **__: fails_with(errno.EPERM)("link", os.link, (), {}))
    source, goal = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"ours")
    inode = source.stat().st_ino
    goal.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        move_file(str(source), str(goal))
    assert (source.read_bytes(), goal.read_bytes()) == (b"ours", b"theirs")
    goal.unlink()
    move_file(str(source), str(goal))
    assert (goal.read_bytes(), goal.stat().st_ino, source.exists()) == (b"ours", inode, False)


def test_a_failed_new_file_leaves_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "new.jsonl")
    with failing_disk() as disk:
        create_file(path, [b"one"])
    os.unlink(path)
    for at in range(1, len(disk.calls)):
        with failing_disk(at, fails_with(errno.EIO)):
            try:
                create_file(path, [b"one"])
            except WriteFailed:
                left = os.listdir(tmp_path)
                assert left in ([], ["new.jsonl"]), (at, disk.calls)
            finally:
                for name in os.listdir(tmp_path):
                    assert (tmp_path / name).read_bytes() == b"one"
                    os.unlink(tmp_path / name)


def refuse_to_keep(old: OldVersion) -> None:
    pytest.fail(f"{old} stays, although nobody has it open")


def test_a_rewrite_refuses_what_changed_and_what_has_two_names(store: Store) -> None:
    path = store.session("omp")
    before = path.read_bytes()
    with writer.opened(target(path)) as file:
        add(path, theirs("0000000f", "00000008"))()
        with pytest.raises(ChangedMeanwhile):
            rewrite_file(file, [b"x\n"], temporary_beside(str(path)), refuse_to_keep)
    assert path.read_bytes() == before + theirs("0000000f", "00000008")
    os.link(path, path.parent / "second.jsonl")
    with writer.opened(target(path)) as file, pytest.raises(RefusedWrite, match="a second name"):
        rewrite_file(file, [b"x\n"], temporary_beside(str(path)), refuse_to_keep)
    assert len(os.listdir(path.parent)) == 2


def test_a_file_that_takes_the_place_in_the_last_moment_gets_it_back(store: Store) -> None:
    path, other = store.session("omp"), store.session("omp", name="other.jsonl", slot="another")
    content = other.read_bytes()
    with writer.opened(target(path)) as file, failing_disk() as disk:
        rewrite_file(file, [b"x\n"], temporary_beside(str(path)), refuse_to_keep)
    path = store.session("omp")
    with (
        writer.opened(target(path)) as file,
        failing_disk(disk.calls.index("exchange") + 1, after(lambda: os.replace(other, path))),
        pytest.raises(ChangedMeanwhile),
    ):
        rewrite_file(file, [b"x\n"], temporary_beside(str(path)), refuse_to_keep)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_rewrite_does_without_exchange_where_the_disk_cannot(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session("omp")
    monkeypatch.setattr(moves, "exchange", lambda *_: False)
    with writer.opened(target(path)) as file:
        rewrite_file(file, [b"x\n"], temporary_beside(str(path)), refuse_to_keep)
    assert path.read_bytes() == b"x\n"
    assert os.listdir(path.parent) == [path.name]


def test_what_is_appended_to_the_old_version_is_carried_over_for_as_long_as_it_is_open(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_versions, "WAIT_S", 0.01)
    path = store.session("omp")
    kept: list[OldVersion] = []
    with writer.opened(target(path)) as file, path.open("ab", buffering=0) as held:
        with failing_disk() as disk:
            rewrite_file(file, file_blocks(file.descriptor), temporary_beside(str(path)), kept.append)
        assert "unlink" not in disk.calls[disk.calls.index("exchange") :]
        held.write(theirs("0000000e", "00000008"))
        (old,) = kept
        assert not old_versions.remove(old, 0)
        assert path.read_bytes().endswith(theirs("0000000e", "00000008"))
        held.write(theirs("0000000f", "0000000e"))
    assert old_versions.remove(old, 5)
    assert os.listdir(path.parent) == [path.name]
    assert branch(path)[-2:] == ["0000000e", "0000000f"]


def test_a_line_between_the_exchange_and_the_carrying_over_is_kept(store: Store) -> None:
    path = store.session("omp")
    late = theirs("0000000f", "00000008")
    with writer.opened(target(path)) as file, failing_disk() as disk:
        rewrite_file(file, file_blocks(file.descriptor), temporary_beside(str(path)), refuse_to_keep)
    at = disk.calls.index("exchange") + 2

    def write_late() -> None:
        (hidden,) = path.parent.glob(".*")
        with hidden.open("ab") as old:
            old.write(late)

    with writer.opened(target(path)) as file, failing_disk(at, after(write_late)):
        left = rewrite_file(file, file_blocks(file.descriptor), temporary_beside(str(path)), refuse_to_keep)
    assert left is None
    assert path.read_bytes().endswith(late)
    assert os.listdir(path.parent) == [path.name]


# ---- omp's lock --------------------------------------------------------------------------------------------


def test_the_lock_is_omps_own(tmp_path: Path) -> None:
    path = str(tmp_path / "s.jsonl")
    with publish_lock(path, now=lambda: 1234.5):
        lock = tmp_path / ".s.jsonl.lock"
        assert lock.read_text() == f"{os.getpid()}:1234500\n"
        assert lock.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == []


def test_a_living_holder_is_waited_for_half_a_second(tmp_path: Path) -> None:
    path = str(tmp_path / "s.jsonl")
    Path(lock_path(path)).write_text(f"{os.getppid()}:1\n")
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with pytest.raises(InUse, match="being written by omp"), publish_lock(path, clock=lambda: now[0], sleep=sleep):
        pass
    assert 0.5 <= now[0] < 0.51
    assert Path(lock_path(path)).exists()


@pytest.mark.parametrize(
    ("content", "age_s", "taken"),
    [
        ("{dead}:1\n", 0, True),
        ("", 1, True),
        ("", 0.1, False),
        ("rubbish", 1, True),
        ("99999999999999999999:1\n", 0, True),
    ],
)
def test_a_lock_of_a_dead_process_is_taken_over(tmp_path: Path, content: str, age_s: float, taken: bool) -> None:
    path = str(tmp_path / "s.jsonl")
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    lock = Path(lock_path(path))
    lock.write_text(content.format(dead=child))
    now = lock.stat().st_mtime + age_s
    ticks = iter(range(1000))
    try:
        with publish_lock(path, clock=lambda: next(ticks), sleep=lambda _: None, now=lambda: now):
            assert taken
    except InUse:
        assert not taken


# ---- the lines ---------------------------------------------------------------------------------------------


def test_the_planned_line_is_what_pi_writes() -> None:
    assert label_entry("1", None).line("2", None, "t") == (
        b'{"type":"label","id":"2","parentId":null,"timestamp":"t","targetId":"1"}\n'
    )
    assert name_entry('\u2028\ud800é"\x01').line("2", "3", "t") == (
        '{"type":"session_info","id":"2","parentId":"3","timestamp":"t","name":"\u2028\\ud800é\\"\\u0001"}\n'.encode()
    )
