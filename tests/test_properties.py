"""Whatever is done to a session's lines, bytes, ids and order: no exception, no hang, nothing hidden, nothing changed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import NotASession
from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.model import context, tree
from sessionbrowse.model.row_text import row_text, search_text
from sessionbrowse.model.session import ROOT, Session
from sessionbrowse.services import inspect
from sessionbrowse.services.listing import summary_document
from sessionbrowse.store.scan import summarise_path
from sessionbrowse.store.session_file import open_session
from sessionbrowse.text import json_exact
from tests.session_files import answer, entry, header, line, slot, snapshot, user

SECONDS = 20
"""No made-up session takes a tenth of it."""

USAGE = {"input": 5, "output": 7, "cacheRead": 1, "cacheWrite": 0, "totalTokens": 13, "cost": {"total": 0.5}}


def call(entry_id: str, parent: str, name: str, **arguments: Any) -> bytes:
    block = {"type": "toolCall", "id": f"call-{entry_id}", "name": name, "arguments": arguments}
    return answer(entry_id, parent, content=[{"type": "thinking", "thinking": "hm"}, block], stopReason="toolUse")


def bash(entry_id: str, parent: str, **more: Any) -> bytes:
    return entry("message", entry_id, parent, message={"role": "bashExecution", "command": "ls", "output": "x", **more})


def result(entry_id: str, parent: str, of: str, **more: Any) -> bytes:
    content = [{"type": "text", "text": "output"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}]
    message = {"role": "toolResult", "toolCallId": f"call-{of}", "toolName": "bash", "content": content, **more}
    return entry("message", entry_id, parent, message=message)


OF_PI = [
    header(parentSession="/other.jsonl"),
    entry("model_change", "m0", None, provider="anthropic", modelId="sonnet"),
    entry("thinking_level_change", "t0", "m0", thinkingLevel="high"),
    entry("message", "sy", "t0", message={"role": "system", "content": "be good", "sections": {"a": "b"}}),
    user("a", "sy", "Add OpenAPI docs\u2028 \U0001f600"),
    call("b", "a", "read", path="/home/dev/webshop/x.py", offset=5, limit=10),
    result("c", "b", "b"),
    answer("d", "c", "done"),
    entry("label", "l", "d", targetId="d", label="good"),
    user("e", "c", "another way", second=9),
    entry(
        "message",
        "f",
        "e",
        message={"role": "bashExecution", "command": "ls", "output": "x", "excludeFromContext": True},
    ),
    entry("compaction", "g", "f", summary="so far", firstKeptEntryId="e", tokensBefore=12345, usage=USAGE),
    entry("branch_summary", "h", "c", fromId="g", summary="tried this"),
    entry("custom", "i", "h", customType="todo", data={"todos": [1, 2]}),
    entry("custom_message", "j", "i", customType="note", content=[{"type": "text", "text": "n"}], display=True),
    entry("context_edit", "k", "j", targetId="c", replacement=None),
    entry("usage", "u", "k", kind="cache_warm", provider="p", model="m", usage=USAGE),
    entry("session_info", "n", "u", name="OpenAPI"),
    entry("later_type", "z", "n", what=[{"x": None}]),
]
OF_OMP = [
    slot("OpenAPI"),
    header(title="old", additionalDirectories=["/x"]),
    entry("session_init", "a", None, systemPrompt="p", task="t", tools=["read"]),
    entry("model_change", "b", "a", model="anthropic/sonnet", role="default"),
    entry("mode_change", "c", "b", mode="plan", data={}),
    entry("service_tier_change", "d", "c", serviceTier={"openai": "flex"}),
    user("e", "d", "Add docs"),
    entry("custom", "f", "e", customType="tool_execution_start", data={}),
    call("g", "f", "bash", command="ls"),
    result("h", "g", "g", prunedAt=5),
    entry("message", "i", "h", message={"role": "developer", "content": "note", "synthetic": True}),
    entry("message", "j", "i", message={"role": "pythonExecution", "code": "1+1", "output": "2"}),
    entry("message", "k", "j", message={"role": "fileMention", "files": [{"path": "a.py", "content": "x"}]}),
    answer(
        "l",
        "k",
        content=[
            {"type": "redactedThinking", "data": "x"},
            {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        ],
    ),
    entry(
        "compaction",
        "m",
        "l",
        summary="s",
        shortSummary="short",
        firstKeptEntryId="i",
        tokensBefore=9,
        preserveData={"snapcompact": {}},
    ),
    entry("reset_boundary", "n", "m"),
    entry(
        "custom_message",
        "o",
        "n",
        customType="skill-prompt",
        content="<system-x>c</system-x>",
        attribution="user",
        display=True,
    ),
    answer("p", "o", content=[], stopReason="aborted"),
    entry("model_usage", "q", "p", purpose="title", provider="p", model="m", usage=USAGE),
    entry("ttsr_injection", "r", "q", injectedRules=["x"]),
    entry("credential_pin", "s", "r", provider="p", hash="h"),
    entry("title_change", "t", "s", title="OpenAPI", source="auto"),
    entry("custom", "u", "t", customType="session_exit", data={"kind": "normal"}),
]
OF_ATOMIC = [
    header(internal=True, workflow={"runId": "r", "stageId": "s", "stageName": "n"}),
    *OF_PI[1:8],
    entry(
        "compaction",
        "v",
        "d",
        summary="[User]: x",
        firstKeptEntryId="c",
        tokensBefore=9,
        details={"strategy": "verbatim-lines"},
    ),
    entry("session_summary", "w", "v", summary="about docs", summarizedThroughId="d"),
    entry("context_compaction", "x", "w", deletedTargets=[{"kind": "entry", "entryId": "a"}]),
    entry("custom_message", "y", "x", customType="intercom_message", content="c", excludeFromContext=True),
]
OF_VERSION_1 = [
    header(None, provider="p", modelId="m", thinkingLevel="off", branchedFrom="/x"),
    user(None, None, "one"),
    answer(None, None, "two"),
    entry("compaction", None, None, summary="s", firstKeptEntryIndex=2, tokensBefore=5),
    entry("message", None, None, message={"role": "hookMessage", "customType": "x", "content": "c"}),
]
NODE = {"schema": "indus/transcript@1", "kind": "entry"}
TRANSCRIPT = [
    line({"schema": "indus/transcript@1", "kind": "head", "sessionId": "s", "leaf": "2"}),
    *[
        line(
            {
                **NODE,
                "id": own,
                "prev": prev,
                "role": role,
                "message": {"role": role, "content": f"text {own}"},
                "at": "t",
            }
        )
        for own, prev, role in [
            ("0", None, "user"),
            ("1", "0", "assistant"),
            ("2", "1", "user"),
            ("3", "2", "assistant"),
        ]
    ],
]
SESSIONS = [OF_PI, OF_OMP, OF_ATOMIC, OF_VERSION_1, TRANSCRIPT]

ODD_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    5.5,
    10**40,
    "",
    " ",
    "root",
    "\ud800",
    "\x1b[31m",
    "a",
    "c",
    [],
    [None],
    [[]],
    {},
    {"type": "text"},
    {"role": "user"},
    [{"type": "toolCall"}],
    json.loads("[" * 150 + "]" * 150),
]
ODD_LINES = [
    b"",
    b" ",
    b"null",
    b"0",
    b"[]",
    b'"x"',
    b"{}",
    b"junk",
    b"\0\0",
    b'{"type":"session"}',
    b'{"type":"title","v":1}',
]
ODD_BYTES = [
    b"",
    b"\0",
    b"\r",
    b"\n",
    b"\xff",
    b"\xef\xbb\xbf",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"]",
    b",",
    b"\xe2\x80\xa8",
    b"9",
]


@st.composite
def mutated(draw: st.DrawFn, sessions: list[list[bytes]]) -> bytes:
    """A session to which up to six things were done."""
    lines = [each.rstrip(b"\n") for each in draw(st.sampled_from(sessions))]
    for _ in range(draw(st.integers(0, 6))):
        if not lines:
            break
        at = draw(st.integers(0, len(lines) - 1))
        other = draw(st.integers(0, len(lines) - 1))
        match draw(
            st.sampled_from(["value", "value", "ids", "drop", "copy", "swap", "fuse", "tear", "insert", "shuffle"])
        ):
            case "value":
                lines[at] = draw(with_odd_value(lines[at]))
            case "ids":
                lines[at] = draw(with_other_ids(lines[at]))
            case "drop":
                del lines[at]
            case "copy":
                lines.insert(other, lines[at])
            case "swap":
                lines[at], lines[other] = lines[other], lines[at]
            case "fuse":
                lines[at] += draw(st.sampled_from([b"", b" ", b"\r"])) + lines[other]
            case "tear":
                lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
            case "insert":
                lines.insert(at, draw(st.sampled_from(ODD_LINES)))
            case "shuffle":
                lines = draw(st.permutations(lines))
    content = draw(st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r"])).join(lines) + draw(
        st.sampled_from([b"\n", b""])
    )
    for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
        at = draw(st.integers(0, len(content)))
        content = content[:at] + draw(st.sampled_from(ODD_BYTES)) + content[at + draw(st.integers(0, 3)) :]
    return content


@st.composite
def with_odd_value(draw: st.DrawFn, raw: bytes) -> bytes:
    """The record with something odd somewhere in it, at any depth."""
    value = as_json(raw)
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        keys = list(here) if isinstance(here, dict) else list(range(len(here))) if isinstance(here, list) else []
        places += [(here, key) for key in keys]
        waiting += [here[key] for key in keys]
    if not places:
        return raw
    container, key = draw(st.sampled_from(places))
    if isinstance(container, dict) and draw(st.booleans()):
        del container[key]
    else:
        container[key] = draw(st.sampled_from(ODD_VALUES))
    return json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@st.composite
def with_other_ids(draw: st.DrawFn, raw: bytes) -> bytes:
    """The record with its id, parent or reference taken from a few, so that doubles and loops come about."""
    value = as_json(raw)
    if not isinstance(value, dict):
        return raw
    for key in draw(st.lists(st.sampled_from(["id", "parentId", "targetId", "firstKeptEntryId", "prev", "leaf"]))):
        value[key] = draw(st.sampled_from(["a", "b", "c", "d", "e", "0", "1", "2", None, "", "gone"]))
    return json.dumps(value).encode()


def as_json(raw: bytes) -> Any:
    try:
        return loads(raw)
    except BadJson:
        return None


# ---- what must hold ----------------------------------------------------------------------------------------------


def look_at_everything(path: Path, agent: str | None) -> Session | None:
    """Ask all that any command or view asks of a session; None for a file that is refused with a sentence."""
    try:
        session = open_session(path, agent)
    except NotASession:
        return None
    count = len(session.envelopes)
    documents = [inspect.show_document(session), inspect.label_documents(session), inspect.context_document(session)]
    for name in tree.FILTERS:
        documents.append(inspect.tree_document(session, name))
        tree.rows(session, name, query="a do")
    for index in range(count):
        context.build(session, index)
        session.entry(index)
        session.fields(index)
        row_text(session, index)
        search_text(session, index)
        assert session.find(session.envelopes[index].id or "a") is not None
    for document in documents:
        json.loads(json_exact(document))
    return session


def check_shape(session: Session, content: bytes) -> None:
    """Every entry is in the tree once, on a path that ends, and problems point into the file."""
    count = len(session.envelopes)
    assert sorted(index for index, _ in inspect.preorder(session)) == list(range(count))
    assert all(ROOT <= parent < count for parent in session.parents)
    shown = [row.index for row in tree.rows(session, "all")]
    assert len(shown) == len(set(shown))
    for index in range(count):
        start = session.offsets[index]
        assert session.raw(index) == content[start : start + session.sizes[index]]
    for problem in session.problems:
        assert 0 <= problem.offset <= len(content)
        assert problem.line == content[: problem.offset].count(b"\n") + 1
        assert problem.reason
    assert session.problem_count >= len(session.problems)


def expected_entries(content: bytes) -> list[Any]:
    """The ids of the records that pi reads, by the rule in words: JSON lines that are true and no header."""
    found = []
    for raw in content.split(b"\n"):
        value = as_json(raw)
        if value and not (isinstance(value, dict) and value.get("type") == "session"):
            found.append(value)
    return found


def check_list(path: Path, agent: str | None, session: Session | None) -> None:
    """The list reads the same file, in its fast and its thorough way."""
    for name in AGENTS if agent is None else (agent,):
        quick = summarise_path(str(path), lambda _, name=name: name)  # type: ignore[misc]
        assert quick == summarise_path(str(path), lambda _, name=name: name, by_records=True)  # type: ignore[misc]
        assert quick is not None
        json.loads(json_exact(summary_document(quick)))
        texts: list[str] = []
        assert summarise_path(str(path), lambda _, name=name: name, texts=texts) is not None  # type: ignore[misc]
        if session is not None and session.agent == name:
            assert quick.entry_count == len(session.envelopes)
            assert quick.problem == (
                f"{name} {session.unlisted or session.refusal}" if session.unlisted or session.refusal else None
            )


def check(folder: Path, content: bytes, agent: str | None, name: str = "session.jsonl") -> None:
    path = folder / name
    path.write_bytes(content)
    before = snapshot(folder)
    begun = time.perf_counter()
    session = look_at_everything(path, agent)
    if session is not None:
        check_shape(session, content)
        if (
            session.agent == "pi"
            and not session.is_transcript
            and b"\r" not in content
            and session.title_slot is None
            and not content.startswith(b"\xef\xbb\xbf")
        ):
            assert len(session.envelopes) == len(expected_entries(content))
    check_list(path, agent, session)
    assert time.perf_counter() - begun < SECONDS
    assert snapshot(folder) == before


@given(mutated(SESSIONS), st.sampled_from([None, *AGENTS]))
@settings(max_examples=250)
def test_mutated_sessions_are_read_and_shown_whole(tmp_path: Path, content: bytes, agent: str | None):
    check(tmp_path, content, agent)


@given(mutated([TRANSCRIPT]))
@settings(max_examples=60)
def test_mutated_transcripts_are_read_and_shown_whole(tmp_path: Path, content: bytes):
    check(tmp_path, content, None, "s_1_abc.ndjson")


@given(st.binary(max_size=400), st.sampled_from([None, *AGENTS]))
@settings(max_examples=60)
def test_any_bytes_are_read(tmp_path: Path, content: bytes, agent: str | None):
    check(tmp_path, content, agent)


@given(st.data())
@settings(max_examples=60)
def test_mutated_real_sessions_are_read_and_shown_whole(corpus: Path, tmp_path: Path, data: st.DataObject):
    """Of each real file a stretch of twenty lines, so that one example is one moment."""
    paths = sorted(corpus.rglob("*.jsonl"))
    lines = data.draw(st.sampled_from(paths)).read_bytes().splitlines(keepends=True)
    start = data.draw(st.integers(0, max(0, len(lines) - 20)))
    check(
        tmp_path,
        data.draw(mutated([lines[:1] + lines[start + 1 : start + 20]])),
        data.draw(st.sampled_from([None, *AGENTS])),
    )


@pytest.mark.stress
@given(mutated(SESSIONS), st.sampled_from([None, *AGENTS]))
@settings(max_examples=20_000, derandomize=False)
def test_very_many_mutated_sessions_are_read_and_shown_whole(tmp_path: Path, content: bytes, agent: str | None):
    check(tmp_path, content, agent)


@pytest.mark.parametrize("lines", SESSIONS, ids=["pi", "omp", "atomic", "version 1", "transcript"])
def test_the_sessions_above_are_whole(tmp_path: Path, lines: list[bytes]):
    """What is mutated has no problem of its own, so that each found one was made."""
    path = tmp_path / ("s.ndjson" if lines is TRANSCRIPT else "s.jsonl")
    path.write_bytes(b"".join(lines))
    session = open_session(path)
    reasons = [problem.reason for problem in session.problems]
    stale_head = "the head line is older than the last entry: indusagi resumes at the head's leaf"
    assert reasons == ([stale_head] if lines is TRANSCRIPT else [])
    agents: dict[int, str] = {id(OF_OMP): "omp", id(OF_ATOMIC): "atomic", id(TRANSCRIPT): "indusagi"}
    assert session.agent == agents.get(id(lines), "pi")
    check_shape(session, path.read_bytes())
