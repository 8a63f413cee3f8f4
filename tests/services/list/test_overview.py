"""The list by the index's overview is the list that reads everything, whatever happened to the files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list import catalog, choose, documents, first_messages, index_access, indexed, overview
from sessionbrowse.services.list.scope import Scope
from sessionbrowse.store.index.index import Index
from tests.support.index_support import answer, append, entry, folder, header, scope_of, user, write
from tests.support.story_support import StoryHome


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Twelve sessions of two projects, one with a name, one forked from another; all indexed."""
    root = tmp_path / "store"
    for number in range(12):
        made = folder(root, f"--home-dev-{number % 2}--")
        fork = {"parentSession": str(folder(root, "--home-dev-0--") / "s0.jsonl")} if number == 7 else {}
        lines = [
            header(f"id{number}", cwd=f"/home/dev/{number % 2}", **fork),
            user("u", None, f"question {number}", ms=1_786_608_000_000 + number % 5),
            answer("a", "u", "answer"),
            *([entry("session_info", "n", "a", name="Named")] if number == 3 else []),
        ]
        path = write(made / f"s{number}.jsonl", *lines)
        os.utime(path, (1_786_600_000 + number % 3,) * 2)
    gathered(root, tmp_path / "cache")
    return root


def gathered(root: Path, cache: Path) -> None:
    index = index_access.open_or_create(cache, print)
    assert index is not None
    indexed.gather(scope_of(root), index, everything=True)
    index.close()


def quick(root: Path, cache: Path, *, hidden: bool = False, **chosen: Any) -> list[Summary] | None:
    found = overview.newest_sessions(
        scope_of(root, hidden=hidden), cache, lambda found: documents.newest(found.briefs, **chosen), note=print
    )
    return first_messages.with_first_messages(*found) if found is not None else None


def careful(root: Path, *, hidden: bool = False, **chosen: Any) -> list[Summary]:
    return choose.select(catalog.all_summaries(scope_of(root, hidden=hidden)), **chosen)


CHOICES: list[dict[str, Any]] = [
    {},
    {"limit": 5},
    {"limit": 0},
    {"named": True},
    {"cwd": "/home/dev/1", "limit": 3},
    {"hidden": True},
]


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_it_gives_the_list_that_reads_everything(store: Path, tmp_path: Path, chosen: dict[str, Any]) -> None:
    assert quick(store, tmp_path / "cache", **chosen) == careful(store, **chosen)


