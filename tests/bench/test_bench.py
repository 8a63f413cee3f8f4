"""The benchmark's own parts, on small stores: it makes what it promises and reads back what was there."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.store.read.session_file import open_session
from tests.bench import figures, words
from tests.bench.generate import Store, StoreSpec, make_store
from tests.bench.measure import percentile, ratios, run
from tests.bench.report import table
from tests.bench.rows_browser import _at_rest, _painted
from tests.bench.rows_command_line import appended

MIXED = StoreSpec("mixed", "mixed", 100, 6_000_000)


@pytest.fixture(autouse=True)
def _small_rivers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made = (words.vocabulary, words.prose, words.foreign, words.output, words.noise)
    monkeypatch.setattr(words, "VOCABULARY", 5_000)
    monkeypatch.setattr(words, "RIVER_BYTES", 1_000_000)
    for each in made:
        each.cache_clear()
    yield
    for each in made:
        each.cache_clear()


def _entries(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]


@pytest.mark.slow
def test_the_same_seed_makes_the_same_bytes(tmp_path: Path) -> None:
    first = make_store(MIXED, tmp_path / "one")
    second = make_store(MIXED, tmp_path / "two")
    assert [file.name for file in first.files()] == [file.name for file in second.files()]
    assert [file.read_bytes() for file in first.files()] == [file.read_bytes() for file in second.files()]


@pytest.mark.slow
def test_a_store_has_the_size_and_the_shares_it_promises(tmp_path: Path) -> None:
    store = make_store(MIXED, tmp_path)
    sizes = [file.stat().st_size for file in store.files()]
    assert len(sizes) == 100
    assert sum(sizes) == pytest.approx(6_000_000, rel=0.1)
    having: Counter[str] = Counter()
    for file in store.files():
        entries = _entries(file)
        having.update({entry["type"] for entry in entries})
        having["branches"] += _branches(entries) > 0
    assert having["session_info"] == round(100 * figures.NAMED)
    assert having["label"] == round(100 * figures.LABELLED)
    assert having["compaction"] == round(100 * figures.COMPACTED)
    assert having["branches"] == round(100 * figures.BRANCHED)


def _branches(entries: list[dict[str, Any]]) -> int:
    children = Counter(entry["parentId"] for entry in entries if entry["type"] != "session")
    return sum(1 for count in children.values() if count > 1)


def test_every_made_session_is_read_without_a_problem(tmp_path: Path) -> None:
    for file in make_store(MIXED, tmp_path).files():
        assert open_session(file).problems == ()


def test_made_sessions_of_claude_code_and_codex_are_read_without_a_problem(tmp_path: Path) -> None:
    store = make_store(StoreSpec("others", "others", 40, 6_000_000), tmp_path)
    sizes = [file.stat().st_size for file in store.files()]
    assert sum(sizes) == pytest.approx(6_000_000, rel=0.1)
    agents: Counter[str] = Counter()
    for file in store.files():
        session = open_session(file)
        agents[session.agent] += 1
        unread = session.header.unread if session.header is not None else None
        assert session.problems == ()
        assert not any(kind.startswith("unknown") or kind == "missing parent" for kind in unread or ())
    assert agents == {"claude": 24, "codex": 16}


@pytest.mark.slow
def test_hard_cases_are_as_hard_as_they_say(tmp_path: Path) -> None:
    def only(spec: StoreSpec) -> list[dict[str, Any]]:
        return _entries(make_store(spec, tmp_path).files()[0])

    chain = only(StoreSpec("chain", "chain", 1, 1_000_000, 800))
    assert len(chain) == 801
    assert _branches(chain) == 0
    branches = only(StoreSpec("branches", "branches", 1, 1_000_000, 50))
    parents = {entry.get("parentId") for entry in branches}
    assert sum(1 for entry in branches if entry["type"] != "session" and entry["id"] not in parents) >= 50
    for name in ("line-text", "line-image"):
        lines = make_store(StoreSpec(name, "line", 1, 3_000_000), tmp_path).files()[0].read_bytes().split(b"\n")
        assert max(map(len, lines)) == pytest.approx(3_000_000, rel=0.01)
    images = only(StoreSpec("images", "images", 1, 3_000_000))
    assert sum(entry.get("message", {}).get("role") == "toolResult" for entry in images)


def test_a_store_that_is_whole_is_not_made_again_and_a_torn_one_is(tmp_path: Path) -> None:
    store = make_store(MIXED, tmp_path)
    kept = store.files()[0]
    before = kept.stat().st_mtime_ns, kept.stat().st_ino
    make_store(MIXED, tmp_path)
    assert (kept.stat().st_mtime_ns, kept.stat().st_ino) == before
    (tmp_path / "mixed" / "complete.json").unlink()
    kept.write_bytes(b"torn")
    assert make_store(MIXED, tmp_path).files()[0].read_bytes() != b"torn"


def test_an_appended_entry_is_gone_afterwards(tmp_path: Path) -> None:
    file = make_store(MIXED, tmp_path).files()[0]
    before, stamp = file.read_bytes(), file.stat().st_mtime_ns
    with appended(file, "session_info", {"name": "new"}):
        assert file.read_bytes() != before
        assert open_session(file).name == "new"
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, stamp)


def test_a_process_is_measured_with_all_that_it_starts() -> None:
    hungry = "import subprocess, sys, time; kept = b'x' * 40_000_000; time.sleep(0.2)"
    both = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hungry!r}])"
    done = run([sys.executable, "-c", both], dict(os.environ), memory=True)
    assert done.status == 0
    assert done.pss > 40_000_000
    assert done.seconds >= 0.2


def test_ratios_are_of_pairs_and_percentiles_of_what_was_measured() -> None:
    # the machine was twice as slow in the second pair: the ratio is the same
    assert ratios([1, 2, 3], [2, 4, 1]).median == 0.5
    assert percentile(range(100), 0.95) == 95


def test_the_table_survives_pipes_in_what_it_shows() -> None:
    from tests.bench.bench import Line

    shown = table([Line("a | b", "1", "2", "0.5×", "≤ 1×", True)])
    assert shown.splitlines()[-1] == "| a \\| b | 1 | 2 | 0.5× | ≤ 1× | met |"


def test_a_store_is_a_home_directory(tmp_path: Path) -> None:
    store = make_store(MIXED, tmp_path)
    assert isinstance(store, Store)
    assert store.files()[0].parent.parent == store.home / ".pi" / "agent" / "sessions"


def test_hits_stand_there_once_the_first_below_a_head_is_drawn_after_the_letter() -> None:
    def screen(typed: str, row: str = "a session", status: str = "") -> list[str]:
        return ["", "╭─ Sessions ─╮", "a head", row, "a session too", "╰──╯", f" /{typed}    {status}"]

    before = screen("ses")
    late = (0.001, (screen("ses", status="80 hits"), {3, 4, 6}))
    letter = (0.010, (screen("sess"), {6}))
    letter_and_late = (0.010, (screen("sess"), {3, 6}))
    marked = (0.030, (screen("sess"), {3, 4}))
    new = (0.012, (screen("sess", "my session"), {3, 6}))

    assert _painted("sess", before, [late, letter, marked]) == 0.030
    assert _painted("sess", before, [letter_and_late, marked]) == 0.030
    assert _painted("sess", before, [letter_and_late]) == 0.010
    assert _painted("sess", before, [late, new]) == 0.012
    assert _painted("sess", before, [late, letter]) is None
    blinked = (0.500, (screen("sess"), {6}))
    assert _at_rest("sess", [letter, marked, blinked], 0.001) == 0.030
    assert _at_rest("sess", [letter], 0.001) == 0.001
