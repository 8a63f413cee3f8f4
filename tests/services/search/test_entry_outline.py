"""The outline of a session in the index says of entries what the session's tree says, or there is none."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.services.list.gather import update_index
from sessionbrowse.services.list.snapshot import take_snapshot
from sessionbrowse.services.search.entry_outline import EntryOutline, outline_of
from sessionbrowse.services.search.session_trees import SessionTree, SessionTreeCache
from sessionbrowse.store.index.index import open_index
from tests.support.index_support import append, entry, folder, header, scope_of, user, write


def outlined(root: Path, path: Path) -> tuple[EntryOutline | None, SessionTree]:
    """Index a session, and return its outline and its tree."""
    index = open_index(root / "cache", print, create=True)
    assert index is not None
    update_index(scope_of(root), index)
    snapshot = take_snapshot(scope_of(root), index)
    tree = SessionTreeCache(None).tree(snapshot.summaries[0])
    assert tree is not None
    return outline_of(index, snapshot.rows[str(path)]), tree


def test_an_outline_agrees_with_the_tree_of_sessions_with_branches(tmp_path: Path) -> None:
    rng = random.Random("outline")
    for number in range(20):
        root = tmp_path / str(number)
        ids = [f"{rng.randrange(1 << 32):08x}" if number % 2 else f"id-{at}" for at in range(rng.randrange(1, 30))]
        parents = [None, *(rng.choice(ids[max(0, at - 3) : at]) for at in range(1, len(ids)))]
        path = write(folder(root) / "s.jsonl", header(), *map(user, ids, parents, ids))
        outline, tree = outlined(root, path)
        assert outline is not None
        places = range(len(ids) + 1)
        assert [outline.entry_id(at) for at in places] == [tree.entry_id(at) for at in places]
        assert [outline.state(at) for at in places] == [tree.state(at) for at in places]


CHAIN = [user("a", None, "one"), user("b", "a", "two")]
COMPACTION = entry("compaction", "c", "b", summary="so far", firstKeptEntryId="b", tokensBefore=1)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([header(), *CHAIN, COMPACTION], id="a compaction"),
        pytest.param([header(version=1), *CHAIN], id="ids that are made anew when the session is read"),
        pytest.param([header(), *CHAIN, user("a", "b", "again")], id="an id that occurs twice"),
        pytest.param([header(), *CHAIN, user("c", "gone", "three")], id="a parent that is missing"),
        pytest.param([header(), *CHAIN, "no entry"], id="a last line that is no entry"),
        pytest.param([header()], id="no entry"),
    ],
)
def test_only_the_tree_tells_of_other_sessions(tmp_path: Path, lines: list[Any]) -> None:
    outline, _ = outlined(tmp_path, write(folder(tmp_path) / "s.jsonl", *lines))
    assert outline is None


def test_a_session_that_was_indexed_in_two_steps_has_no_outline(tmp_path: Path) -> None:
    path = write(folder(tmp_path) / "s.jsonl", header(), *CHAIN)
    assert outlined(tmp_path, path)[0] is not None
    append(path, user("c", "b", "three"))
    assert outlined(tmp_path, path)[0] is None
