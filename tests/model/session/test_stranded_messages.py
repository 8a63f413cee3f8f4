"""A session whose newest message is not on the branch where its program resumes is told from the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.session import left_behind, messages_left_behind
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.resume.before_resume import before_resume, left_behind_of
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from tests.support.change_helpers import CONVERSATION, PROJECT, Json, Store, assistant, entry, target, user

STALE_LABEL = entry("label", "0000000a", "00000003", targetId="00000003", label="here")
AT_THE_END = [entry("label", "0000000a", "00000008", targetId="00000003", label="here")]
SUMMARISED = [entry("branch_summary", "0000000a", "00000003", fromId="00000003", summary="what was left")]
OURS = [entry("custom", "0000000a", "00000003", customType="sessionbrowse", data={"checkout": "00000003"})]
THEIRS = [entry("custom", "0000000a", "00000003", customType="note")]
OURS_THEN_A_LABEL = [*OURS, entry("label", "0000000b", "0000000a", targetId="00000003", label="x")]
GONE_ON = [*OURS, user("0000000b", "0000000a", "another way")]
GONE_ON_THEN_STALE = [*GONE_ON, entry("label", "0000000c", "00000008", targetId="00000003", label="x")]


def summary_of(path: Path, agent: str = "pi") -> Summary:
    found = summarise_path(str(path), lambda _: agent)
    assert found is not None
    return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.mark.parametrize(
    ("name", "more", "newest"),
    [
        ("nothing more", [], None),
        ("a label at the end", AT_THE_END, None),
        ("a label appended at an older place", [STALE_LABEL], "00000008"),
        ("an extension's entry at an older place", THEIRS, "00000008"),
        ("an entry that hangs on nothing", [entry("custom", "0000000a", None, customType="note")], "00000008"),
        ("an entry whose parent is missing", [entry("custom", "0000000a", "beef0000", customType="note")], "00000008"),
        ("gone elsewhere with a summary", SUMMARISED, None),
        ("gone elsewhere by a check out of ours", OURS, None),
        ("gone elsewhere, then labelled", OURS_THEN_A_LABEL, None),
        ("gone elsewhere, then gone on", GONE_ON, None),
        ("gone on elsewhere, then an entry at the older branch", GONE_ON_THEN_STALE, "0000000b"),
    ],
)
def test_the_newest_message_is_left_behind_unless_somebody_went_elsewhere_on_purpose(
    store: Store, name: str, more: list[Json], newest: str | None
) -> None:
    path = store.session(entries=[*CONVERSATION, *more])
    session = open_session(path)
    found = left_behind(session)
    assert (None if found is None else session.envelopes[found].id) == newest
    assert summary_of(path).left_behind == (newest is not None)


def test_a_session_without_messages_leaves_nothing_behind(store: Store) -> None:
    for entries in ([], [entry("model_change", "00000001", None, provider="a", modelId="b")], [STALE_LABEL]):
        path = store.session(entries=entries)
        assert left_behind(open_session(path)) is None
        assert not summary_of(path).left_behind


def test_the_way_back_is_offered_and_taking_it_mends_the_session(store: Store) -> None:
    path = store.session(entries=[*CONVERSATION, STALE_LABEL])
    found = before_resume(str(path), "pi", store.context).left_behind
    assert found is not None
    assert (found.newest_id, found.messages, found.entry_id) == ("00000008", 5, "00000008")
    assert found.sentence.startswith("5 messages are not on the branch where the session resumes")
    assert found.entry_id is not None
    checkout(target(path), found.entry_id, context=store.context)
    session = open_session(path)
    assert "00000008" in [session.envelopes[index].id for index in session.active_branch()]
    assert left_behind_of(session) is None
    assert not summary_of(path).left_behind


def test_between_a_call_and_its_result_the_nearest_safe_entry_is_offered(store: Store) -> None:
    entries = [*CONVERSATION, assistant("00000009", "00000008", "I look", ["call_3"]), STALE_LABEL]
    session = open_session(store.session(entries=entries))
    found = left_behind_of(session)
    assert found is not None
    assert (found.newest_id, found.entry_id) == ("00000009", "00000008")
    newest = left_behind(session)
    assert newest is not None
    assert messages_left_behind(session, newest) == 6


def test_who_may_be_writing_is_told_before(store: Store) -> None:
    path = store.session()
    assert before_resume(str(path), "pi", store.context).warning is None
    store.process(4, ["pi"], cwd=PROJECT)
    warning = before_resume(str(path), "pi", store.context).warning
    assert warning is not None
    assert "pi (process 4) runs in its directory" in warning
    assert "Two programs on one session" in warning


IDS = st.sampled_from(["", *(f"0000000{digit}" for digit in range(8))])
ENTRIES = st.builds(
    lambda kind, entry_id, parent: (
        user(entry_id, parent or None, "x")
        if kind == "message"
        else entry(kind, entry_id, parent or None, customType="sessionbrowse", summary="", targetId="00000001")
    ),
    st.sampled_from(["message", "message", "label", "custom", "branch_summary"]),
    IDS.filter(bool),
    IDS,
)


@given(entries=st.lists(ENTRIES, max_size=9, unique_by=lambda value: value["id"]))
def test_list_and_opened_session_agree_whatever_hangs_on_what(tmp_path: Path, entries: list[Json]) -> None:
    store = Store.__new__(Store)
    store.home = tmp_path
    path = store.session(entries=entries)
    session = open_session(path)
    # Where parents go in a circle, an opened session is cut at a place of our choice; a list does not look for it.
    if not any("loop" in problem.reason for problem in session.problems):
        assert summary_of(path).left_behind == (left_behind(session) is not None)
