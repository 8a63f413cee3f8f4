"""Of equal session files, the clean-up keeps the one that the agent itself would open; one file is never two."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.cli import main
from sessionbrowse.errors import SameFile
from sessionbrowse.model.clean.cleanup import CleanupRow
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.clean import cleanup
from sessionbrowse.services.transaction.change import in_bulk
from sessionbrowse.store.find.roots import own_places
from tests.support.change_helpers import CONVERSATION, Store, assistant, header, line, target

ID = "019beea5-6fa7-777a-9146-dd0ff97d3f39"
NAME = f"2026-08-13T08-00-00-000Z_{ID}.jsonl"
CWD = "/p/dup"
DAY_S = 24 * 3600


def write(path: Path, days_ago: float = 3, entries: int = 8) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(line, [header(id=ID, cwd=CWD), *CONVERSATION[:entries]])))
    then = int(os.stat(path).st_mtime - days_ago * DAY_S)
    os.utime(path, (then, then))
    return path


def own_root(agent: str, home: Path) -> Path:
    around = Surroundings(home=str(home), environ={}, cwd=str(home))
    return Path(next(place.root for place in own_places(around, [agent]) if place.kind == "projects"))


def own_folder(agent: str, home: Path) -> Path:
    around = Surroundings(home=str(home), environ={}, cwd=str(home))
    return own_root(agent, home) / AGENTS[agent].folder_of(CWD, around)


def cleaned(capfd: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str, str | None]]:
    """Run the clean-up; return kind, path and kept path of what went."""
    assert main(["cleanup", "--yes", "--own-trash", "--json", *words]) == 0, capfd.readouterr().err
    rows = json.loads(capfd.readouterr().out)
    return [(row["kind"], row["path"], row["kept"]) for row in rows if row["undo_id"]]


@pytest.mark.slow
@pytest.mark.parametrize("entries", [8, 6], ids=["the same bytes", "fewer entries"])
@pytest.mark.parametrize("days", [(3, 3), (3, 9), (9, 3)])
@pytest.mark.parametrize("other", ["--backup--", "--zbackup--"])
@pytest.mark.parametrize("agent", [name for name, agent in AGENTS.items() if agent.rules.only_read is None])
def test_the_file_in_the_folder_of_its_directory_is_kept(
    own_home: Path, capfd: pytest.CaptureFixture[str], agent: str, other: str, days: tuple[int, int], entries: int
) -> None:
    kept = write(own_folder(agent, own_home) / NAME, days[0])
    gone = write(own_root(agent, own_home) / other / NAME, days[1], entries)
    kind = "duplicate" if entries == 8 else "copy"
    assert cleaned(capfd) == [(kind, str(gone), str(kept))]
    assert kept.exists()
    assert not gone.exists()


def test_what_only_a_worse_place_has_whole_does_not_take_the_agents_own_file(
    own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(own_folder("pi", own_home) / NAME, entries=6)
    write(own_root("pi", own_home) / "--backup--" / NAME)
    write(own_folder("pi", own_home) / NAME.replace(".jsonl", " 2.jsonl"))
    assert cleaned(capfd) == [
        (
            "duplicate",
            str(own_root("pi", own_home) / "--backup--" / NAME),
            str(own_folder("pi", own_home) / NAME.replace(".jsonl", " 2.jsonl")),
        )
    ]


@pytest.mark.parametrize("days", [(3, 9), (9, 3)])
@pytest.mark.parametrize(
    "copy", [" 2", " (1)", "-LAPTOP", ".sync-conflict-20261126-230000-ABC2DEF", " (Ada's conflicted copy 2026-11-26)"]
)
def test_the_file_named_by_its_id_is_kept_and_its_conflict_copy_is_told(
    own_home: Path, capfd: pytest.CaptureFixture[str], copy: str, days: tuple[int, int]
) -> None:
    kept = write(own_folder("pi", own_home) / NAME, days[0])
    gone = write(kept.with_name(NAME.replace(".jsonl", f"{copy}.jsonl")), days[1])
    assert main(["doctor"]) == 0, "a conflict copy is no damage"
    assert f"conflict-copy: a program for synchronising made this copy of {NAME}" in capfd.readouterr().out
    assert main(["list", "--json"]) == 0
    rows: list[Any] = json.loads(capfd.readouterr().out)
    assert {row["path"]: row.get("copy_of") for row in rows} == {str(kept): None, str(gone): NAME}
    assert main(["list"]) == 0
    assert capfd.readouterr().out.count(f"(conflict copy of {NAME})") == 1
    assert main(["cleanup", "--dry-run"]) == 0
    assert "conflict copy: the file is identical to the session" in capfd.readouterr().out
    assert cleaned(capfd) == [("duplicate", str(gone), str(kept))]


def test_conflict_copies_that_each_have_lines_of_their_own_are_never_offered(
    own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = write(own_folder("pi", own_home) / NAME, entries=6)
    second = write(first.with_name(NAME.replace(".jsonl", ".sync-conflict-20261126-230000-ABC2DEF.jsonl")), entries=6)
    for path, text in ((first, "mine"), (second, "theirs")):
        status = path.stat()
        with path.open("ab") as file:
            file.write(line({**CONVERSATION[6], "id": text, "message": {"role": "user", "content": text}}))
        os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert cleaned(capfd, "--kind", "duplicate", "--kind", "copy", "--kind", "empty") == []


@pytest.mark.parametrize("days", [(3, 9), (9, 3)])
def test_a_backup_in_another_root_is_no_duplicate_unless_asked_for_and_the_agents_own_file_is_kept(
    own_home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], days: tuple[int, int]
) -> None:
    kept = write(own_folder("pi", own_home) / NAME, days[0], entries=6)
    backup = tmp_path / "backup"
    same = write(backup / "sessions" / own_folder("pi", own_home).name / NAME, days[1], entries=6)
    write(backup / "sessions/--x--" / NAME, days[1])
    for roots in (("--root", str(own_home / ".pi"), "--root", str(backup)), ("--root", str(backup), "--root", "~/.pi")):
        assert [path for _, path, _ in cleaned(capfd, *roots) if path == str(kept)] == []
        assert kept.exists()
    write(same, days[1], entries=6)
    settings = own_home / "config.toml"
    settings.write_text(f'roots = ["{backup}"]')
    os.environ["SESSIONBROWSE_CONFIG"] = str(settings)
    try:
        assert cleaned(capfd, "--kind", "duplicate") == [("duplicate", str(same), str(kept))]
    finally:
        del os.environ["SESSIONBROWSE_CONFIG"]


# ---- a store seen twice --------------------------------------------------------------------------------------


def seen_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[CleanupRow]:
    """Make sessions, a second way to them that seems to be another device, and the rows that call them duplicates."""
    paths = [store.session(entries=CONVERSATION, head=[header(id=short * 4)], name=f"{short}.jsonl") for short in "abc"]
    view = store.folder / "view"
    view.symlink_to(paths[0].parent)
    version = cleanup._version

    def other_device(path: str) -> tuple[tuple[int, int] | None, int, int]:
        file, size, mtime_ns = version(path)
        return (-1, file[1]) if file is not None and path.startswith(str(view)) else file, size, mtime_ns

    monkeypatch.setattr(cleanup, "_version", other_device)
    for path in paths:
        status = path.stat()
        kept = str(view / path.name)
        yield CleanupRow(
            summary=Summary(path=str(path), agent="pi", bytes=status.st_size, mtime_ns=status.st_mtime_ns),
            kind="duplicate",
            reason="",
            kept=kept,
            kept_file=(-1, status.st_ino),
            kept_bytes=status.st_size,
        )


def test_a_session_that_was_its_own_duplicate_is_put_back_at_once_and_the_rest_is_not_tried(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = list(seen_twice(store, monkeypatch))
    was = {row.summary.path: Path(row.summary.path).read_bytes() for row in rows}
    bulk = in_bulk(
        rows,
        lambda row, context, group: cleanup.clean_up(
            row, target(Path(row.summary.path)), into="own", context=context, group=group
        ),
        context=store.context,
    )
    assert [type(one.error) for one in bulk.failed] == [SameFile]
    assert "a.jsonl is the same file as" in bulk.failed[0].error.sentence
    assert (bulk.done, len(bulk.left), bulk.undo_id) == ((), 2, None)
    assert {path: Path(path).read_bytes() for path in was} == was


@pytest.mark.parametrize("second", ["link", "again", "hard links"])
def test_a_store_that_is_named_twice_is_listed_once(
    own_home: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], second: str
) -> None:
    path = write(own_folder("pi", own_home) / NAME)
    roots = [str(own_home / ".pi"), str(own_home / ".pi")]
    if second == "link":
        (tmp_path / "view").symlink_to(own_home / ".pi")
        roots[1] = str(tmp_path / "view")
    elif second == "hard links":
        other = tmp_path / "copy/sessions" / path.parent.name
        other.mkdir(parents=True)
        (other / NAME).hardlink_to(path)
        roots[1] = str(tmp_path / "copy")
    for first, last in itertools.permutations(roots, 2):
        words = ["--root", first, "--root", last]
        assert main(["list", "--json", *words]) == 0
        assert len(json.loads(capfd.readouterr().out)) == 1
        assert cleaned(capfd, *words, "--kind", "duplicate") == []
        assert path.exists()


@pytest.mark.stress
@pytest.mark.parametrize("options", [[], ["--ctime-from-mtime"]], ids=["as it is", "with other times, like sshfs"])
def test_a_store_on_a_second_mount_is_counted_once_and_loses_nothing(
    own_home: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
) -> None:
    program = shutil.which("bindfs")
    view = tmp_path / "view"
    view.mkdir()
    paid = assistant("99999999", "00000008", "x", usage={"input": 5, "output": 5, "cost": {"total": 1.5}})
    for number in range(5):
        path = write(own_folder("pi", own_home) / NAME.replace("9.jsonl", f"{number}.jsonl"))
        path.write_bytes(path.read_bytes().replace(ID.encode(), ID.replace("39", f"3{number}").encode()) + line(paid))
        os.utime(path, (1_700_000_000, 1_700_000_000))
    was = {path: path.read_bytes() for path in own_folder("pi", own_home).iterdir()}
    mount = [program or "", *options, str(own_home / ".pi"), str(view)]
    if program is None or subprocess.run(mount, check=False, timeout=30).returncode:
        pytest.skip("bindfs (Debian: bindfs) cannot mount here")
    try:
        words = ["--root", str(own_home / ".pi"), "--root", str(view)]
        for roots in (words, [*words[2:], *words[:2]]):
            assert main(["list", "--json", *roots]) == 0
            assert len(json.loads(capfd.readouterr().out)) == (10 if options else 5)
            assert main(["stats", "--json", *roots]) == 0
            assert json.loads(capfd.readouterr().out)["total"]["cost"] == "1.50", "one request, copied by all"
            for kinds in ([], ["--kind", "duplicate", "--kind", "copy"]):
                main(["cleanup", "--yes", "--own-trash", *kinds, *roots])
                assert ("--yes does not move it" in capfd.readouterr().err) == bool(options and kinds)
                assert {path: path.read_bytes() for path in was} == was
        monkeypatch.setattr("sessionbrowse.cli.commands.clean._is_cleanup_wanted", lambda *_: True)
        assert main(["cleanup", "--own-trash", "--kind", "duplicate", *words]) == (1 if options else 0)
        assert ("It was put back, and nothing more was moved" in capfd.readouterr().err) == bool(options)
        assert {path: path.read_bytes() for path in was} == was
    finally:
        subprocess.run(["fusermount", "-u", str(view)], check=False, timeout=30)
