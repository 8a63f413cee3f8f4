"""`labels` with a limit: the first rows of the whole answer, from the few sessions that have them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.read import session_file
from tests.support.session_files import entry, header, line, user, written

TIMES = (
    *(f"2026-08-{day:02}T00:00:00.000Z" for day in range(1, 9)),
    "2031-01-01T00:00:00.000Z",  # a clock that was wrong
    "1999-01-01T00:00:00.000Z",
    "yesterday",
    "",
    None,
    1786608001000,  # some files have milliseconds
    1786608001000.5,
)


def label(number: int, target: str, text: str, time: object) -> bytes:
    return line(json.loads(entry("label", f"l{number}", "e0", targetId=target, label=text)) | {"timestamp": time})


def store_of(folder: Path, *, seed: int) -> None:
    """Write sessions whose labels have equal, odd and future times, some cleared; files' times say nothing of them."""
    chooser = random.Random(seed)
    for session in range(8):
        lines = [header(id=f"s{session}"), user("e0", None, f"rope {session}"), user("e1", "e0", "knot")]
        for number in range(chooser.randrange(5)):
            text = chooser.choice(["good", "bad", f"mark {number}", ""])
            lines.append(label(number, chooser.choice(["e0", "e1", "gone"]), text, chooser.choice(TIMES)))
        path = written(folder, *lines, name=f"s{session}.jsonl")
        os.utime(path, (chooser.randrange(1_700_000_000, 1_900_000_000),) * 2)


@pytest.fixture
def asked(tmp_path: Path, own_home: Path, capfd: pytest.CaptureFixture[str]):
    def ask(*words: str, command: str = "labels") -> Any:
        capfd.readouterr()
        assert main([command, *words, "--root", str(tmp_path / "store")]) == 0
        return json.loads(capfd.readouterr().out)

    (tmp_path / "store").mkdir()
    return ask


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("has_index", [False, True])
def test_a_limit_gives_the_first_rows_of_the_whole_answer(tmp_path: Path, asked, seed: int, has_index: bool) -> None:
    store_of(tmp_path / "store", seed=seed)
    if has_index:
        assert main(["index", "--root", str(tmp_path / "store")]) == 0
        asked("--json")
    listed = [row["path"] for row in asked("--json", command="list")]
    for filters in ((), ("good",), ("knot", "--since", "2026-08-04"), ("state:active",)):
        whole = asked(*filters, "--json")
        by_list = sorted(whole, key=lambda row: listed.index(row["path"]))
        assert whole == sorted(by_list, key=lambda row: str(row["time"] or ""), reverse=True)
        for limit in (0, 1, 2, 4, len(whole)):
            assert asked(*filters, "--json", "--limit", str(limit)) == whole[:limit], (filters, limit)
        for_agent = asked(*filters, "--for-agent")
        shown = for_agent["result"]
        assert [row["entry_id"] for row in shown] == [row["entry_id"] for row in whole[: len(shown)]]
        assert for_agent["shortened"] == (len(whole) > len(shown))


def test_equal_times_keep_the_order_of_sessions_and_odd_times_that_of_texts(tmp_path: Path, asked) -> None:
    day = "2026-08-01"
    times: tuple[tuple[object, ...], ...] = (("2026-08-02", day, day), (day,), (1786608001000,), ("12",))
    questions = [user(f"e{number}", f"e{number - 1}" if number else None, "rope") for number in range(3)]
    for session, own in enumerate(times):
        marks = [label(number, f"e{number}", f"{session}/{number}", time) for number, time in enumerate(own)]
        lines = (header(id=f"s{session}"), *questions, *marks)
        path = written(tmp_path / "store", *lines, name=f"s{session}.jsonl")
        os.utime(path, (1_800_000_000 + session,) * 2)
    for limit in range(7):
        rows = asked("--json", "--limit", str(limit))
        assert [row["label"] for row in rows] == ["0/0", "1/0", "0/1", "0/2", "2/0", "3/0"][:limit]


def test_a_label_that_was_written_after_the_indexing_is_the_newest(tmp_path: Path, asked) -> None:
    store = tmp_path / "store"
    for number in range(3):
        first = label(1, "e0", f"of {number}", f"2026-08-0{number + 1}T00:00:00.000Z")
        written(store, header(id=f"s{number}"), user("e0", None, "rope"), first, name=f"s{number}.jsonl")
    assert main(["index", "--root", str(store)]) == 0
    assert "of 2" in str(asked("--json", "--limit", "1"))
    for number, (text, time, newest) in enumerate(
        (
            ("later", "2026-08-09T00:00:00.000Z", "later"),
            ("", "2026-08-10T00:00:00.000Z", "of 2"),
            ("again", "2026-08-02T12:00:00.000Z", "of 2"),
            ("last", "2026-08-11T00:00:00.000Z", "last"),
        )
    ):
        with (store / "s0.jsonl").open("ab") as file:
            file.write(label(number + 2, "e0", text, time))
        assert [row["label"] for row in asked("--json", "--limit", "1")] == [newest], text


@pytest.mark.parametrize(
    ("words", "most"), [(("--json", "--limit", "2"), 2), (("--for-agent",), 21), (("--json",), 60)]
)
def test_only_the_sessions_with_the_newest_labels_are_opened(
    tmp_path: Path, asked, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], most: int
) -> None:
    for number in range(60):
        # The newest labels are in the files that are the oldest by their own times.
        mark = label(1, "e0", f"of {number}", f"2026-08-01T00:00:{number:02}.000Z")
        path = written(
            tmp_path / "store", header(id=f"s{number}"), user("e0", None, "rope"), mark, name=f"{number}.jsonl"
        )
        os.utime(path, (1_800_000_000 - number,) * 2)
    opened: list[str] = []
    whole = session_file.open_session

    def noting(path: str, agent: str) -> Session:
        opened.append(path)
        return whole(path, agent)

    monkeypatch.setattr(session_file, "open_session", noting)
    answer = asked(*words)
    rows = answer if isinstance(answer, list) else answer["result"]
    assert rows[0]["label"] == "of 59"
    assert len(opened) == most