def test_what_happened_to_the_files_is_in_the_next_list(store: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert quick(store, cache) == careful(store)
    files = sorted(store.rglob("*.jsonl"))
    append(files[0], user("later", "a", "one more", ms=1_786_609_000_000))
    assert quick(store, cache, limit=3) == careful(store, limit=3)
    files[1].unlink()
    assert quick(store, cache) == careful(store)
    write(files[2].with_name("new.jsonl"), header("new"), user("u", None, "new"))
    assert quick(store, cache) == careful(store)
    status = files[3].stat()
    files[3].write_bytes(files[3].read_bytes().replace(b"answer", b"ANSWER", 1))
    os.utime(files[3], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert quick(store, cache) == careful(store)
    nested = files[4].with_suffix("")
    nested.mkdir()
    write(nested / "child.jsonl", header("child"), user("u", None, "hidden"))
    for hidden in (False, True):
        assert quick(store, cache, hidden=hidden) == careful(store, hidden=hidden)


def test_a_list_that_only_asks_the_files_opens_none(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = careful(store)

    def refuse(*_: object) -> None:
        raise AssertionError("a file was read")

    assert quick(store, tmp_path / "cache") == expected
    monkeypatch.setattr("sessionbrowse.store.index.writer.read_for_index", refuse)
    monkeypatch.setattr(Index, "update", refuse)
    assert quick(store, tmp_path / "cache") == expected


def test_a_file_that_goes_while_the_list_is_made_takes_no_other_with_it(store: Path, tmp_path: Path) -> None:
    long = write(next(store.rglob("*.jsonl")).with_name("long.jsonl"), header("long"), user("u", None, "word " * 3_000))
    gathered(store, tmp_path / "cache")
    found = overview.newest_sessions(
        scope_of(store), tmp_path / "cache", lambda found: documents.newest(found.briefs), note=print
    )
    assert found is not None
    assert set(found[1]) == {str(long)}
    long.unlink()
    listed = first_messages.with_first_messages(*found)
    assert len(listed) == len(careful(store)) + 1
    gone = next(one for one in listed if one.path == str(long))
    assert gone.first_message is not None
    assert gone.first_message.startswith("word word")
    assert gone.first_message_cut


def test_a_session_that_says_nothing_is_found_where_its_folder_was_moved_to(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    made = folder(root, "--old--")
    write(made / "silent.jsonl", header("silent"))
    gathered(root, cache)
    assert quick(root, cache) == careful(root)
    # By all that its row tells it is the same file: its number must not be given again.
    made.rename(made.with_name("--new--"))
    gathered(root, cache)
    assert quick(root, cache) == careful(root)


def test_a_session_that_another_process_reads_anew_meanwhile_is_in_the_list(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, overview_of = Index.held, overview.overview_of

    def read_anew() -> None:
        monkeypatch.setattr(Index, "held", held)
        monkeypatch.setattr(overview, "overview_of", overview_of)
        other = index_access.open_if_there(tmp_path / "cache", print)
        assert other is not None
        other.empty()
        other.close()
        gathered(store, tmp_path / "cache")

    def before(index: Index) -> Any:
        found = held(index)
        read_anew()
        return found

    def before_the_summaries(*arguments: Any) -> Any:
        found = overview_of(*arguments)
        read_anew()
        return found

    monkeypatch.setattr(Index, "held", before)
    assert len(indexed.all_sessions(scope_of(store), tmp_path / "cache").summaries) == 12
    monkeypatch.setattr(overview, "overview_of", before_the_summaries)
    # It cannot tell, and whoever gathers all looks again.
    assert quick(store, tmp_path / "cache") is None
    assert quick(store, tmp_path / "cache") == careful(store)


def test_projects_are_those_of_the_sessions_that_are_read(store: Path, tmp_path: Path) -> None:
    briefs = overview.sessions_in_brief(scope_of(store), tmp_path / "cache", note=print)
    assert briefs is not None
    assert documents.project_documents(briefs, {}) == documents.project_documents(careful(store), {})


def test_without_an_index_or_with_a_damaged_overview_it_says_that_it_cannot_tell(store: Path, tmp_path: Path) -> None:
    assert quick(store, tmp_path / "nothing") is None
    index = index_access.open_if_there(tmp_path / "cache", print)
    assert index is not None
    index.connection.execute("UPDATE overview SET packed = x'c1'")
    index.close()
    assert quick(store, tmp_path / "cache") == careful(store)


def test_whatever_part_of_the_index_a_disk_has_lost_every_session_is_listed(store: Path, tmp_path: Path) -> None:
    quick(store, tmp_path / "cache")
    database = tmp_path / "cache" / INDEX_FILE
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    whole, block = database.read_bytes(), 4096
    expected = sorted(str(path) for path in store.rglob("*.jsonl"))
    for at in range(block, len(whole), block):
        for beside in database.parent.glob(f"{INDEX_FILE}-*"):
            beside.unlink()
        database.write_bytes(whole[:at] + bytes(block) + whole[at + block :])
        for _ in range(2):
            for listed in (quick, asked_of_all):
                found = listed(store, tmp_path / "cache")
                assert found is None or sorted(summary.path for summary in found) == expected
            # A change is written where others stand.
            append(next(store.rglob("s5.jsonl")), user("later", "a", "more"))


def asked_of_all(root: Path, cache: Path) -> list[Summary]:
    return indexed.all_sessions(scope_of(root), cache).summaries


def test_more_than_a_list_waits_for_is_left_to_who_gathers_all(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MAX_UPDATE_BYTES", 10)
    assert quick(store, tmp_path / "cache") == careful(store)
    write(folder(store) / "new.jsonl", header("new"), user("u", None, "new"))
    assert quick(store, tmp_path / "cache") is None


def test_the_settings_of_a_sessions_project_name_further_places(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    sessions = tmp_path / "nobody" / ".pi" / "agent" / "sessions" / "--p--"
    for directory in (project / ".pi", elsewhere, sessions):
        directory.mkdir(parents=True)
    write(project / ".pi" / "settings.json", {"sessionDir": str(elsewhere)})
    write(sessions / "known.jsonl", header("known", cwd=str(project)), user("u", None, "x"))
    write(elsewhere / "far.jsonl", header("far", cwd=str(project)), user("u", None, "x"))
    around = Scope(around=_around(tmp_path))
    cache = tmp_path / "cache"
    index = index_access.open_or_create(cache, print)
    assert index is not None
    indexed.gather(around, index, everything=True)
    index.close()
    found = overview.newest_sessions(around, cache, lambda found: documents.newest(found.briefs), note=print)
    assert found is not None
    assert {summary.id for summary in found[0]} == {"known", "far"}


def _around(tmp_path: Path) -> Any:
    from sessionbrowse.agents import Surroundings

    return Surroundings(home=str(tmp_path / "nobody"), environ={}, cwd=str(tmp_path))


# Tells on its last line what of ours a command imports.
PROGRAM = """
import sys
from sessionbrowse.cli import main
main(sys.argv[1:])
print()
print(*[name for name in sys.modules if name.startswith("sessionbrowse.")])
"""


def test_a_list_by_the_index_imports_nothing_that_reads_a_session(tmp_path: Path) -> None:
    home = StoryHome(tmp_path / "home")
    home.session(home.project("webshop"), ["The first of all"])

    def imported_by(*words: str) -> set[str]:
        command = [sys.executable, "-c", PROGRAM, *words]
        done = subprocess.run(command, env=home.env(), capture_output=True, text=True, check=True, timeout=60)
        return {name.removeprefix("sessionbrowse.") for name in done.stdout.splitlines()[-1].split()}

    reading = {
        "format.codec",
        "format.envelope",
        "model.session.records",
        "model.session.session",
        "model.listing.summariser",
        "store.read.summarise",
    }
    assert reading <= imported_by("index")
    for words in (("list", "--json"), ("list", "--limit", "5"), ("projects", "--json")):
        assert not imported_by(*words) & {*reading, "store.read.scan", "services.list.catalog", "services.list.indexed"}
