"""The sessions to clean up: each with its reason, none that holds something of its own unnamed."""

from __future__ import annotations

import base64
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.errors import ChangedMeanwhile, InUse
from sessionbrowse.model.clean.cleanup import CleanupRow
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.clean.cleanup import clean_up, find_cleanup
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.own.pins import Pins
from tests.support.change_helpers import (
    CONVERSATION,
    LONG_AGO_NS,
    NOW_MS,
    PROJECT,
    Store,
    assistant,
    entry,
    header,
    line,
    target,
    user,
)

DAY_MS = 24 * 3600 * 1000
IMAGE = base64.b64encode(random.Random(7).randbytes(1_200_000)).decode()


def made(store: Store, short: str, *values: Any, parent: str | None = None, days_ago: int = 20) -> Path:
    """Write a session with an id of its own, last changed some days ago."""
    now = NOW_MS - days_ago * DAY_MS
    head = header(id=short * 4, timestamp=f"2026-08-1{ord(short[0]) % 9}T08:00:00.000Z", parentSession=parent)
    path = store.session(head=[head], entries=values, name=f"{short}.jsonl")
    os.utime(path, ns=(int(now * 1e6),) * 2)
    return path


def rows_of(store: Store, pins: Pins | None = None) -> list[CleanupRow]:
    scope = Scope(around=store.context.around, archived=True, roots=(str(store.home / ".pi/agent"),))
    return find_cleanup(gather_summaries(scope), store.context, pins or Pins())


def said(store: Store) -> dict[str, tuple[str, str | None]]:
    """Return kind and kept file of each session to clean up."""
    return {Path(row.summary.path).stem: (row.kind, row.kept and Path(row.kept).stem) for row in rows_of(store)}


def test_each_session_has_the_first_reason_that_fits(store: Store) -> None:
    whole = made(store, "a", *CONVERSATION)
    made(store, "b", *CONVERSATION[:6], parent=str(whole))
    made(store, "c", *CONVERSATION[:6], user("11111111", "00000006", "another way"), parent=str(whole))
    made(store, "d")
    made(store, "e", CONVERSATION[0], CONVERSATION[1])
    picture = user("00000002", None, "see")
    picture["message"]["content"].append({"type": "image", "mimeType": "image/png", "data": IMAGE})
    made(store, "f", picture, assistant("00000003", "00000002", "nice"))
    old = [user("00000002", None, "before"), assistant("00000003", "00000002", "long ago")]
    for one in old:
        one["message"]["timestamp"] = NOW_MS - 400 * DAY_MS
    made(store, "g", *old, days_ago=400)
    twin = whole.with_name("h.jsonl")
    twin.write_bytes(whole.read_bytes())
    os.utime(twin, ns=(LONG_AGO_NS, LONG_AGO_NS))
    assert said(store) == {
        "b": ("copy", "a"),
        "d": ("empty", None),
        "e": ("empty", None),
        "f": ("large", None),
        "g": ("old", None),
        "h": ("duplicate", "a"),
    }
    reasons = {row.kind: row.reason for row in rows_of(store)}
    assert reasons["large"] == "1 image of 1.5MB"
    assert reasons["duplicate"] == "the file is identical to the session a.jsonl"


KEPT: list[tuple[str, list[Any]]] = [
    ("a name of its own", [entry("session_info", "22222222", "00000006", name="mine")]),
    ("a label of its own", [entry("label", "22222222", "00000006", targetId="00000002", label="mine")]),
    ("an entry of its own", [entry("custom", "22222222", "00000006", customType="x", data={})]),
    ("a line that is no entry", ["torn"]),
]


@pytest.mark.parametrize(("why", "more"), KEPT, ids=[why for why, _ in KEPT])
def test_a_fork_is_no_copy_with(store: Store, why: str, more: list[Any]) -> None:
    whole = made(store, "a", *CONVERSATION)
    made(store, "b", *CONVERSATION[:6], *more, parent=str(whole))
    assert said(store) == {}, why


def test_a_changed_text_under_the_same_id_is_no_copy(store: Store) -> None:
    whole = made(store, "a", *CONVERSATION)
    made(store, "b", *CONVERSATION[:5], assistant("00000006", "00000005", "another"), parent=str(whole))
    assert said(store) == {}


def test_a_fork_that_was_not_continued_is_a_copy_even_without_a_label_on_its_path(store: Store) -> None:
    label = entry("label", "33333333", "00000002", targetId="00000002", label="here")
    rest = [dict(one, parentId="33333333") if one["id"] == "00000003" else one for one in CONVERSATION[2:]]
    whole = made(store, "a", *CONVERSATION[:2], label, *rest)
    forked = fork(str(whole), "pi", at="00000008", context=store.context)
    store.now_ms = max(Path(forked.path).stat().st_mtime * 1000, whole.stat().st_mtime * 1000 + 2 * DAY_MS)
    os.utime(forked.path, ns=(int(store.now_ms * 1e6),) * 2)
    assert said(store) == {}, "it may wait for its first message"
    store.now_ms += 2 * DAY_MS
    assert said(store) == {Path(forked.path).stem: ("copy", "a")}


def test_links_to_one_file_are_no_duplicates(store: Store) -> None:
    path = made(store, "a", *CONVERSATION)
    path.with_name("b.jsonl").hardlink_to(path)
    assert said(store) == {}


def test_sessions_in_use_and_pinned_ones_are_left_out(store: Store) -> None:
    first, second = made(store, "d"), made(store, "e")
    assert [row.summary.path for row in rows_of(store, Pins(own=frozenset({("pi", "dddd")})))] == [str(second)]
    store.process(11, ["pi"], cwd=PROJECT, holds=second)
    row = next(iter(rows_of(store)))
    assert row.summary.path == str(first)
    store.process(12, ["pi"], cwd=PROJECT, holds=first)
    with pytest.raises(InUse):
        clean_up(row, target(first), into="own", context=store.context)
    assert first.exists()


