"""Carrying a session to another agent: a new file or what is new; the source is only read; every write is undone."""

from __future__ import annotations

import errno
import math
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.errors import CannotUndo, InUse, RefusedWrite, SessionBrowseError
from sessionbrowse.format.json_value import loads
from sessionbrowse.format.title_slot import SLOT_BYTES, slot_line
from sessionbrowse.services.change.checkout import checkout
from sessionbrowse.services.change.label import label
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.clean.clean import Where, clean_session, shrink_plan
from sessionbrowse.services.convert.convert import Carried, convert
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.faults.fault_injection import failing_disk, fails_with, in_child, killed_before
from tests.support.change_helpers import CONVERSATION, Store, assistant, entry, header, line, lines_of, result, user
from tests.support.foreign import CLAUDE_ID, Claude, call, jsonl, said

HOUR_MS = 3_600_000
Json = Any
SLOT_TIME = "2026-08-13T08:00:00.000Z"
CALLING = [user("00000001", None, "look"), assistant("00000002", "00000001", "I look", ["call_1"])]


def carry(store: Store, path: Path, to: str = "omp", **options: Any) -> Carried:
    return convert(str(path), to, context=store.context, **options)


def append(path: Path, *entries: Json) -> None:
    status = path.stat()
    with path.open("ab") as file:
        file.write(b"".join(map(line, entries)))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def ids(path: str | Path) -> list[str | None]:
    return list(open_session(path).ids)


def everything(store: Store) -> dict[str, bytes | None]:
    # Where the disk fails for good, omp's lock stays, which omp takes for dead.
    paths = [path for path in store.home.rglob("*") if path.suffix != ".lock"]
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def test_a_session_of_pi_becomes_one_of_omp_that_only_its_owner_can_read(store: Store) -> None:
    path = store.session("pi", [*CONVERSATION, entry("session_info", "0000000c", "00000008", name="Shop")])
    before = path.read_bytes()
    made = carry(store, path)
    new = Path(made.path)
    assert new.parent == store.home / ".omp/agent/sessions/--projects-webshop--"
    assert new.stat().st_mode & 0o777 == 0o600
    slot, head, *entries = lines_of(new)
    assert (slot["type"], slot["title"], head["title"]) == ("title", "Shop", "Shop")
    assert "parentSession" not in head
    origin = {"agent": "pi", "id": header()["id"], "path": str(path)}
    assert head["sessionbrowse"] == {"origin": origin, "title": "Shop"}
    assert [one["id"] for one in entries] == ids(path)
    assert (made.entries, made.added_to, made.from_agent, made.to_agent) == (len(entries), None, "pi", "omp")
    assert path.read_bytes() == before


def test_the_origin_is_the_parent_of_the_new_session_in_every_list(store: Store) -> None:
    path = store.session()
    made = carry(store, path)
    around = store.context.around
    summaries = {one.path: one for one in gather_summaries(Scope(around=around))}
    assert summaries[made.path].parent_path == str(path)


def test_a_dry_run_and_a_refused_preview_write_nothing(store: Store) -> None:
    path = store.session()
    before = everything(store)
    told = carry(store, path, dry_run=True)
    assert told.entries == len(CONVERSATION)
    assert told.document()["done"] is None

    def refuse(carried: Carried) -> None:
        raise RefusedWrite("no")

    with pytest.raises(RefusedWrite):
        carry(store, path, preview=refuse)
    assert everything(store) == before


@pytest.mark.parametrize("to", ["omp", "atomic"])
def test_what_is_new_is_added_to_the_session_made_before(store: Store, to: str) -> None:
    path = store.session()
    first = carry(store, path, to)
    assert carry(store, path, to).entries == 0
    append(path, user("00000009", "00000008", "third question"), assistant("0000000a", "00000009", "third answer"))
    before = Path(first.path).read_bytes()
    again = carry(store, path, to)
    assert (again.path, again.added_to, again.entries) == (first.path, first.path, 2)
    assert ids(first.path) == ids(path)
    assert Path(first.path).read_bytes().startswith(before)
    assert len(list(Path(first.path).parent.iterdir())) == 1
    undo(context=store.context)
    assert Path(first.path).read_bytes() == before
    undo(context=store.context)
    assert not os.path.lexists(first.path)


