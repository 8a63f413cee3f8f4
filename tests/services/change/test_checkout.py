"""Checking out: the program resumes at an entry, in the same file, by one hidden entry whose parent it is."""

from __future__ import annotations

import os

import pytest

from sessionbrowse.errors import InUse, RefusedWrite, UnsafeEntry
from sessionbrowse.model.context import build
from sessionbrowse.model.tree import rows
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.store.read.session_file import open_session
from tests.support.change_helpers import (
    CONVERSATION,
    LONG_AGO_NS,
    NOW_MS,
    PROJECT,
    Store,
    assistant,
    entry,
    header,
    line,
    lines_of,
    result,
    target,
    user,
)


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_a_check_out_is_one_custom_entry_below_the_wanted_one(store: Store, agent: str) -> None:
    path = store.session(agent)
    before = path.read_bytes()
    wanted = open_session(path)
    sent = [message.text for message in build.build(wanted, 5).messages]
    checked_out = checkout(target(path), "00000006", context=store.context)
    assert path.read_bytes() == before + line(
        {
            "type": "custom",
            "customType": "sessionbrowse",
            "data": {"checkout": "00000006"},
            "id": "a0000000",
            "parentId": "00000006",
            "timestamp": "2027-01-15T08:00:00.000Z",
        }
    )
    assert (checked_out.entry_id, checked_out.at, checked_out.leaf_id) == ("00000006", "00000006", "a0000000")
    assert checked_out.text is None
    session = open_session(path)
    assert session.leaf_id == "a0000000"
    branch = [session.envelopes[index].id for index in session.active_branch()]
    assert branch == [f"{number:08}" for number in range(1, 7)] + ["a0000000"]
    assert [message.text for message in build.build(session, None).messages] == sent
    assert all(session.envelopes[row.index].type != "custom" for row in rows.rows(session))
    assert path.stat().st_mtime_ns != LONG_AGO_NS, "it is meant to be continued"


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_a_users_message_means_its_parent_and_its_text_comes_back(store: Store, agent: str) -> None:
    path = store.session(agent)
    checked_out = checkout(target(path), "00000007", context=store.context)
    assert (checked_out.entry_id, checked_out.at, checked_out.text) == ("00000007", "00000006", "second question")
    assert lines_of(path)[-1]["parentId"] == "00000006"
    assert lines_of(path)[-1]["data"] == {"checkout": "00000007"}


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_a_custom_message_means_its_parent_but_not_in_omp(store: Store, agent: str) -> None:
    blocks = [{"type": "text", "text": "injected "}, {"type": "image", "data": ""}, {"type": "text", "text": "words"}]
    said = entry("custom_message", "0000000a", "00000008", customType="x", content=blocks, display=True)
    path = store.session(agent, [*CONVERSATION, said, assistant("0000000b", "0000000a", "more")])
    checked_out = checkout(target(path), "0000000a", context=store.context)
    expected = ("0000000a", None) if agent == "omp" else ("00000008", "injected words")
    assert (checked_out.at, checked_out.text) == expected


def test_before_the_first_message_there_is_nothing(store: Store) -> None:
    path = store.session(entries=[user("00000002", None, "first"), assistant("00000003", "00000002", "answer")])
    checked_out = checkout(target(path), "00000002", context=store.context)
    assert (checked_out.at, checked_out.text) == (None, "first")
    assert lines_of(path)[-1]["parentId"] is None
    assert build.build(open_session(path), None).messages == ()


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [("00000003", "00000002"), ("00000004", "00000005")],
)
def test_between_a_call_and_its_result_it_refuses_and_names_the_nearest_safe_entry(
    store: Store, wanted: str, nearest: str
) -> None:
    path = store.session()
    before = path.read_bytes()
    with pytest.raises(UnsafeEntry, match=f"nearest entry that can be checked out is {nearest}") as caught:
        checkout(target(path), wanted, context=store.context)
    assert caught.value.nearest == nearest
    assert path.read_bytes() == before
    checkout(target(path), nearest, context=store.context)


