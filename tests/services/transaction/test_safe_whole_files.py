"""Verbs on whole files beside a writer and after a kill: nothing lost, displaced, hidden, or stuck for ever."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.services.change import relocate as relocating
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.delete import delete, restorable
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.services.transaction.change import changing, recover_interrupted
from sessionbrowse.services.transaction.recover import unfinished
from sessionbrowse.services.transaction.trash_directories import own_trash
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.write import moves, old_versions
from sessionbrowse.store.write.trash import NoTrash
from tests.faults.fault_injection import after, failing_disk, in_child, killed_before
from tests.faults.fault_table import some_calls
from tests.faults.fault_worlds import FILE_VERBS, World
from tests.support.change_helpers import (
    LONG_AGO_NS,
    NOW_MS,
    Store,
    entry,
    header,
    line,
    target,
    user,
)
from tests.support.file_helpers import own_system_trash, picture

OLD, NEW = "/projects/webshop", "/srv/shop"
LATE = line(user("000000ff", "00000008", "said meanwhile"))


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on another disk."""
    if not os.path.isdir("/dev/shm"):
        pytest.skip("there is no second disk")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        if os.stat(folder).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("/dev/shm is on the same disk")
        yield Path(folder)


def scope(store: Store) -> Scope:
    return Scope(around=store.context.around)


def sessions_below(folder: Path) -> dict[str, Path]:
    """Return the files with a header that an agent would list, by the id in it."""
    found = {}
    for path in folder.rglob("*.jsonl"):
        first = json.loads(path.read_bytes().split(b"\n", 1)[0])
        if not path.name.startswith(".") and first.get("type") == "session":
            found[first["id"]] = path
    return found


def project(store: Store) -> dict[str, Path]:
    """A session in a project's folder, a fork of it in another project, and one in a flat directory of the user's."""
    parent = store.session(name="a.jsonl", head=[header(id="a")])
    child = store.session(name="b.jsonl", head=[header(id="b", cwd="/other", parentSession=str(parent))])
    elsewhere = parent.parent.parent / "--other--" / "b.jsonl"
    elsewhere.parent.mkdir()
    os.rename(child, elsewhere)
    return {"a": parent, "b": elsewhere}


def appended_by_id(store: Store, session_id: str) -> Callable[[], None]:
    """Return a function that appends to the file that has the session now, as a running pi finds it on its disk."""

    def append() -> None:
        path = sessions_below(store.home).get(session_id)
        assert path is not None, f"{session_id} is in no file that an agent lists"
        with path.open("ab") as file:
            file.write(LATE)

    return append


# ---- relocate ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session_id", ["a", "b"])
def test_a_relocation_beside_a_writer_tears_no_session_apart(tmp_path: Path, session_id: str) -> None:
    def made(at: int | None) -> tuple[Store, int]:
        shutil.rmtree(tmp_path / "world", ignore_errors=True)
        (tmp_path / "world").mkdir()
        store = Store(tmp_path / "world")
        project(store)
        # The journal's first record is on the disk before anything is planned to move.
        with failing_disk(at, after(appended_by_id(store, session_id))) as disk:
            relocate(OLD, NEW, scope(store), context=store.context)
        return store, len(disk.calls)

    _, calls = made(None)
    for at in range(1, calls + 1):
        store, _ = made(at)
        with changing(store.context):
            pass
        found = sessions_below(store.home)
        assert set(found) == {"a", "b"}, at
        content = found[session_id].read_bytes()
        assert content.count(LATE) == 1, at
        assert len(list(store.home.rglob("*"))) == len([one for one in store.home.rglob("*") if one.name[0] != "."]) + 1
        assert json.loads(found["b"].read_bytes().split(b"\n")[0])["parentSession"] == str(found["a"])


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.stress)])
@pytest.mark.parametrize("verb", ["relocate", "undo relocate", "archive omp", "unarchive omp", "restore omp"])
def test_after_a_kill_at_any_call_every_session_is_listed_before_anything_is_recovered(
    tmp_path: Path, own_home: Path, verb: str, step: int
) -> None:
    own_system_trash()
    world = World(tmp_path / "world", FILE_VERBS[verb], own_home / ".local" / "share")

    def ids() -> set[str]:
        names = set()
        for folder in (world.store.home, Path(world.data_home)):
            for path in folder.rglob("*.jsonl"):
                if not path.name.startswith(".") and b"first question" in path.read_bytes():
                    names.add(path.name)
        return names

    with failing_disk() as disk:
        world.act()
    everyone = ids()
    for at in some_calls(len(disk.calls), step, verb):
        world = World(tmp_path / "world", FILE_VERBS[verb], own_home / ".local" / "share")

        def run(world: World = world, at: int = at) -> None:
            with failing_disk(at, killed_before):
                world.act()

        assert in_child(run) == signal.SIGKILL
        assert {name.removeprefix("a0000000-") for name in ids()} == everyone, at