def test_new_entries_hang_below_a_label_of_the_made_session(store: Store) -> None:
    path = store.session()
    made = Path(carry(store, path, "atomic").path)
    append(made, entry("label", "0000000e", "00000008", targetId="00000002", label="mine"))
    append(path, user("00000009", "00000008", "third question"), user("0000000b", "00000008", "other question"))
    carry(store, path, "atomic")
    *_, label, third, other = lines_of(made)
    assert (label["id"], third["parentId"], other["parentId"]) == ("0000000e", "0000000e", "00000008")
    assert carry(store, path, "atomic").entries == 0
    append(path, user("0000000d", "0000000b", "last question"))
    assert carry(store, path, "atomic").entries == 1
    assert open_session(made).labels


@pytest.mark.parametrize("to", ["omp", "atomic"])
def test_new_entries_stay_at_the_end_of_the_conversation_after_a_checkout_in_the_made_session(
    store: Store, to: str
) -> None:
    path = store.session()
    made = Path(carry(store, path, to).path)
    checkout(Target(str(made), to), "00000005", context=store.context)
    append(path, user("00000009", "00000008", "third question"), assistant("0000000a", "00000009", "third answer"))
    assert carry(store, path, to).entries == 2
    session, source = open_session(made), open_session(path)
    branch = [source.ids[at] for at in source.branch(source.leaf)]
    assert [session.ids[at] for at in session.branch(session.leaf)] == branch
    append(path, user("0000000b", "0000000a", "last question"))
    assert carry(store, path, to).entries == 1
    assert open_session(made).leaf_id == "0000000b"


def test_a_made_session_that_went_on_stays_and_a_new_one_is_made(store: Store) -> None:
    path = store.session()
    first = Path(carry(store, path, "atomic").path)
    append(first, user("000000a1", "00000008", "said in atomic"))
    kept = first.read_bytes()
    assert carry(store, path, "atomic").path == str(first)
    append(path, entry("label", "0000000e", "00000008", targetId="00000002", label="only a label"))
    assert carry(store, path, "atomic").entries == 0
    append(path, user("00000009", "00000008", "said in pi"))
    store.now_ms += HOUR_MS
    again = carry(store, path, "atomic")
    assert again.path != str(first)
    assert again.added_to is None
    assert "went on by itself" in " ".join(again.notes)
    assert first.read_bytes() == kept
    append(Path(again.path), user("000000a2", "00000009", "said in atomic"))
    path.write_bytes(path.read_bytes().replace(b"first question", b"other question"))
    store.now_ms += HOUR_MS
    assert "went on by itself" in " ".join(carry(store, path, "atomic").notes)


def test_a_source_whose_entries_changed_gives_a_new_session(store: Store) -> None:
    path = store.session()
    first = carry(store, path, "atomic")
    path.write_bytes(path.read_bytes().replace(b"first question", b"other question"))
    append(path, user("00000009", "00000008", "more"))
    store.now_ms += HOUR_MS
    again = carry(store, path, "atomic")
    assert again.path != first.path
    assert "differs" in " ".join(again.notes)


@pytest.mark.parametrize("name", ["New", ""])
@pytest.mark.parametrize("renamed", [False, True])
def test_a_new_name_of_the_source_goes_along_unless_the_made_session_was_renamed(
    store: Store, renamed: bool, name: str
) -> None:
    path = store.session("pi", [*CONVERSATION, entry("session_info", "0000000c", "00000008", name="Old")])
    made = Path(carry(store, path).path)
    if renamed:
        append(made, entry("title_change", "000000a1", "0000000c", title="Mine", source="user"))
        made.write_bytes(
            made.read_bytes().replace(b'"title":"Old","source":"user"', b'"title":"Min","source":"user"', 1)
        )
    append(path, entry("session_info", "0000000d", "0000000c", name=name))
    carry(store, path, force=True)
    assert open_session(made).name == ("Min" if renamed else name or None)


@pytest.mark.parametrize("to", ["omp", "atomic"])
def test_a_name_and_a_label_that_were_undone_follow_the_source_again(store: Store, to: str) -> None:
    path = store.session("pi", [*CONVERSATION, entry("session_info", "0000000c", "00000008", name="Old")])
    made = Target(carry(store, path, to).path, to)
    rename(made, "Oops", context=store.context)
    undo(context=store.context)
    label(made, "00000002", "mine", context=store.context)
    undo(context=store.context)
    append(path, entry("session_info", "0000000d", "0000000c", name="New"))
    append(path, entry("label", "0000000e", "0000000d", targetId="00000002", label="good"))
    carry(store, path, to)
    session = open_session(made.path)
    assert (session.name, [mark.text for mark in session.labels.values()]) == ("New", ["good"])
    assert carry(store, path, to).entries == 0


