"""The index's requests of a file are those in the file, however the file came to be as it is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sessionbrowse.model.usage.request import FileRequests, sums_of
from sessionbrowse.services.list import gather
from sessionbrowse.store.index import index as index_module
from sessionbrowse.store.index.builder import read_for_index
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.usage_tables import read_sums, read_usage
from tests.support.index_support import folder, scope_of
from tests.support.session_files import answer, entry, header, user


@pytest.mark.slow
def test_requests_of_a_growing_file_are_those_of_the_whole_file(tmp_path: Path) -> None:
    path = folder(tmp_path / "store") / "grown.jsonl"
    path.write_bytes(header())
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    dice = random.Random(7)
    for number in range(1, 60):
        above = str(max(1, number - dice.choice([1, 1, 1, 1, 5]))) if number > 1 else None
        own = str(number) if dice.random() < 0.9 else str(max(1, number - 1))
        line = dice.choice(
            [
                user(own, above, second=number),
                answer(own, above, second=number // 2),
                entry("usage", own, above, number, usage={"input": number}),
                entry("compaction", own, above, number, summary="s"),
            ]
        )
        # The program may be in the middle of a line whenever the file is read.
        torn = dice.randrange(len(line))
        with path.open("ab") as file:
            file.write(line[:torn])
        assert stored(index, tmp_path) == whole(path)
        with path.open("ab") as file:
            file.write(line[torn:])
        assert stored(index, tmp_path) == whole(path)
    index.close()


def test_requests_of_many_files_are_read_by_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "BULK_BYTES", 1)
    paths = [folder(tmp_path / "store") / f"{number}.jsonl" for number in range(5)]
    for number, path in enumerate(paths):
        path.write_bytes(header() + answer("a", None, second=number))
    # The third file is larger than those that other processes read.
    monkeypatch.setattr(index_module, "SHARED_BYTES", paths[4].stat().st_size)
    paths[2].write_bytes(paths[2].read_bytes() + answer("c", "a", second=8))
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    gather.update_index(scope_of(tmp_path / "store"), index, processes=True)
    paths[2].write_bytes(paths[2].read_bytes() + answer("b", "c", second=9))
    gather.update_index(scope_of(tmp_path / "store"), index, processes=True)
    for path in paths:
        row = index.row_of(str(path))
        assert row is not None
        assert read_usage(index.connection, row) == whole(path)
    rows = {row.row: row for row in index.rows()}
    assert {row.row for row, _ in read_sums(index.connection, rows)} == set(rows)
    index.empty()
    assert not list(read_sums(index.connection, rows))
    index.close()


def stored(index: Index, folder: Path) -> FileRequests:
    gather.update_index(scope_of(folder / "store"), index)
    (row,) = index.rows()
    usage = read_usage(index.connection, row)
    for _, found in read_sums(index.connection, {row.row: row}):
        identities, sums = found or ([], sums_of(usage))
        assert list(identities) == usage.identities
        assert sums == sums_of(usage)
    return usage


def whole(path: Path) -> FileRequests:
    found = read_for_index(str(path), lambda _: "pi", lambda *_: None, tools=False, restart=lambda: None)
    assert found is not None
    # A file without requests has no row.
    return found.usage if found.usage.requests else FileRequests([], [], [], [])