def test_an_answer_that_was_aborted_waits_for_no_result(store: Store) -> None:
    aborted = assistant("0000000a", "00000008", "I", ["call_9"], stopReason="aborted")
    path = store.session(entries=[*CONVERSATION, aborted, user("0000000b", "0000000a", "go on")])
    assert checkout(target(path), "0000000a", context=store.context).at == "0000000a"


def test_omps_notes_between_call_and_result_are_between_too(store: Store) -> None:
    started = entry("custom", "0000000b", "0000000a", customType="tool_execution_start")
    path = store.session(
        "omp",
        [*CONVERSATION, assistant("0000000a", "00000008", "I", ["c"]), started, result("0000000c", "0000000b", "c")],
    )
    with pytest.raises(UnsafeEntry, match="0000000c"):
        checkout(target(path), "0000000b", context=store.context)
    assert checkout(target(path), "00000008", context=store.context).at == "00000008"


def test_where_it_stands_already_nothing_is_written(store: Store) -> None:
    path = store.session()
    assert checkout(target(path), "00000008", context=store.context).notes == ("pi resumes here already.",)
    checkout(target(path), "00000006", context=store.context)
    before = path.read_bytes()
    again = checkout(target(path), "00000007", context=store.context)
    assert (again.undo_id, again.text) == (None, "second question"), "its text is handed back all the same"
    assert path.read_bytes() == before


def test_a_running_agent_is_asked_about_first(store: Store) -> None:
    path = store.session()
    before = path.read_bytes()
    store.process(9, ["node", "/usr/lib/node_modules/@earendil-works/pi-coding-agent/dist/cli.js"], cwd=PROJECT)
    with pytest.raises(InUse, match=r"pi \(process 9\) runs in its directory"):
        checkout(target(path), "00000006", context=store.context)
    assert path.read_bytes() == before
    forced = checkout(target(path), "00000006", force=True, context=store.context)
    assert "The session seems to be open: " in forced.notes[0]


def test_a_recent_change_alone_stops_only_omp(store: Store) -> None:
    pi, omp = store.session("pi"), store.session("omp")
    a_minute_ago = int((NOW_MS - 60_000) * 1e6)
    for path in (pi, omp):
        os.utime(path, ns=(a_minute_ago, a_minute_ago))
    assert checkout(target(pi), "00000006", context=store.context).notes == (
        "Note that the session changed 1 minute ago.",
    )
    with pytest.raises(InUse, match="the session changed 1 minute ago"):
        checkout(target(omp), "00000006", context=store.context)


def test_our_own_check_out_of_an_omp_session_does_not_count_as_a_recent_change(store: Store) -> None:
    path = store.session("omp")
    checkout(target(path), "00000006", context=store.context)
    now = int(NOW_MS * 1e6)
    assert path.stat().st_mtime_ns < now, "the clock of this test is ahead of the machine's"
    store.now_ms = path.stat().st_mtime_ns / 1e6 + 1000
    checkout(target(path), "00000008", context=store.context)
    path.write_bytes(path.read_bytes() + line(user("0000000e", "00000008", "somebody else")))
    with pytest.raises(InUse, match="the session changed"):
        checkout(target(path), "00000006", context=store.context)


def test_a_last_record_without_id_is_mended_by_a_check_out(store: Store) -> None:
    path = store.session(end=b"42\n")
    assert open_session(path).active_branch() == []
    checkout(target(path), "00000008", context=store.context)
    session = open_session(path)
    assert [session.envelopes[index].id for index in session.active_branch()][-2:] == ["00000008", "a0000000"]


def test_an_old_format_has_no_ids_to_hang_on(store: Store) -> None:
    path = store.session(head=[header() | {"version": 1}])
    with pytest.raises(RefusedWrite, match="Open it once with pi"):
        checkout(target(path), "00000006", context=store.context)