def test_a_name_given_in_sessionbrowse_to_a_session_made_for_omp_stays(store: Store) -> None:
    path = store.session("pi", [*CONVERSATION, entry("session_info", "0000000c", "00000008", name="Old")])
    made = Path(carry(store, path).path)
    append(path, entry("session_info", "0000000d", "0000000c", name="New"))
    carry(store, path)
    assert open_session(made).name == "New"
    append(path, entry("session_info", "0000000e", "0000000d", name="Newer"))
    carry(store, path)
    assert open_session(made).name == "Newer"
    rename(Target(str(made), "omp"), "Mine", context=store.context)
    append(path, user("0000000f", "00000008", "third question"))
    carry(store, path)
    assert open_session(made).name == "Mine"


@pytest.mark.parametrize("renamed", [False, True])
def test_a_new_title_of_omp_goes_along_unless_the_session_of_pi_was_renamed(store: Store, renamed: bool) -> None:
    path = store.session("omp", slot="Old")
    made = Path(carry(store, path, "pi").path)
    assert open_session(made).name == "Old"
    if renamed:
        append(made, entry("session_info", "000000a1", str(ids(made)[-1]), name="Mine"))
    path.write_bytes(path.read_bytes().replace(b'"title":"Old"', b'"title":"New"', 1))
    carry(store, path, "pi")
    assert open_session(made).name == ("Mine" if renamed else "New")
    assert carry(store, path, "pi").entries == 0


@pytest.mark.parametrize("to", ["pi", "atomic"])
def test_each_new_title_of_omp_goes_along_also_an_earlier_one_and_none(store: Store, to: str) -> None:
    path = store.session("omp", slot="Old")
    made = Path(carry(store, path, to).path)
    for title in ("New", "Old", "", "New"):
        path.write_bytes(slot_line(title, "user", SLOT_TIME) + path.read_bytes()[SLOT_BYTES:])
        carry(store, path, to)
        assert (open_session(made).name or "") == title
        assert carry(store, path, to).entries == 0


@pytest.mark.parametrize("to", ["omp", "atomic"])
def test_a_label_that_the_user_set_in_the_made_session_stays_in_force(store: Store, to: str) -> None:
    path = store.session()
    made = Path(carry(store, path, to).path)
    append(made, entry("label", "000000e1", "00000008", targetId="00000002", label="mine"))
    append(path, entry("label", "000000e2", "00000008", targetId="00000002", label="theirs"))
    append(path, entry("label", "000000e3", "000000e2", targetId="00000001", label="other"))
    append(path, user("00000009", "000000e3", "more"))
    carry(store, path, to, force=True)
    session = open_session(made, to)
    assert {session.ids[at]: mark.text for at, mark in session.labels.items()} == {
        "00000001": "other",
        "00000002": "mine",
    }
    assert "00000009" in [session.ids[at] for at in session.active_branch()]
    assert carry(store, path, to, force=True).entries == 0


def test_a_source_whose_images_were_removed_gives_a_new_session(store: Store) -> None:
    image = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    shown = entry("message", "00000009", "00000008", message={"role": "user", "content": [image]})
    path = store.session("pi", [*CONVERSATION, shown])
    first = carry(store, path)
    path.write_bytes(path.read_bytes().replace(b'"AA=="', b'"BB=="'))
    store.now_ms += HOUR_MS
    again = carry(store, path)
    assert again.path != first.path
    assert "differs" in " ".join(again.notes)


def test_two_conversions_at_once_make_one_session_and_add_once(store: Store) -> None:
    path = store.session()

    def other(carried: Carried) -> None:
        if carried.entries:
            carry(store, path)

    made = carry(store, path, preview=other)
    assert (made.entries, len(list(Path(made.path).parent.iterdir()))) == (0, 1)
    append(path, user("00000009", "00000008", "third question"))
    assert carry(store, path, preview=other).entries == 0
    assert ids(made.path) == ids(path)


