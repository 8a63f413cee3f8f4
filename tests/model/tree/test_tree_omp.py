"""Rows of omp's tree, where they differ from pi's. The pictures are what omp 18.2.3 draws for these sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.model.tree import rows
from tests.support import omp_search
from tests.support.program_search import searched_rows
from tests.support.tree_support import answer, call, drawn, entry, ids, message, result, session_of, user


def test_a_chain_below_a_branch_stays_in_its_column(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("u1", None, "root"),
        answer("a1", "u1", "ok"),
        user("u2", "a1", "left"),
        answer("a2", "u2", "done"),
        user("u3", "a1", "right"),
        answer("a3", "u3", "well"),
        agent="omp",
    )
    assert [line.replace("⊟", "─") for line in drawn(session, rows.rows(session))] == [
        "• user: root",
        "• assistant: ok",
        "├─ • user: right",
        "│  • assistant: well",
        "└─ user: left",
        "   assistant: done",
    ]


def test_hidden_entries_leave_the_places_of_the_others_as_they_are(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("u1", None, "root"),
        answer("a1", "u1", "", call("c", "read", {"path": "x"})),
        result("r1", "a1", "c"),
        user("u2", "r1", "left"),
        entry("custom", "x1", "r1", customType="session_exit"),
        agent="omp",
    )
    assert drawn(session, rows.rows(session, "user-only")) == ["• user: root", "└─ user: left"]
    row = rows.rows(session, "user-only")[1]
    assert (row.level, row.connector, row.foldable) == (1, "last", False)


def test_of_several_roots_the_first_ones_below_stand_one_level_in_and_the_rest_with_them(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("a", None, "one"),
        answer("b", "a", "x"),
        answer("c", "b", "y"),
        user("d", None, "two"),
        agent="omp",
    )
    assert drawn(session, rows.rows(session)) == ["• user: two", "user: one", "   assistant: x", "   assistant: y"]


@pytest.mark.parametrize(
    ("text", "is_shown"), [("...", False), (" … ", False), (". \n…\t.", False), ("", False), (".a", True), ("—", True)]
)
def test_an_answer_of_dots_counts_as_an_empty_one(tmp_path: Path, text: str, is_shown: bool):
    session = session_of(tmp_path, user("a", None, "q"), answer("b", "a", text), user("c", "b", "on"), agent="omp")
    assert ("b" in ids(session, rows.rows(session, "all")).split()) == is_shown


def test_bookkeeping_is_hidden_by_default_and_foreign_types_are_not(tmp_path: Path):
    hidden = ["label", "custom", "model_change", "model_usage", "thinking_level_change", "service_tier_change"]
    hidden += ["title_change", "credential_pin", "session_init", "ttsr_injection", "mode_change", "reset_boundary"]
    shown = ["session_info", "usage", "context_edit", "mcp_tool_selection", "some_new_thing"]
    entries = [user("e0", None, "q")]
    for number, kind in enumerate([*hidden, *shown], 1):
        entries.append(entry(kind, f"e{number}", f"e{number - 1}", purpose="title", provider="p", model="m"))
    session = session_of(tmp_path, *entries, agent="omp")
    assert drawn(session, rows.rows(session))[1:] == [
        "• [session info]",
        "• [usage]",
        "• [context edit]",
        "• [mcp tool selection]",
        "• [some new thing]",
    ]
    assert len(rows.rows(session, "all")) == len(entries)


def test_prompts_of_skills_and_guests_are_the_users_own_if_attributed_to_the_user(tmp_path: Path):
    def prompt(entry_id: str, parent: str, custom_type: str, **fields: str):
        return entry("custom_message", entry_id, parent, customType=custom_type, content="/x", display=True, **fields)

    session = session_of(
        tmp_path,
        user("u", None, "q"),
        prompt("s", "u", "skill-prompt", attribution="user"),
        prompt("c", "s", "collab-prompt", attribution="user"),
        prompt("a", "c", "skill-prompt", attribution="agent"),
        prompt("n", "a", "skill-prompt"),
        prompt("o", "n", "other", attribution="user"),
        message("custom", "m", "o", "/y", customType="skill-prompt", attribution="user"),
        message("custom", "w", "m", "/y", customType="skill-prompt", attribution="agent"),
        agent="omp",
    )
    assert ids(session, rows.rows(session, "user-only")) == "u s c m"


@pytest.mark.parametrize(
    ("query", "text", "is_found"),
    [
        ("auth", "user: the auth module", True),
        ("mod", "the auth module", True),
        ("odul", "the auth module", True),
        ("mdl", "the auth module", True),
        ("tme", "the auth module", False),
        ("tam", "the auth module", True),
        ("authmod", "the auth module", True),
        ("uthmod", "the auth module", False),
        ("modules", "the auth module", True),
        ("moduleses", "the auth module", False),
        ("server", "an HTTPServer", True),
        ("http server", "an HTTPServer", True),
        ("v2", "in 2v only", True),
        ("zzz", "the auth module", False),
        ("--", "", True),
        ("x", "--", False),
        ("日本", "これは日本語です", True),
        ("über", "Überblick", True),
        ("e2e-test", "an e2e test here", True),
        ("e2e-test", "an e2e run", False),
        ("😀", "no faces", True),
    ],
)
def test_the_search_is_forgiving(query: str, text: str, is_found: bool):
    assert omp_search.matcher(query.lower().split())(omp_search.search_words(text)) == is_found


def test_all_words_of_a_query_are_wanted(tmp_path: Path):
    session = session_of(
        tmp_path, user("a", None, "Refactor the auth module"), answer("b", "a", "Two ways to do auth."), agent="omp"
    )
    assert ids(session, searched_rows(session, "default", "auth")) == "a b"
    assert ids(session, searched_rows(session, "default", "asst auth")) == "b"
    assert list(searched_rows(session, "default", "auth jwt")) == []


def test_branches_can_be_folded_though_omp_itself_has_no_folds(tmp_path: Path):
    session = session_of(
        tmp_path,
        user("a", None, "root"),
        user("b", "a", "left"),
        user("c", "b", "below"),
        user("d", "a", "right"),
        agent="omp",
    )
    assert drawn(session, rows.rows(session, folded={session.index_by_id["b"]})) == [
        "• user: root",
        "├─ • user: right",
        "└⊞ user: left",
    ]
