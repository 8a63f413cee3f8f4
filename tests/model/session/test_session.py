"""A session: tree, leaf, branch, labels, name and migration as each program reads them, also where ids are mad."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import AGENTS
from sessionbrowse.format.entries import Compaction, CustomRoleMessage, MessageEntry, TranscriptNode, UserMessage
from sessionbrowse.model.context import build
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree import rows as tree
from sessionbrowse.services.inspect.documents import preorder, show_document
from sessionbrowse.services.list.locate import find_entry
from sessionbrowse.store.read.session_file import open_session
from tests.support.session_files import (
    answer,
    branch_ids,
    entry,
    header,
    ids,
    line,
    opened,
    problems,
    slot,
    user,
    written,
)


def parent_ids(session: Session) -> list[str | None]:
    return [None if parent == ROOT else session.envelopes[parent].id for parent in session.parents]


def labels(session: Session) -> dict[str | None, str]:
    return {session.envelopes[index].id: mark.text for index, mark in session.labels.items()}


def each_once(session: Session) -> bool:
    return sorted(index for index, _ in preorder(session)) == list(range(len(session.envelopes)))


# ---- tree and leaf -----------------------------------------------------------------------------------------------


def test_the_leaf_is_the_last_entry_line_whatever_its_type_and_branch(tmp_path: Path):
    lines = [
        header(),
        user("a", None),
        answer("b", "a"),
        user("c", "b"),
        entry("label", "l", "a", targetId="b", label="x"),
    ]
    session = opened(tmp_path, *lines)
    assert session.leaf_id == "l"
    assert branch_ids(session) == ["a", "l"]
    assert [session.envelopes[index].id for index in session.branch(2)] == ["a", "b", "c"]
    assert session.branch(None) == []


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("kind", ["title", "session"])
@pytest.mark.parametrize("odd", [{"message": {"role": "user", "content": "x"}}, {"timestamp": 5}, {"id": 7}])
def test_a_title_or_header_in_mid_file_keeps_its_place(tmp_path: Path, agent: str, kind: str, odd: dict[str, Any]):
    if kind == "session" and agent != "omp":
        pytest.skip("only omp keeps a second header as an entry")
    middle = entry(kind, "t", "a", **odd)
    middle_id = str(odd.get("id", "t"))
    session = opened(tmp_path, header(), user("a", None), middle, user("b", middle_id), agent=agent)
    assert branch_ids(session) == ["a", middle_id, "b"]
    assert [message.index for message in build.build(session).messages] == [0, 2]
    assert (session.entry(1).id, session.entry(1).parent_id) == (middle_id, "a")


@pytest.mark.parametrize("agent", ["pi", "omp", "indusagi"])
@pytest.mark.parametrize(
    ("last_id", "branch", "sent"),
    [
        (None, [], []),
        (False, [], [0, 1]),
        (0, [], [0, 1]),
        ([1], ["a", None], [0, 1]),
        ({}, ["a", None], [0, 1]),
        (True, ["a", None], [0, 1]),
    ],
)
def test_a_last_id_that_is_no_text_leads_where_it_leads_in_javascript(
    tmp_path: Path, agent: str, last_id: object, branch: list[str | None], sent: list[int]
):
    last = line({"type": "message", "id": last_id, "parentId": "a", "message": {"role": "user", "content": "two"}})
    session = opened(tmp_path, header(), user("a", None), last, agent=agent)
    assert branch_ids(session) == branch
    assert [message.index for message in build.build(session).messages] == sent


@pytest.mark.parametrize(
    ("version", "generation"), [([], 1), ([2], 2), ("0x2", 2), (" 1 ", 1), ("1_0", 3), ({}, 3), ("x", 3), (99, 3)]
)
def test_a_version_that_is_no_number_is_read_as_javascript_reads_it(tmp_path: Path, version: object, generation: int):
    session = opened(tmp_path, header(version=version), user("a", None), user("b", None))
    assert session._generation == generation
    assert len(session.branch(1)) == (2 if generation == 1 else 1)


def test_children_stand_by_time_and_in_file_order_where_times_are_equal_or_none(tmp_path: Path):
    by_time = [user("a", None), user("b", "a", second=9), user("c", "a", second=3), user("d", "a", second=3)]
    session = opened(tmp_path, header(), *by_time)
    assert session.children(0) == [2, 3, 1]
    undated = by_time[2].replace(b"2026-08-13T", b"not a time ")
    session = opened(tmp_path, header(), by_time[0], by_time[1], undated, by_time[3])
    assert session.children(0) == [1, 2, 3]


def test_a_parent_may_stand_behind_its_child(tmp_path: Path):
    session = opened(tmp_path, header(), user("b", "a"), user("a", None))
    assert session.parents == [1, ROOT]
    assert session.roots == [1]


def test_the_second_of_two_entries_with_one_id_is_the_parent_and_both_are_shown(tmp_path: Path):
    session = opened(tmp_path, header(), user("a", None), user("b", "a"), user("b", "a", "again"), user("c", "b"))
    assert session.parents == [ROOT, 0, 0, 2]
    assert session.index_by_id["b"] == 2
    assert each_once(session)


def test_an_id_that_is_written_again_below_its_own_child_forms_no_loop(tmp_path: Path):
    session = opened(tmp_path, header(), user("a", None), user("b", "a"), user("a", "b"))
    # The child means the entry that stood there before it.
    assert session.parents == [ROOT, 0, 1]
    assert branch_ids(session) == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ([1, 0], [ROOT, 0]),
        ([0], [ROOT]),
        ([2, 0, 1], [ROOT, 0, 1]),
        ([1, 2, 0, 0, 3], [ROOT, 2, 0, 0, 3]),
        ([1, 0, 3, 2, 0], [ROOT, 0, ROOT, 2, 0]),
    ],
)
def test_loops_are_cut_at_their_first_entry_and_nothing_hides(tmp_path: Path, parents: list[int], expected: list[int]):
    session = opened(tmp_path, header(), *[user(f"e{n}", f"e{parent}") for n, parent in enumerate(parents)])
    assert session.parents == expected
    assert each_once(session)
    assert any("loop" in reason or "own parent" in reason for _, _, reason in problems(session))


@pytest.mark.slow
def test_a_loop_of_100_000_entries_is_cut_in_no_time(tmp_path: Path):
    count = 100_000
    lines = [user(f"{n:x}", f"{(n - 1) % count:x}") for n in range(count)]
    begun = time.perf_counter()
    session = opened(tmp_path, header(), *lines)
    assert session.parents[:3] == [ROOT, 0, 1]
    assert len(session.active_branch()) == count
    assert each_once(session)
    assert time.perf_counter() - begun < 20


def test_many_small_loops_below_a_long_chain_are_cut_in_no_time(tmp_path: Path):
    """Each loop is closed by an id that stood before in the chain, where the loop then hangs on."""
    chain = [user(f"{n:x}", f"{n - 1:x}" if n else None) for n in range(9_000)]
    # Written again below a child of theirs: each pair is a loop that may hang on the chain instead.
    loops = [one for n in range(3_000, 9_000) for one in (user(f"child{n:x}", f"{n:x}"), user(f"{n:x}", f"child{n:x}"))]
    begun = time.perf_counter()
    session = opened(tmp_path, header(), *chain, *loops)
    assert each_once(session)
    assert time.perf_counter() - begun < 6


def chain(count: int) -> list[bytes]:
    return [header(), *[user(f"{n:x}", f"{n - 1:x}" if n else None, "q") for n in range(count)]]


@pytest.mark.slow
def test_a_chain_200_000_deep_is_a_session_like_any_other(tmp_path: Path):
    count = 200_000
    label = entry("label", "l", f"{count - 1:x}", targetId="5", label="early")
    session = opened(tmp_path, *chain(count), label)
    assert len(session.active_branch()) == count + 1
    assert labels(session) == {"5": "early"}
    document = show_document(session)
    assert document["tree"][-1] == {"depth": count, "id": "l"}
    rows = tree.rows(session)
    assert len(rows) == count
    assert {row.level for row in rows} == {0}


@pytest.mark.parametrize(
    "count", [5000, pytest.param(200_000, marks=pytest.mark.stress)], ids=["deeper than recursion", "very deep"]
)
@pytest.mark.parametrize("agent", AGENTS)
def test_the_context_at_the_end_of_a_deep_chain_is_the_whole_chain(tmp_path: Path, agent: str, count: int):
    assert len(build.build(opened(tmp_path, *chain(count), agent=agent), None).messages) == count


# ---- finding -----------------------------------------------------------------------------------------------------


def test_entries_are_found_by_id_beginning_and_label(tmp_path: Path):
    session = opened(
        tmp_path,
        header(),
        user("abc1", None),
        user("abd2", "abc1"),
        user("abc", "abd2"),
        entry("label", "l", "abc", targetId="abd2", label="ab"),
    )
    assert session.find("abc") == [2]
    assert session.find("abc1") == [0]
    assert session.find("abd") == [1]
    assert session.find("ab") == [1], "an exact label goes before the beginning of an id"
    assert session.find("a") == [0, 1, 2]
    assert session.find("") == session.find("x") == []
    assert find_entry(session, "abd") == 1


# ---- labels and names --------------------------------------------------------------------------------------------


def test_the_last_label_line_of_the_file_wins_over_all_branches_and_times(tmp_path: Path):
    session = opened(
        tmp_path,
        header(),
        entry("label", "l0", None, targetId="b", label="before its target"),
        user("a", None),
        answer("b", "a"),
        entry("label", "l1", "b", second=9, targetId="a", label="first"),
        entry("label", "l2", "a", second=2, targetId="a", label="second"),
        entry("label", "l3", "l2", targetId="l1", label="  "),
        entry("label", "l4", "l3", targetId="gone", label="x"),
    )
    assert labels(session) == {"b": "before its target", "a": "second", "l1": "  "}
    assert session.labels[1].time == "2026-08-13T08:00:02.000Z"
    assert session.labels[1].set_by == 4


@pytest.mark.parametrize("clearing", [{}, {"label": None}, {"label": ""}])
def test_a_label_is_cleared_by_an_empty_one(tmp_path: Path, clearing: dict[str, Any]):
    lines = [user("a", None), entry("label", "l1", "a", targetId="a", label="x")]
    session = opened(tmp_path, header(), *lines, entry("label", "l2", "l1", targetId="a", **clearing))
    assert labels(session) == {}


NAMES: list[tuple[str, list[str | None], dict[str, str | None]]] = [
    ("none", [], {"pi": None, "omp": None, "atomic": None, "indusagi": None}),
    ("one", [" a "], {"pi": "a", "omp": None, "atomic": "a", "indusagi": " a "}),
    ("the last", ["a", "b"], {"pi": "b", "omp": None, "atomic": "b", "indusagi": "b"}),
    ("cleared by an empty one", ["a", ""], {"pi": None, "omp": None, "atomic": None, "indusagi": "a"}),
    ("cleared by a blank one", ["a", " \n"], {"pi": None, "omp": None, "atomic": None, "indusagi": " \n"}),
    ("cleared by none", ["a", None], {"pi": None, "omp": None, "atomic": None, "indusagi": "a"}),
    ("set again", ["a", "", "c"], {"pi": "c", "omp": None, "atomic": "c", "indusagi": "c"}),
]


@pytest.mark.parametrize("agent", list(NAMES[0][2]))
@pytest.mark.parametrize(("names", "expected"), [row[1:] for row in NAMES], ids=[row[0] for row in NAMES])
def test_each_program_has_its_rule_for_names(
    tmp_path: Path, agent: str, names: list[str | None], expected: dict[str, str | None]
):
    infos = [entry("session_info", f"i{n}", "a", name=name) for n, name in enumerate(names)]
    assert opened(tmp_path, header(), user("a", None), *infos, agent=agent).name == expected[agent]


def test_omps_name_is_the_slots_and_an_empty_slot_wins_over_the_header(tmp_path: Path):
    titled = header(title="of the header")
    assert opened(tmp_path, slot("of the slot"), titled, agent="omp").name == "of the slot"
    assert opened(tmp_path, slot(""), titled, agent="omp").name is None
    assert opened(tmp_path, titled, agent="omp").name == "of the header"
    assert opened(tmp_path, titled, entry("title_change", "t", None, title="new"), agent="omp").name == "of the header"


# ---- whose it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "agent"),
    [
        (entry("session_init", "x", "a"), "omp"),
        (entry("reset_boundary", "x", "a"), "omp"),
        (entry("session_summary", "x", "a"), "atomic"),
        (entry("context_compaction", "x", "a"), "atomic"),
        (entry("context_window_change", "x", "a"), "atomic"),
        (entry("compaction", "x", "a", details={"strategy": "verbatim-lines"}), "atomic"),
        (entry("compaction", "x", "a", details={"strategy": "other"}), "pi"),
        (user("x", "a", '{"type":"session_init"}\n{"type":"session_summary"}'), "pi"),
    ],
)
@pytest.mark.parametrize("padding", [0, 200_000])
def test_marks_decide_whose_session_it_is_wherever_they_stand(tmp_path: Path, mark: bytes, agent: str, padding: int):
    path = written(tmp_path, header(), user("a", None, "x" * padding), mark)
    assert open_session(path).agent == agent
    assert open_session(path, "indusagi").agent == "indusagi"


# ---- older versions ----------------------------------------------------------------------------------------------

V1 = [
    header(None, provider="anthropic", modelId="m", thinkingLevel="off"),
    user(None, None, "first"),
    answer(None, None),
    b"torn {\n",
    user(None, None, "kept"),
    entry("compaction", None, None, summary="s", firstKeptEntryIndex=3, tokensBefore=5),
    answer(None, None, "after"),
]


def test_version_1_becomes_a_chain_with_ids_that_stay(tmp_path: Path):
    session = opened(tmp_path, *V1)
    first_ids = ids(session)
    assert session.version == 1
    assert len(set(first_ids)) == 5
    assert all(entry_id is not None and len(entry_id) == 8 for entry_id in first_ids)
    assert parent_ids(session) == [None, *first_ids[:-1]]
    assert ids(opened(tmp_path, *V1)) == first_ids
    grown = opened(tmp_path, *V1, user(None, None, "more"))
    assert ids(grown)[:-1] == first_ids
    renamed = opened(tmp_path, *V1, name="other.jsonl")
    assert ids(renamed) == first_ids


def test_the_entries_of_version_1_come_migrated(tmp_path: Path):
    session = opened(tmp_path, *V1)
    compaction = session.entry(3)
    assert isinstance(compaction, Compaction)
    assert (compaction.id, compaction.parent_id) == (session.envelopes[3].id, session.envelopes[2].id)
    # The index counts the header, and not the torn line.
    assert compaction.first_kept_entry_id == session.envelopes[2].id
    assert compaction.first_kept_entry_index is None
    assert session.envelopes[2].role == "user"
    first = session.entry(0)
    assert (first.id, first.parent_id) == (session.envelopes[0].id, None)
    assert show_document(session)["branch"] == ids(session)


def test_an_index_that_names_no_entry_keeps_nothing(tmp_path: Path):
    for index in (0, 99, -1):
        session = opened(tmp_path, *V1[:2], entry("compaction", None, None, firstKeptEntryIndex=index))
        compaction = session.entry(1)
        assert isinstance(compaction, Compaction)
        assert compaction.first_kept_entry_id is None


def test_version_2_hook_messages_are_custom_messages(tmp_path: Path):
    hook = entry("message", "b", "a", message={"role": "hookMessage", "customType": "t", "content": "c"})
    session = opened(tmp_path, header(2), user("a", None), hook)
    assert session.version == 2
    assert session.envelopes[1].role == "custom"
    message = session.entry(1)
    assert isinstance(message, MessageEntry)
    assert isinstance(message.message, CustomRoleMessage)
    assert (message.id, message.parent_id) == ("b", "a")


@pytest.mark.parametrize(
    ("version", "generation"),
    [
        (None, 1),
        (0, 1),
        (1, 1),
        (True, 1),
        (2, 2),
        (2.5, 2),
        ("2", 2),
        (3, 3),
        ("3", 3),
        (99, 3),
        (10**400, 3),
        ("x", 3),
        ({}, 3),
    ],
)
def test_a_version_is_compared_as_javascript_does(tmp_path: Path, version: object, generation: int):
    session = opened(tmp_path, header(version), user("a", "zz"), user("b", "a"))
    keeps_ids = ids(session) == ["a", "b"]
    assert keeps_ids == (generation > 1)
    assert session.version == (1 if version is None else version)


def test_a_fragment_without_header_keeps_the_ids_it_has(tmp_path: Path):
    session = opened(tmp_path, user("b", "a"), answer("c", "b"))
    assert ids(session) == ["b", "c"]
    assert branch_ids(session) == ["b", "c"]


# ---- indusagi's transcripts --------------------------------------------------------------------------------------


def node(entry_id: object, prev: object, role: str = "user", **more: object) -> bytes:
    message = {"role": {"tool": "toolResult"}.get(role, role), "content": f"text of {entry_id}"}
    return line(
        {
            "schema": "indus/transcript@1",
            "kind": "entry",
            "id": entry_id,
            "prev": prev,
            "role": role,
            "message": message,
            "at": "2026-08-13T08:00:00.000Z",
            **more,
        }
    )


def head(leaf: object, **more: object) -> bytes:
    return line({"schema": "indus/transcript@1", "kind": "head", "sessionId": "old", "leaf": leaf, **more})


def transcript(folder: Path, *lines: bytes) -> Session:
    return open_session(written(folder, *lines, name="s_1_abc.ndjson"))


def test_a_transcript_is_read_as_a_session_whose_id_is_its_files_name(tmp_path: Path):
    session = transcript(tmp_path, node("1", None), node("2", "1", "assistant"), node("3", "2", "tool"))
    assert (session.agent, session.is_transcript, session.id, session.cwd) == ("indusagi", True, "s_1_abc", "")
    assert (session.header, session.refusal, session.problems) == (None, None, ())
    assert branch_ids(session) == ["1", "2", "3"]
    first = session.entry(0)
    assert isinstance(first, TranscriptNode)
    assert isinstance(first.message, UserMessage)


def test_a_transcripts_leaf_is_its_last_heads_else_the_longest_chains(tmp_path: Path):
    nodes = [node("1", None), node("2", "1"), node("3", "2"), node("9", "1")]
    assert transcript(tmp_path, *nodes).leaf_id == "3"
    assert transcript(tmp_path, *nodes, node("8", "9")).leaf_id == "8", "of two as long, the greater id"
    assert transcript(tmp_path, head("2"), head("3"), *nodes).leaf_id == "3"
    assert transcript(tmp_path, head(None), *nodes).active_branch() == []
    assert transcript(tmp_path, head("gone"), *nodes).leaf_id is None


def test_a_transcript_whose_head_is_older_than_its_last_entry_says_so(tmp_path: Path):
    session = transcript(tmp_path, head("1"), node("1", None), node("2", "1"))
    assert session.leaf_id == "1"
    assert [reason for _, _, reason in problems(session)] == [
        'a line of kind "head" sets another leaf than the last entry: indusagi resumes at that leaf'
    ]


def test_what_is_not_of_its_schema_is_no_entry_of_a_transcript(tmp_path: Path):
    session = transcript(tmp_path, node("1", None), user("x", "1"), b"junk\n", node(5, "1"))
    assert ids(session) == ["1", "5"]
    assert session.leaf_id == "1", "indusagi ignores a node without text id"
    assert [number for number, _, _ in problems(session)] == [2, 3, 4]


def test_a_loop_in_a_transcript_ends_nothing(tmp_path: Path):
    session = transcript(tmp_path, node("1", "2"), node("2", "1"), node("3", "2"))
    assert each_once(session)
    assert branch_ids(session) == ["1", "2", "3"]


def test_a_session_that_quotes_a_transcript_is_none(tmp_path: Path):
    quoting = user("a", None, '{"schema":"indus/transcript@1"}')
    assert not opened(tmp_path, header(), quoting).is_transcript
    assert not opened(tmp_path, quoting).is_transcript
    assert not opened(tmp_path, header(), quoting, head("a")).is_transcript


def test_a_thread_that_reads_while_another_links_the_tree_sees_all_roots(tmp_path: Path) -> None:
    """Sessions are shared: whoever reads behind any assignment of the other thread gets the whole answer."""
    seen: list[list[int]] = []

    class Watched(Session):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            seen.append(self.roots)

    path = tmp_path / "session.jsonl"
    path.write_bytes(header() + user("a", None) + user("b", "a") + user("c", None))
    session = open_session(path, "pi")
    session.__class__ = Watched
    assert session.children(0) == [1]
    assert seen == [[0, 2]] * len(seen)
    assert seen
