"""Thousands of appended entries leave the texts of the index about as small as a fresh build, and each is found."""

from __future__ import annotations

import random
import time
from pathlib import Path
from statistics import median

import pytest

from sessionbrowse.model.search.query import parse_search
from sessionbrowse.services.list.gather import gather, take_snapshot, update_index
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import Index, open_index
from tests.support.index_support import append, folder, header, scope_of, user, write

SESSIONS, MOST_GROWTH = 20, 1.3


def size_of_texts(index: Index) -> int:
    return sum(path.stat().st_size for path in index.directory.glob("text-*/*"))


def appended(tmp_path: Path, appends: int) -> float:
    """Append entries one by one; return the usual seconds of an update, with the engine's part in it."""
    dice = random.Random(5)
    words = [f"word{dice.randrange(1 << 30):x}" for _ in range(4000)]
    here, scope = folder(tmp_path / "store"), scope_of(tmp_path / "store")
    paths = [here / f"{number}.jsonl" for number in range(SESSIONS)]
    for number, path in enumerate(paths):
        write(path, header(f"s{number}"), *[user(f"{n}", None, " ".join(dice.sample(words, 80))) for n in range(200)])
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    update_index(scope, index)
    seconds: list[float] = []
    for number in range(appends):
        path = dice.choice(paths)
        append(path, user(f"new{number}", None, f"quokka{number} {' '.join(dice.sample(words, 80))}"))
        files = [file for file in gather(scope).files.values() if file.path == str(path)]
        begun = time.perf_counter()
        index.update(files)
        seconds.append(time.perf_counter() - begun)
        if number % max(1, appends // 20) == 0:
            found = list(Searcher(take_snapshot(scope, index), index).find(parse_search(f"quokka{number}")))
            assert [hit.entry_id for hit in found] == [f"new{number}"]
    fresh = open_index(tmp_path / "fresh", pytest.fail, create=True)
    assert fresh is not None
    update_index(scope, fresh)
    assert size_of_texts(index) <= MOST_GROWTH * size_of_texts(fresh)
    index.close()
    fresh.close()
    return median(seconds)


@pytest.mark.slow
def test_appended_entries_are_found_and_leave_the_texts_small(tmp_path: Path) -> None:
    appended(tmp_path, 60)


@pytest.mark.stress
def test_two_thousand_appended_entries_leave_the_texts_small(tmp_path: Path) -> None:
    print(f"\nan appended entry is indexed within {appended(tmp_path, 2000) * 1000:.1f} ms")
