"""Labels: one line more at the end, whose parent is the last entry and not the labelled one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sessionbrowse.errors import AmbiguousReference, InUse, NoSuchEntry, RefusedWrite
from sessionbrowse.model.context import build
from sessionbrowse.services.change.label import label
from sessionbrowse.store.read.session_file import open_session
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, Store, entry, line, lines_of, target


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_a_label_is_one_line_at_the_end_and_the_conversation_stays(store: Store, agent: str) -> None:
    path = store.session(agent)
    before = path.read_bytes()
    sent = [message.text for message in build.build(open_session(path), None).messages]
    labelled = label(target(path), "00000003", "  before\nthe change ", context=store.context)
    assert path.read_bytes() == before + line(
        {
            "type": "label",
            "id": "a0000000",
            "parentId": "00000008",
            "timestamp": "2027-01-15T08:00:00.000Z",
            "targetId": "00000003",
            "label": "before the change",
        }
    )
    assert (labelled.done, labelled.entry_id, labelled.label) == ("label", "00000003", "before the change")
    session = open_session(path)
    assert session.labels[2].text == "before the change"
    assert [message.text for message in build.build(session, None).messages] == sent
    assert path.stat().st_mtime_ns == LONG_AGO_NS
    assert os.listdir(path.parent) == [path.name]


def test_clearing_leaves_the_key_out(store: Store) -> None:
    path = store.session(
        entries=[*CONVERSATION, entry("label", "0000000a", "00000008", targetId="00000002", label="x")]
    )
    assert label(target(path), "x", None, clear=True, context=store.context).label is None
    assert "label" not in lines_of(path)[-1]
    assert lines_of(path)[-1]["targetId"] == "00000002"
    assert open_session(path).labels == {}


def test_what_changes_nothing_writes_nothing(store: Store) -> None:
    path = store.session(
        entries=[*CONVERSATION, entry("label", "0000000a", "00000008", targetId="00000002", label="x")]
    )
    before = path.read_bytes()
    assert label(target(path), "00000002", "x", context=store.context).notes == ("The entry has this label already.",)
    assert label(target(path), "00000003", None, clear=True, context=store.context).notes == (
        "The entry has no label.",
    )
    assert path.read_bytes() == before


def test_the_entry_must_be_there_and_only_one(store: Store) -> None:
    path = store.session()
    with pytest.raises(NoSuchEntry):
        label(target(path), "ffff", "x", context=store.context)
    with pytest.raises(AmbiguousReference):
        label(target(path), "0000000", "x", context=store.context)
    with pytest.raises(NoSuchEntry):
        label(target(path), "", "x", context=store.context)


@pytest.mark.parametrize("text", ["", " \n", "x" * 5000])
def test_an_empty_or_endless_label_is_refused(store: Store, text: str) -> None:
    path = store.session()
    with pytest.raises(RefusedWrite, match=r"empty|too long"):
        label(target(path), "00000003", text, context=store.context)


def test_an_id_made_to_escape_is_only_text(store: Store) -> None:
    odd = "../../../tmp/x\n-rf"
    path = store.session(entries=[*CONVERSATION, entry("custom", odd, "00000008", customType="x")])
    label(target(path), odd, "../../up", context=store.context)
    last = lines_of(path)[-1]
    assert (last["parentId"], last["targetId"], last["label"]) == (odd, odd, "../../up")
    assert sorted(os.listdir(store.folder)) == ["home", "proc", "state"]


def test_a_running_pi_is_no_hindrance_but_a_running_omp_is(store: Store, tmp_path: Path) -> None:
    pi, omp = store.session("pi"), store.session("omp")
    store.process(7, ["some-editor"], holds=pi)
    store.process(8, ["bun", "live.ts"], holds=omp)
    before = omp.read_bytes()
    assert (
        "some-editor (process 7) has the file open"
        in label(target(pi), "00000003", "x", context=store.context).notes[0]
    )
    with pytest.raises(InUse, match=r"bun \(process 8\) has the file open for writing"):
        label(target(omp), "00000003", "x", context=store.context)
    assert omp.read_bytes() == before


def test_our_own_change_of_an_omp_session_does_not_make_the_next_one_wait(store: Store) -> None:
    path = store.session("omp")
    label(target(path), "00000003", "one", context=store.context)
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    label(target(path), "00000003", "two", context=store.context)
    assert open_session(path).labels[2].text == "two"