def test_an_unfinished_answer_is_held_back_and_added_later(store: Store) -> None:
    path = store.session(
        "pi", [user("00000001", None, "look"), assistant("00000002", "00000001", "I look", ["call_1"])]
    )
    os.utime(path, ns=(int(store.now_ms - 1_000) * 1_000_000,) * 2)
    made = carry(store, path)
    assert (made.held_back, ids(made.path)) == (1, ["00000001"])
    append(path, result("00000003", "00000002", "call_1"))
    assert carry(store, path).entries == 2
    assert ids(made.path) == ids(path)


def test_a_call_without_result_in_a_session_at_rest_is_carried(store: Store) -> None:
    path = store.session(
        "pi", [user("00000001", None, "look"), assistant("00000002", "00000001", "I look", ["call_1"])]
    )
    assert carry(store, path).held_back == 0


@pytest.mark.parametrize("to", ["omp", "atomic"])
def test_bytes_that_are_not_utf_8_become_the_characters_that_programs_read(store: Store, to: str) -> None:
    path = store.session("pi", [*CONVERSATION, user("00000009", "00000008", "caf\u00e9 LATIN")])
    path.write_bytes(path.read_bytes().replace(b"LATIN", b"caf\xe9 \xed\xa0\x80"))
    made = Path(carry(store, path, to).path).read_bytes()
    assert "café caf\ufffd \ufffd" in made.decode()
    assert carry(store, path, to).entries == 0


@pytest.mark.parametrize("to", ["omp", "atomic"])
def test_a_number_that_programs_read_as_infinity_stays_one(store: Store, to: str) -> None:
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"timeout": "HUGE"}}
    asked = {"role": "assistant", "content": [call], "usage": {"input": "HUGE", "cost": {"total": "HUGE"}}}
    path = store.session("pi", [*CONVERSATION, entry("message", "00000009", "00000008", message=asked)])
    path.write_bytes(path.read_bytes().replace(b'"HUGE"', b"1e400"))
    made = Path(carry(store, path, to).path).read_bytes().splitlines()[-1]
    (block,) = loads(made)["message"]["content"]
    assert block["arguments"] == {"timeout": math.inf}


def test_new_entries_go_to_the_made_session_and_not_to_a_copy_of_it(store: Store) -> None:
    path = store.session()
    made = carry(store, path, "omp").path
    store.now_ms += HOUR_MS
    where = Where(to=os.path.dirname(made), new_id=True)
    clean_session(Target(made, "omp"), "shrink", shrink_plan(thinking=True), where, context=store.context)
    append(path, user("00000009", "00000008", "third question"))
    assert carry(store, path, "omp").added_to == made


def test_artifacts_go_along_without_sessions_of_subagents_and_drafts(store: Store) -> None:
    path = store.session("omp")
    beside = path.with_suffix("")
    beside.mkdir()
    for name in ("1.bash.log", "Scout.jsonl", "draft.txt"):
        (beside / name).write_text("x")
    made = carry(store, path, "pi")
    assert os.listdir(made.path.removesuffix(".jsonl")) == ["1.bash.log"]
    assert {loss.kind for loss in made.losses} >= {"artifacts", "subagent_files", "draft"}
    undo(context=store.context)
    assert not os.path.lexists(made.path.removesuffix(".jsonl"))


def test_files_beside_a_session_of_claude_code_stay_there(store: Store) -> None:
    path = of_claude(store)
    for name in ("tool-results/a.txt", "subagents/agent-a1.jsonl"):
        file = path.with_suffix("") / name
        file.parent.mkdir(parents=True)
        file.write_text("x")
    made = carry(store, path, "pi")
    assert not os.path.lexists(made.path.removesuffix(".jsonl"))
    assert [loss.count for loss in made.losses if loss.kind in ("artifacts", "subagent_files")] == [1]


REFUSED: list[tuple[str, Callable[[Store], Path], str, str]] = [
    ("the same agent", lambda store: store.session("pi"), "pi", "already"),
    ("an unknown agent", lambda store: store.session("pi"), "claude", "not to claude"),
    (
        "no answer for atomic",
        lambda store: store.session("pi", [user("00000001", None, "hi")]),
        "atomic",
        "no assistant",
    ),
    ("no entries", lambda store: store.session("pi", []), "omp", "no entries"),
    (
        "parents in a loop, on which pi hangs",
        lambda store: store.session("omp", [*CONVERSATION, user("00000009", "00000009", "again")]),
        "pi",
        "to pi: pi hangs on this file: the parents of some entries form a loop. Repair",
    ),
    (
        "an entry that claims to have been another one in omp",
        lambda store: store.session(
            "pi",
            [
                *CONVERSATION,
                entry(
                    "custom",
                    "00000009",
                    "00000008",
                    customType="omp.title_change",
                    data={},
                    sessionbrowse={"omp": {"type": "message", "message": None}},
                ),
            ],
        ),
        "omp",
        "to omp: omp fails on this file: the message is missing",
    ),
]


