"""Moves that fail or are cut off while an agent goes on writing by the old name: every line ends up in the session."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.store.read import archive as places
from sessionbrowse.store.write import moves as moves_module
from sessionbrowse.store.write.moves import Moves, rename
from sessionbrowse.store.write.whole_files import create_file
from tests.faults.fault_injection import failing_disk, fails_with, in_child, killed_before
from tests.faults.fault_worlds import FILE_VERBS, World
from tests.support.change_helpers import header, line, user
from tests.support.file_helpers import own_system_trash

SESSION = line(header()) + line(user("00000001", None, "one"))
LATE = line(user("00000002", "00000001", "late"))
MOST_CALLS = 30
LATER = line(user("00000003", "00000002", "later"))


@pytest.fixture
def no_renameat2(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that renames in no other way than by `rename`."""
    for name in ("exchange", "rename_to_free"):
        monkeypatch.setattr(moves_module, name, lambda first, second: False)


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without hard links."""

    def refused(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refused)


def test_an_empty_file_that_an_agent_has_just_begun_stays(tmp_path: Path) -> None:
    source, target = tmp_path / "trashed.jsonl", tmp_path / "a.jsonl"
    source.write_bytes(SESSION)
    with target.open("ab") as agent:
        with pytest.raises(FileExistsError):
            Moves("0a").move_back(str(source), str(target))
        agent.write(LATE)
    assert target.read_bytes() == LATE


def test_a_withdrawn_copy_is_not_added_to_the_file_that_an_agent_began_there(tmp_path: Path) -> None:
    source, target = tmp_path / "trashed.jsonl", tmp_path / "a.jsonl"
    source.write_bytes(SESSION)
    target.write_bytes(LATER)
    (tmp_path / ".a.jsonl.0a.gone").write_bytes(SESSION + LATE)
    moves = Moves("0a")
    with pytest.raises(FileExistsError):
        moves.move_back(str(source), str(target))
    assert moves.remove_old_versions() == []
    assert (source.read_bytes(), target.read_bytes()) == (SESSION + LATE, LATER)


@pytest.mark.parametrize("back", [False, True])
def test_a_rename_by_links_that_was_cut_off_is_completed(tmp_path: Path, back: bool) -> None:
    source, target = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    moves = Moves("0a")
    source.write_bytes(SESSION + LATE)
    target.write_bytes(SESSION)
    os.link(source, moves.aside(str(source)))
    (moves.move_back if back else moves.finish)(str(source), str(target))
    assert moves.remove_old_versions() == []
    left = source if back else target
    assert os.listdir(tmp_path) == [left.name]
    assert left.read_bytes() == SESSION + LATE


@pytest.mark.parametrize("exchanges", [True, False])
def test_lines_at_the_old_path_come_back_into_a_session_that_comes_back_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    if not exchanges:
        monkeypatch.setattr(moves_module, "exchange", lambda first, second: False)
    source, target = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    moves = Moves("0a")
    Path(moves.aside(str(source))).write_bytes(SESSION)
    target.write_bytes(SESSION)
    with source.open("ab", buffering=0) as agent:
        agent.write(LATE)
        moves.move_back(str(source), str(target))
        agent.write(LATER)
    assert moves.remove_old_versions() == []
    assert source.read_bytes() == SESSION + LATE + LATER
    assert os.listdir(tmp_path) == ["a.jsonl"]


@pytest.mark.usefixtures("no_renameat2", "no_links")
@pytest.mark.parametrize("fails", [False, True])
def test_a_line_to_a_name_that_is_only_reserved_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    source, target, real = tmp_path / "a.jsonl", tmp_path / "b.jsonl", os.rename
    source.write_bytes(SESSION)

    def beside_an_agent(first: str, second: str) -> None:
        with open(second, "ab") as agent:
            agent.write(LATE)
        if fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(first, second)

    monkeypatch.setattr(os, "rename", beside_an_agent)
    if fails:
        with pytest.raises(OSError, match="Input/output"):
            rename(str(source), str(target))
    else:
        rename(str(source), str(target))
    left = source if fails else target
    assert left.read_bytes() == SESSION + LATE
    assert os.listdir(tmp_path) == [left.name]


def test_a_new_file_that_a_program_wrote_to_stays_if_the_disk_does_not_confirm_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def written_and_refused(_: str, __: Callable[..., Any], ___: tuple[Any, ...], ____: dict[str, Any]) -> NoReturn:
        with path.open("ab") as agent:
            agent.write(LATE)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with failing_disk() as disk:
        create_file(str(path), [SESSION])
    path.unlink()
    with failing_disk(disk.calls.index("rename_to_free") + 2, written_and_refused):
        create_file(str(path), [SESSION])
    assert path.read_bytes() == SESSION + LATE
    assert os.listdir(tmp_path) == ["a.jsonl"]


def test_a_file_at_the_path_of_a_packed_session_is_not_taken_for_it(tmp_path: Path) -> None:
    own_system_trash()
    verb = FILE_VERBS["unpack omp"]
    world = World(tmp_path / "world", verb, tmp_path / "data")
    with failing_disk() as disk:
        world.act()
    named = [number for number, call in enumerate(disk.calls, 1) if call == "rename_to_free"][-1]
    world = World(tmp_path / "world", verb, tmp_path / "data")

    def run() -> None:
        with failing_disk(named, killed_before):
            world.act()

    assert in_child(run) == signal.SIGKILL
    begun = Path(places.original_path(str(world.path)))
    begun.write_bytes(LATE)
    with changing(world.store.context):
        pass
    assert world.path.exists(), "the packed session is not in the trash"
    assert begun.read_bytes() == LATE
    (change,) = world.store.context.journal.changes().values()
    assert change.state == "failed"


@pytest.mark.slow
def test_a_recovery_that_the_disk_refuses_is_tried_again_by_the_next_change(tmp_path: Path) -> None:
    verb, data = FILE_VERBS["archive omp"], tmp_path / "data"
    world = World(tmp_path / "world", verb, data)
    before = world.looks()
    with failing_disk() as disk:
        world.act()
    last = [number for number, call in enumerate(disk.calls, 1) if call == "rename_to_free"][-1]
    calls: list[str] = []
    for at in range(1, MOST_CALLS + 1):
        world = World(tmp_path / "world", verb, data)

        def run(world: World = world) -> None:
            with failing_disk(last, killed_before):
                world.act()

        assert in_child(run) == signal.SIGKILL
        with failing_disk(at, fails_with(errno.EIO)) as refusing:
            calls = refusing.calls
            with suppress(SessionBrowseError, OSError), changing(world.store.context):
                pass
        with changing(world.store.context):
            pass
        assert world.looks() == before, (at, calls[at - 1 :][:1])
        assert world.store.context.journal.pending() == []
    assert len(calls) < MOST_CALLS, "every call was refused once"
