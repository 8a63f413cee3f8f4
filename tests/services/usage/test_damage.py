"""Changed, exchanged or lost rows of requests never give wrong figures, and asking for them heals the index."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.services.list import gather
from sessionbrowse.services.usage.stats import BY, Stats, stats
from sessionbrowse.services.usage.usage_listing import open_usage
from sessionbrowse.store.index.index import check_index, open_index
from tests.support.index_support import folder, scope_of
from tests.support.session_files import answer, header, user

DAMAGES = [
    "UPDATE usage SET requests = sums",
    "UPDATE usage SET sums = 7 WHERE file = (SELECT max(file) FROM usage)",
    "UPDATE usage SET requests = x''",
    "UPDATE usage SET file = file + 1000 WHERE file = (SELECT max(file) FROM usage)",
    "DELETE FROM usage WHERE file = (SELECT max(file) FROM usage)",
    "DELETE FROM usage",
    "DROP TABLE usage",
]


def make_store(root: Path) -> Path:
    """A session, its fork, one without requests; return the session's path."""
    here = folder(root)
    lines = [user("a", None), answer("b", "a", second=2), answer("c", "a", second=3)]
    first = here / "first.jsonl"
    first.write_bytes(header(id="first") + b"".join(lines))
    fork = header(id="fork", timestamp="2026-08-13T09:00:00.000Z", parentSession=str(first))
    (here / "fork.jsonl").write_bytes(fork + b"".join(lines) + answer("d", "b", second=4, model="opus"))
    (here / "idle.jsonl").write_bytes(header(id="idle") + user("e", None))
    return first


def figures(root: Path, cache: Path, said: list[str] | None = None) -> list[Stats]:
    note = pytest.fail if said is None else said.append
    found: list[Stats] = []
    for by in BY:
        with open_usage(scope_of(root), cache, skipped=lambda _: None, note=note) as listing:
            # A choice of sessions, so that no stored answer is used.
            found.append(stats(listing, by, chosen=lambda _: True))
    return found


def index_of(root: Path, cache: Path, **more: Any) -> None:
    index = open_index(cache, pytest.fail, create=True)
    assert index is not None
    check_index(index)
    gather.update_index(scope_of(root), index, **more)
    index.close()


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_requests_are_read_from_the_files(tmp_path: Path, damage: str) -> None:
    make_store(tmp_path / "s")
    expected = figures(tmp_path / "s", tmp_path / "none")
    index_of(tmp_path / "s", tmp_path / "cache")
    assert figures(tmp_path / "s", tmp_path / "cache") == expected
    with closing(sqlite3.connect(tmp_path / "cache" / INDEX_FILE, isolation_level=None)) as database:
        database.execute(damage)
    said: list[str] = []
    assert figures(tmp_path / "s", tmp_path / "cache", said) == expected
    assert len(said) == 1
    assert "damaged" in said[0]
    index_of(tmp_path / "s", tmp_path / "cache")
    assert figures(tmp_path / "s", tmp_path / "cache") == expected


def test_the_index_command_finds_damaged_requests(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    index_of(tmp_path / "s", tmp_path / "cache")
    index = open_index(tmp_path / "cache", pytest.fail)
    assert index is not None
    check_index(index)
    index.connection.execute("UPDATE usage SET requests = zeroblob(20) WHERE file = 1")
    with pytest.raises(sqlite3.DatabaseError):
        check_index(index)
    index.close()


def test_an_index_that_changes_meanwhile_is_not_damaged(tmp_path: Path) -> None:
    first = make_store(tmp_path / "s")
    index_of(tmp_path / "s", tmp_path / "cache")
    with open_usage(scope_of(tmp_path / "s"), tmp_path / "cache", skipped=lambda _: None, note=pytest.fail) as found:
        with first.open("ab") as file:
            file.write(answer("g", "c", second=9))
        index_of(tmp_path / "s", tmp_path / "cache")
        answered = stats(found, "session", chosen=lambda _: True)
    assert len(answered.rows) == 2
    index_of(tmp_path / "s", tmp_path / "cache")
    expected = figures(tmp_path / "s", tmp_path / "none")
    assert figures(tmp_path / "s", tmp_path / "cache") == expected
