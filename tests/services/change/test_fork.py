"""Forking: a new file, kept lines as bytes, labels set anew; the source is only read."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.agents import Place
from sessionbrowse.cli import main
from sessionbrowse.errors import NotASession, RefusedWrite, WriteFailed
from sessionbrowse.format.json_value import BadJson
from sessionbrowse.format.splice import value_of, with_member, without_member
from sessionbrowse.model.context.build import build
from sessionbrowse.services.change.fork import Forked, fork
from sessionbrowse.services.undo import undo, undoable
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write import trash
from tests.support.change_helpers import PROJECT, Store, assistant, entry, header, line, lines_of, user


def made(store: Store, path: Path, **options: Any) -> tuple[Forked, list[Any]]:
    """Fork and return the new file's lines too."""
    forked = fork(str(path), context=store.context, **options)
    return forked, lines_of(Path(forked.path))


LABELLED = [
    user("00000001", None, "one"),
    assistant("00000002", "00000001", "two"),
    entry("label", "000000l1", "00000002", targetId="00000001", label="start"),
    entry("compaction", "00000003", "000000l1", summary="so far", firstKeptEntryId="000000l1", tokensBefore=9),
    entry("label", "000000l2", "00000003", targetId="00000002", label="gone"),
    entry("label", "000000l3", "000000l2", targetId="00000002"),
    user("00000004", "000000l3", "three"),
    assistant("00000005", "00000004", "four"),
    entry("label", "000000l4", "00000005", targetId="00000005", label="end"),
]


def test_a_whole_fork_copies_every_line_as_bytes_below_a_new_header(store: Store) -> None:
    odd = b'{ "type":"custom" , "customType":"x","data":1.10e1,"id":"0000000a","parentId":"00000008","timestamp":"t"}\n'
    path = store.session(end=odd)
    before = path.read_bytes()
    forked, (head, *_) = made(store, path)
    assert head == {
        "type": "session",
        "version": 3,
        "id": forked.id,
        "timestamp": "2027-01-15T08:00:00.000Z",
        "cwd": PROJECT,
        "parentSession": str(path),
    }
    new = Path(forked.path)
    assert new.parent == path.parent
    assert new.name == f"2027-01-15T08-00-00-000Z_{forked.id}.jsonl"
    assert new.read_bytes().split(b"\n", 1)[1] == before.split(b"\n", 1)[1]
    assert path.read_bytes() == before
    assert (forked.done, forked.at, forked.text, forked.cwd) == ("fork", None, None, PROJECT)


def test_a_fork_at_an_entry_holds_its_path_with_parents_and_labels_chained_anew(store: Store) -> None:
    path = store.session(entries=[*LABELLED, user("00000006", "00000001", "another branch")])
    _, (_, *entries) = made(store, path, at="00000005")
    assert [(one["type"], one.get("parentId")) for one in entries] == [
        ("message", None),
        ("message", "00000001"),
        ("compaction", "00000002"),
        ("message", "00000003"),
        ("message", "00000004"),
        ("label", "00000005"),
        ("label", entries[5]["id"]),
    ]
    # What a label stood for at the beginning of the kept part is now the next kept entry.
    assert entries[2]["firstKeptEntryId"] == "00000003"
    assert [(one["targetId"], one["label"], one["timestamp"]) for one in entries[5:]] == [
        ("00000001", "start", LABELLED[2]["timestamp"]),
        ("00000005", "end", LABELLED[8]["timestamp"]),
    ]
    assert len({one["id"] for one in entries}) == len(entries)


