"""The monitor's cache of summaries: an index that cannot be used costs time, never a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.services.list.gather import indexed_snapshot, take_snapshot, update_index
from sessionbrowse.services.list.summary_cache import SummaryCache
from sessionbrowse.store.find.discover import FoundFile, discover
from sessionbrowse.store.find.roots import places_of
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.rows import damaged
from sessionbrowse.store.index.schema import IndexBusy, IndexUnavailable
from tests.support.index_support import folder, scope_of
from tests.support.session_files import answer, three_questions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    three_questions(folder(tmp_path / "s"))
    return tmp_path / "s"


def files_of(root: Path) -> list[FoundFile]:
    return list(discover(places_of(scope_of(root))))


def read(cache: SummaryCache, root: Path) -> dict[str, str | None]:
    """Return the first message of each file that the cache reads."""
    found = cache.read(files_of(root))
    return {Path(file.path).name: summary.first_message for file, summary in found if summary is not None}


def indexed(root: Path, cache: Path) -> Index:
    """Return the index of the files."""
    index = open_index(cache, pytest.fail, create=True)
    assert index is not None
    update_index(scope_of(root), index)
    return index


QUESTIONS = {f"{number}.jsonl": f"question {number}" for number in range(3)}


@pytest.mark.parametrize(
    ("error", "keeps_index"),
    [
        (IndexBusy("Another process is writing."), True),
        (IndexUnavailable("The disk is full."), False),
        (damaged("rows are missing"), False),
    ],
)
def test_files_that_the_index_does_not_take_are_read_without_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, keeps_index: bool
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    said: list[str] = []
    cache = SummaryCache(tmp_path / "cache", said.append)
    monkeypatch.setattr(Index, "update", refuse)
    assert read(cache, root) == QUESTIONS
    assert cache.has_index == keeps_index
    assert len(cache.unindexed) == 3
    assert bool(said) != keeps_index
    assert [cache.get(file) is not None for file in files_of(root)] == [True] * 3


def test_a_damaged_index_has_no_rows_and_is_deleted(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed(root, tmp_path / "cache").close()
    said: list[str] = []
    cache = SummaryCache(tmp_path / "cache", said.append)
    assert len(cache.rows(lambda _: True)) == 3

    def lost(_: Index) -> None:
        raise damaged("rows are missing")

    monkeypatch.setattr(Index, "rows", lost)
    assert cache.rows(lambda _: True) == []
    assert cache.rows(lambda _: True) == []
    assert len(said) == 1
    monkeypatch.undo()
    begun_anew = open_index(tmp_path / "cache", pytest.fail)
    assert begun_anew is not None
    assert list(begun_anew.rows()) == []
    assert read(cache, root) == QUESTIONS


def test_a_file_that_grew_or_has_gone_is_not_answered_from_the_cache(root: Path, tmp_path: Path) -> None:
    indexed(root, tmp_path / "cache").close()
    cache = SummaryCache(tmp_path / "cache", pytest.fail)
    cache.load(lambda _: True)
    first, second, _ = sorted(Path(path) for path in cache.paths())
    with first.open("ab") as file:
        file.write(answer("b", "a"))
    second.unlink()
    current = {Path(file.path).name: cache.get(file) for file in files_of(root)}
    assert [name for name, summary in current.items() if summary is None] == [first.name]
    cache.forget([str(second)])
    assert str(second) not in cache.paths()
    assert str(second) not in [row.path for row in cache.rows(lambda _: True)]


def test_a_snapshot_of_a_damaged_index_is_read_from_the_files(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = scope_of(root)
    index = indexed(root, tmp_path / "cache")

    def lost(*_: object) -> None:
        raise damaged("rows are missing")

    with monkeypatch.context() as patched:
        patched.setattr(Index, "rows", lost)
        assert indexed_snapshot(scope, index).summaries == []
    said: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(Index, "generation", property(lost))
        whole = take_snapshot(scope, index, note=said.append)
    assert sorted(summary.first_message or "" for summary in whole.summaries) == sorted(QUESTIONS.values())
    assert whole.generation == 0
    assert len(said) == 1
