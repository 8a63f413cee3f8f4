"""What a list says of a session follows each program's own list, and agrees with the session when it is opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.agents import AGENTS
from sessionbrowse.model.listing.summary import MAX_FIRST_MESSAGE_BYTES, Summary
from sessionbrowse.model.listing.summary_builder import milliseconds_of
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.text import iso_ms
from tests.support.agent_totals import totals
from tests.support.file_helpers import replace_reads
from tests.support.full_reading import summary_in_full
from tests.support.session_files import answer, entry, header, line, slot, user, written

MTIME_NS = 1_790_000_000_123_556_789


def summary(folder: Path, *lines: bytes, agent: str = "pi", texts: list[str] | None = None) -> Summary:
    path = written(folder, *lines)
    os.utime(path, ns=(MTIME_NS, MTIME_NS))
    found = summarise_path(str(path), lambda _: agent, texts=texts)
    assert found is not None
    return found


def first_message(folder: Path, *lines: bytes, agent: str = "pi") -> str | None:
    return summary(folder, header(), *lines, agent=agent).first_message


def test_the_summary_of_an_ordinary_session(tmp_path: Path):
    found = summary(
        tmp_path,
        header(parentSession="/old.jsonl"),
        user("a", None, "Add OpenAPI docs"),
        answer("b", "a", second=2),
        entry("label", "l", "b", targetId="b", label="good"),
        answer("c", "a", "another", second=3, model="opus"),
        entry("session_info", "n", "c", name=" Docs "),
    )
    assert found == Summary(
        agent="pi",
        path=str(tmp_path / "session.jsonl"),
        id="s-1",
        cwd="/home/dev/webshop",
        name="Docs",
        created=1_786_608_000_000,
        modified=1_786_608_003_000,
        message_count=3,
        first_message="Add OpenAPI docs",
        parent_session="/old.jsonl",
        bytes=(tmp_path / "session.jsonl").stat().st_size,
        entry_count=5,
        branch_count=2,
        labels=("good",),
        newest_label="2026-08-13T08:00:01.000Z",
        tokens=36,
        cost=0.5,
        model="anthropic/opus",
        mtime_ns=MTIME_NS,
        status="complete",
    )


# ---- first message -----------------------------------------------------------------------------------------------

FIRST: list[tuple[str, list[bytes], str | None]] = [
    ("of a user", [answer("a", None), user("b", "a", "x")], "x"),
    ("blank text counts", [user("a", None, "  "), user("b", "a", "x")], "  "),
    ("empty text does not", [user("a", None, ""), user("b", "a", "x")], "x"),
    ("blocks are joined by a blank", [user("a", None, [{"type": "text", "text": t} for t in ("x", "", "y")])], "x  y"),
    ("images are no text", [user("a", None, [{"type": "image", "data": "Q"}]), user("b", "a", "x")], "x"),
    ("in file order, over all branches", [user("a", "c", "x"), user("c", None, "y")], "x"),
    ("not cut, not trimmed", [user("a", None, " a\n\tb ")], " a\n\tb "),
    ("none", [answer("a", None)], None),
]


@pytest.mark.parametrize(("lines", "expected"), [row[1:] for row in FIRST], ids=[row[0] for row in FIRST])
@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_the_first_message_is_the_first_user_text(tmp_path: Path, agent: str, lines: list[bytes], expected: str | None):
    assert first_message(tmp_path, *lines, agent=agent) == expected


def test_omp_takes_another_roles_text_where_no_user_spoke(tmp_path: Path):
    developer = entry("message", "d", None, message={"role": "developer", "content": "note"})
    assert first_message(tmp_path, answer("a", None, "hello"), agent="omp") == "hello"
    assert first_message(tmp_path, developer, answer("a", "d", "hello"), agent="omp") == "note"
    assert first_message(tmp_path, developer, answer("a", "d", "hello"), user("u", "a", "x"), agent="omp") == "x"


def test_messages_with_line_separators_do_not_exist_for_pis_list(tmp_path: Path):
    lines = [user("a", None, "one\u2028two", second=9), user("b", "a", "x", second=2)]
    found = summary(tmp_path, header(), *lines)
    assert (found.first_message, found.message_count, found.entry_count) == ("x", 1, 2)
    assert found.modified == 1_786_608_002_000
    found = summary(tmp_path, header(), *lines, agent="atomic")
    assert (found.first_message, found.message_count) == ("one\u2028two", 2)


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("x" * MAX_FIRST_MESSAGE_BYTES, False),
        ("x" * (MAX_FIRST_MESSAGE_BYTES + 1), True),
        ("é" * (MAX_FIRST_MESSAGE_BYTES // 2), False),
        ("é" * MAX_FIRST_MESSAGE_BYTES, True),
        ('"\n' * 200_000, True),
        ("\U0001f600" * 3_000_000, True),
    ],
    ids=["exactly 64 KiB", "a byte more", "64 KiB of é", "128 KiB of é", "escapes", "12 MB"],
)
def test_64_kib_of_the_first_message_are_shown_and_it_is_said_when_there_is_more(
    tmp_path: Path, text: str, is_cut: bool
):
    found = summary(tmp_path, header(), user("a", None, text), answer("b", "a"))
    assert found.first_message is not None
    assert found.first_message_cut == is_cut
    assert text.startswith(found.first_message)
    size = len(found.first_message.encode())
    assert size == len(text.encode()) if not is_cut else MAX_FIRST_MESSAGE_BYTES - 4 < size <= MAX_FIRST_MESSAGE_BYTES
    assert (found.tokens, found.model) == (18, "anthropic/sonnet")


def test_texts_are_what_users_and_assistants_said_and_nothing_else(tmp_path: Path):
    texts: list[str] = []
    summary(
        tmp_path,
        header(),
        user("a", None, "one"),
        answer("b", "a", content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "two"}]),
        entry("message", "c", "b", message={"role": "toolResult", "content": [{"type": "text", "text": "no"}]}),
        entry("custom_message", "d", "c", customType="x", content="no"),
        entry("message", "e", "d", message={"role": "bashExecution", "command": "no", "output": "no"}),
        user("f", "e", "three"),
        texts=texts,
    )
    assert texts == ["one", "two", "three"]


# ---- when --------------------------------------------------------------------------------------------------------

LATER = "2026-09-01T00:00:00.000Z"


def modified(folder: Path, *lines: bytes, agent: str = "pi") -> str:
    found = summary(folder, *lines, agent=agent).modified
    assert found is not None
    return iso_ms(found)


def timed(role: str, moment: object, **more: object) -> bytes:
    message = {"role": role, "timestamp": moment, **more}
    return line({"type": "message", "id": "m", "parentId": None, "timestamp": LATER, "message": message})


@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_a_session_is_as_new_as_what_user_or_assistant_said_last(tmp_path: Path, agent: str):
    talk = [header(), user("a", None, second=5), answer("b", "a", second=3)]
    assert modified(tmp_path, *talk, agent=agent) == "2026-08-13T08:00:05.000Z"
    quiet = [timed("toolResult", 1.8e12, content=[]), entry("session_info", "n", "a", name="x", timestamp=LATER)]
    assert modified(tmp_path, *talk, *quiet, agent=agent) == "2026-08-13T08:00:05.000Z"
    # Without content, a message is no activity; with a time that is no number, its entry's time counts.
    assert modified(tmp_path, *talk, timed("user", 1.8e12), agent=agent) == "2026-08-13T08:00:05.000Z"
    assert modified(tmp_path, *talk, timed("user", "soon", content="x"), agent=agent) == LATER
    assert modified(tmp_path, *talk, timed("user", None, content="x"), agent=agent) == LATER


def test_without_messages_it_is_as_new_as_its_header_and_without_that_as_its_file(tmp_path: Path):
    assert modified(tmp_path, header()) == "2026-08-13T08:00:00.000Z"
    assert modified(tmp_path, header(), timed("user", 0, content="x")) == "2026-08-13T08:00:00.000Z"
    assert modified(tmp_path, header(timestamp="never")) == iso_ms(milliseconds_of(MTIME_NS, cut=False))
    assert summary(tmp_path, header(timestamp="never")).created is None


@pytest.mark.parametrize(
    ("moment", "created"), [(1_786_608_000_000, 1_786_608_000_000), (1e30, None), (True, None), ([], None)]
)
def test_a_header_may_have_its_time_in_milliseconds(tmp_path: Path, moment: object, created: float | None):
    assert summary(tmp_path, header(timestamp=moment)).created == created


@pytest.mark.parametrize("agent", ["pi", "atomic", "indusagi"])
def test_a_time_that_no_date_can_have_is_no_activity(tmp_path: Path, agent: str):
    of_entry = timed("user", None, content="x").replace(f'"{LATER}"'.encode(), b"1e30")
    of_message = timed("user", 1e30, content="x")
    for odd in (of_entry, of_message, of_entry.replace(b"1e30", b"1e999"), of_message.replace(b"1e30", b"1e999")):
        assert modified(tmp_path, header(), user("a", None, second=5), odd, agent=agent) == "2026-08-13T08:00:05.000Z"


def test_omps_sessions_are_as_new_as_their_files(tmp_path: Path):
    assert modified(tmp_path, header(), user("a", None), agent="omp") == iso_ms(MTIME_NS // 1_000_000)


def test_a_file_time_is_cut_off_for_omp_and_rounded_for_the_others():
    # omp runs on Bun, which cuts off microseconds; the others run on Node, which rounds.
    assert milliseconds_of(1_790_000_051_006_710_000, cut=True) == 1_790_000_051_006
    assert milliseconds_of(1_790_000_051_006_999_999, cut=True) == 1_790_000_051_007
    assert milliseconds_of(1_790_000_051_006_710_000, cut=False) == 1_790_000_051_007


TORN = b'{"type":"session","version":3,"id":"torn-1","timestamp":"2026-08-13T08:00:00.000Z","cwd":"/p'
BELOW_A_TORN_TITLE = b'{"type":"title","v":1,"title":"Slot"\n\n{"type":"session","id":"torn-1","cwd":"/p'


@pytest.mark.parametrize(
    ("content", "listed"),
    [
        (TORN, ("torn-1", "/p", 1_786_608_000_000, None)),
        (b"[" + TORN + b'"}]\n', ("torn-1", "/p", 1_786_608_000_000, None)),
        (BELOW_A_TORN_TITLE, ("torn-1", "/p", None, None)),
        (
            b'{"type":"session","version":01,"id":"v\\u0041","title":"T \\"q\\" \\x","parentSession":"/a.jsonl"}\n',
            ("vA", "", None, "/a.jsonl"),
        ),
    ],
    ids=["torn", "in a list", "below a torn title", "not JSON"],
)
def test_omp_lists_a_file_by_what_is_left_of_its_header_but_does_not_open_it(
    tmp_path: Path, content: bytes, listed: tuple[object, ...]
):
    found = summary(tmp_path, content, agent="omp")
    assert (found.id, found.cwd, found.created, found.parent_session) == listed
    assert found.problem is not None
    assert found.problem.startswith("omp refuses this file")
    session = open_session(written(tmp_path, content), "omp")
    assert session.unlisted is None
    assert session.refusal is not None
    others = summary(tmp_path, content, agent="pi")
    assert others.id is None


@pytest.mark.parametrize(
    "content",
    [TORN.replace(b"id", b"no"), b'{"type":"message"\n' + TORN, b"x" * 4096 + b"\n" + TORN, b" " * 4096 + TORN],
)
def test_omp_does_not_list_a_file_without_id_or_with_a_header_further_down(tmp_path: Path, content: bytes):
    found = summary(tmp_path, content, agent="omp")
    assert (found.id, found.problem) == (None, "omp does not list this file: there is no session header")


# ---- name, model, money, hiding ----------------------------------------------------------------------------------


def test_omps_list_shows_slot_then_header_then_the_short_summary_of_an_early_compaction(tmp_path: Path):
    compaction = entry("compaction", "c", None, shortSummary="in short", summary="s")
    late = [user("a", None, "x" * 4096), compaction]

    def name(*lines: bytes) -> str | None:
        return summary(tmp_path, *lines, agent="omp").name

    assert name(slot("t"), header(title="h"), compaction) == "t"
    assert name(slot(""), header(title="h"), compaction) == "in short"
    assert name(slot(" "), header(title="h")) is None
    assert name(header(title="h"), compaction) == "h"
    assert name(header(), compaction) == "in short"
    assert name(header(), *late) is None


def test_the_model_is_the_leafs(tmp_path: Path):
    def model(*lines: bytes, agent: str = "pi") -> str | None:
        return summary(tmp_path, header(), *lines, agent=agent).model

    change = entry("model_change", "m", "a", provider="openai", modelId="gpt")
    omp_change = entry("model_change", "m", "a", model="openai/gpt")
    temporary = entry("model_change", "t", "b", model="openai/o", role="fallback")
    assert model(user("a", None)) is None
    assert model(user("a", None), answer("b", "a"), change) == "openai/gpt"
    assert model(user("a", None), change, answer("b", "m"), user("c", "b")) == "anthropic/sonnet"
    assert model(user("a", None), change, answer("b", "m"), user("c", "a")) is None
    # An explicit change outranks answers in omp, and other roles than the default do not count.
    assert model(user("a", None), omp_change, answer("b", "m"), temporary, agent="omp") == "openai/gpt"
    assert model(user("a", None), answer("b", "a"), temporary, agent="omp") == "anthropic/sonnet"


def test_money_is_counted_over_all_branches_as_each_program_counts(tmp_path: Path):
    usage = {"input": 1, "cost": {"total": 1}}
    lines = [
        header(),
        user("a", None),
        answer("b", "a"),
        answer("c", "a"),
        entry("compaction", "d", "b", usage=usage),
        entry("branch_summary", "e", "d", usage=usage),
        entry("usage", "f", "e", usage=usage),
        entry("model_usage", "g", "f", usage=usage),
        entry("message", "h", "g", message={"role": "toolResult", "toolName": "task", "details": {"usage": usage}}),
        entry("message", "i", "h", message={"role": "toolResult", "toolName": "bash", "usage": usage}),
        entry("message", "j", "i", message={"role": "bashExecution", "usage": usage}),
    ]
    counts = {
        agent: (summary(tmp_path, *lines, agent=agent).tokens, summary(tmp_path, *lines, agent=agent).cost)
        for agent in AGENTS
    }
    session = open_session(tmp_path / "session.jsonl", "pi")
    assert counts["pi"] == (36 + 3 + 1, 0.5 + 3 + 1)
    assert counts["atomic"] == (36 + 2 + 1, 0.5 + 2 + 1)
    assert counts["omp"] == (36 + 1 + 1, 0.5 + 1 + 1)
    for agent in AGENTS:
        spent = totals(RULES[agent], session.envelopes)
        assert (spent.tokens, spent.cost) == counts[agent]


def test_amounts_beyond_all_numbers_end_nothing(tmp_path: Path):
    big = b"9" * 308
    lines = [answer(f"{n}", None).replace(b'"input":10', b'"input":' + big).replace(b"0.25", big) for n in range(4)]
    for found in (summary(tmp_path, header(), *lines), summary_in_full(tmp_path / "session.jsonl", "pi")):
        assert found is not None
        assert found.entry_count == 4
        assert isinstance(found.tokens, int)


def test_atomic_hides_the_stages_of_its_workflows_only(tmp_path: Path):
    stage = {"runId": "r", "stageId": "s", "stageName": "n"}
    for more, hidden in (
        ({"internal": True, "workflow": stage}, True),
        ({"internal": True}, False),
        ({"workflow": stage}, False),
        ({"internal": "true", "workflow": stage}, False),
        ({"internal": True, "workflow": {**stage, "stageName": " "}}, False),
        ({"internal": True, "workflow": {"runId": "r"}}, False),
    ):
        assert summary(tmp_path, header(**more), agent="atomic").hidden is hidden
        assert summary(tmp_path, header(**more), agent="pi").hidden is False


# ---- files that tell little --------------------------------------------------------------------------------------


def test_a_file_that_vanished_is_no_session(tmp_path: Path):
    assert summarise_path(str(tmp_path / "gone.jsonl"), lambda _: "pi") is None


def test_a_file_that_cannot_be_read_is_listed_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "folder.jsonl").mkdir()
    found = summarise_path(str(tmp_path / "folder.jsonl"), lambda _: "pi")
    assert found is not None
    assert found.problem == "cannot be read: not a regular file"
    path = written(tmp_path, header())

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    found = summarise_path(str(path), lambda _: "atomic")
    assert found is not None
    assert (found.agent, found.problem, found.bytes) == ("atomic", "cannot be read: Permission denied", len(header()))


def test_a_disk_that_fails_while_it_is_read_is_a_problem_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path, header())

    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    replace_reads(monkeypatch, "pread", fail)
    found = summarise_path(str(path), lambda _: "pi")
    assert found is not None
    assert found.problem == "cannot be read: Input/output error"


def test_a_transcript_is_counted_on_its_active_branch_and_named_by_its_first_question(tmp_path: Path):
    def node(entry_id: str, prev: str | None, role: str, text: str) -> bytes:
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        return line(
            {"schema": "indus/transcript@1", "kind": "entry", "id": entry_id, "prev": prev}
            | {"role": role, "message": message, "at": "2026-08-13T08:00:00.000Z"}
        )

    long = "what   is\n\nthis " * 20
    lines = [node("1", None, "user", long), node("2", "1", "assistant", "a"), node("3", "1", "user", "side")]
    found = summary(tmp_path, *lines, node("4", "2", "user", "more"))
    assert (found.agent, found.id, found.is_transcript) == ("indusagi", "session", True)
    assert found.first_message == " ".join(long.split())[:72]
    assert (found.message_count, found.entry_count, found.branch_count) == (3, 4, 2)
    assert found.modified == milliseconds_of(MTIME_NS, cut=False)
    assert found.problem is None


# ---- list and session agree --------------------------------------------------------------------------------------


@st.composite
def sessions(draw: st.DrawFn) -> list[bytes]:
    """A tree of entries of all sorts in which every parent stands before its child."""
    lines: list[bytes] = []
    task = {"role": "toolResult", "toolName": "task", "content": [], "details": {"usage": {"input": 3}}}
    for number in range(draw(st.integers(0, 12))):
        above = draw(st.integers(0, number - 1)) if number and draw(st.booleans()) else number - 1
        own, parent, target = f"e{number}", f"e{above}" if number else None, f"e{draw(st.integers(0, number + 2))}"
        kinds = [
            user(own, parent, f"question {number}", second=number),
            answer(own, parent, f"answer {number}", second=number, model=f"m{number}"),
            entry("message", own, parent, message=task),
            entry("model_change", own, parent, provider="p", modelId=f"c{number}", model=f"p/c{number}"),
            entry("label", own, parent, targetId=target, label=f"label {number}"),
            entry("label", own, parent, targetId=target),
            entry("session_info", own, parent, name=f"name {number}" if number % 3 else ""),
            entry("custom", own, parent, customType="x"),
            entry("model_usage", own, parent, usage={"output": 7, "cost": {"total": 2}}),
        ]
        lines.append(draw(st.sampled_from(kinds)))
    return lines


@given(sessions(), st.sampled_from(sorted(AGENTS)), st.booleans())
def test_the_list_and_the_opened_session_say_the_same(tmp_path: Path, lines: list[bytes], agent: str, with_slot: bool):
    first = slot("slot") if with_slot and agent == "omp" else b""
    listed = summary(tmp_path, first, header(title="title"), *lines, agent=agent)
    session = open_session(tmp_path / "session.jsonl", agent)
    messages = [index for index, envelope in enumerate(session.envelopes) if envelope.type == "message"]
    above = {index for message in messages for index in session.branch(message)[:-1]}
    spent = totals(session.rules, session.envelopes)
    assert listed.entry_count == len(session.envelopes)
    assert listed.message_count == len(messages)
    assert listed.branch_count == max(1, len([index for index in messages if index not in above]))
    assert sorted(listed.labels) == sorted(mark.text for mark in session.labels.values())
    assert listed.name == (session.name.strip() if session.name else None)
    assert (listed.tokens, listed.cost) == (spent.tokens, spent.cost)
    assert listed.problem_count <= session.problem_count
    assert summary_in_full(tmp_path / "session.jsonl", agent) == listed
