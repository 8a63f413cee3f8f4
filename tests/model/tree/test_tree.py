"""Rows of a session's tree. The pictures are what pi 1.5.2's own `/tree` draws for these sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.store.read.session_file import open_session
from tests.support.program_search import searched_rows
from tests.support.tree_support import answer, call, drawn, entry, ids, label, result, session_of, user

# One session with what pi's tree treats specially: a turn of tool calls only, two branches, a label, bookkeeping.
AUTH = (
    entry("model_change", "m1", None, provider="anthropic", modelId="claude"),
    user("u1", "m1", "Refactor the auth module"),
    answer("a1", "u1", "", call("c1", "read", {"path": "src/auth.py"})),
    result("r1", "a1", "c1", "def login(): ..."),
    answer("a2", "r1", "Two ways."),
    user("u2", "a2", "Try JWT first"),
    answer("a3", "u2", "", call("c2", "bash", {"command": "pytest -q"})),
    result("r2", "a3", "c2", "ok"),
    answer("a4", "r2", "Done, tests pass."),
    label("l1", "a4", "a4", "jwt-works"),
    user("u3", "a2", "Use server sessions"),
    answer("a5", "u3", "Migrated."),
    entry("usage", "s1", "a5", kind="cache_warm", usage={}),
)


@pytest.fixture
def auth(tmp_path: Path) -> Session:
    """The session above."""
    return session_of(tmp_path, *AUTH)


def test_the_branch_with_the_leaf_comes_first_and_the_chain_below_a_branch_is_indented_once_more(auth: Session):
    assert drawn(auth, tree.rows(auth)) == [
        "• user: Refactor the auth module",
        "• [read: src/auth.py]",
        "• assistant: Two ways.",
        "├⊟ • user: Use server sessions",
        "│     • assistant: Migrated.",
        "└⊟ user: Try JWT first",
        "      [bash: pytest -q]",
        "      [jwt-works] assistant: Done, tests pass.",
    ]


@pytest.mark.parametrize(
    ("filter_name", "expected"),
    [
        ("default", "u1 r1 a2 u3 a5 u2 r2 a4"),
        ("no-tools", "u1 a2 u3 a5 u2 a4"),
        ("user-only", "u1 u3 u2"),
        ("labeled-only", "a4"),
        ("all", "m1 u1 r1 a2 u3 a5 u2 r2 a4 l1"),
        ("a filter nobody knows", "u1 r1 a2 u3 a5 u2 r2 a4"),
    ],
)
def test_each_filter_shows_what_pi_shows(auth: Session, filter_name: str, expected: str):
    assert ids(auth, tree.rows(auth, filter_name)) == expected


def test_children_of_hidden_entries_hang_on_the_nearest_visible_one(auth: Session):
    assert drawn(auth, tree.rows(auth, "user-only")) == [
        "• user: Refactor the auth module",
        "├─ • user: Use server sessions",
        "└─ user: Try JWT first",
    ]


def test_several_roots_stand_at_the_left_and_what_follows_them_one_level_in(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("a", None, "first"),
        answer("b", "a", "one"),
        user("c", None, "second"),
        answer("d", "c", "two"),
        user("e", "d", "left"),
        user("f", "d", "right"),
        answer("g", "e", "deep"),
    )
    assert drawn(session, tree.rows(session)) == [
        "• user: second",
        "   • assistant: two",
        "   ├⊟ • user: left",
        "   │     • assistant: deep",
        "   └─ user: right",
        "user: first",
        "   assistant: one",
    ]


def test_a_root_that_only_seems_one_because_its_parents_are_hidden_counts_as_a_root(tmp_path: Path):
    session = session_of(
        tmp_path,
        entry("model_change", "m", None, provider="p", modelId="x"),
        user("a", "m", "one way"),
        user("b", "m", "another"),
    )
    assert drawn(session, tree.rows(session)) == ["• user: another", "user: one way"]
    assert drawn(session, tree.rows(session, "all")) == ["• [model: x]", "├─ • user: another", "└─ user: one way"]


def test_lines_go_on_beside_a_branch_that_has_siblings_below(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("a", None, "root"),
        user("b", "a", "b"),
        user("c", "b", "c"),
        user("d", "c", "d1"),
        user("e", "c", "d2"),
        user("f", "a", "last"),
        user("g", "d", "leaf"),
    )
    assert drawn(session, tree.rows(session)) == [
        "• user: root",
        "├⊟ • user: b",
        "│     • user: c",
        "│     ├⊟ • user: d1",
        "│     │     • user: leaf",
        "│     └─ user: d2",
        "└─ user: last",
    ]
    leaf_row = tree.rows(session)[4]
    assert (leaf_row.level, leaf_row.connector, leaf_row.gutters) == (4, None, ((0, True), (2, True)))
    assert leaf_row.leaf


def test_siblings_stand_by_their_times_not_by_their_place_in_the_file(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("a", None, "root"),
        user("late", "a", "late") | {"timestamp": "2026-01-05T00:00:00.000Z"},
        user("early", "a", "early") | {"timestamp": "2026-01-03T00:00:00.000Z"},
        entry("label", "x", None, targetId="a"),
    )
    assert ids(session, tree.rows(session)) == "a early late"


@pytest.mark.parametrize(
    ("what", "fields", "is_shown"),
    [
        ("tool calls only", {"stopReason": "toolUse"}, False),
        ("nothing", {"stopReason": "stop"}, False),
        ("no reason at all", {"stopReason": None}, False),
        ("blanks", {"content": [{"type": "text", "text": " \n\ufeff"}]}, False),
        ("thinking only", {"content": [{"type": "thinking", "thinking": "hm"}]}, False),
        ("dots", {"content": [{"type": "text", "text": "…"}]}, True),
        ("text", {"content": "plain text"}, True),
        ("an error", {"stopReason": "error"}, True),
        ("an abort", {"stopReason": "aborted"}, True),
        ("the limit", {"stopReason": "length"}, True),
    ],
)
def test_an_answer_without_text_is_shown_in_no_filter_unless_it_ended_badly(
    tmp_path: Path, what: str, fields: dict, is_shown: bool
):
    session = session_of(tmp_path, user("a", None, "q"), answer("b", "a", **fields), user("c", "b", "go on"))
    for filter_name in ("default", "no-tools", "all"):
        assert ("b" in ids(session, tree.rows(session, filter_name)).split()) == is_shown


def test_an_empty_answer_is_shown_while_it_is_the_leaf(tmp_path: Path):
    session = session_of(tmp_path, user("a", None, "q"), answer("b", "a"))
    assert drawn(session, tree.rows(session)) == ["• user: q", "• assistant: (no content)"]
    assert tree.rows(session)[1].leaf


def test_an_empty_answer_with_a_label_is_not_even_among_the_labelled(tmp_path: Path):
    session = session_of(tmp_path, user("a", None, "q"), answer("b", "a"), label("l", "b", "b", "here"))
    assert list(tree.rows(session, "labeled-only")) == []


def test_the_hidden_leaf_is_not_forced_into_view(auth: Session):
    assert not any(row.leaf for row in tree.rows(auth))
    assert [row.active for row in tree.rows(auth)] == [True] * 5 + [False] * 3


def test_another_leaf_may_be_assumed_and_none_at_all(auth: Session):
    a4 = auth.index_by_id["a4"]
    rows = tree.rows(auth, leaf=a4)
    assert ids(auth, rows) == "u1 r1 a2 u2 r2 a4 u3 a5"
    assert [auth.envelopes[row.index].id for row in rows if row.leaf] == ["a4"]
    assert not any(row.active for row in tree.rows(auth, leaf=ROOT))
    assert ids(auth, tree.rows(auth, leaf=ROOT)) == "u1 r1 a2 u2 r2 a4 u3 a5"


# ---- folding ---------------------------------------------------------------------------------------------------


def test_only_roots_and_rows_with_siblings_that_have_something_below_can_be_folded(auth: Session):
    foldable = [auth.envelopes[row.index].id for row in tree.rows(auth) if row.foldable]
    assert foldable == ["u1", "u3", "u2"]


def test_a_folded_row_hides_all_below_it_and_says_so(auth: Session):
    folded = frozenset({auth.index_by_id["u2"]})
    rows = tree.rows(auth, folded=folded)
    assert drawn(auth, rows)[3:] == [
        "├⊟ • user: Use server sessions",
        "│     • assistant: Migrated.",
        "└⊞ user: Try JWT first",
    ]
    assert [(row.folded, row.foldable) for row in rows][-1] == (True, False)


def test_a_folded_root_shows_its_sign_before_the_text(auth: Session):
    assert drawn(auth, tree.rows(auth, folded={auth.index_by_id["u1"]})) == ["⊞ • user: Refactor the auth module"]


def test_what_cannot_be_folded_is_not_folded(auth: Session):
    for entry_id in ("a2", "a5", "a1"):
        assert len(tree.rows(auth, folded={auth.index_by_id[entry_id]})) == 8
    assert len(tree.rows(auth, folded={999, -1})) == 8


def test_folding_leaves_a_fold_below_in_place(auth: Session):
    both = {auth.index_by_id["u1"], auth.index_by_id["u2"]}
    assert len(tree.rows(auth, folded=both)) == 1
    assert "└⊞ user: Try JWT first" in drawn(auth, tree.rows(auth, folded=both - {auth.index_by_id["u1"]}))


# ---- searching -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("TESTS pass", "a4"),
        ("pass tests", "a4"),
        ("user", "u1 u3 u2"),
        ("jwt", "u2 a4"),
        ("def login", "r1"),
        ("auth.py", ""),
        ("toolresult ok", "r2"),
        ("   ", "u1 r1 a2 u3 a5 u2 r2 a4"),
        ("model", ""),
    ],
)
def test_a_search_wants_all_words_of_what_pi_searches(auth: Session, query: str, expected: str):
    assert ids(auth, searched_rows(auth, "default", query)) == expected


def test_a_search_stays_within_the_filter(auth: Session):
    assert ids(auth, searched_rows(auth, "all", "claude")) == "m1"
    assert list(searched_rows(auth, "default", "claude")) == []


def test_hits_are_drawn_as_a_tree_of_their_own(auth: Session):
    assert drawn(auth, searched_rows(auth, "default", "user")) == [
        "• user: Refactor the auth module",
        "├─ • user: Use server sessions",
        "└─ user: Try JWT first",
    ]


def test_branch_points_above_the_hits_stay_when_wanted(auth: Session):
    rows = searched_rows(auth, "default", "migrated", keep_ancestors=True)
    assert [(auth.envelopes[row.index].id, row.matches) for row in rows] == [("a2", False), ("a5", True)]
    rows = searched_rows(auth, "default", "two ways", keep_ancestors=True)
    assert [(auth.envelopes[row.index].id, row.matches) for row in rows] == [("a2", True)]
    assert all(row.matches for row in searched_rows(auth, "default", "migrated"))
    assert len(tree.rows(auth, keep_ancestors=True)) == 8


def test_two_hits_in_two_branches_fork_at_the_branch_point_that_is_kept(auth: Session):
    rows = searched_rows(auth, "no-tools", "assistant d", keep_ancestors=True)
    assert drawn(auth, rows) == [
        "• assistant: Two ways.",
        "├─ • assistant: Migrated.",
        "└─ [jwt-works] assistant: Done, tests pass.",
    ]


def test_a_branch_point_that_the_filter_hides_is_not_kept(auth: Session):
    rows = searched_rows(auth, "user-only", "jwt", keep_ancestors=True)
    assert ids(auth, rows) == "u1 u2"


# ---- other programs, odd files, depth --------------------------------------------------------------------------


def test_an_older_pi_shows_what_it_does_not_know_as_empty_rows(tmp_path: Path):
    entries = (
        user("a", None, "q"),
        entry("session_info", "b", "a", name="A name"),
        entry("session_summary", "c", "b", summary="What\nhappened"),
        entry("context_edit", "d", "c", targetId="a", replacement=None),
        entry("usage", "e", "d", kind="cache_warm"),
        entry("context_window_change", "f", "e", contextWindow=5),
    )
    texts = {
        agent: drawn(session, tree.rows(session))
        for agent in ("pi", "atomic", "indusagi")
        for session in [session_of(tmp_path, *entries, agent=agent)]
    }
    assert texts == {
        "pi": ["• user: q", "•", "•"],
        "atomic": ["• user: q", "• [session summary]: What happened", "•", "•", "•"],
        "indusagi": ["• user: q", "•", "•", "•", "•", "•"],
    }


def test_rows_of_an_indusagi_transcript_are_those_of_its_messages(tmp_path: Path):
    schema = "indus/transcript@1"
    path = tmp_path / "s_1.ndjson"
    nodes = [
        ("n1", None, "user", {"role": "user", "content": "hello"}),
        ("n2", "n1", "assistant", {"role": "assistant", "content": [call("c", "ls", {})]}),
        ("n3", "n2", "tool", {"role": "toolResult", "toolCallId": "c", "content": []}),
        ("n4", "n3", "assistant", {"role": "assistant", "content": [{"type": "text", "text": "There."}]}),
    ]
    path.write_text(
        "".join(
            json.dumps(
                {
                    "schema": schema,
                    "kind": "entry",
                    "id": node_id,
                    "prev": prev,
                    "role": role,
                    "message": body,
                    "at": "2026-01-02T03:04:05.000Z",
                }
            )
            + "\n"
            for node_id, prev, role, body in nodes
        )
    )
    session = open_session(path, "indusagi")
    assert drawn(session, tree.rows(session)) == ["• user: hello", "• [ls: .]", "• assistant: There."]


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_every_entry_is_shown_once_even_if_ids_are_double_or_parents_form_a_loop(tmp_path: Path, agent: str):
    session = session_of(
        tmp_path,
        user("a", "b", "a"),
        user("b", "a", "b"),
        user("c", None, "c"),
        user("c", "c", "again"),
        user("d", "nowhere", "orphan"),
        agent=agent,
    )
    assert sorted(row.index for row in tree.rows(session, "all")) == [0, 1, 2, 3, 4]


def test_a_session_whose_last_line_has_no_id_has_no_active_path(tmp_path: Path):
    session = session_of(tmp_path, user("a", None, "q"), {"type": "note"})
    rows = tree.rows(session)
    assert [row.index for row in rows] == [1, 0]
    assert not any(row.active or row.leaf for row in rows)


def test_an_empty_session_has_no_rows(tmp_path: Path):
    assert list(tree.rows(session_of(tmp_path))) == []


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_a_chain_of_five_thousand_entries_is_flat(tmp_path: Path, agent: str):
    entries = [user(f"e{n}", f"e{n - 1}" if n else None, f"turn {n}") for n in range(5_000)]
    session = session_of(tmp_path, *[each | {"timestamp": "2026-01-02T03:04:05.000Z"} for each in entries], agent=agent)
    rows = tree.rows(session)
    assert len(rows) == 5_000
    assert {row.level for row in rows} == {0}
    assert all(row.active for row in rows)
    assert "e1234" in ids(session, searched_rows(session, "default", "turn 1234")).split()


@pytest.mark.parametrize(("agent", "deepest"), [("pi", 5_000), ("omp", 4_999)])
def test_five_thousand_nested_branches_share_their_lines(tmp_path: Path, agent: str, deepest: int):
    entries = [user(f"e{n}", None if not n else f"e{n - 1 if n % 2 else n - 2}", "x") for n in range(10_000)]
    session = session_of(tmp_path, *[each | {"timestamp": "2026-01-02T03:04:05.000Z"} for each in entries], agent=agent)
    rows = tree.rows(session)
    assert max(row.level for row in rows) == deepest
    assert len(rows[-1].gutters) <= deepest
