"""Renaming: one line more, or omp's slot in place; older names, other bytes and times stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sessionbrowse.errors import InUse, NeedsRepair, NotASession, RefusedWrite
from sessionbrowse.format.title_slot import SLOT_BYTES, parse_slot
from sessionbrowse.services.change.rename import rename
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.doctor import repair
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.change_helpers import (
    CONVERSATION,
    LONG_AGO_NS,
    PROJECT,
    Store,
    entry,
    header,
    line,
    lines_of,
    target,
)


@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_rename_appends_one_line_and_keeps_every_older_byte(store: Store, agent: str) -> None:
    path = store.session(agent, [*CONVERSATION, entry("session_info", "00000009", "00000008", name="older")])
    before = path.read_bytes()
    renamed = rename(target(path), "  Checkout\r\n\nflow ", context=store.context)
    assert path.read_bytes() == before + line(
        {
            "type": "session_info",
            "id": "a0000000",
            "parentId": "00000009",
            "timestamp": "2027-01-15T08:00:00.000Z",
            "name": "Checkout flow",
        }
    )
    assert (renamed.done, renamed.path, renamed.name) == ("rename", str(path), "Checkout flow")
    assert renamed.undo_id
    assert renamed.notes == ()
    session = open_session(path)
    assert session.agent == agent
    assert session.name == "Checkout flow"
    assert [session.envelopes[index].id for index in session.active_branch()][:-1] == [
        f"{number:08}" for number in range(1, 10)
    ]


@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_rename_leaves_the_time_of_change_so_that_continue_picks_the_same_session(store: Store, agent: str) -> None:
    path = store.session(agent)
    rename(target(path), "new", context=store.context)
    assert path.stat().st_mtime_ns == LONG_AGO_NS


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("a\nb\r\n\r\nc", "a b c"),
        ("\ufeff\u3000 wide \u00a0", "wide"),
        ("bell\x07 and \x1b[31mred", "bell  and  [31mred"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("\ud83d\ude00", "\U0001f600"),
        ("two\u2028lines\u2029here", "two lines here"),
        ('"quoted" \\ back', '"quoted" \\ back'),
        ("-dash ../../etc/passwd", "-dash ../../etc/passwd"),
    ],
)
def test_pi_names_are_cleaned_as_pi_does_and_of_what_a_terminal_would_act_on(
    store: Store, typed: str, kept: str
) -> None:
    path = store.session()
    assert rename(target(path), typed, context=store.context).name == kept
    assert open_session(path).name == kept
    assert path.read_bytes().count(b"\n") == len(CONVERSATION) + 2


@pytest.mark.parametrize(
    ("typed", "kept"), [("a \x07\n  b", "a b"), ("\x9bred\x7f", "red"), ("tab\there", "tab here"), ("x  y", "x y")]
)
def test_omp_titles_are_cleaned_as_omp_does(store: Store, typed: str, kept: str) -> None:
    path = store.session("omp")
    assert rename(target(path), typed, context=store.context).name == kept
    assert open_session(path).name == kept


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize("typed", ["", "  \n ", "\u2028", "x" * 1_000_000])
def test_a_name_that_is_empty_or_endless_is_refused_with_a_sentence(store: Store, agent: str, typed: str) -> None:
    path = store.session(agent)
    before = path.read_bytes()
    with pytest.raises(RefusedWrite, match=r"empty|too long"):
        rename(target(path), typed, context=store.context)
    assert path.read_bytes() == before
    assert not (store.state / "journal.jsonl").exists()


@pytest.mark.parametrize("agent", ["pi", "atomic"])
def test_a_cleared_name_is_an_entry_with_an_empty_one(store: Store, agent: str) -> None:
    path = store.session(agent, [*CONVERSATION, entry("session_info", "00000009", "00000008", name="older")])
    assert rename(target(path), None, clear=True, context=store.context).name is None
    assert lines_of(path)[-1]["name"] == ""
    assert open_session(path).name is None


def test_indusagi_cannot_clear_a_name_and_that_is_said(store: Store) -> None:
    path = store.session("indusagi", [*CONVERSATION, entry("session_info", "00000009", "00000008", name="older")])
    before = path.read_bytes()
    with pytest.raises(RefusedWrite, match="indusagi cannot clear a name"):
        rename(target(path), None, clear=True, context=store.context)
    assert path.read_bytes() == before


def test_the_same_name_again_writes_nothing(store: Store) -> None:
    path = store.session(entries=[*CONVERSATION, entry("session_info", "00000009", "00000008", name="same")])
    before = path.read_bytes()
    renamed = rename(target(path), " same ", context=store.context)
    assert (renamed.undo_id, renamed.name, renamed.notes) == (None, "same", ("The session has this name already.",))
    assert path.read_bytes() == before


# ---- the end of the file -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "end", "repaired"),
    [
        ("whole", b"", b""),
        ("torn", b'{"type":"message","id":"0000', b"\n"),
        ("torn without any sense", b"\0\0\0", b"\n"),
        ("complete but without newline", line(entry("label", "0000000a", "00000008", targetId="00000002"))[:-1], b"\n"),
        ("blank lines", b"\n\n", b""),
        ("carriage return", b"\r\n", b""),
    ],
)
def test_an_unfinished_last_line_is_closed_before_ours(store: Store, name: str, end: bytes, repaired: bytes) -> None:
    path = store.session(end=end)
    before = path.read_bytes()
    rename(target(path), "new", context=store.context)
    after = path.read_bytes()
    assert after.startswith(before + repaired + b'{"type":"session_info"')
    assert lines_parent(after) == ("0000000a" if b"0000000a" in end else "00000008")
    assert open_session(path).name == "new"


def lines_parent(content: bytes) -> str:
    import json

    return str(json.loads(content.split(b"\n")[-2])["parentId"])


def test_the_first_entry_of_a_file_has_no_parent(store: Store) -> None:
    path = store.session(entries=[])
    rename(target(path), "new", context=store.context)
    assert lines_of(path)[-1]["parentId"] is None


def test_the_parent_is_the_last_line_even_on_another_branch(store: Store) -> None:
    side = entry("label", "0000000a", "00000002", targetId="00000002", label="x")
    path = store.session(entries=[*CONVERSATION, side])
    rename(target(path), "new", context=store.context)
    assert lines_of(path)[-1]["parentId"] == "0000000a"


@pytest.mark.parametrize("last", [b"42\n", b'{"type":"message"}\n', b'["x"]\n'])
def test_a_last_record_without_id_is_refused_and_the_way_out_named(store: Store, last: bytes) -> None:
    path = store.session(end=last)
    before = path.read_bytes()
    with pytest.raises(RefusedWrite, match=r"so pi would resume the session with an empty conversation. Check out"):
        rename(target(path), "new", context=store.context)
    assert path.read_bytes() == before


# ---- files that may not be changed -------------------------------------------------------------------------


def test_what_pi_refuses_is_refused_for_the_same_reason(store: Store) -> None:
    cases = {
        "no header": (b'{"type":"message"}\n', "its first record is no session header"),
        "empty": (b"", "would write a new session into this empty file"),
        "no id": (line({"type": "session", "version": 3, "cwd": "/a"}), "its header has no valid id"),
        "slot": (store.session("omp").read_bytes(), "omp's title slot"),
    }
    path = store.session("pi", name="x.jsonl")
    for name, (content, reason) in cases.items():
        path.write_bytes(content)
        with pytest.raises(RefusedWrite, match=reason):
            rename(target(path, "pi"), "new", context=store.context)
        assert path.read_bytes() == content, name


@pytest.mark.parametrize("version", [None, 1, 2])
@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_an_old_format_is_left_to_its_agent(store: Store, agent: str, version: int | None) -> None:
    old = header() | {"version": version}
    path = store.session(agent, head=[{key: value for key, value in old.items() if value is not None}])
    before = path.read_bytes()
    with pytest.raises(RefusedWrite, match=f"Open it once with {agent}"):
        rename(target(path), "new", context=store.context)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v4.jsonl", line({"v": 4, "kind": "header", "id": "x", "storageVersion": 1, "createdAt": 1, "cwd": "/a"})),
        ("t.ndjson", line({"schema": "indus/transcript@1", "kind": "head", "sessionId": "t", "leaf": None})),
        ("t2.jsonl", line({"schema": "indus/transcript@1", "kind": "head", "sessionId": "t", "leaf": None})),
        ("s.jsonl.gz", b"\x1f\x8b\x08\0"),
    ],
)
def test_foreign_formats_are_never_written_to(store: Store, name: str, content: bytes) -> None:
    path = store.home / name
    path.write_bytes(content)
    with pytest.raises((RefusedWrite, NotASession)):
        rename(target(path), "new", context=store.context)
    assert path.read_bytes() == content


def test_a_link_that_leads_out_of_its_directory_is_refused(store: Store, tmp_path: Path) -> None:
    victim = tmp_path / "victim.jsonl"
    path = store.session()
    os.replace(path, victim)
    path.symlink_to(victim)
    before = victim.read_bytes()
    for permitted in (target(path), Target(str(path), None, (str(store.home / ".pi/agent/sessions"),))):
        with pytest.raises(RefusedWrite, match="outside the directory in which it was found"):
            rename(permitted, "new", context=store.context)
    assert victim.read_bytes() == before
    rename(target(victim), "named by its own path", context=store.context)


def test_a_file_of_a_list_must_lie_below_its_root(store: Store) -> None:
    path = store.session()
    root = path.parent.parent
    for roots, fine in (((str(root),), True), ((str(root / "other"),), False), ((str(root)[:-1],), False)):
        permitted = Target(str(path), None, roots)
        if fine:
            rename(permitted, "new", context=store.context)
        else:
            with pytest.raises(RefusedWrite, match="outside"):
                rename(permitted, "newer", context=store.context)


def test_pipes_directories_and_nothing_are_no_files(store: Store) -> None:
    fifo = store.home / "x.jsonl"
    os.mkfifo(fifo)
    with pytest.raises(RefusedWrite, match="not a regular file"):
        rename(target(fifo), "new", context=store.context)
    with pytest.raises(RefusedWrite, match="not a regular file"):
        rename(target(store.home), "new", context=store.context)
    with pytest.raises(NotASession):
        rename(target(store.home / "missing.jsonl"), "new", context=store.context)


def test_a_rename_beside_a_running_pi_goes_ahead_with_a_note(store: Store, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    path = store.session(head=[header() | {"cwd": str(project)}])
    store.process(77, ["pi"], cwd=str(project))
    renamed = rename(target(path), "new", context=store.context)
    assert len(renamed.notes) == 1
    assert "pi (process 77) runs in its directory" in renamed.notes[0]
    assert open_session(path).name == "new"


# ---- omp ---------------------------------------------------------------------------------------------------


def test_omp_is_renamed_in_its_slot_and_no_other_byte_changes(store: Store) -> None:
    path = store.session("omp")
    before = path.read_bytes()
    renamed = rename(target(path), "Größe", context=store.context)
    after = path.read_bytes()
    assert len(after) == len(before)
    assert after[SLOT_BYTES:] == before[SLOT_BYTES:]
    slot = parse_slot(after)
    assert slot is not None
    assert (slot.title, slot.source, slot.updated_at) == ("Größe", "user", "2027-01-15T08:00:00.000Z")
    assert renamed.name == "Größe"
    assert path.stat().st_mtime_ns == LONG_AGO_NS + 1_000_000, "so that omp's cache notices"
    assert sorted(os.listdir(path.parent)) == [path.name], "no lock is left"


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("x" * 200, "x" * 158),
        ("é" * 100, "é" * 79),
        ("漢" * 100, "漢" * 52),
        ("😀" * 50, "😀" * 39),
        ('"' * 90, '"' * 79),
    ],
)
def test_omp_titles_are_cut_at_a_code_point_to_the_slots_room_with_a_warning(
    store: Store, title: str, kept: str
) -> None:
    path = store.session("omp")
    renamed = rename(target(path), title, context=store.context)
    assert renamed.name == kept
    assert "shortened to fit omp's title slot" in renamed.notes[0]
    assert parse_slot(path.read_bytes()) is not None


def test_omp_may_title_a_cleared_session_again_and_that_is_said(store: Store) -> None:
    path = store.session("omp", source="user")
    renamed = rename(target(path), None, clear=True, context=store.context)
    slot = parse_slot(path.read_bytes())
    assert slot is not None
    assert (slot.title, slot.source) == ("", None)
    assert renamed.name is None
    assert "omp may give an unnamed session a title" in renamed.notes[0]
    assert open_session(path).name is None


def test_omp_is_renamed_in_place_whoever_holds_the_file(store: Store) -> None:
    path = store.session("omp")
    os.utime(path)
    store.process(88, ["bun", "/x/node_modules/@oh-my-pi/pi-coding-agent/dist/cli.js"], holds=path)
    renamed = rename(target(path), "new", context=store.context)
    assert "bun (process 88) has the file open for writing" in renamed.notes[0]
    assert open_session(path).name == "new"


def test_an_older_omp_file_gets_a_slot_before_its_bytes(store: Store) -> None:
    head = header(title="from the header", titleSource="auto")
    path = store.session("omp", head=[head], slot=None)
    before, mode = path.read_bytes(), 0o640
    path.chmod(mode)
    inode = path.stat().st_ino
    renamed = rename(target(path), "new", context=store.context)
    after = path.read_bytes()
    assert after[SLOT_BYTES:] == before
    slot = parse_slot(after)
    assert slot is not None
    assert slot.title == "new"
    assert renamed.name == "new"
    status = path.stat()
    assert status.st_ino != inode
    assert status.st_mode & 0o777 == mode
    assert status.st_mtime_ns == LONG_AGO_NS + 1_000_000
    assert os.listdir(path.parent) == [path.name]


def test_a_slot_is_inserted_only_into_a_file_that_nobody_uses(store: Store) -> None:
    path = store.session("omp", slot=None)
    before = path.read_bytes()
    recent = int((store.now_ms - 9 * 60_000) * 1e6)
    os.utime(path, ns=(recent, recent))
    with pytest.raises(InUse, match=r"the session changed 9 minutes ago.*stops saving for good"):
        rename(target(path), "new", context=store.context)
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    store.process(5, ["omp"], cwd=PROJECT)
    with pytest.raises(InUse, match=r"omp \(process 5\) runs in its directory"):
        rename(target(path), "new", context=store.context)
    assert path.read_bytes() == before
    forced = rename(target(path), "new", force=True, context=store.context)
    assert "stops saving for good" in forced.notes[0]
    assert path.read_bytes()[SLOT_BYTES:] == before


def test_only_omps_own_places_and_marks_outside_of_places_let_a_slot_be_inserted(store: Store, tmp_path: Path) -> None:
    """A slot makes a file unreadable for pi, so what pi may read gets none, whoever the user says it belongs to."""
    (backup := tmp_path / "backup").mkdir()
    lines = b"".join(line(value) for value in (header(), *CONVERSATION))
    marked = lines + line(entry("mode_change", "00000009", "00000008", mode="plan"))
    titled = lines.replace(b'"version":3', b'"version":3,"title":"old","titleSource":"auto"')
    pi_store, omp_store = store.home / ".pi/agent/sessions/--w--", store.home / ".omp/agent/sessions/--w--"
    store.environ["PI_CODING_AGENT_DIR"] = str(tmp_path / "shared")
    shared = tmp_path / "shared/sessions"
    for number, (folder, content, is_allowed) in enumerate(
        [
            (backup, lines, False),
            (backup, marked, True),
            (backup, titled, True),
            (omp_store, b"\xef\xbb\xbf" + lines, False),
            (pi_store, lines, False),
            (pi_store, marked, False),
            (omp_store, lines, True),
            (shared / "--w--", lines, False),
            (shared / "--w--", marked, False),
            (shared / "-w", lines, False),
            (tmp_path / "other/sessions/-w", lines, True),
        ]
    ):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{number}.jsonl"
        path.write_bytes(content)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        if is_allowed:
            rename(Target(str(path), "omp"), "n", context=store.context)
            assert path.read_bytes()[SLOT_BYTES:] == content, path
        else:
            with pytest.raises(RefusedWrite, match="could not read"):
                rename(Target(str(path), "omp"), "n", context=store.context)
            assert path.read_bytes() == content, path


def test_a_first_line_that_is_a_title_of_another_size_is_left_alone(store: Store) -> None:
    slot = {"type": "title", "v": 1, "title": "short", "updatedAt": "2026-08-13T08:00:00.000Z", "pad": ""}
    path = store.session("omp", head=[slot, header()], slot=None)
    before = path.read_bytes()
    with pytest.raises(NeedsRepair, match=r"has the wrong size.* Repair the session first"):
        rename(target(path), "new", context=store.context)
    assert path.read_bytes() == before
    repair(target(path), Where(), context=store.context)
    rename(target(path), "new", context=store.context)
    assert path.read_bytes()[SLOT_BYTES:] == before[before.index(b"\n") + 1 :]
    assert open_session(path).name == "new"