def test_the_last_entry_that_a_summary_covers_is_still_named_if_it_was_a_label(store: Store) -> None:
    made_by = {"anthropicCompaction": {"provider": "anthropic", "content": "so far"}}
    compaction = {"summary": "so far", "firstKeptEntryId": "", "tokensBefore": 9, "preserveData": made_by}
    entries = [
        user("00000001", None, "covered"),
        entry("label", "000000l1", "00000001", targetId="00000001", label="x"),
        entry("label", "000000l2", "000000l1", targetId="00000001", label="y"),
        user("00000002", "000000l2", "kept"),
        entry("compaction", "00000003", "00000002", providerReplayThroughEntryId="000000l2", **compaction),
        assistant("00000004", "00000003", "after"),
    ]
    path = store.session(entries=entries)
    forked, lines = made(store, path, at="00000004")
    assert lines[3]["providerReplayThroughEntryId"] == "00000001"
    texts = [[one.text for one in build(open_session(each, "omp")).messages] for each in (path, forked.path)]
    assert texts[0] == texts[1] == ["so far", "kept", "after"]


def test_lines_whose_parent_does_not_change_are_copied_as_they_stand(store: Store) -> None:
    odd = (
        b'{"id":"0000000a","parentId":"00000008","type":"custom","timestamp":"t","data":{"parentId":1.0,"x":"\\ud800"}}'
    )
    path = store.session(end=odd + b"\r\n")
    forked, _ = made(store, path, at="0000000a")
    assert Path(forked.path).read_bytes().split(b"\n")[-2] == odd


def test_at_a_user_message_the_fork_ends_before_it_and_its_text_comes_back(store: Store) -> None:
    forked, (_, *entries) = made(store, store.session(), at="00000007")
    assert [one["id"] for one in entries][-1] == "00000006"
    assert (forked.at, forked.text) == ("00000006", "second question")


def test_at_the_first_message_of_pi_the_fork_is_a_header_alone(store: Store) -> None:
    path = store.session(entries=[user("00000001", None, "first")])
    forked, lines = made(store, path, at="00000001")
    assert [one["type"] for one in lines] == ["session"]
    assert (forked.at, forked.text) == (None, "first")


@pytest.mark.parametrize("agent", ["atomic", "indusagi"])
def test_a_path_without_an_answer_is_refused_where_the_program_would_corrupt_it(store: Store, agent: str) -> None:
    path = store.session(agent)
    with pytest.raises(RefusedWrite, match="no assistant message"):
        fork(str(path), agent, at="00000002", context=store.context)
    assert len(list(path.parent.iterdir())) == 1
    assert fork(str(path), agent, at="00000006", context=store.context).at == "00000006"


def test_atomics_marks_of_a_workflow_stage_are_not_inherited(store: Store) -> None:
    stage = {"runId": "r", "stageId": "s", "stageName": "n"}
    path = store.session("atomic", head=[header(internal=True, workflow=stage)])
    _, (head, *_) = made(store, path, agent="atomic")
    assert "internal" not in head
    assert "workflow" not in head


def test_a_fork_of_omp_has_its_title_and_names_its_source_by_id_or_path(store: Store) -> None:
    path = store.session("omp", slot="A title", source="user", head=[header(additionalDirectories=["/x"])])
    (path.parent / path.stem).mkdir()
    (path.parent / path.stem / "1.bash.log").write_text("output")
    forked, (slot, head, *_) = made(store, path)
    assert (slot["title"], slot["source"], len(Path(forked.path).read_bytes().split(b"\n")[0])) == (
        "A title",
        "user",
        255,
    )
    assert list(head) == [
        "type",
        "version",
        "id",
        "timestamp",
        "cwd",
        "parentSession",
        "providerPromptCacheKey",
        "title",
        "titleSource",
        "additionalDirectories",
    ]
    assert head["parentSession"] == header()["id"]
    copied = Path(forked.path.removesuffix(".jsonl")) / "1.bash.log"
    assert copied.read_text() == "output"
    _, (_, branch, *_) = made(store, path, at="00000006")
    assert branch["parentSession"] == str(path)