def test_nothing_goes_that_changed_since_it_was_listed(store: Store) -> None:
    whole = made(store, "a", *CONVERSATION)
    copy = made(store, "b", *CONVERSATION[:6], parent=str(whole))
    (row,) = rows_of(store)
    with copy.open("ab") as file:
        file.write(line(user("11111111", "00000006", "go on")))
    with pytest.raises(ChangedMeanwhile, match="changed since it was listed"):
        clean_up(row, target(copy), into="own", context=store.context)
    os.utime(copy, ns=(row.summary.mtime_ns, row.summary.mtime_ns))
    with pytest.raises(ChangedMeanwhile, match="changed since it was listed"):
        clean_up(row, target(copy), into="own", context=store.context)
    assert copy.exists()


def test_nothing_goes_if_what_holds_the_same_was_rewritten_or_is_gone(store: Store) -> None:
    whole = made(store, "a", *CONVERSATION)
    copy = made(store, "b", *CONVERSATION[:6], parent=str(whole))
    (row,) = rows_of(store)
    content = whole.read_bytes()
    whole.write_bytes(content[:-200])
    with pytest.raises(ChangedMeanwhile, match=r"b\.jsonl was not removed: its copy a\.jsonl changed or is gone"):
        clean_up(row, target(copy), into="own", context=store.context)
    other = whole.with_name("other")
    other.write_bytes(content)
    other.replace(whole)
    with pytest.raises(ChangedMeanwhile, match="changed or is gone"):
        clean_up(row, target(copy), into="own", context=store.context)
    whole.unlink()
    with pytest.raises(ChangedMeanwhile, match="changed or is gone"):
        clean_up(row, target(copy), into="own", context=store.context)
    assert copy.exists()


def test_a_copy_goes_if_what_holds_the_same_only_grew(store: Store) -> None:
    whole = made(store, "a", *CONVERSATION)
    copy = made(store, "b", *CONVERSATION[:6], parent=str(whole))
    (row,) = rows_of(store)
    with whole.open("ab") as file:
        file.write(line(user("11111111", "00000008", "go on")))
    clean_up(row, target(copy), into="own", context=store.context)
    assert not copy.exists()


@pytest.mark.parametrize(
    "odd", [b'{"type":[1]}\n', b'{"type":{"x":1}}\n', b"[]\n", b'{"type":"message","message":[]}\n']
)
def test_an_odd_record_is_compared_like_any_other(store: Store, odd: bytes) -> None:
    for short in ("a", "b"):
        path = made(store, short, *CONVERSATION)
        path.write_bytes(path.read_bytes() + odd)
        os.utime(path, ns=(int((NOW_MS - 20 * DAY_MS) * 1e6),) * 2)
    assert set(said(store)) <= {"a", "b"}


def test_a_session_goes_and_comes_back(store: Store) -> None:
    path = made(store, "d")
    was = path.read_bytes()
    (row,) = rows_of(store)
    clean_up(row, target(path), into="own", context=store.context)
    assert not path.exists()
    undo(context=store.context)
    assert path.read_bytes() == was


@pytest.fixture
def root(store: Store, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a session of each of three kinds, below a home of its own, at the time of the made-up sessions."""
    monkeypatch.setattr("time.time", lambda: NOW_MS / 1000)
    whole = made(store, "a", *CONVERSATION)
    made(store, "b", *CONVERSATION[:6], parent=str(whole))
    made(store, "d")
    picture = user("00000002", None, "see")
    picture["message"]["content"].append({"type": "image", "mimeType": "image/png", "data": IMAGE})
    made(store, "f", picture, assistant("00000003", "00000002", "nice"))
    return str(whole.parent)


def asked(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[Any], str]:
    status = main(["cleanup", *words, "--json"])
    out, err = capfd.readouterr()
    return status, json.loads(out), err


def test_without_a_terminal_the_command_only_lists(root: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = sorted(os.listdir(root))
    for words in ([], ["--dry-run", "--yes"]):
        status, rows, _ = asked(capfd, "--root", root, *words)
        assert (status, [(row["kind"], row["undo_id"]) for row in rows]) == (
            0,
            [("empty", None), ("copy", None), ("large", None)],
        )
    assert main(["cleanup", "--root", root]) == 0
    out, err = capfd.readouterr()
    assert [row.split("\t")[0] for row in out.splitlines()] == ["empty", "copy", "large"]
    assert "Nothing was moved. --yes moves 2 sessions" in err
    assert "--kind large" in err
    assert sorted(os.listdir(root)) == before


def test_all_that_is_moved_comes_back_with_one_undo(root: str, capfd: pytest.CaptureFixture[str]) -> None:
    was = {path.name: path.read_bytes() for path in Path(root).iterdir()}
    status, rows, _ = asked(capfd, "--root", root, "--yes", "--own-trash")
    assert status == 0
    assert sorted(os.listdir(root)) == ["a.jsonl", "f.jsonl"]
    moved = {row["undo_id"] for row in rows if row["kind"] != "large"}
    assert len(moved) == 1
    assert moved != {None}
    assert main(["undo"]) == 0
    assert {path.name: path.read_bytes() for path in Path(root).iterdir()} == was
    capfd.readouterr()
    assert asked(capfd, "--root", root, "--kind", "large", "--yes", "--own-trash")[0] == 0
    assert sorted(os.listdir(root)) == ["a.jsonl", "b.jsonl", "d.jsonl"]