@pytest.mark.slow
def test_a_second_relocation_goes_on_with_the_one_that_was_killed(tmp_path: Path) -> None:
    def make() -> Store:
        shutil.rmtree(tmp_path / "world", ignore_errors=True)
        (tmp_path / "world").mkdir()
        store = Store(tmp_path / "world")
        project(store)
        return store

    store = make()
    with failing_disk() as disk:
        relocate(OLD, NEW, scope(store), context=store.context)
    for at in range(1, len(disk.calls) + 1):
        store = make()

        def run(store: Store = store, at: int = at) -> None:
            with failing_disk(at, killed_before):
                relocate(OLD, NEW, scope(store), context=store.context)

        assert in_child(run) == signal.SIGKILL
        with suppress(RefusedWrite) if not store.context.journal.pending() else nullcontext():
            relocate(OLD, NEW, scope(store), context=store.context)
        found = sessions_below(store.home)
        assert {json.loads(path.read_bytes().split(b"\n")[0])["cwd"] for path in found.values()} == {NEW, "/other"}, at
        assert set(found) == {"a", "b"}, at
        assert not [path for path in store.home.rglob(".*") if path.is_file()], at
        undo(context=store.context)
        assert str(sessions_below(store.home)["a"]) == str(project_of(store, OLD) / "a.jsonl"), at


def project_of(store: Store, cwd: str) -> Path:
    return store.home / ".pi/agent/sessions" / f"-{cwd.replace('/', '-')}--"


def test_a_disk_that_cannot_exchange_links_or_refuses_a_file_that_changed_lately(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = project(store)
    before = picture(store.home)
    monkeypatch.setattr(moves, "exchange", lambda *_: False)
    relocate(OLD, NEW, scope(store), context=store.context)
    undo(context=store.context)
    assert picture(store.home) == before

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refused)
    relocate(OLD, NEW, scope(store), context=store.context)
    undo(context=store.context)
    assert picture(store.home) == before
    os.utime(paths["b"])
    before = picture(store.home)
    with pytest.raises(RefusedWrite, match="ten minutes"):
        relocate(OLD, NEW, scope(store), context=store.context)
    assert picture(store.home) == before


def test_an_old_version_that_a_program_has_open_goes_with_a_later_change(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_versions, "WAIT_S", 0.01)
    child = project(store)["b"]
    with child.open("ab", buffering=0) as held:
        relocate(OLD, NEW, scope(store), context=store.context)
        (old,) = store.context.journal.kept()
        held.write(LATE)
        undo(context=store.context)
        assert child.read_bytes().endswith(LATE), "it is carried over wherever the session is now"
        assert os.path.exists(old.hidden)
        held.write(b"{}\n")
    recover_interrupted(store.context)
    assert child.read_bytes().endswith(LATE + b"{}\n")
    assert store.context.journal.kept() == []
    assert not [path for path in store.home.rglob(".*") if path.is_file()]


# ---- what reading commands say ---------------------------------------------------------------------------------


def cut_off(store: Store) -> None:
    """Kill a relocation after its first name is given."""

    def run() -> None:
        with failing_disk(20, killed_before):
            relocate(OLD, NEW, scope(store), context=store.context)

    assert in_child(run) == signal.SIGKILL
    assert store.context.journal.pending()


