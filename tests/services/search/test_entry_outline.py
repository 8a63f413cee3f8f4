"""The outline of a session in the index says of entries what the session's tree says, or there is none."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.model.search.query import parse_question, parse_search
from sessionbrowse.services.list.gather import take_snapshot, update_index
from sessionbrowse.services.search.ranking import Ranker
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.services.search.session_trees import (
    EntryOutline,
    SessionTreeCache,
    checkpoints_in,
    outline_in,
    outline_of,
)
from sessionbrowse.store.index.index import open_index
from sessionbrowse.store.read.session_file import open_session
from tests.support.index_support import append, entry, folder, header, scope_of, user, write


def outlined(root: Path, path: Path) -> tuple[EntryOutline | None, EntryOutline]:
    """Index a session, and return its outlines by the index and by its file."""
    index = open_index(root / "cache", print, create=True)
    assert index is not None
    update_index(scope_of(root), index)
    snapshot = take_snapshot(scope_of(root), index)
    read = SessionTreeCache().outline(snapshot.summaries[0])
    assert read is not None
    row = snapshot.rows[str(path)]
    return outline_of(row, index.entries(row)), read


@pytest.mark.slow
def test_an_outline_agrees_with_the_tree_of_sessions_with_branches_and_compactions(tmp_path: Path) -> None:
    rng = random.Random("outline")
    for number in range(40):
        root = tmp_path / str(number)
        ids = [f"{rng.randrange(1 << 32):08x}" if number % 2 else f"id-{at}" for at in range(rng.randrange(1, 30))]
        parents = [None, *(rng.choice(ids[max(0, at - 3) : at]) for at in range(1, len(ids)))]
        lines = [user(ids[at], parents[at], ids[at]) for at in range(len(ids))]
        for at in range(1, len(ids)):
            if rng.random() < 0.1:
                kept = rng.choice([*ids[:at], "gone", "", None, 5])
                lines[at] = entry("compaction", ids[at], parents[at], summary="so far", firstKeptEntryId=kept)
        path = write(folder(root) / "s.jsonl", header(), *lines)
        outline, read = outlined(root, path)
        assert outline is not None
        places = range(len(ids) + 1)
        assert [outline.entry_id(at) for at in places] == [read.entry_id(at) for at in places]
        assert [outline.state(at) for at in places] == [read.state(at) for at in places]


CHAIN = [user("a", None, "one"), user("b", "a", "two")]
COMPACTION = entry("compaction", "c", "b", summary="so far", firstKeptEntryId="b", preserveData={"of": "omp"})


VERBATIM = {"strategy": "verbatim-lines"}


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([header(), *CHAIN, COMPACTION], id="a compaction with data of its program"),
        pytest.param([header(), *CHAIN, user("a", "b", "again")], id="an id that occurs twice"),
        pytest.param([header(), *CHAIN, user("c", "gone", "three")], id="a parent that is missing"),
        pytest.param([header(), *CHAIN, "no entry"], id="a last line that is no entry"),
        pytest.param([header()], id="no entry"),
        pytest.param([header(), *CHAIN, entry("reset_boundary", "c", "b")], id="a clear of omp"),
        pytest.param([header(), *CHAIN, {**COMPACTION, "preserveData": None, "details": VERBATIM}], id="of atomic"),
    ],
)
def test_only_the_tree_tells_of_other_sessions(tmp_path: Path, lines: list[Any]) -> None:
    outline, _ = outlined(tmp_path, write(folder(tmp_path) / "s.jsonl", *lines))
    assert outline is None


def test_a_session_that_was_indexed_in_two_steps_has_an_outline_of_both(tmp_path: Path) -> None:
    path = write(folder(tmp_path) / "s.jsonl", header(), *CHAIN)
    assert outlined(tmp_path, path)[0] is not None
    append(path, user("c", "a", "three"), user("d", "c", "four"))
    outline, _ = outlined(tmp_path, path)
    assert outline is not None
    assert outline.ids == ["a", "b", "c", "d"]
    assert [outline.state(at) for at in range(4)] == ["active", "abandoned", "active", "active"]


def old_session(rng: random.Random, version: int) -> list[Any]:
    """Lines of a session in an old format, some with a compaction, a label, a damaged line or no ids."""
    lines: list[Any] = [header("old", version=version)]
    for number in range(rng.randrange(1, 25)):
        kind = rng.random()
        parent = str(rng.randrange(number)) if number and kind < 0.3 else str(number - 1) if number else None
        if kind > 0.95:
            lines.append("no entry")
        if kind > 0.85 and number:
            kept = {"firstKeptEntryIndex": rng.randrange(1, number + 2)} if version == 1 else {"firstKeptEntryId": "0"}
            each = entry("compaction", str(number), parent, summary="the lantern so far", tokensBefore=1, **kept)
        elif kind > 0.75 and version == 2:
            each = entry("label", str(number), parent, targetId="0", label="here")
        else:
            each = user(str(number), parent, f"lantern {number}")
            if rng.random() < 0.2:
                each["message"]["role"] = "hookMessage"
        if version == 1:
            each = {key: value for key, value in each.items() if key not in ("id", "parentId")}
        lines.append(each)
    return lines


def test_hits_in_old_sessions_have_the_ids_and_states_of_their_entries(tmp_path: Path) -> None:
    rng = random.Random("old formats")
    paths = {
        write(folder(tmp_path) / f"{number}.jsonl", *old_session(rng, 1 + number % 2)): number for number in range(40)
    }
    index = open_index(tmp_path / "cache", pytest.fail, create=True)
    assert index is not None
    update_index(scope_of(tmp_path), index)
    snapshot = take_snapshot(scope_of(tmp_path), index)
    expected = {}
    for summary in snapshot.summaries:
        session = open_session(summary.path, "pi")
        read = outline_in(session)
        places = range(len(session.ids) + 1)
        expected[summary.path] = [(read.entry_id(at), read.state(at)) for at in places]
        assert SessionTreeCache().labels(summary) == checkpoints_in(session, summary)
    hits = list(Searcher(snapshot, index).find(parse_search("lantern")))
    assert {hit.path for hit in hits} == set(map(str, paths))
    for hit in hits:
        assert hit.entry_index is not None
        assert (hit.entry_id, hit.state) == expected[hit.path][hit.entry_index]
    trees = SessionTreeCache()
    for summary in snapshot.summaries:
        ids = expected[summary.path]
        row = snapshot.rows[summary.path]
        outline = trees.outline(summary, (row, index.entries(row)))
        assert outline is not None
        assert [(outline.entry_id(at), outline.state(at)) for at in range(len(ids))] == ids, summary.path
    ranked = Ranker(Searcher(snapshot, index), parse_question("lantern"), now_ms=0).rank(50).sessions
    assert ranked
    index.close()
