"""The list by the index is the list that reads every file, whatever happened to the files."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessionbrowse.cli.commands.lists import project_documents
from sessionbrowse.config import INDEX_FILE
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list import gather
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.index.index import Index, open_index
from sessionbrowse.store.index.rows import FileRow
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
    index_all(scope_of(root), tmp_path / "cache")
    return root


def index_all(scope: Scope, cache: Path) -> None:
    index = open_index(cache, print, create=True)
    assert index is not None
    gather.update_index(scope, index)
    index.close()


def by_index(root: Path, cache: Path, *, hidden: bool = False, **chosen: Any) -> list[Summary]:
    with gather.open_listing(scope_of(root, hidden=hidden), cache, skipped=print, note=print) as listing:
        return gather.completed(listing, gather.newest(listing.sessions, **chosen), whole=True)


def by_files(root: Path, *, hidden: bool = False, **chosen: Any) -> list[Summary]:
    return gather.select(gather.gather_summaries(scope_of(root, hidden=hidden)), **chosen)


def only_one(directories: Iterable[str]) -> set[str]:
    return {"/home/dev/1"} & set(directories)


CHOICES: list[dict[str, Any]] = [
    {},
    {"limit": 5},
    {"limit": 0},
    {"named": True},
    {"within": only_one, "limit": 3},
    {"hidden": True},
]


@pytest.mark.parametrize("chosen", CHOICES, ids=lambda chosen: " ".join(chosen) or "all")
def test_it_gives_the_list_that_reads_everything(store: Path, tmp_path: Path, chosen: dict[str, Any]) -> None:
    assert by_index(store, tmp_path / "cache", **chosen) == by_files(store, **chosen)


def test_what_happened_to_the_files_is_in_the_next_list(store: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert by_index(store, cache) == by_files(store)
    files = sorted(store.rglob("*.jsonl"))
    append(files[0], user("later", "a", "one more", ms=1_786_609_000_000))
    assert by_index(store, cache, limit=3) == by_files(store, limit=3)
    files[1].unlink()
    assert by_index(store, cache) == by_files(store)
    write(files[2].with_name("new.jsonl"), header("new"), user("u", None, "new"))
    assert by_index(store, cache) == by_files(store)
    status = files[3].stat()
    files[3].write_bytes(files[3].read_bytes().replace(b"answer", b"ANSWER", 1))
    os.utime(files[3], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert by_index(store, cache) == by_files(store)
    nested = files[4].with_suffix("")
    nested.mkdir()
    write(nested / "child.jsonl", header("child"), user("u", None, "hidden"))
    for hidden in (False, True):
        assert by_index(store, cache, hidden=hidden) == by_files(store, hidden=hidden)


def test_a_list_that_only_asks_the_files_opens_none(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = by_files(store)

    def refuse(*_: object) -> None:
        raise AssertionError("a file was read")

    assert by_index(store, tmp_path / "cache") == expected
    monkeypatch.setattr("sessionbrowse.store.index.writer.read_for_index", refuse)
    monkeypatch.setattr(Index, "update", refuse)
    assert by_index(store, tmp_path / "cache") == expected


def test_a_file_that_goes_while_the_list_is_made_takes_no_other_with_it(store: Path, tmp_path: Path) -> None:
    long = write(next(store.rglob("*.jsonl")).with_name("long.jsonl"), header("long"), user("u", None, "word " * 3_000))
    index_all(scope_of(store), tmp_path / "cache")
    with gather.open_listing(scope_of(store), tmp_path / "cache", skipped=print, note=print) as listing:
        long.unlink()
        listed = gather.completed(listing, listing.sessions, whole=True)
    assert len(listed) == len(by_files(store)) + 1
    gone = next(one for one in listed if one.path == str(long))
    assert gone.first_message is not None
    assert gone.first_message.startswith("word word")
    assert gone.first_message_cut


def test_a_session_that_says_nothing_is_found_where_its_folder_was_moved_to(tmp_path: Path) -> None:
    root, cache = tmp_path / "store", tmp_path / "cache"
    made = folder(root, "--old--")
    write(made / "silent.jsonl", header("silent"))
    index_all(scope_of(root), cache)
    assert by_index(root, cache) == by_files(root)
    # By all that its row tells it is the same file: its number must not be given again.
    made.rename(made.with_name("--new--"))
    index_all(scope_of(root), cache)
    assert by_index(root, cache) == by_files(root)


def test_a_session_that_another_process_reads_anew_meanwhile_is_in_the_list(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Index.rows

    def built_anew_behind_them(index: Index) -> list[FileRow]:
        found = rows(index)
        monkeypatch.setattr(Index, "rows", rows)
        other = open_index(tmp_path / "cache", print)
        assert other is not None
        other.empty()
        other.close()
        index_all(scope_of(store), tmp_path / "cache")
        return found

    expected = by_files(store)
    monkeypatch.setattr(Index, "rows", built_anew_behind_them)
    assert by_index(store, tmp_path / "cache") == expected
    assert Index.rows is rows


def test_projects_are_those_of_the_sessions_that_are_read(store: Path, tmp_path: Path) -> None:
    with gather.open_listing(scope_of(store), tmp_path / "cache", skipped=print, note=print) as listing:
        assert set(listing.rows) == {session.path for session in listing.sessions}
        assert project_documents(listing.sessions, {}, {}) == project_documents(by_files(store), {}, {})


def test_projects_with_the_same_last_activity_are_sorted_by_directory(store: Path) -> None:
    sessions = [msgspec.structs.replace(session, modified=1_786_608_000_000.0) for session in by_files(store)]
    expected = ["/home/dev/0", "/home/dev/1"]
    for order in (sessions, sessions[::-1], sorted(sessions, key=lambda session: session.cwd, reverse=True)):
        assert [document["cwd"] for document in project_documents(order, {}, {})] == expected


def test_without_an_index_or_with_damaged_rows_the_list_is_the_same(store: Path, tmp_path: Path) -> None:
    assert by_index(store, tmp_path / "nothing") == by_files(store)
    index = open_index(tmp_path / "cache", print)
    assert index is not None
    index.connection.execute("UPDATE files SET row = x'c1'")
    index.close()
    assert by_index(store, tmp_path / "cache") == by_files(store)


@pytest.mark.slow
def test_whatever_part_of_the_index_a_disk_has_lost_every_session_is_listed(store: Path, tmp_path: Path) -> None:
    by_index(store, tmp_path / "cache")
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
            assert sorted(summary.path for summary in by_index(store, tmp_path / "cache")) == expected
            # A change is written where others stand.
            append(next(store.rglob("s5.jsonl")), user("later", "a", "more"))


def test_a_list_reads_no_more_into_the_index_than_one_waits_for(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "MAX_UPDATE_BYTES", 10)
    write(folder(store) / "new.jsonl", header("new"), user("u", None, "new"))
    assert by_index(store, tmp_path / "cache") == by_files(store)
    index = open_index(tmp_path / "cache", print)
    assert index is not None
    assert "new.jsonl" not in {Path(row.path).name for row in index.rows()}
    index.close()


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
    index_all(around, cache)
    with gather.open_listing(around, cache, skipped=print, note=print) as listing:
        assert {session.id for session in listing.sessions} == {"known", "far"}


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
        "model.listing.summary_builder",
        "store.read.summarise",
    }
    assert reading <= imported_by("index")
    for words in (("list", "--json"), ("list", "--limit", "5"), ("projects", "--json")):
        assert not imported_by(*words) & reading


# Prints on its last line the files of ours in which functions ran, in any thread.
COUNTING = """
import inspect, sys, threading
ran = set()
def note(frame, event, argument):
    code = frame.f_code
    if "/sessionbrowse/" in code.co_filename and code.co_flags & inspect.CO_OPTIMIZED:
        ran.add(code.co_filename.rpartition("/sessionbrowse/")[2])
sys.setprofile(note)
threading.setprofile(note)
from sessionbrowse.cli import main
main(sys.argv[1:])
sys.setprofile(None)
print()
print(*sorted(ran))
"""


def test_few_files_take_part_in_a_list_by_the_index(tmp_path: Path) -> None:
    home = StoryHome(tmp_path / "home")
    path = home.session(home.project("webshop"), ["A first message that the index cuts " * 50])
    subprocess.run([sys.executable, "-m", "sessionbrowse", "index"], env=home.env(), check=True, timeout=60)
    command = [sys.executable, "-c", COUNTING, "list", "--json", "--root", str(path.parent.parent)]
    done = subprocess.run(command, env=home.env(), capture_output=True, text=True, check=True, timeout=60)
    ran = done.stdout.splitlines()[-1].split()
    assert "services/list/gather.py" in ran
    assert len(ran) <= 37
    assert len([file for file in ran if file.startswith(("cli/", "services/", "store/"))]) <= 14, ran
