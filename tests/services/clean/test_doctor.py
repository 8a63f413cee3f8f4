"""Damage is found by name, and every repaired copy opens with all entries that could be read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.format.title_slot import slot_line
from sessionbrowse.model.clean.damage import KINDS
from sessionbrowse.services.clean.clean import Where
from sessionbrowse.services.clean.doctor import examine, repair
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import Target
from tests.support.change_helpers import CONVERSATION, Store, assistant, entry, header, line, result, user
from tests.support.mutations import mutated, readable_entries
from tests.support.random_trees import RandomTree

MUTATED = 100
WHOLE = [line(header(cwd="/")), *map(line, CONVERSATION)]


def with_line(at: int, new: bytes | None) -> bytes:
    """Return a sound session in which one line is another one, or missing."""
    return b"".join([*WHOLE[:at], new or b"", *WHOLE[at + 1 :]])


def after(*values: Any) -> bytes:
    """Return a sound session with more entries."""
    return b"".join([*WHOLE, *map(line, values)])


LOOP = [user("aaaaaaaa", "bbbbbbbb", "x"), user("bbbbbbbb", "aaaaaaaa", "y")]
# An extension's message that was written while a tool ran.
APART = [
    assistant("aaaaaaaa", "00000008", "t", ["c8", "c9"]),
    result("bbbbbbbb", "aaaaaaaa", "c8"),
    entry("custom_message", "cccccccc", "bbbbbbbb", customType="check", content="Verify first", display=True),
    result("dddddddd", "cccccccc", "c9"),
    user("eeeeeeee", "dddddddd", "on"),
]
RENAMED = entry("title_change", "aaaaaaaa", "00000008", title="new", source="user")
SLOT = {"type": "title", "v": 1, "title": "name", "source": "user", "updatedAt": "2026-08-13T08:00:00.000Z"}
DAMAGED: list[tuple[str, str, bytes]] = [
    ("torn-line", "pi", b"".join(WHOLE) + WHOLE[2][:40]),
    ("torn-line", "pi", with_line(3, WHOLE[3][:40] + b"\n")),
    ("fused-lines", "pi", b"".join([*WHOLE[:3], WHOLE[3][:-1], *WHOLE[4:]])),
    ("fused-lines", "omp", b"".join([*WHOLE[:3], WHOLE[3][:-1], *WHOLE[4:]])),
    ("malformed-line", "pi", with_line(3, b"junk\n")),
    ("malformed-line", "pi", with_line(3, b"\0\0\0\0\n")),
    ("byte-order-mark", "pi", b"\xef\xbb\xbf" + b"".join(WHOLE)),
    ("carriage-returns", "pi", b"".join(WHOLE).replace(b"\n", b"\r")),
    ("invalid-utf-8", "pi", with_line(2, WHOLE[2].replace(b"first question", b"first \xff question"))),
    ("odd-record", "omp", with_line(3, b"null\n" + WHOLE[3])),
    ("odd-record", "pi", with_line(3, b"[]\n" + WHOLE[3])),
    ("second-header", "pi", with_line(3, line(header(id="other")) + WHOLE[3])),
    ("second-header", "omp", with_line(3, line(header(id="other")) + WHOLE[3])),
    ("no-header", "pi", b"".join(WHOLE[1:])),
    ("empty-file", "pi", b""),
    ("bad-header", "pi", with_line(0, line(header(id=7, cwd="/")))),
    ("no-id", "pi", with_line(8, line({key: value for key, value in CONVERSATION[7].items() if key != "id"}))),
    (
        "no-parent",
        "pi",
        with_line(8, line({key: value for key, value in CONVERSATION[7].items() if key != "parentId"})),
    ),
    ("missing-parent", "pi", with_line(3, None)),
    ("future-parent", "pi", b"".join([*WHOLE[:6], WHOLE[7], WHOLE[6], WHOLE[8]])),
    ("parent-loop", "pi", after(*LOOP)),
    ("parent-loop", "pi", after(user("aaaaaaaa", "aaaaaaaa", "x"))),
    ("repeated-id", "pi", after(user("00000004", "00000008", "twice"))),
    ("odd-entry", "pi", after(entry("message", "aaaaaaaa", "00000008", message=None))),
    ("odd-entry", "pi", after(entry("message", "aaaaaaaa", "00000008", message={"role": "user", "content": None}))),
    ("unknown-label-target", "pi", after(entry("label", "aaaaaaaa", "00000008", targetId="nobody", label="x"))),
    ("call-without-result", "pi", after(assistant("aaaaaaaa", "00000008", "t", ["c9"]), user("b", "aaaaaaaa", "on"))),
    ("result-without-call", "pi", after(result("aaaaaaaa", "00000008", "nobody"))),
    ("result-apart", "pi", after(*APART)),
    ("title-slot-size", "omp", line({**SLOT, "pad": ""}) + b"".join(WHOLE)),
    ("title-slot-size", "omp", line({**SLOT, "pad": " " * 400}) + b"".join(WHOLE)),
    ("stale-title", "omp", slot_line("old", "auto", "2026-08-13T08:00:00.000Z") + after(RENAMED)),
    ("hidden-messages", "pi", after(entry("label", "aaaaaaaa", "00000002", targetId="00000002", label="x"))),
    (
        "bad-first-kept",
        "pi",
        after(entry("compaction", "aaaaaaaa", "00000008", summary="s", firstKeptEntryId="zz", tokensBefore=1)),
    ),
    ("missing-directory", "pi", with_line(0, line(header(cwd="/nowhere/at/all")))),
    ("not-listed", "pi", after(entry("session_info", "aaaaaaaa", "00000008", name=7))),
]


@pytest.mark.parametrize(
    ("kind", "agent", "content"), DAMAGED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_kind_of_damage_is_found_and_mended(tmp_path: Path, kind: str, agent: str, content: bytes):
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    found = examine(str(path), agent).damage
    assert kind in {one.kind for one in found}, found
    for one in found:
        assert content[one.offset : one.offset + 1] != b"\n" or one.line == 1, one
        assert content[: one.offset].count(b"\n") == one.line - 1 or kind == "carriage-returns", one
    if "repair" not in KINDS[kind].can_do:
        return
    (tmp_path / "made").mkdir()
    done = repair(Target(str(path), agent), Where(to=str(tmp_path / "made")), context=Store(tmp_path).context)
    assert path.read_bytes() == content
    made = Path(str(done.to)).read_bytes()
    left = {one.kind for one in examine(str(done.to), agent).damage}
    assert {one for one in left if "repair" in KINDS[one].can_do} == set()
    assert set(readable_entries(content)) <= set(readable_entries(made))
    originals = set(content.replace(b"\r", b"\n").split(b"\n"))
    assert sum(1 for one in made.split(b"\n") if one and one not in originals) <= 3


def test_a_message_between_call_and_results_goes_behind_them(tmp_path: Path):
    path = tmp_path / "session.jsonl"
    path.write_bytes(after(*APART))
    found = [one for one in examine(str(path), "pi").damage if one.kind == "result-apart"]
    assert [(one.entry_id, one.reason) for one in found] == [
        ("dddddddd", "cccccccc is between the tool call c9 and its result")
    ]
    made = tmp_path / "made" / "session.jsonl"
    made.parent.mkdir()
    repair(Target(str(path), "pi"), Where(to=str(made)), context=Store(tmp_path).context)
    session = open_session(made, "pi")
    order = [session.ids[index] for index in session.branch(len(session.ids) - 1)]
    assert order[-5:] == ["aaaaaaaa", "bbbbbbbb", "dddddddd", "cccccccc", "eeeeeeee"]
    assert list(session.ids)[-5:] == order[-5:]


@pytest.mark.parametrize("role", [[], {}, 7, None])
def test_a_role_that_is_no_text_stops_no_repair(tmp_path: Path, role: Any):
    odd = entry("message", "aaaaaaaa", "00000008", message={"role": role, "content": []})
    path, made = tmp_path / "session.jsonl", tmp_path / "made" / "session.jsonl"
    made.parent.mkdir()
    path.write_bytes(after(odd, *LOOP[:1]))
    repair(Target(str(path), "pi"), Where(to=str(made)), context=Store(tmp_path).context)
    assert "aaaaaaaa" in readable_entries(made.read_bytes())


@pytest.mark.slow
def test_thousands_of_messages_between_call_and_results_are_moved(tmp_path: Path):
    calls = [f"k{number}" for number in range(1500)]
    entries = [assistant("00000100", "00000008", "t", calls)]
    above = "00000100"
    for number, call in enumerate(calls):
        note = {"customType": "check", "content": "Verify", "display": True}
        entries += [entry("custom_message", f"m{number:07}", above, **note)]
        entries += [result(f"r{number:07}", f"m{number:07}", call)]
        above = f"r{number:07}"
    path, made = tmp_path / "session.jsonl", tmp_path / "made" / "session.jsonl"
    made.parent.mkdir()
    path.write_bytes(after(*entries))
    repair(Target(str(path), "pi"), Where(to=str(made)), context=Store(tmp_path).context)
    session = open_session(made, "pi")
    order = [str(session.ids[index]) for index in session.branch(len(session.ids) - 1)]
    assert order[-3000:] == [f"r{n:07}" for n in range(1500)] + [f"m{n:07}" for n in range(1500)]
    assert [str(one) for one in session.ids][-3000:] == order[-3000:]


def test_a_title_that_did_not_reach_the_slot_is_put_there_and_a_newer_one_stays(tmp_path: Path):
    path, made = tmp_path / "session.jsonl", tmp_path / "made" / "session.jsonl"
    made.parent.mkdir()
    for updated, kinds in (("2026-08-13T08:00:00.000Z", {"stale-title"}), ("2026-08-13T08:00:09.000Z", set())):
        path.write_bytes(slot_line("old", "auto", updated) + after(RENAMED))
        assert {one.kind for one in examine(str(path), "omp").damage} == kinds
    path.write_bytes(slot_line("old", "auto", "2026-08-13T08:00:00.000Z") + after(RENAMED))
    repair(Target(str(path), "omp"), Where(to=str(made)), context=Store(tmp_path).context)
    assert open_session(made, "omp").name == "new"
    assert made.read_bytes()[256:] == path.read_bytes()[256:]


def test_a_renamed_file_is_found(tmp_path: Path):
    path = tmp_path / "2026-08-13T08-00-00-000Z_other-id.jsonl"
    path.write_bytes(b"".join(WHOLE))
    assert [one.kind for one in examine(str(path), "pi").damage] == ["id-differs-from-name"]


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_found_in_a_sound_session(tmp_path: Path, agent: str, seed: int):
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(WHOLE))
    assert examine(str(path), agent).damage == ()


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_mutated_sessions_are_mended_with_all_readable_entries(tmp_path: Path, agent: str):
    path = tmp_path / "session.jsonl"
    made = tmp_path / "made"
    made.mkdir()
    context, mended = Store(tmp_path).context, 0
    for seed in range(MUTATED):
        dice = random.Random(seed)
        content = mutated(RandomTree(seed, agent, 12).content(), dice)
        path.write_bytes(content)
        readable = readable_entries(content)
        target = made / f"{seed}.jsonl"
        try:
            repair(Target(str(path), agent), Where(to=str(target)), context=context)
        except RefusedWrite as error:
            sentence = error.sentence
        else:
            sentence = ""
        if sentence:
            assert "nothing" in sentence or "no entry" in sentence, (seed, sentence)
            continue
        mended += 1
        session = open_session(target, agent)
        assert session.refusal is None, seed
        assert set(readable) <= {one for one in session.ids if one}, seed
        assert len(readable) <= len(session.ids), seed
        assert len(set(session.ids)) == len(session.ids), seed
    assert mended > MUTATED // 2


def test_repair_in_place_is_undone_byte_for_byte(tmp_path: Path):
    store = Store(tmp_path)
    path = store.session("pi", CONVERSATION, end=b'{"type":"mess')
    was = path.read_bytes()
    done = repair(Target(str(path), "pi"), Where(), context=store.context)
    assert path.read_bytes() == b"".join(map(line, [header(), *CONVERSATION]))
    undo(done.undo_id, context=store.context)
    assert path.read_bytes() == was


def test_a_line_glued_to_a_torn_one_is_rescued_with_its_children(tmp_path: Path):
    torn = line(user("torn0000", "00000008", "lost"))[:70]
    lines = [user("rescued0", "torn0000", "glued"), assistant("child000", "rescued0", "after")]
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(WHOLE) + torn + b"".join(map(line, lines)))
    (tmp_path / "made").mkdir()
    done = repair(Target(str(path), "pi"), Where(to=str(tmp_path / "made")), context=Store(tmp_path).context)
    session = open_session(str(done.to), "pi")
    branch = [session.ids[index] for index in session.active_branch()]
    assert branch == [*(one["id"] for one in CONVERSATION), "rescued0", "child000"]


def test_a_file_without_header_gets_the_directory_of_its_neighbours(tmp_path: Path):
    (tmp_path / "other.jsonl").write_bytes(b"".join(WHOLE))
    path = tmp_path / "2026-08-13T08-00-00-000Z_my-id.jsonl"
    path.write_bytes(b"".join(WHOLE[1:]))
    repair(Target(str(path), "pi"), Where(), context=Store(tmp_path).context, force=True)
    first = json.loads(path.read_bytes().splitlines()[0])
    assert (first["type"], first["id"], first["cwd"]) == ("session", "my-id", "/")


def test_the_command_ends_with_1_if_damage_is_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    folder = tmp_path / "sessions" / "--p--"
    folder.mkdir(parents=True)
    head = line(header(cwd=str(tmp_path)))  # a directory in which no agent of this machine runs
    (folder / "good.jsonl").write_bytes(b"".join([head, *WHOLE[1:]]))
    assert main(["doctor", "--root", str(tmp_path / "sessions")]) == 0
    bad = folder / "bad.jsonl"
    bad.write_bytes(b"".join([head, *WHOLE[1:7], b"junk\n", *WHOLE[8:]]))
    capfd.readouterr()
    assert main(["doctor", "--root", str(tmp_path / "sessions"), "--json"]) == 1
    (document,) = json.loads(capfd.readouterr().out)
    assert document["path"] == str(bad)
    assert [(one["kind"], one["line"], one["can_do"]) for one in document["damage"]] == [
        ("malformed-line", 8, ["repair"]),
        ("missing-parent", 9, ["repair"]),
    ]
    assert main(["doctor", str(bad), "--in-place"]) == 0
    assert main(["doctor", str(bad)]) == 0


def test_a_missing_directory_is_named_but_is_no_damage(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join([line(header(cwd=str(tmp_path / "gone"))), *WHOLE[1:]]))
    assert main(["doctor", str(path), "--json"]) == 0
    assert "missing-directory" in capfd.readouterr().out
    assert main(["doctor", str(path)]) == 0
    assert capfd.readouterr().err == "sessionbrowse: no damage found; 1 session whose directory is missing\n"
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(with_line(7, b"junk\n"))
    assert main(["doctor", str(torn), str(path)]) == 1
    said = capfd.readouterr().err
    assert said == "sessionbrowse: damage in 1 of 2 sessions; 1 more session whose directory is missing\n"


def test_a_repaired_copy_has_the_artifacts_beside_it(tmp_path: Path):
    store = Store(tmp_path)
    path = store.session("omp", end=b"junk\n")
    artifacts = path.with_suffix("")
    artifacts.mkdir()
    (artifacts / "0.bash.log").write_text("output")
    (tmp_path / "made").mkdir()
    done = repair(Target(str(path), "omp"), Where(to=str(tmp_path / "made")), context=store.context, force=True)
    assert (Path(str(done.to)).with_suffix("") / "0.bash.log").read_text() == "output"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b" \n\n", "is empty"),
        (b"".join(WHOLE), "nothing that can be repaired"),
        (b"junk\nmore junk\n", "no entry that can be read"),
    ],
)
def test_a_file_in_which_nothing_can_be_mended_stays(tmp_path: Path, content: bytes, reason: str):
    path = tmp_path / "session.jsonl"
    path.write_bytes(content)
    with pytest.raises(RefusedWrite, match=reason):
        repair(Target(str(path), "pi"), Where(), context=Store(tmp_path).context, force=True)
    assert path.read_bytes() == content


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path):
    found = examine(str(tmp_path / "gone.jsonl"), "pi")
    assert found.damage == ()
    assert "gone.jsonl" in (found.unreadable or "")


def test_a_repair_says_which_ids_are_new_and_how_many_lines_it_left_out(tmp_path: Path):
    twice = [assistant("00000003", "00000002", f"again {number}") for number in range(9)]
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join([*WHOLE, *map(line, twice), b"junk\n"]))
    done = repair(Target(str(path), "pi"), Where(), context=Store(tmp_path).context, force=True)
    assert any("lines without a readable entry" in note for note in done.notes)
    assert sum("The id 00000003 belonged to several entries" in note for note in done.notes) < 9
    assert any("more earlier entries have new ids" in note for note in done.notes)


@pytest.mark.parametrize("agent", ["pi", "omp", "atomic", "indusagi"])
def test_types_and_roles_of_a_newer_agent_are_told_but_are_no_damage(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], agent: str
):
    newer = [
        entry("from_tomorrow", "aaaaaaaa", "00000008", answer=42),
        entry("message", "bbbbbbbb", "aaaaaaaa", message={"role": "narrator", "content": "once", "timestamp": 1}),
        entry("from_tomorrow", "cccccccc", "bbbbbbbb"),
    ]
    path = tmp_path / "session.jsonl"
    path.write_bytes(after(*newer))
    found = examine(str(path), agent)
    assert [(one.kind, one.line, one.can_do) for one in found.damage] == [
        ("newer-format", 10, ()),
        ("newer-format", 11, ()),
    ]
    assert f"written by a newer {agent} than this version knows" in found.damage[0].reason
    assert not found.is_damaged
    assert main(["doctor", str(path)]) == 0
    said = capfd.readouterr()
    assert "from_tomorrow" in said.out
    assert "no damage found; 1 session with entries that this version does not know" in said.err


def test_a_compaction_of_format_version_1_has_no_odd_field(tmp_path: Path):
    old = {"type": "session", "id": "old", "timestamp": "2025-11-20T08:00:00.000Z", "cwd": "/"}
    told = {"type": "message", "timestamp": "2025-11-20T08:00:01.000Z", "message": {"role": "user", "content": "q"}}
    kept = {"type": "compaction", "timestamp": "2025-11-20T08:00:02.000Z", "summary": "s", "tokensBefore": 1}
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(map(line, [old, told, {**kept, "firstKeptEntryIndex": 1}])))
    for agent in ("pi", "omp"):
        assert [one for one in examine(str(path), agent).damage if one.kind == "odd-entry"] == []
