"""An index whose values cannot be decoded never hides a hit, and `index` builds it anew."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sessionbrowse.cli import main
from sessionbrowse.config import INDEX_FILE, cache_dir
from sessionbrowse.model.search.query import parse_search
from sessionbrowse.services.list.gather import take_snapshot
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import open_index
from tests.support.index_support import answer, folder, header, scope_of, user, write


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET packed = x'00'",
        "DELETE FROM entries",
        "UPDATE entries SET state = x'00'",
        "UPDATE texts SET stamps = x'00'",
        "UPDATE texts SET name = 'text-x'",
    ],
)
def test_a_changed_row_never_hides_a_hit_and_the_next_index_command_heals_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    monkeypatch.setattr("sessionbrowse.cli.commands.index.cache_dir", lambda: tmp_path / "cache")
    here = folder(tmp_path / "store")
    for number in range(4):
        said = [user("1", None, f"The lantern {number}"), answer("2", "1", "Done")]
        more = [user(str(3 + each), "2", "Another text") for each in range(number)]
        write(here / f"{number}.jsonl", header(f"s{number}"), *said, *more)
    assert main(["index", "--root", str(tmp_path / "store")]) == 0

    def found() -> list[tuple[str | None, str | None]]:
        index = open_index(tmp_path / "cache", pytest.fail)
        assert index is not None
        snapshot = take_snapshot(scope_of(tmp_path / "store"), index, note=pytest.fail)
        hits = list(Searcher(snapshot, index).find(parse_search("lantern")))
        index.close()
        return sorted([(hit.id, hit.entry_id) for hit in hits], key=str)

    expected = [(f"s{number}", "1") for number in range(4)]
    assert found() == expected
    with closing(sqlite3.connect(tmp_path / "cache" / INDEX_FILE, isolation_level=None)) as database:
        assert database.execute(damage).rowcount
    assert found() == expected
    capfd.readouterr()
    assert main(["index", "--root", str(tmp_path / "store")]) == 0
    assert "cannot be used" in capfd.readouterr().err
    assert main(["index", "--root", str(tmp_path / "store")]) == 0
    assert capfd.readouterr().err == ""
    assert found() == expected


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE texts SET stamps = x'00'",
        "UPDATE facts SET generation = 'x'",
    ],
)
def test_a_search_begins_a_damaged_index_anew(
    tmp_path: Path, own_home: Path, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    write(folder(tmp_path / "store") / "0.jsonl", header("s0"), user("1", None, "The lantern"))
    root = ("--root", str(tmp_path / "store"))
    assert main(["index", *root]) == 0
    capfd.readouterr()
    # A misspelt word is looked for among all words.
    for asked in (["search", "lantern", "--json", *root], ["search", "lantrn", "--json", *root]):
        assert main(asked) == 0
        expected = capfd.readouterr().out
        assert '"s0"' in expected
        with closing(sqlite3.connect(cache_dir() / INDEX_FILE, isolation_level=None)) as database:
            assert database.execute(damage).rowcount
        assert main(asked) == 0
        answered = capfd.readouterr()
        assert '"s0"' in answered.out
        assert "cannot be used" in answered.err
        assert main(["list", *root]) == 0
        assert capfd.readouterr().err == ""
