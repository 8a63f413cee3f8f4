"""The index answers as the files do, opens only what changed, and is never worth more than the files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from array import array
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessionbrowse.cli import main
from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.listing.summary import Summary, SummaryState
from sessionbrowse.model.session.records import ReaderState
from sessionbrowse.services.list import gather
from sessionbrowse.store.index import index as index_module
from sessionbrowse.store.index.builder import State, read_for_index
from sessionbrowse.store.index.index import Index, Note, open_index
from sessionbrowse.store.index.rows import ORDINARY, FileRow, StoredEntries, pack_small, stored_entries, unpack_entries
from sessionbrowse.store.index.schema import (
    LOCK_NAME,
    STORED_FIELDS,
    IndexBusy,
    IndexUnavailable,
    locked,
)
from sessionbrowse.store.index.texts import names
from sessionbrowse.store.index.writer import FileReader
from sessionbrowse.store.read.session_file import open_session
from tests.support.file_helpers import replace_reads
from tests.support.index_support import answer, append, entry, folder, header, line_of, result, scope_of, user, write


def indexed_summaries(root: Path, cache: Path, **more: Any) -> dict[str, Summary]:
    index = open_index(cache, pytest.fail, create=True)
    assert index is not None
    try:
        with suppress(IndexBusy):
            gather.update_index(scope_of(root), index, **more)
        return listed(root, index)
    finally:
        index.close()


def listed(root: Path, index: Index | None, note: Note = pytest.fail, **more: Any) -> dict[str, Summary]:
    """The list by an index as it is, with whole first messages."""
    found = gather.gather(scope_of(root, **more), index, note=note)
    return {summary.path: summary for summary in gather.completed(found, found.sessions, whole=True)}


def summaries_from_files(root: Path) -> dict[str, Summary]:
    return {summary.path: summary for summary in gather.gather_summaries(scope_of(root))}


def open_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the session files that are opened from now on."""
    opened: list[str] = []
    real = os.open

    def noting(path: Any, *arguments: Any, **more: Any) -> int:
        if str(path).endswith(".jsonl"):
            opened.append(str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(os, "open", noting)
    return opened


def small_store(root: Path) -> list[Path]:
    here = folder(root)
    long = "how long is a first message? " * 40
    return [
        write(here / "a.jsonl", header("a"), user("1", None, "Fix the login"), answer("2", "1", "Done", command="ls")),
        write(here / "b.jsonl", header("b"), user("1", None, long), entry("session_info", "2", "1", name="Named")),
        write(here / "c.jsonl", header("c"), user("1", None, "x"), entry("label", "2", "1", targetId="1", label="L")),
    ]


def test_the_index_gives_the_same_list_as_the_files(tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    expected = summaries_from_files(tmp_path / "store")
    assert len(expected) == 3
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == expected
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == expected


def test_files_that_did_not_change_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    opened = open_files(monkeypatch)
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    gather.gather(scope_of(tmp_path / "store"), index)
    assert opened == []
    append(paths[0], user("3", "2", "more"))
    gather.gather(scope_of(tmp_path / "store"), index)
    assert set(opened) == {str(paths[0])}


def test_a_grown_file_is_read_from_its_old_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path / "store") / "big.jsonl"
    lines = [user(str(n), str(n - 1) if n else None, "some words " * 200) for n in range(2000)]
    write(path, header("big"), *lines)
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    append(path, answer("last", "1999", "The end"))
    read = bytes_read(monkeypatch)
    found = indexed_summaries(tmp_path / "store", tmp_path / "cache")
    assert path.stat().st_size > 4_000_000
    assert sum(read) < 1_000_000
    monkeypatch.undo()
    assert found == summaries_from_files(tmp_path / "store")


def test_a_file_that_was_rewritten_is_read_from_its_old_end_when_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of earlier readings never makes a line that is appended cost a whole reading."""
    monkeypatch.setattr(index_module, "BULK_BYTES", 1)
    path = folder(tmp_path / "store") / "big.jsonl"
    lines = [user(str(n), str(n - 1) if n else None, "some words " * 50) for n in range(400)]
    for name in ("first", "second"):
        write(path, header(name), *lines)
        indexed_summaries(tmp_path / "store", tmp_path / "cache", processes=True)
    append(path, answer("last", "399", "The end"))
    read = bytes_read(monkeypatch)
    found = indexed_summaries(tmp_path / "store", tmp_path / "cache")
    assert path.stat().st_size > 240_000
    assert sum(read) < 180_000
    monkeypatch.undo()
    assert found == summaries_from_files(tmp_path / "store")
    assert len(directories(tmp_path / "cache")) == 1


def bytes_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the bytes that are read of files from now on."""
    read: list[int] = []
    real_pread = os.pread

    def pread(*arguments: Any) -> bytes:
        got = real_pread(*arguments)
        read.append(len(got))
        return got

    replace_reads(monkeypatch, "pread", pread)
    return read


def replaced_middle(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Fix the login", b"Fox the login") + line_of(user("9", "2", "more")))


def replaced_last_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Done", b"Dune") + line_of(user("9", "2", "more")))


def last_newline_gone(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b" " + line_of(user("9", "2", "more")))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def same_size(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Fix the login", b"Fox the login"))


def another_file(path: Path) -> None:
    content = path.read_bytes()
    path.rename(path.with_name("old"))
    path.write_bytes(content.replace(b"Done", b"Dune") + line_of(user("9", "2", "more")))


@pytest.mark.parametrize(
    "change", [replaced_middle, replaced_last_line, last_newline_gone, truncated, same_size, another_file]
)
def test_a_file_that_is_not_what_it_was_is_read_anew(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = small_store(tmp_path / "store")[0]
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    change(path)
    os.utime(path, ns=(1, 1))
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == summaries_from_files(tmp_path / "store")


def test_a_line_that_was_torn_and_is_finished_counts_once(tmp_path: Path) -> None:
    path = small_store(tmp_path / "store")[0]
    line = line_of(user("7", "2", "a line in two parts"))
    with path.open("ab") as file:
        file.write(line[:40])
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == summaries_from_files(tmp_path / "store")
    with path.open("ab") as file:
        file.write(line[40:])
    found = indexed_summaries(tmp_path / "store", tmp_path / "cache")
    assert found == summaries_from_files(tmp_path / "store")
    assert found[str(path)].entry_count == 3


def test_vanished_files_leave(tmp_path: Path) -> None:
    paths = small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    paths[1].unlink()
    assert set(indexed_summaries(tmp_path / "store", tmp_path / "cache")) == {str(paths[0]), str(paths[2])}
    index = open_index(tmp_path / "cache")
    assert index is not None
    assert index.status().sessions == 2


def test_another_root_does_not_empty_the_index(tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    small_store(tmp_path / "other")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    indexed_summaries(tmp_path / "other", tmp_path / "cache")
    index = open_index(tmp_path / "cache")
    assert index is not None
    assert index.status().sessions == 6


def test_a_file_of_another_agent_now_is_read_as_that_one(tmp_path: Path) -> None:
    path = small_store(tmp_path / "store")[0]
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    scope = scope_of(tmp_path / "store", agents=("atomic",))
    summaries = listed(tmp_path / "store", index, agents=("atomic",))
    assert summaries == {summary.path: summary for summary in gather.gather_summaries(scope)}
    assert summaries[str(path)].agent == "atomic"


def test_half_a_surrogate_pair_is_read_each_time_and_breaks_nothing(tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    path = folder(tmp_path / "store") / "odd.jsonl"
    path.write_bytes(line_of(header("odd")) + b'{"type":"session_info","id":"1","parentId":null,"name":"\\ud800"}\n')
    expected = summaries_from_files(tmp_path / "store")
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == expected
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == expected


def test_half_a_surrogate_pair_in_a_header_breaks_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    head = line_of(header("odd")).replace(b'"odd"', b'"\\ud800x"')
    (folder(store) / "a.jsonl").write_bytes(head + line_of(user("1", None, "hello")))
    write(folder(store) / "b.jsonl", header("b"), user("1", None, "hello"))
    found = indexed_summaries(store, tmp_path / "cache")
    assert len(found) == 2
    assert found == summaries_from_files(store)


def test_a_file_of_a_date_beyond_all_numbers_of_the_index_is_read_each_time_and_breaks_nothing(tmp_path: Path) -> None:
    paths = small_store(tmp_path / "store")
    in_2400 = 13_569_465_600 * 10**9
    os.utime(paths[0], ns=(in_2400, in_2400))
    if paths[0].stat().st_mtime_ns != in_2400:
        pytest.skip("this disk knows no such dates")
    expected = summaries_from_files(tmp_path / "store")
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == expected
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == expected


def test_the_index_is_for_its_owner_only(tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    for path in (tmp_path / "cache").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def not_sqlite(path: Path) -> None:
    path.write_bytes(b"not a database, however long it is " * 300)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def of_somebody_else(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE files (anything)")
    connection.close()


def of_another_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def test_the_schema_is_another_one_when_other_fields_are_stored() -> None:
    stored = (StoredEntries, State, Summary, SummaryState, ReaderState, FileRow)
    names = [name for struct in stored for name in struct.__struct_fields__]
    assert blake2b(",".join(names).encode(), digest_size=8).hexdigest() == STORED_FIELDS


@pytest.mark.parametrize("damage", [not_sqlite, cut_off, of_somebody_else, of_another_version])
def test_an_index_that_cannot_be_used_is_built_anew_and_said_once(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    for name in ("-wal", "-shm"):
        (tmp_path / "cache" / (INDEX_FILE + name)).unlink(missing_ok=True)
    damage(tmp_path / "cache" / INDEX_FILE)
    said: list[str] = []
    index = open_index(tmp_path / "cache", said.append, create=True)
    assert index is not None
    assert len(said) == 1
    assert "built anew" in said[0]
    index.close()
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == summaries_from_files(tmp_path / "store")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_an_index_that_may_not_be_read_is_built_anew(suffix: str, tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    path = tmp_path / "cache" / (INDEX_FILE + suffix)
    path.touch()
    path.chmod(0)
    said: list[str] = []
    index = open_index(tmp_path / "cache", said.append)
    assert index is not None
    index.close()
    assert [sentence.rpartition(" is not ")[2] for sentence in said] == ["readable); it is built anew."]
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == summaries_from_files(tmp_path / "store")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_directory_that_is_read_only_means_no_index_and_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o500)
    said: list[str] = []
    assert open_index(tmp_path / "cache", said.append, create=True) is None
    assert len(said) == 1


def test_a_cache_directory_that_cannot_be_one_means_no_index_and_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    said: list[str] = []
    assert open_index(tmp_path / "file" / "cache", said.append, create=True) is None
    assert len(said) == 1


def test_an_index_that_cannot_be_finished_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessionbrowse.store.index.schema.TABLES", "as on a full disk")
    assert open_index(tmp_path / "cache", lambda _: None, create=True) is None
    assert os.listdir(tmp_path / "cache") == [LOCK_NAME]


def test_a_full_disk_leaves_the_list_as_it_is_and_says_one_sentence(tmp_path: Path) -> None:
    paths = small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    pages = index.connection.execute("PRAGMA page_count").fetchone()[0]
    index.connection.execute(f"PRAGMA max_page_count = {pages}")
    append(paths[0], *[user(f"n{n}", "2", f"w{n}") for n in range(9000)])
    said: list[str] = []
    assert listed(tmp_path / "store", index, said.append) == summaries_from_files(tmp_path / "store")
    assert len(said) == 1
    assert "full" in said[0]


def test_damage_behind_the_first_page_is_said_once_and_the_list_is_right(tmp_path: Path) -> None:
    small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    database = tmp_path / "cache" / INDEX_FILE
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = bytearray(database.read_bytes())
    page = 8192
    for at in range(page, len(content), page):
        content[at : at + 200] = b"\xaa" * 200
    database.write_bytes(content)
    said: list[str] = []
    index = open_index(tmp_path / "cache", said.append)
    assert listed(tmp_path / "store", index, said.append) == summaries_from_files(tmp_path / "store")
    assert len(said) == 1
    assert "damaged" in said[0]


def test_while_another_process_writes_the_list_is_right_and_silent(tmp_path: Path) -> None:
    paths = small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    append(paths[0], user("3", "2", "more"))
    with locked(tmp_path / "cache"):
        found = indexed_summaries(tmp_path / "store", tmp_path / "cache")
        index = open_index(tmp_path / "cache")
        assert index is not None
        with pytest.raises(IndexBusy):
            index.update([])
    assert found == summaries_from_files(tmp_path / "store")


def test_texts_written_by_several_processes_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = folder(tmp_path / "store")
    for number in range(40):
        write(here / f"{number}.jsonl", header(str(number)), user("1", None, f"session {number}"))
    monkeypatch.setattr(index_module, "BULK_BYTES", 1)
    monkeypatch.setattr("sessionbrowse.store.index.writer.workers_for", lambda total: 2)
    monkeypatch.setattr("sessionbrowse.store.read.worker_processes.CHUNK_BYTES", 500)
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache", processes=True) == summaries_from_files(
        tmp_path / "store"
    )
    index = open_index(tmp_path / "cache")
    assert index is not None
    # What the processes wrote stands in one directory.
    assert len(directories(tmp_path / "cache")) == 1
    append(here / "7.jsonl", user("2", "1", "grown"))
    assert indexed_summaries(tmp_path / "store", tmp_path / "cache") == summaries_from_files(tmp_path / "store")
    assert_entries_are_those_of_the_files(index, tmp_path / "store")


def test_what_a_process_left_that_died_while_it_filled_its_texts_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = folder(tmp_path / "store")
    for number in range(40):
        write(here / f"{number}.jsonl", header(str(number)), user("1", None, f"session {number}"))
    parent = os.getpid()
    begun, told = os.pipe()
    whole = FileReader.whole

    def one_dies(*arguments: Any) -> Any:
        if os.getpid() != parent:
            os.write(told, b"!")
            os._exit(1)
        # The other process has drawn its first files by now.
        with suppress(BlockingIOError):
            os.read(begun, 1)
            os.set_blocking(begun, False)
        return whole(*arguments)

    monkeypatch.setattr(FileReader, "whole", one_dies)
    monkeypatch.setattr(index_module, "BULK_BYTES", 1)
    monkeypatch.setattr("sessionbrowse.store.index.writer.workers_for", lambda total: 2)
    monkeypatch.setattr("sessionbrowse.store.read.worker_processes.CHUNK_BYTES", 500)
    found = indexed_summaries(tmp_path / "store", tmp_path / "cache", processes=True)
    assert found == summaries_from_files(tmp_path / "store")
    index = open_index(tmp_path / "cache")
    assert index is not None
    # What it had drawn was read by this process; what it left is removed later.
    assert len(directories(tmp_path / "cache")) == 1
    assert_entries_are_those_of_the_files(index, tmp_path / "store")


def directories(cache: Path) -> list[str]:
    """Return the names of the text directories that the index knows."""
    with closing(sqlite3.connect(cache / INDEX_FILE)) as connection:
        return names(connection)


def test_texts_that_are_gone_do_not_break_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = small_store(tmp_path / "store")
    monkeypatch.setattr(index_module, "BULK_BYTES", 1)
    indexed_summaries(tmp_path / "store", tmp_path / "cache", processes=True)
    for name in directories(tmp_path / "cache"):
        shutil.rmtree(tmp_path / "cache" / name)
    append(paths[0], user("3", "2", "more"))
    index = open_index(tmp_path / "cache", print)
    assert index is not None
    assert listed(tmp_path / "store", index, print) == summaries_from_files(tmp_path / "store")


def assert_entries_are_those_of_the_files(index: Index, root: Path) -> None:
    for row in index.rows():
        path, agent = row.path, row.summary.agent
        fresh = read_for_index(path, partial(same, agent), lambda *_: None, tools=False, restart=lambda: None)
        assert fresh is not None
        assert index.entries(row) == fresh.entries, path
        assert index.state(row) == fresh.state or path.endswith(".gz"), path
        if row.kind == ORDINARY:
            session = open_session(path, agent)
            count = len(fresh.entries.sizes)
            assert fresh.entries.ids == list(session.ids)[:count]
            assert list(fresh.entries.offsets()) == list(session.offsets)[:count]
            assert list(fresh.entries.sizes) == list(session.sizes)[:count]


def same(agent: str, _: object) -> str:
    return agent


SOME_LINES: list[bytes] = [
    line_of(user("u", "p", "hello")),
    line_of(answer("a", "u", "world", command="make")),
    line_of(result("r", "a", "output")),
    line_of(entry("session_info", "i", "u", name="A name")),
    line_of(entry("label", "l", "u", targetId="u", label="mark")),
    line_of(entry("label", "l", "u", targetId="u")),
    line_of(entry("compaction", "c", "u", summary="so far", firstKeptEntryId="u", tokensBefore=1)),
    line_of(entry("mode_change", "m", "u", mode="plan")),
    line_of(header("second")),
    line_of({"type": "message", "id": "n", "parentId": None, "timestamp": 5, "message": {"role": "user"}}),
    b"not json\n",
    b"\n",
    b"null\n",
    b"\xff\xfe\n",
    line_of(user("s", "u", "separator \u2028 here")),
    line_of(user("x", "u", "x" * 700)),
    line_of(user("big", "u", "y" * 300_000)),
    b'{"type":"message"',
]


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["append", "append", "append", "rewrite", "cut", "touch", "delete"]), st.data()),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_happens_to_the_files_the_index_follows(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    tmp = tmp_path_factory.mktemp("random")
    root, cache = tmp / "store", tmp / "cache"
    path = folder(root) / "a.jsonl"
    try:
        write(path, header("a"), user("p", None, "begin"))
        for what, data in steps:
            lines = b"".join(data.draw(st.lists(st.sampled_from(SOME_LINES), max_size=4)))
            if data.draw(st.booleans()):
                lines = lines[:-1]
            if what == "delete":
                path.unlink(missing_ok=True)
            elif what == "append" or not path.exists():
                with path.open("ab") as file:
                    file.write(lines)
            elif what == "rewrite":
                path.write_bytes(line_of(header("a", version=data.draw(st.sampled_from([1, 2, 3])))) + lines)
            elif what == "cut":
                path.write_bytes(path.read_bytes()[: data.draw(st.integers(0, path.stat().st_size))])
            else:
                os.utime(path)
            assert indexed_summaries(root, cache) == summaries_from_files(root)
            index = open_index(cache)
            assert index is not None
            if path.exists() and path.read_bytes().endswith(b"\n"):
                assert_entries_are_those_of_the_files(index, root)
            index.close()
    finally:
        shutil.rmtree(tmp)


def test_without_a_lock_nobody_writes(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    with locked(tmp_path / "cache"), pytest.raises(IndexUnavailable), locked(tmp_path / "cache"):
        pytest.fail("two processes at once")


def test_entries_that_share_a_line_keep_their_places() -> None:
    offsets, sizes = array("q", [100, 110, 123, 134, 90_000]), array("q", [10, 10, 10, 70_000, 3])
    parent_ids = [None, "a", "a", None, "d"]
    entries = stored_entries(offsets, sizes, list("abcde"), parent_ids, {1: "a", 3: None})
    read = unpack_entries(pack_small(entries))
    assert read == entries
    assert [read.place(index) for index in range(5)] == list(zip(offsets, sizes, strict=True))
    assert (read.offsets(), read.parent_ids(), read.end) == (offsets, parent_ids, 90_004)


def test_an_index_full_of_texts_that_are_no_longer_anyone_s_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "WORN_SHARE", 0.2)
    paths = small_store(tmp_path / "root")
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "BULK_BYTES", 1)
        indexed_summaries(tmp_path / "root", tmp_path / "cache", processes=True)
    for path in paths[:-1]:
        # Another beginning: it is no file that grew.
        write(path, header("first"), user("u", None, "the first text"), user("v", "u", "more"))
    held_open(tmp_path, everything=False).close()
    append(paths[0], user("w", "v", "Old texts are deleted when new ones are written"))
    found = held_open(tmp_path, everything=False)
    assert found.needs_rebuild()
    found.close()
    assert indexed_summaries(tmp_path / "root", tmp_path / "cache") == summaries_from_files(tmp_path / "root")
    found = held_open(tmp_path, everything=False)
    assert not found.needs_rebuild()
    assert_entries_are_those_of_the_files(found, tmp_path / "root")
    found.close()


def held_open(tmp_path: Path, *, everything: bool) -> Index:
    index = open_index(tmp_path / "cache")
    assert index is not None
    if everything:
        gather.update_index(scope_of(tmp_path / "root"), index)
    else:
        listed(tmp_path / "root", index)
    return index


@pytest.mark.slow
def test_a_session_that_grew_often_is_stored_as_if_read_at_once(tmp_path: Path) -> None:
    path = write(folder(tmp_path / "root") / "a.jsonl", header("s1"), user("u0", None, "begin"))
    indexed_summaries(tmp_path / "root", tmp_path / "cache")
    for number in range(1, 40):
        append(path, user(f"u{number}", f"u{max(0, number - 1 - number % 3)}", f"word{number}"))
        indexed_summaries(tmp_path / "root", tmp_path / "cache")
    index = open_index(tmp_path / "cache")
    assert index is not None
    assert_entries_are_those_of_the_files(index, tmp_path / "root")
    index.close()


def test_an_index_that_is_too_damaged_to_be_written_is_built_anew(tmp_path: Path) -> None:
    paths = small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    connection = sqlite3.connect(tmp_path / "cache" / INDEX_FILE)
    with connection:
        connection.execute("DROP TABLE forgotten")
    connection.close()
    append(paths[0], user("3", "2", "more"))
    index = open_index(tmp_path / "cache", pytest.fail)
    said: list[str] = []
    assert listed(tmp_path / "store", index, said.append) == summaries_from_files(tmp_path / "store")
    assert any("built anew" in sentence for sentence in said)
    again = open_index(tmp_path / "cache", pytest.fail)
    assert again is not None
    assert listed(tmp_path / "store", again, pytest.fail) == summaries_from_files(tmp_path / "store")
    assert len(again.rows()) == len(paths)


def foreign_database(path: Path) -> bytes:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (name TEXT)")
    connection.commit()
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize("name", [INDEX_FILE, f"{INDEX_FILE}-wal", f"{INDEX_FILE}-shm"])
def test_a_link_in_the_place_of_the_index_is_moved_and_its_target_stays_as_it_was(tmp_path: Path, name: str) -> None:
    small_store(tmp_path / "store")
    before = foreign_database(tmp_path / "photos.db")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / name).symlink_to(tmp_path / "photos.db")
    said: list[str] = []
    for _ in range(2):
        index = open_index(tmp_path / "cache", said.append)
        assert index is not None
        index.close()
    assert len(said) == 1
    assert f"{tmp_path / 'cache' / name} is a link; it was moved to odd-" in said[0]
    assert (tmp_path / "photos.db").read_bytes() == before
    assert [path.readlink() for path in (tmp_path / "cache").glob("odd-*")] == [tmp_path / "photos.db"]


def test_a_database_of_another_program_is_known_before_anything_is_written_to_it(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    before = foreign_database(tmp_path / "photos.db")
    os.link(tmp_path / "photos.db", tmp_path / "cache" / INDEX_FILE)
    said: list[str] = []
    index = open_index(tmp_path / "cache", said.append)
    assert index is not None
    index.close()
    assert "is not an index of sessionbrowse" in said[0]
    assert (tmp_path / "photos.db").read_bytes() == before


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_directory_or_pipe_in_the_place_of_the_index_is_moved_and_said_once(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small_store(tmp_path / "store")
    (tmp_path / "cache").mkdir()
    make(tmp_path / "cache" / INDEX_FILE)
    monkeypatch.setattr("sessionbrowse.cli.commands.lists.cache_dir", lambda: tmp_path / "cache")
    for command, expected in (("list", 1), ("projects", 0)):
        assert main([command, "--root", str(tmp_path / "store")]) == 0
        out, err = capfd.readouterr()
        assert out
        assert err.count("is no file; it was moved to odd-") == expected


def test_an_index_that_cannot_be_deleted_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cache" / LOCK_NAME).mkdir(parents=True)
    monkeypatch.setattr("sessionbrowse.cli.commands.index.cache_dir", lambda: tmp_path / "cache")
    for option in ("--clear", "--rebuild"):
        assert main(["index", option]) == 1
        assert capfd.readouterr().err.startswith(f"sessionbrowse: The index {tmp_path / 'cache'} cannot be deleted: ")


def test_a_second_index_command_succeeds_while_the_first_one_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    monkeypatch.setattr("sessionbrowse.cli.commands.index.cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr("sessionbrowse.cli.commands.index.CLEAR_WAIT_S", 0.01)
    with locked(tmp_path / "cache"):
        assert main(["index", "--root", str(tmp_path / "store")]) == 0
        assert "Another sessionbrowse is updating the index." in capfd.readouterr().err
        assert main(["index", "--clear"]) == 1
    assert main(["index", "--clear"]) == 0


def test_without_an_index_its_status_has_all_keys_and_its_sentences_are_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small_store(tmp_path / "store")
    monkeypatch.setattr("sessionbrowse.cli.commands.index.cache_dir", lambda: tmp_path / "cache")
    assert main(["index", "--status", "--json"]) == 0
    empty = json.loads(capfd.readouterr().out)
    assert main(["index", "--json", "--root", str(tmp_path / "store")]) == 0
    assert list(empty) == list(json.loads(capfd.readouterr().out))
    for option, sentence in (("--clear", "The index is deleted."), ("--status", "There is no index.")):
        assert main(["index", option]) == 0
        assert capfd.readouterr() == ("", f"sessionbrowse: {sentence}\n")


def test_the_status_of_an_index_that_cannot_be_used_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cache").symlink_to("cache")
    monkeypatch.setattr("sessionbrowse.cli.commands.index.cache_dir", lambda: tmp_path / "cache")
    assert main(["index", "--status"]) == 1
    assert "cannot be used" in capfd.readouterr().err


def test_an_index_that_cannot_be_read_names_the_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise sqlite3.OperationalError("no such table: files")

    monkeypatch.setattr("sessionbrowse.cli.commands.index.cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr("sessionbrowse.cli.commands.index.update_index", fail)
    assert main(["index", "--root", str(tmp_path)]) == 1
    assert "(no such table: files). `sessionbrowse index --rebuild` creates a new index." in capfd.readouterr().err


def test_a_sound_index_in_a_directory_without_write_permission_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(tmp_path / "store")
    expected = indexed_summaries(tmp_path / "store", tmp_path / "cache")
    # The superuser may write everywhere, so the answer of `os.access` is replaced.
    monkeypatch.setattr("sessionbrowse.store.index.schema.os.access", lambda path, mode: mode != os.W_OK)
    before = sorted(os.listdir(tmp_path / "cache"))
    opened = open_files(monkeypatch)
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    found = gather.gather(scope_of(tmp_path / "store"), index)
    assert {session.path for session in found.sessions} == set(expected)
    index.close()
    assert opened == []
    assert sorted(os.listdir(tmp_path / "cache")) == before


def test_index_fails_with_a_sentence_while_another_program_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small_store(tmp_path / "store")
    monkeypatch.setattr("sessionbrowse.cli.commands.index.cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr("sessionbrowse.store.index.schema._WAIT_S", 0.01)
    made = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert made is not None
    made.close()
    holder = sqlite3.connect(tmp_path / "cache" / INDEX_FILE, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert main(["index", "--root", str(tmp_path / "store")]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "sessionbrowse: The index could not be written (another program has locked the index).\n"
    holder.close()
    assert main(["index", "--root", str(tmp_path / "store")]) == 0
    assert capfd.readouterr().out.startswith("3 sessions")


def test_an_index_that_another_program_holds_is_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_store(tmp_path / "store")
    indexed_summaries(tmp_path / "store", tmp_path / "cache")
    index = open_index(tmp_path / "cache")
    assert index is not None

    def rows() -> list[FileRow]:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(index, "rows", rows)
    assert listed(tmp_path / "store", index) == summaries_from_files(tmp_path / "store")
    assert (tmp_path / "cache" / INDEX_FILE).exists()
    index.close()


@pytest.mark.parametrize("column", ["files.path", "files.row", "entries.packed", "entries.state"])
@pytest.mark.parametrize("value", ["'x'", "3.5", "x'00ff'"])
def test_values_of_other_types_are_damage_and_the_list_is_right(tmp_path: Path, column: str, value: str) -> None:
    small_store(tmp_path / "store")
    wanted = indexed_summaries(tmp_path / "store", tmp_path / "cache")
    poisoner = sqlite3.connect(tmp_path / "cache" / INDEX_FILE)
    table, _, name = column.partition(".")
    key = "id" if table == "files" else "file"
    poisoner.execute(f"UPDATE {table} SET {name} = {value} WHERE {key} = 1")
    poisoner.commit()
    poisoner.close()
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    assert listed(tmp_path / "store", index, print) == wanted