@pytest.mark.parametrize(("what", "session", "to", "says"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_cannot_be_carried_is_refused(
    store: Store, what: str, session: Callable[[Store], Path], to: str, says: str
) -> None:
    path = session(store)
    before = everything(store)
    with pytest.raises(RefusedWrite, match=says):
        carry(store, path, to)
    assert everything(store) == before


def test_nothing_is_added_while_the_agent_has_the_session_open(store: Store) -> None:
    path = store.session()
    made = Path(carry(store, path, "atomic").path)
    append(path, user("00000009", "00000008", "more"))
    store.process(77, ["atomic"], holds=made)
    before = made.read_bytes()
    with pytest.raises(InUse):
        carry(store, path, "atomic")
    assert made.read_bytes() == before


def test_an_undo_is_refused_once_the_agent_has_written(store: Store) -> None:
    path = store.session()
    made = Path(carry(store, path).path)
    append(made, user("000000a1", "00000008", "said in omp"))
    with pytest.raises(CannotUndo, match="has changed since"):
        undo(context=store.context)
    assert made.exists()


def test_a_named_root_of_the_agent_gets_the_session(store: Store) -> None:
    path = store.session()
    root = store.folder / "other" / ".omp" / "agent" / "sessions"
    root.mkdir(parents=True)
    made = carry(store, path, roots=[str(root)])
    assert made.path.startswith(f"{root}/")


def grown(store: Store) -> Path:
    path = store.session()
    carry(store, path, random_bytes=lambda count: b"\1" * count)
    append(path, user("00000009", "00000008", "more"))
    return path


def store_in(folder: Path) -> Store:
    folder.mkdir()
    store = Store(folder)
    store.environ["XDG_DATA_HOME"] = str(folder / "data")
    return store


@pytest.mark.slow
@pytest.mark.parametrize("session", [Store.session, grown])
def test_a_conversion_is_made_or_not_whatever_call_fails(tmp_path: Path, session: Callable[[Store], Path]) -> None:
    act = partial(carry, random_bytes=lambda count: b"\1" * count)
    counted = store_in(tmp_path / "counted")
    path = session(counted)
    with failing_disk() as disk:
        act(counted, path)
    for first in range(1, len(disk.calls) + 1):
        store = store_in(tmp_path / str(first))
        path = session(store)
        before = everything(store)
        with failing_disk(first, fails_with(errno.EIO), lasting=True), suppress(SessionBrowseError):
            act(store, path)
        with changing(store.context):
            pass
        assert store.context.journal.pending() == []
        if everything(store) != before:
            undo(context=store.context)
        assert everything(store) == before, first


def of_claude(store: Store) -> Path:
    file = Claude(cwd=str(store.home))
    file.user("make it quick")
    file.answer("a", said("I look"), call("x", command="ls"))
    file.result("x", "zebra.py")
    path = store.home / f".claude/projects/-home/{CLAUDE_ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(jsonl(file.records))
    os.utime(path, ns=(int(store.now_ms - HOUR_MS) * 1_000_000,) * 2)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("session", [Store.session, grown, of_claude])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_state(tmp_path: Path, session: Callable[[Store], Path]) -> None:
    act = partial(carry, random_bytes=lambda count: b"\1" * count)
    counted = store_in(tmp_path / "counted")
    path = session(counted)
    with failing_disk() as disk:
        act(counted, path)
    assert len(disk.calls) > 10
    for at in range(1, len(disk.calls) + 1):
        store = store_in(tmp_path / str(at))
        path = session(store)
        before, source = everything(store), path.read_bytes()
        with failing_disk(at, killed_before):
            assert in_child(partial(act, store, path)) == signal.SIGKILL
        with changing(store.context):
            pass
        assert store.context.journal.pending() == []
        if everything(store) != before:
            made = [one for one in gather_summaries(Scope(around=store.context.around)) if one.agent == "omp"]
            assert [one.problem for one in made] == [None], at
            assert ids(made[0].path) == ids(path), at
            undo(context=store.context)
        assert everything(store) == before, at
        assert path.read_bytes() == source
