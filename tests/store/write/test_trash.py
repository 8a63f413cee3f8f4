"""The trash: found by comparing before and after, ours in the system's form, back as it was, never over anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.store.system.trash_places import homes_of
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.moves import Moves
from tests.support.file_helpers import own_system_trash, picture


@pytest.fixture
def home_trash(own_home: Path) -> Path:
    own_system_trash()
    return own_home / ".local" / "share" / "Trash"


def test_an_item_is_found_among_others_of_the_same_name(home_trash: Path, own_home: Path) -> None:
    places = homes_of(str(own_home / ".local" / "share"), str(own_home), "linux")
    items = []
    path = own_home / "a" / "-odd näme %41.jsonl"
    for number in range(3):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"content {number}")
        os.utime(path, ns=(1, 1_700_000_000_123_456_789))
        items.append(trash.put(str(path), places, Moves("x")))
        assert not path.exists()
    assert len({item.item for item in items}) == 3
    for number, item in enumerate(items):
        assert item.item is not None
        assert item.info is not None
        assert Path(item.item).read_text() == f"content {number}"
        assert Path(item.info).parent == home_trash / "info"
    trash.take_back(items[1], Moves("y"))
    assert path.read_text() == "content 1"
    assert path.stat().st_mtime_ns == 1_700_000_000_123_456_789
    assert not os.path.exists(items[1].info or "")
    with pytest.raises(RefusedWrite, match="never overwritten"):
        trash.take_back(items[2], Moves("y"))


def test_a_folder_comes_back_with_everything_in_it(home_trash: Path, own_home: Path) -> None:
    folder = own_home / "a" / "session"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "x.jsonl").write_bytes(b"\x00\xff")
    before = picture(folder)
    item = trash.put(str(folder), homes_of(str(own_home / ".local" / "share"), str(own_home), "linux"), Moves("x"))
    assert not folder.exists()
    trash.take_back(item, Moves("y"))
    assert picture(folder) == before


def test_what_the_trash_does_not_take_stays_where_it_is_and_leaves_no_note(home_trash: Path, own_home: Path) -> None:
    path = own_home / "x.jsonl"
    path.write_text("x")

    def half(source: str) -> None:
        (home_trash / "info").mkdir(parents=True)
        (home_trash / "info" / "x.jsonl.trashinfo").write_text(f"[Trash Info]\nPath={source}\n")
        raise PermissionError(13, "Permission denied")

    with pytest.raises(trash.NoTrash, match="Permission denied"):
        trash.put(str(path), (str(home_trash),), Moves("x"), half)
    assert path.read_text() == "x"
    assert list((home_trash / "info").iterdir()) == []


def test_a_trash_that_takes_a_thing_and_then_complains_is_said_to_have_it(home_trash: Path, own_home: Path) -> None:
    path = own_home / "x.jsonl"
    path.write_text("x")

    def strange(source: str) -> None:
        os.rename(source, own_home / "elsewhere")
        raise OSError("the bus broke")

    with pytest.raises(WriteFailed, match="is gone, but the trash reported the bus broke"):
        trash.put(str(path), (str(home_trash),), Moves("x"), strange)


def test_a_trash_that_says_nothing_leaves_the_place_unknown(home_trash: Path, own_home: Path) -> None:
    path = own_home / "x.jsonl"
    path.write_text("x")
    item = trash.put(
        str(path), (str(home_trash),), Moves("x"), lambda source: os.rename(source, own_home / "elsewhere")
    )
    assert item.item is None
    assert "did not report" in (trash.missing(item) or "")


def test_our_own_trash_has_the_form_of_the_systems(own_home: Path) -> None:
    path = own_home / "ä b.jsonl"
    path.write_text("x")
    item = trash.put_in_own(
        str(path), str(own_home / "own"), Moves("x"), name="1-ä b.jsonl", deleted_at="2026-01-02T03:04:05"
    )
    assert Path(item.info or "").read_text() == (
        f"[Trash Info]\nPath={own_home}/%C3%A4%20b.jsonl\nDeletionDate=2026-01-02T03:04:05\n"
    )
    assert trash.find(item, (str(own_home / "own"),)) == item
    trash.take_back(item, Moves("y"))
    assert path.read_text() == "x"


def test_an_item_that_another_program_took_is_not_taken_for_another(home_trash: Path, own_home: Path) -> None:
    path = own_home / "x.jsonl"
    path.write_text("x")
    item = trash.put(str(path), (str(home_trash),), Moves("x"))
    assert item.item is not None
    os.rename(item.item, own_home / "away")
    Path(item.item).write_text("somebody else's")
    with pytest.raises(RefusedWrite, match="another file"):
        trash.take_back(item, Moves("y"))


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no second disk to move to")
def test_a_move_to_another_disk_keeps_bytes_and_times_and_replaces_nothing(own_home: Path) -> None:
    import tempfile

    folder = own_home / "session"
    folder.mkdir()
    (folder / "x.jsonl").write_bytes(b"1" * 100_000)
    os.utime(folder / "x.jsonl", ns=(1, 1_700_000_000_123_456_789))
    before = {os.path.basename(path): facts for path, facts in picture(folder).items()}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if os.stat(other).st_dev == os.stat(own_home).st_dev:
            pytest.skip("/dev/shm is on the same disk")
        target = os.path.join(other, "session")
        moves = Moves("x")
        moves.move(str(folder), target)
        assert moves.remove_old_versions() == []
        assert not folder.exists()
        assert {os.path.basename(path): facts for path, facts in picture(Path(target)).items()} == before
        folder.mkdir()
        with pytest.raises(FileExistsError):
            moves.move(target, str(folder))
