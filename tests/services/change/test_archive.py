"""Archiving: out of the program's lists, readable and searchable here, back as it was; omp's packed files too."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import Place
from sessionbrowse.cli import main
from sessionbrowse.errors import InUse, RefusedWrite, Unreadable
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.discover import discover
from sessionbrowse.store.read.archive import archived_path, original_path
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from tests.support.change_helpers import PROJECT, Store, target
from tests.support.file_helpers import picture


@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_an_archived_session_lies_in_a_folder_that_the_program_does_not_look_into(store: Store, agent: str) -> None:
    path = store.session(agent)
    before = picture(store.home)
    archived = archive(target(path), context=store.context)
    assert Path(archived.path) == path.parent / "archive" / path.name
    assert picture(store.home) == {archived.path: before[str(path)]}
    place = Place(agent, str(path.parent.parent), "projects", "default")
    assert list(discover([place])) == []
    (found,) = discover([place], include_archived=True)
    assert found.archived
    with pytest.raises(RefusedWrite, match="archived already"):
        archive(target(Path(archived.path)), context=store.context)
    back = unarchive(target(Path(archived.path)), context=store.context)
    assert back.path == str(path)
    assert picture(store.home) == before
    assert not (path.parent / "archive").exists()


def test_omps_sessions_go_to_its_own_archive_with_their_artifacts(store: Store) -> None:
    path = store.session("omp")
    (path.parent / path.stem).mkdir()
    (path.parent / path.stem / "Scout.jsonl").write_text("{}\n")
    before = picture(store.home)
    archived = archive(target(path), context=store.context)
    root = path.parents[2]
    assert Path(archived.path) == root / "archive" / "sessions" / path.parent.name / path.name
    assert (Path(archived.path).parent / path.stem / "Scout.jsonl").exists()
    assert list(path.parent.iterdir()) == []
    undo(context=store.context)
    assert picture(store.home) == before


def test_a_session_that_omp_packed_is_read_listed_and_unpacked(store: Store) -> None:
    path = store.session("omp")
    content = path.read_bytes()
    packed = path.parents[2] / "archive" / "sessions" / path.parent.name / f"{path.name}.gz"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(gzip.compress(content))
    os.utime(packed, ns=(1, 1_700_000_000_000_000_000))
    artifacts = packed.parent / path.stem
    artifacts.mkdir()
    (artifacts / "1.log").write_text("output")
    plain, read = open_session(path), open_session(packed)
    assert list(read.envelopes) == list(plain.envelopes)
    assert read.agent == "omp"
    assert read.raw(2) == plain.raw(2)
    assert read.fields(3) == plain.fields(3)
    listed, unpacked = summarise_path(str(packed), lambda _: "omp"), summarise_path(str(path), lambda _: "omp")
    assert listed is not None
    assert unpacked is not None
    assert (listed.name, listed.first_message, listed.entry_count) == (
        unpacked.name,
        unpacked.first_message,
        unpacked.entry_count,
    )
    assert listed.bytes == packed.stat().st_size
    with pytest.raises(RefusedWrite, match="exists already"):
        unarchive(target(packed), context=store.context)
    path.unlink()
    back = unarchive(target(packed), context=store.context)
    assert back.path == str(path)
    assert path.read_bytes() == content
    assert path.stat().st_mtime_ns == 1_700_000_000_000_000_000
    assert (path.parent / path.stem / "1.log").read_text() == "output"
    assert not packed.exists()


def test_a_damaged_packed_session_stays_and_says_so(store: Store) -> None:
    path = store.session("omp")
    packed = path.parents[2] / "archive" / "sessions" / path.parent.name / f"{path.name}.gz"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(gzip.compress(path.read_bytes())[:-20])
    path.unlink()
    with pytest.raises(Unreadable, match="cannot be read"):
        open_session(packed)
    with pytest.raises(Exception, match="session is unchanged"):
        unarchive(target(packed), context=store.context)
    assert packed.exists()
    assert not path.exists()


def test_a_session_that_may_be_in_use_is_archived_only_if_forced(store: Store) -> None:
    path = store.session()
    store.process(77, ["pi"], cwd=PROJECT, name="pi")
    with pytest.raises(InUse, match="Quit pi first"):
        archive(target(path), context=store.context)
    assert archive(target(path), force=True, context=store.context).was == str(path)


def test_what_is_in_the_way_is_never_replaced(store: Store) -> None:
    path = store.session()
    archived = Path(archive(target(path), context=store.context).path)
    path.write_text("new")
    with pytest.raises(RefusedWrite, match="exists already"):
        unarchive(target(archived), context=store.context)
    assert path.read_text() == "new"
    assert archived.exists()


@pytest.mark.parametrize(
    ("agent", "path", "archived"),
    [
        ("pi", "/s/--p--/x.jsonl", "/s/--p--/archive/x.jsonl"),
        ("omp", "/a/sessions/-p/x.jsonl", "/a/archive/sessions/-p/x.jsonl"),
        ("omp", "/flat/x.jsonl", "/flat/archive/x.jsonl"),
    ],
)
def test_where_archived_sessions_lie(agent: str, path: str, archived: str) -> None:
    assert archived_path(path, agent) == archived
    assert original_path(archived) == path
    assert original_path(f"{archived}.gz") == path


def test_archive_and_unarchive_on_the_command_line(store: Store, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = store.session()
    before = picture(store.home)

    def run(*arguments: str) -> tuple[int, Any]:
        status = main(list(arguments))
        return status, json.loads(capsysbinary.readouterr().out)

    status, (document,) = run("archive", str(path), "--json")
    assert (status, document["done"], document["was"]) == (0, "archive", str(path))
    status, (document,) = run("unarchive", document["path"], "--json")
    assert (status, document["done"], document["path"]) == (0, "unarchive", str(path))
    assert picture(store.home) == before


@pytest.mark.parametrize("content", [b"no pack", gzip.compress(b"{}\n" * 999)[:-12]], ids=["foreign", "torn"])
def test_a_pack_that_is_damaged_is_listed_with_the_reason(tmp_path: Path, content: bytes) -> None:
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(content)
    listed = summarise_path(str(packed), lambda _: "omp")
    assert listed is not None
    assert listed.problem == "cannot be read: the file's content is damaged"


def test_a_pack_that_would_fill_the_disk_is_left_packed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session("omp")
    packed = path.parents[2] / "archive" / "sessions" / path.parent.name / f"{path.name}.gz"
    packed.parent.mkdir(parents=True)
    packed.write_bytes(gzip.compress(path.read_bytes() + b" " * 3_000_000))
    path.unlink()
    assert open_session(packed).id is not None, "a session may be well packed"
    monkeypatch.setattr("sessionbrowse.store.read.archive.ALWAYS_UNPACKED_BYTES", 1_000_000)
    sentence = "cannot be read: the unpacked session would be larger than 977KB"
    with pytest.raises(Unreadable, match=sentence):
        open_session(packed)
    listed = summarise_path(str(packed), lambda _: "omp")
    assert listed is not None
    assert listed.problem == sentence
    with pytest.raises(Exception, match="session is unchanged"):
        unarchive(target(packed), context=store.context)
    assert packed.exists()
    assert not path.exists()