def test_a_fork_goes_into_the_folder_of_another_directory(store: Store, tmp_path: Path) -> None:
    path = store.session()
    root = path.parent.parent
    place = Place("pi", str(root), "projects", "default")
    forked, (head, *_) = made(store, path, place=place, cwd="/projects/other place")
    assert head["cwd"] == forked.cwd == "/projects/other place"
    assert Path(forked.path).parent == root / "--projects-other place--"
    flat, _ = made(store, path, place=Place("pi", str(path.parent), "flat", "x"), cwd="/elsewhere")
    assert Path(flat.path).parent == path.parent
    typed, _ = made(store, path, cwd="relative")
    assert typed.cwd == str(tmp_path / "relative")


@pytest.mark.parametrize("at", [None, "last"])
def test_a_version_1_source_is_forked_in_migrated_form(store: Store, at: str | None) -> None:
    head = {key: value for key, value in header().items() if key != "version"}
    old: list[dict[str, Any]] = [
        {"type": "message", "timestamp": "t1", "message": {"role": "user", "content": "one"}},
        {"type": "message", "timestamp": "t2", "message": {"role": "hookMessage", "content": "x", "n": 1.50}},
        {"type": "compaction", "timestamp": "t3", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 1},
        {"type": "message", "timestamp": "t4", "message": {"role": "assistant", "content": []}},
    ]
    path = store.session(entries=old, head=[head])
    source = open_session(path)
    ids = [envelope.id for envelope in source.envelopes]
    _, (new_head, *entries) = made(store, path, at=at and ids[-1])
    assert new_head["version"] == 3
    assert [one["id"] for one in entries] == ids
    assert [one["parentId"] for one in entries] == [None, *ids[:-1]]
    assert entries[1]["message"]["role"] == "custom"
    assert entries[2]["firstKeptEntryId"] == ids[1]
    assert "firstKeptEntryIndex" not in entries[2]
    assert open_session(made(store, path)[0].path).problems == ()


def test_what_its_program_would_not_open_is_not_forked(store: Store) -> None:
    path = store.session(head=[], entries=[user("00000001", None, "x")])
    with pytest.raises(NotASession, match="Repair the session first"):
        fork(str(path), context=store.context)


def test_a_fork_of_an_archived_session_goes_to_the_listed_ones(store: Store) -> None:
    path = store.session("omp")
    archive = path.parent.parent.parent / "archive" / "sessions"
    archived = archive / path.parent.name / path.name
    archived.parent.mkdir(parents=True)
    archived.write_bytes(path.read_bytes())
    forked, _ = made(store, archived, agent="omp", place=Place("omp", str(archive), "archive", "default"))
    assert Path(forked.path).parent.parent == path.parent.parent
    beside, _ = made(store, path, place=Place("omp", str(path.parent), "registry", "x"), cwd="/elsewhere")
    assert Path(beside.path).parent == path.parent


def test_a_fork_for_an_invalid_directory_is_refused(store: Store) -> None:
    path = store.session()
    place = Place("pi", str(path.parent.parent), "projects", "default")
    before = sorted(path.parent.parent.rglob("*"))
    with pytest.raises(RefusedWrite):
        fork(str(path), place=place, cwd="/nul\0byte", context=store.context)
    assert sorted(path.parent.parent.rglob("*")) == before


def test_a_fork_whose_folder_or_artifacts_cannot_be_made_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.session("omp")
    (path.with_suffix("") / "deep").mkdir(parents=True)
    os.mkfifo(path.with_suffix("") / "pipe")
    forked, _ = made(store, path)
    assert os.listdir(Path(forked.path).with_suffix("")) == ["deep"]

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(path.parent.rglob("*"))
    monkeypatch.setattr("shutil.copytree", full)
    with pytest.raises(WriteFailed, match="artifacts could not be copied"):
        fork(str(path), context=store.context)
    assert sorted(path.parent.rglob("*")) == before
    (store.folder / "file").write_text("in the way")
    with pytest.raises(WriteFailed, match="cannot be made"):
        fork(str(store.session()), session_dir=str(store.folder / "file" / "below"), context=store.context)


