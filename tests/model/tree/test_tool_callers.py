"""The answer that made a call: of several with the same id of a call, the one whose row in the tree is the lowest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.model.tree.row_text import caller_of
from sessionbrowse.model.tree.shape import display_order
from tests.support.tree_support import answer, call, result, session_of

TREE = st.lists(
    st.tuples(st.booleans(), st.integers(0, 40), st.lists(st.sampled_from("abc"), max_size=3)), min_size=1, max_size=14
)


def entries_of(tree: list[tuple[bool, int, list[str]]]) -> list[dict[str, Any]]:
    """Answers and results below earlier entries; ids of calls repeat."""
    made: list[dict[str, Any]] = []
    for number, (is_answer, above, calls) in enumerate(tree):
        parent = f"e{above % number}" if number else None
        if is_answer:
            made.append(answer(f"e{number}", parent, "", *[call(one, "ls", {"path": f"{number}"}) for one in calls]))
        else:
            made.append(result(f"e{number}", parent, calls[0] if calls else "a"))
    return made


@given(tree=TREE)
def test_the_lowest_answer_of_the_tree_made_a_call_whose_id_repeats(
    tmp_path_factory: pytest.TempPathFactory, tree: list[tuple[bool, int, list[str]]]
) -> None:
    session = session_of(tmp_path_factory.mktemp("calls"), *entries_of(tree))
    order = {index: place for place, index in enumerate(display_order(session, session.leaf))}
    for call_id in "abc":
        makers = [at for at, one in enumerate(session.envelopes) if call_id in one.tool_calls]
        assert caller_of(session, call_id) == (max(makers, key=order.__getitem__) if makers else None)


def test_no_answer_made_a_call_that_is_nowhere(tmp_path: Path) -> None:
    assert caller_of(session_of(tmp_path, answer("a", None, "", call("c", "ls", {}))), "d") is None
