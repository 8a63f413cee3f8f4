"""Renames where the system has no call that never replaces, and disks without hard links."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sessionbrowse.format.title_slot import slot_line
from sessionbrowse.store.write import moves
from sessionbrowse.store.write.moves import is_copy, is_on_other_disk, is_same_file, rename
from tests.support.session_files import answer, header, user


@pytest.fixture
def without_renameat2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system lack the call that renames only to a free name."""
    monkeypatch.setattr(moves, "rename_to_free", lambda *_: False)


def refuse(code: int):
    def refused(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return refused


@pytest.mark.usefixtures("without_renameat2")
def test_a_file_gets_its_new_name_and_replaces_none(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("mine")
    rename(str(source), str(target))
    assert (target.read_text(), source.exists()) == ("mine", False)
    source.write_text("other")
    with pytest.raises(FileExistsError):
        rename(str(source), str(target))
    assert (target.read_text(), source.read_text()) == ("mine", "other")


@pytest.mark.usefixtures("without_renameat2")
def test_a_folder_replaces_no_empty_folder(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    with pytest.raises(FileExistsError):
        rename(str(source), str(target))
    target.rmdir()
    rename(str(source), str(target))
    assert (target.is_dir(), source.exists()) == (True, False)


@pytest.mark.usefixtures("without_renameat2")
def test_a_disk_without_hard_links_reserves_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("mine")
    rename(str(source), str(target))
    assert (target.read_text(), source.exists()) == ("mine", False)
    monkeypatch.setattr(os, "rename", refuse(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        rename(str(target), str(source))
    assert (target.read_text(), source.exists()) == ("mine", False)


@pytest.mark.usefixtures("without_renameat2")
def test_a_name_that_cannot_be_removed_takes_the_new_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("mine")
    unlink, refusals = os.unlink, [OSError(errno.EPERM, "no")]

    def refuse_once(path: str) -> None:
        if refusals:
            raise refusals.pop()
        unlink(path)

    monkeypatch.setattr(os, "unlink", refuse_once)
    with pytest.raises(OSError, match="no"):
        rename(str(source), str(target))
    assert (source.read_text(), target.exists()) == ("mine", False)


@pytest.mark.usefixtures("without_renameat2")
def test_a_kill_between_both_names_is_finished(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("mine")
    os.link(source, target)
    rename(str(source), str(target))
    assert (target.read_text(), source.exists()) == ("mine", False)


def test_a_rename_that_the_disk_does_not_confirm_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_text("mine")
    monkeypatch.setattr(moves, "sync_directory", refuse(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        rename(str(source), str(target))
    assert (source.read_text(), target.exists()) == ("mine", False)


def test_a_copy_is_known_by_its_first_lines(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"

    def same(one: bytes, other: bytes) -> bool:
        first.write_bytes(one)
        second.write_bytes(other)
        return is_copy(str(first), str(second))

    lines = header() + user("a", None)
    assert same(lines, lines + answer("b", "a"))
    assert not same(lines, header(id="another") + user("a", None))
    title = slot_line("same title", "user", "2026-08-13T08:00:00.000Z")
    assert same(title + lines, title + lines)
    assert not same(title + lines, title + header(id="another"))
    # Both files are cut off within the first line.
    assert same(b'{"type":"sess', b'{"type":"session","id"')
    assert not same(b'{"type":"sess', b'{"kind":"x"')
    assert same(b"", b"")
    assert not same(b"", b"x")
    assert not is_copy(str(first), str(tmp_path / "gone"))
    (tmp_path / "folder").mkdir()
    assert not is_copy(str(first), str(tmp_path / "folder"))
    assert is_copy(str(tmp_path / "folder"), str(tmp_path))


def test_two_names_are_of_one_file_only_if_both_are_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    os.link(path, tmp_path / "b")
    assert is_same_file(str(path), str(tmp_path / "b"))
    assert not is_same_file(str(path), str(tmp_path / "gone"))
    assert not is_same_file(str(tmp_path), str(tmp_path))


def test_another_disk_is_told_by_the_answer_to_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, folder = str(tmp_path / "a.jsonl"), str(tmp_path / "new" / "folder")
    assert not is_on_other_disk(path, folder, "c1")
    assert os.path.isdir(folder)
    monkeypatch.setattr(os, "rename", refuse(errno.EXDEV))
    assert is_on_other_disk(path, folder, "c1")
    monkeypatch.setattr(os, "rename", lambda *_: None)
    assert not is_on_other_disk(path, folder, "c1")