def test_a_command_that_reads_names_the_change_that_was_cut_off_and_repairs_nothing(
    store: Store, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(store)
    cut_off(store)
    monkeypatch.setenv("XDG_STATE_HOME", str(store.state.parent))
    before = picture(store.home, store.state)
    assert main(["list", "--root", str(store.home / ".pi/agent/sessions")]) == 0
    told = capsysbinary.readouterr().err.decode()
    assert told == (
        f"sessionbrowse: The relocate of {OLD} was interrupted. "
        "To complete the interrupted change, run a command that changes sessions, for example: "
        f"sessionbrowse relocate {OLD} {NEW}\n"
    )
    other = store.home / "elsewhere"
    other.mkdir()
    assert main(["list", "--root", str(other)]) == 0
    assert b"cut off" not in capsysbinary.readouterr().err
    assert picture(store.home, store.state) == before
    root = str(store.home / ".pi/agent/sessions")
    with changing(store.context):
        pass
    assert main(["list", "--root", root]) == 0
    assert capsysbinary.readouterr().err == b""


def test_a_command_that_changes_goes_on_first_and_says_so(
    store: Store, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = project(store)
    cut_off(store)
    monkeypatch.setenv("XDG_STATE_HOME", str(store.state.parent))
    assert main(["rename", str(paths["a"]), "a name", "--root", str(store.home / ".pi/agent/sessions")]) == 0
    told = capsysbinary.readouterr().err.decode()
    assert f"The relocate of {OLD}, which was interrupted, is rolled back now.\n" in told
    assert store.context.journal.pending() == []


def test_nothing_is_said_while_the_change_is_being_made(store: Store) -> None:
    project(store)
    context = store.context
    context.journal.begin("archive", "pi", str(store.home / "x.jsonl"), plan={"kind": "unknown"})
    assert [change.verb for change in unfinished(context, [str(store.home)])] == ["archive"]
    with changing(store.context):
        assert unfinished(context, [str(store.home)]) == []
    assert unfinished(context, [str(store.folder / "state")]) == []


@pytest.mark.parametrize("verb", ["archive", "relocate", "delete"])
def test_the_list_says_whose_lines_a_file_without_a_header_has(store: Store, verb: str) -> None:
    path = project(store)["a"]
    if verb == "archive":
        archive(target(path), context=store.context)
    elif verb == "delete":
        delete(target(path), context=store.context)
    else:
        relocate(OLD, NEW, scope(store), context=store.context)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(LATE)
    store.environ["XDG_STATE_HOME"] = str(store.state.parent)
    (stray,) = [one for one in gather_summaries(scope(store)) if one.path == str(path)]
    assert "the file's lines belong to the session that was moved to" in (stray.problem or "")
    path.write_bytes(line(user("000000ff", "11111111", "of another session")))
    (stray,) = [one for one in gather_summaries(scope(store)) if one.path == str(path)]
    assert "belong" not in (stray.problem or "")


# ---- delete and restore ----------------------------------------------------------------------------------------


def across(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let renames into and out of a folder fail as those of a bind mount do."""
    real = moves.rename_to_free
    rename = os.rename

    def is_across(first: Any, second: Any) -> bool:
        inside = [os.fsdecode(path).startswith(str(folder)) for path in (first, second)]
        return inside[0] != inside[1]

    def bound(first: str, second: str) -> bool:
        if is_across(first, second):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), second)
        return real(first, second)

    def bound_rename(first: Any, second: Any, **named: Any) -> None:
        if is_across(first, second):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), second)
        rename(first, second, **named)

    monkeypatch.setattr(moves, "rename_to_free", bound)
    monkeypatch.setattr(os, "rename", bound_rename)


@pytest.mark.parametrize("into", ["trash", "own"])
def test_a_delete_to_another_disk_loses_no_line_and_comes_back(
    store: Store, own_home: Path, monkeypatch: pytest.MonkeyPatch, into: Any
) -> None:
    across(monkeypatch, store.home)
    path = store.session()

    def remove() -> None:
        delete(target(path), into=into, context=store.context)

    before = picture(store.home)
    with failing_disk() as disk:
        remove()
    infos = [name for name in picture(own_home, store.folder) if name.endswith(".trashinfo")]
    assert len(infos) == 1, "an attempt that failed leaves no note"
    undo(context=store.context)
    assert picture(store.home) == before

    def write_late() -> None:
        if path.exists():
            with path.open("ab") as file:
                file.write(LATE)

    for at in range(2, len(disk.calls) + 1):
        with failing_disk(at, after(write_late)):
            remove()
        begun_anew = path.read_bytes() if path.exists() else b""
        path.unlink(missing_ok=True)
        assert picture(store.home) == {}, at
        undo(context=store.context)
        assert (path.read_bytes() + begun_anew).count(LATE) <= 1
        assert path.read_bytes().startswith(line(header())), at
        store.session()


def test_a_line_after_the_copy_and_before_the_removal_is_in_the_trash(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.session()

    def copying(source: str) -> None:
        """A trash on another disk, with a writer between the copy and the removal."""
        from send2trash import plat_other

        shutil.copy2(source, f"{source}.other")
        with path.open("ab") as file:
            file.write(LATE)
        files = Path(os.fsdecode(plat_other.HOMETRASH_B))
        for name in ("files", "info"):
            (files / name).mkdir(parents=True, exist_ok=True)
        os.rename(f"{source}.other", files / "files" / path.name)
        (files / "info" / f"{path.name}.trashinfo").write_text(f"[Trash Info]\nPath={source}\n")
        os.unlink(source)

    delete(target(path), context=store.context, to_trash=copying)
    assert picture(store.home) == {}
    restore(context=store.context)
    assert path.read_bytes().endswith(LATE)


def test_the_systems_trash_gets_no_recent_file_from_a_disk_that_cannot_link(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refused)
    path = store.session()
    before = picture(store.home)
    delete(target(path), context=store.context)
    undo(context=store.context)
    assert picture(store.home) == before
    os.utime(path)
    with pytest.raises(NoTrash, match="ten minutes"):
        delete(target(path), context=store.context)
    assert path.exists()


def test_an_unfinished_copy_in_the_trash_is_removed(store: Store, own_home: Path) -> None:
    path = store.session()

    def full(source: str) -> None:
        trash = own_home / ".local" / "share" / "Trash"
        for name in ("files", "info"):
            (trash / name).mkdir(parents=True, exist_ok=True)
        (trash / "files" / path.name).write_bytes(path.read_bytes()[:100])
        (trash / "info" / f"{path.name}.trashinfo").write_text(f"[Trash Info]\nPath={source}\n")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = picture(store.home)
    with pytest.raises(NoTrash, match="No space left"):
        delete(target(path), context=store.context, to_trash=full)
    assert picture(store.home) == before
    assert picture(own_home / ".local" / "share" / "Trash") == {}


def test_a_trash_that_was_copied_or_grew_is_recognised_and_a_foreign_one_is_not(store: Store) -> None:
    path = store.session("omp")
    folder = path.parent / path.stem
    folder.mkdir()
    (folder / "1.log").write_text("output")
    before = picture(store.home)
    delete(target(path), context=store.context)
    (change,) = restorable(store.context)
    for item in change.after["items"]:
        backup = f"{item['item']}.backup"
        (shutil.copytree if os.path.isdir(item["item"]) else shutil.copy2)(item["item"], backup)
        (shutil.rmtree if os.path.isdir(item["item"]) else os.unlink)(item["item"])
        os.rename(backup, item["item"])
    undo(context=store.context)
    assert picture(store.home) == before
    delete(target(path), context=store.context)
    trashed = Path(restorable(store.context)[0].after["items"][-1]["item"])
    with trashed.open("ab") as file:
        file.write(LATE)
    restore(context=store.context)
    assert path.read_bytes().endswith(LATE)
    delete(target(path), context=store.context)
    trashed = Path(restorable(store.context)[0].after["items"][-1]["item"])
    trashed.write_bytes(b"x" * 100_000)
    with pytest.raises(RefusedWrite, match="another file"):
        restore(context=store.context)


def test_a_session_that_grows_while_it_is_deleted_is_still_found(store: Store) -> None:
    path = store.session()
    with path.open("ab", buffering=0) as held, failing_disk() as disk:
        delete(target(path), context=store.context)
        held.write(LATE)
    assert disk.calls
    assert [change.path for change in restorable(store.context)] == [str(path)]
    undo(context=store.context)
    assert path.read_bytes().endswith(LATE)


def test_a_restore_to_another_disk_keeps_everything(store: Store, other_disk: Path) -> None:
    path = store.session("omp")
    (path.parent / path.stem).mkdir()
    (path.parent / path.stem / "1.log").write_text("output")
    before = picture(store.home)
    store.environ["XDG_DATA_HOME"] = str(other_disk)
    delete(target(path), into="own", context=store.context)
    assert picture(store.home) == {}
    assert os.path.commonpath([own_trash(store.context), other_disk]) == str(other_disk)
    restore(context=store.context)
    assert picture(store.home) == before
    assert not [name for name in picture(other_disk) if "/." in name or name.endswith(".trashinfo")]


def test_what_a_desktop_left_in_the_trash_comes_back_beside_the_session(store: Store) -> None:
    path = store.session("omp")
    (path.parent / path.stem).mkdir()
    (path.parent / path.stem / "1.log").write_text("output")
    before = picture(store.home)
    delete(target(path), context=store.context)
    (change,) = restorable(store.context)
    os.rename(change.after["items"][-1]["item"], path)
    assert [one.id for one in restorable(store.context)] == [change.id]
    restore(context=store.context)
    assert picture(store.home) == before
    assert restorable(store.context) == []


# ---- omp -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["archive", "delete", "unarchive", "relocate", "undo archive"])
def test_every_verb_treats_a_recent_omp_session_as_label_does(store: Store, verb: str) -> None:
    path = store.session("omp")
    if verb in ("unarchive", "undo archive"):
        path = Path(archive(target(path), context=store.context).path)
    verbs: dict[str, Callable[[bool], object]] = {
        "archive": lambda force: archive(target(path), force=force, context=store.context),
        "delete": lambda force: delete(target(path), force=force, context=store.context),
        "unarchive": lambda force: unarchive(target(path), force=force, context=store.context),
        "relocate": lambda force: relocate(OLD, NEW, scope(store), force=force, context=store.context),
        "undo archive": lambda force: undo(force=force, context=store.context),
    }
    os.utime(path, ns=(0, int(NOW_MS - 3000) * 1_000_000))
    with pytest.raises(InUse, match=r"changed 3 seconds ago"):
        verbs[verb](False)
    assert path.exists()
    content = path.read_bytes()
    path.write_bytes(content + line(entry("custom", "000000fe", "00000008", customType="session_exit", data={})))
    os.utime(path, ns=(0, int(NOW_MS - 3000) * 1_000_000))
    verbs[verb](False)
    assert not path.exists()


def test_a_recent_omp_session_is_moved_if_forced(store: Store) -> None:
    path = store.session("omp")
    os.utime(path, ns=(0, int(NOW_MS - 3000) * 1_000_000))
    archive(target(path), force=True, context=store.context)
    assert not path.exists()


# ---- access rights ---------------------------------------------------------------------------------------------


def test_what_is_private_stays_private(store: Store) -> None:
    path = store.session()
    path.chmod(0o600)
    path.parent.chmod(0o700)
    forked = Path(fork(str(path), context=store.context).path)
    assert forked.stat().st_mode & 0o777 == 0o600
    elsewhere = Path(fork(str(path), cwd="/else/where", context=store.context).path)
    assert elsewhere.stat().st_mode & 0o777 == 0o600
    elsewhere.unlink()
    archived = Path(archive(target(path), context=store.context).path)
    assert archived.parent.stat().st_mode & 0o777 == 0o700
    unarchive(target(archived), context=store.context)
    moved = relocate(OLD, NEW, scope(store), context=store.context)
    for one in moved.sessions:
        assert os.stat(one.target).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(one.target)).st_mode & 0o777 == 0o700


def test_an_unpacked_session_is_as_private_as_its_pack(store: Store) -> None:
    import gzip

    path = store.session("omp")
    packed = path.parents[2] / "archive" / "sessions" / path.parent.name / f"{path.name}.gz"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(gzip.compress(path.read_bytes()))
    packed.chmod(0o600)
    path.unlink()
    path.parent.rmdir()
    packed.parent.chmod(0o700)
    back = Path(unarchive(target(packed), context=store.context).path)
    assert back.stat().st_mode & 0o777 == 0o600
    assert back.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of other users")
def test_a_file_never_changes_its_owner(store: Store, other_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session()
    os.chown(path, 12345, 12345)
    moved = relocate(OLD, NEW, scope(store), context=store.context)
    assert os.stat(moved.sessions[0].target).st_uid == 12345
    undo(context=store.context)
    store.environ["XDG_DATA_HOME"] = str(other_disk)
    delete(target(path), into="own", context=store.context)
    undo(context=store.context)
    assert (path.stat().st_uid, path.stat().st_mtime_ns) == (12345, LONG_AGO_NS)

    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "fchown", refused)
    before = picture(store.home)
    with pytest.raises(RefusedWrite, match="owner"):
        relocate(OLD, NEW, scope(store), context=store.context)
    assert picture(store.home) == before


def test_a_copy_for_a_branch_or_a_backup_is_as_private_as_the_session(store: Store) -> None:
    from sessionbrowse import SessionManager

    path = store.session("atomic")
    path.chmod(0o600)
    manager = SessionManager.open(path, force=True)
    backup = manager.write_backup_snapshot("compaction")
    branch = manager.create_branched_session("00000006")
    for made in (backup, branch):
        assert made is not None
        assert os.stat(made).st_mode & 0o777 == 0o600


# ---- what was begun elsewhere ------------------------------------------------------------------------------------


def test_a_relocation_that_an_older_version_left_halfway_is_put_back(store: Store) -> None:
    """That version moved the old files into a hidden folder before the new ones got their names."""
    paths = project(store)
    before = picture(store.home)
    cut_off(store)
    with changing(store.context):
        pass
    relocate(OLD, NEW, scope(store), context=store.context)
    journal = Path(store.context.journal.path)
    records = journal.read_bytes().splitlines(keepends=True)
    (change,) = [one for one in store.context.journal.changes().values() if one.verb == "relocate"][-1:]
    undo(context=store.context)
    assert picture(store.home) == before
    journal.write_bytes(b"".join(one for one in records if change.id.encode() in one and b'"begin"' in one))
    for path in paths.values():
        hidden = path.parent / f".{change.id}" / f"{path.name}.old"
        hidden.parent.mkdir()
        os.rename(path, hidden)
    with changing(store.context):
        pass
    assert picture(store.home) == before
    assert not list(store.home.rglob(".*.old"))


def test_a_relocation_names_the_sessions_that_it_cannot_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project(store)
    locked = store.session(name="locked.jsonl")
    real = relocating._header_line

    def refused(path: str) -> Any:
        if path == str(locked):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)

    monkeypatch.setattr(relocating, "_header_line", refused)
    moved = relocate(OLD, NEW, scope(store), context=store.context)
    assert moved.notes == (f"{locked} cannot be read; it stays unchanged at the old path.",)
    assert locked.exists()


def test_a_file_of_the_longest_name_goes_to_our_trash_and_comes_back(store: Store) -> None:
    path = store.session(name="x" * 249 + ".jsonl")
    before = picture(store.home)
    delete(target(path), into="own", context=store.context)
    assert picture(store.home) == {}
    undo(context=store.context)
    assert picture(store.home) == before
    relocate(OLD, NEW, scope(store), context=store.context)
    undo(context=store.context)
    assert picture(store.home) == before
