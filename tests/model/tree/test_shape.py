"""Who is above whom among the rows of a search: the same by leaps in display order as by climbing entry by entry."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.model.tree.shape import tree_layout
from tests.support.tree_support import answer, call, result, session_of, user

# Of each entry: how far above its parent is (0: a root), what it is, and whether the search finds it.
ENTRIES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["user", "answer", "calls", "result"]), st.booleans()),
    min_size=1,
    max_size=30,
)


def made(entries: list[tuple[int, str, bool]]) -> Session:
    """Write these entries and open them."""
    lines: list[dict[str, Any]] = []
    for number, (up, kind, _) in enumerate(entries):
        above = f"e{number - up}" if 0 < up <= number else None
        match kind:
            case "user":
                lines.append(user(f"e{number}", above, f"text {number}"))
            case "answer":
                lines.append(answer(f"e{number}", above, f"text {number}"))
            case "calls":
                lines.append(answer(f"e{number}", above, "", call(f"c{number}", "ls", {"path": "."})))
            case _:
                lines.append(result(f"e{number}", above, f"c{number - 1}", "out"))
    with tempfile.TemporaryDirectory() as directory:
        return session_of(Path(directory), *lines)


def climbed(session: Session, index: int, among: set[int]) -> int:
    """Return the nearest entry above that is one of these."""
    up = session.parents[index]
    while up != ROOT and up not in among:
        up = session.parents[up]
    return up


@given(ENTRIES)
def test_shapes_of_some_entries_are_those_that_climbing_finds(entries: list[tuple[int, str, bool]]) -> None:
    session = made(entries)
    whole = tree_layout(session, "all", None)
    chosen = whole.in_order([index for index, (_, _, is_found) in enumerate(entries) if is_found])
    shape = whole.shape_of(chosen)
    for index in chosen:
        above = shape.above[index]
        assert above == climbed(session, index, set(chosen))
        below = [one for one in chosen if shape.above[one] == above]
        assert shape.count[above] == len(below)
        assert shape.last[above] == below[-1]


@given(ENTRIES, st.sampled_from(tree.FILTERS))
def test_a_search_keeps_the_branch_points_above_its_hits(
    entries: list[tuple[int, str, bool]], filter_name: str
) -> None:
    session = made(entries)
    shown = {row.index for row in tree.rows(session, filter_name)}
    hits = {index for index, (_, _, is_found) in enumerate(entries) if is_found and index in shown}
    branch_points = {above for above in shown if sum(climbed(session, index, shown) == above for index in shown) > 1}
    wanted = set(hits)
    for index in hits:
        up = index
        while (up := climbed(session, up, shown)) != ROOT:
            wanted |= {up} & branch_points
    rows = tree.rows(session, filter_name, keep_ancestors=True, hits=sorted(hits))
    assert {row.index for row in rows} == wanted
    assert {row.index for row in rows if row.matches} == hits
    # Hidden entries between are bridged, and rows stand as they did without the search.
    plain = [row.index for row in tree.rows(session, filter_name)]
    assert [row.index for row in rows] == [index for index in plain if index in wanted]