def test_a_source_that_gets_shorter_meanwhile_makes_no_fork(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.session("omp")
    path.with_suffix("").mkdir()
    before = sorted(path.parent.rglob("*"))
    monkeypatch.setattr("sessionbrowse.services.change.fork.file_blocks", lambda *_: iter(()))
    with pytest.raises(WriteFailed, match="got shorter"):
        fork(str(path), context=store.context)
    assert sorted(path.parent.rglob("*")) == before


def test_a_transcript_is_not_forked(store: Store) -> None:
    path = store.session("indusagi")
    path.write_bytes(line({"kind": "header", "version": 1}) + line({"kind": "turn"}))
    with pytest.raises((RefusedWrite, NotASession)):
        fork(str(path), context=store.context)


def test_undoing_a_fork_moves_it_to_the_trash_unless_it_went_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bin_of_the_test = store.folder / "bin"
    bin_of_the_test.mkdir()
    monkeypatch.setattr(trash, "system_trash", lambda path: os.rename(path, bin_of_the_test / os.path.basename(path)))
    path = store.session()
    first, _ = made(store, path)
    second, _ = made(store, path, at="00000006")
    assert [one.verb for one in undoable(store.context)] == ["fork", "fork"]
    with open(second.path, "ab") as file:
        file.write(line(user("0000000b", "00000006", "on")))
    with pytest.raises(RefusedWrite, match="has changed since"):
        undo(second.undo_id, context=store.context)
    undo(first.undo_id, context=store.context)
    assert not os.path.exists(first.path)
    assert os.path.exists(second.path)
    assert path.exists()


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        (b'{"a":1,"b":{"a":2}}', "a", b"9", b'{"a":9,"b":{"a":2}}'),
        (b'{ "b" : [1,{"a":0}] , "a" : "x\\"}" }', "a", b"null", b'{ "b" : [1,{"a":0}] , "a" : null }'),
        (b'{"a":1,"a":2}', "a", b"3", b'{"a":1,"a":3}'),
        (b'{"b":"\\u0061"}', "a", b"1", b'{"b":"\\u0061","a":1}'),
        (b"{}", "a", b"1", b'{"a":1}'),
        (b'{"\\u0061":1}', "a", b"2", b'{"\\u0061":2}'),
        (b'{"b":"\xff","a":[]}', "a", b"{}", b'{"b":"\xff","a":{}}'),
    ],
)
def test_a_member_is_replaced_in_its_bytes(before: bytes, key: str, value: bytes, after: bytes) -> None:
    assert with_member(before, key, value) == after
    assert value_of(after, key) == value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{"a":1,"b":2}', b'{"b":2}'),
        (b'{"b":2,"a":1}', b'{"b":2}'),
        (b'{"a":{"b":[1,2]}}', b"{}"),
        (b'{"b":1, "a" : 2 ,"c":3}', b'{"b":1,"c":3}'),
        (b'{"b":1}', b'{"b":1}'),
    ],
)
def test_a_member_is_removed_in_its_bytes(before: bytes, after: bytes) -> None:
    assert without_member(before, "a") == after
    json.loads(without_member(before, "a"))


def test_what_is_no_object_has_no_members() -> None:
    for odd in (b"[1]", b"", b'"x"', b'{"a":1'):
        with pytest.raises(BadJson):
            with_member(odd, "a", b"1")


def test_fork_prints_the_path_of_the_new_session(store: Store, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = store.session()
    assert main(["fork", str(path), "--at", "00000007", "--cwd", "/elsewhere", "--json"]) == 0
    document = json.loads(capsysbinary.readouterr().out)
    assert (document["done"], document["source"], document["text"]) == ("fork", str(path), "second question")
    assert (document["at"], document["cwd"]) == ("00000006", "/elsewhere")
    assert main(["fork", str(path)]) == 0
    printed = Path(capsysbinary.readouterr().out.decode().strip())
    assert printed.parent == path.parent
    assert open_session(printed).problems == ()
    assert main(["fork", str(path), "--at", "nowhere"]) == 1
    assert capsysbinary.readouterr().err.startswith(b"sessionbrowse: ")
