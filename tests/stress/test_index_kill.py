"""Killed at any moment, the next start gives the same list, entries and hits as a fresh index."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from sessionbrowse.model.search.query import parse_search
from sessionbrowse.services.list import gather
from sessionbrowse.services.list.gather import Snapshot, take_snapshot
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.schema import IndexBusy
from tests.support.index_support import answer, append, folder, header, scope_of, user, write

ROUNDS = 200
PATIENCE_SECONDS = 30.0
SESSIONS = 60

# The real code in a process of its own, with bounds so low that a small store is written as a large one is.
CHILD = """
import os, sys
from contextlib import suppress
from pathlib import Path
from sessionbrowse.services.list.gather import update_index
from sessionbrowse.store.index import index, writer
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.index.schema import IndexBusy
from sessionbrowse.store.read import worker_processes
from tests.support.index_support import scope_of
if sys.argv[3] == "bulk":
    index.BULK_BYTES = 1
    worker_processes.CHUNK_BYTES = 20_000
    writer.workers_for = lambda total: 2
opened = open_index(Path(sys.argv[2]), print, create=True)
print("begun", flush=True)
with suppress(IndexBusy):
    update_index(scope_of(Path(sys.argv[1])), opened, processes=True)
print("done", flush=True)
"""


@pytest.mark.stress
def test_killed_at_any_moment_the_next_start_equals_a_fresh_index(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    dice = random.Random(1)
    here = folder(root)
    paths = [here / f"{number}.jsonl" for number in range(SESSIONS)]
    for number, path in enumerate(paths):
        write(path, header(str(number)), *[user(f"{n}", str(n - 1), f"word{n} " * 40) for n in range(40)])
    completed = killed = 0
    # How long a child works, as the last one that was let finish shows: most are killed before.
    usual = 0.25
    for turn in range(ROUNDS):
        for path in dice.sample(paths, 6):
            append(path, answer(f"t{turn}", "1", f"turn{turn} " * 20))
        if turn % 10 == 0:
            write(dice.choice(paths), header("anew"), user("1", None, f"anew{turn}"))
        if turn % 20 == 0:
            # From nothing: what a first start writes can be cut off too.
            shutil.rmtree(cache, ignore_errors=True)
        way = "bulk" if turn % 2 else "one by one"
        command = [sys.executable, "-c", CHILD, str(root), str(cache), way]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert child.stdout is not None
        child.stdout.readline()
        begun = time.perf_counter()
        try:
            child.wait(timeout=dice.random() * usual)
            completed += 1
            usual = time.perf_counter() - begun
        except subprocess.TimeoutExpired:
            killed += 1
            with suppress(ProcessLookupError):
                child.send_signal(signal.SIGKILL)
        child.wait(timeout=600)
        child.stdout.close()
        if turn % 5 == 4:
            assert_like_fresh(root, cache, tmp_path / f"fresh{turn}")
    assert_like_fresh(root, cache, tmp_path / "fresh")
    assert killed > ROUNDS // 4, (killed, completed)


def assert_like_fresh(root: Path, cache: Path, other: Path) -> None:
    said: list[str] = []
    expected = {summary.path: summary for summary in gather.gather_summaries(scope_of(root))}
    contents = []
    for directory in (cache, other):
        index = open_index(directory, said.append, create=True)
        assert index is not None
        gathered(root, index)
        listing = gather.gather(scope_of(root), index)
        summaries = gather.completed(listing, listing.sessions, whole=True)
        found = take_snapshot(scope_of(root), index)
        assert {summary.path: summary for summary in summaries} == expected
        contents.append((entries_of(index), hits_in(index, found, "word7"), hits_in(index, found, "turn1")))
        index.close()
    assert contents[0] == contents[1]
    assert said == []


def gathered(root: Path, index: Index) -> None:
    """Bring the index up to date, when the last worker of a process that was killed has found out and lets go of it."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            gather.update_index(scope_of(root), index)
            return
        except IndexBusy:
            # The list is right all the same.
            listing = gather.gather(scope_of(root), index)
            assert {session.path for session in listing.sessions} == listing.files.keys()
            assert time.monotonic() < end
            os.sched_yield()


def entries_of(index: Index) -> dict[str, object]:
    return {row.path: index.entries(row) for row in index.rows()}


def hits_in(index: Index, found: Snapshot, word: str) -> set[tuple[str, int | None]]:
    """Every entry that the index leads to for a word, as path and number."""
    assert found.rows.keys() == {summary.path for summary in found.summaries}
    return {(hit.path, hit.entry_index) for hit in Searcher(found, index).find(parse_search(word))}


@pytest.mark.stress
def test_two_processes_that_index_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    here = folder(root)
    for number in range(SESSIONS):
        write(here / f"{number}.jsonl", header(str(number)), *[user(f"{n}", None, f"word{n}") for n in range(40)])
    for turn in range(10):
        append(here / "1.jsonl", user(f"t{turn}", None, f"turn{turn}"))
        command = [sys.executable, "-c", CHILD, str(root), str(cache), "one by one"]
        children = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
        outputs = [child.communicate(timeout=600) for child in children]
        assert [child.returncode for child in children] == [0, 0, 0], outputs
        assert [error for _, error in outputs] == [b"", b"", b""]
    assert_like_fresh(root, cache, tmp_path / "fresh")
    opened = open_index(cache)
    assert opened is not None
    opened.close()
