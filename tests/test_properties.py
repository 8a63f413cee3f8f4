"""Whatever is done to a session's lines, bytes, ids and order: no exception, no hang, all is shown, nothing changed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sessionbrowse.agents import AGENTS
from sessionbrowse.cli.commands.lists import summary_document
from sessionbrowse.errors import NotASession
from sessionbrowse.format.json_value import BadJson, loads
from sessionbrowse.model.context import build
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree import rows
from sessionbrowse.model.tree.row_text import row_text
from sessionbrowse.services.inspect import documents as inspect
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.text import json_exact
from tests.support.full_reading import summary_in_full
from tests.support.program_search import search_text, searched_rows
from tests.support.session_files import snapshot
from tests.support.whole_sessions import OF_ATOMIC, OF_OMP, SESSIONS, TRANSCRIPT

pytestmark = pytest.mark.slow

SECONDS = 20
"""No made-up session takes a tenth of it."""

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
    for name in rows.FILTERS:
        documents.append(inspect.tree_document(session, name))
        searched_rows(session, name, "a do")
    for index in range(count):
        build.build(session, index)
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
    shown = [row.index for row in rows.rows(session, "all")]
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
    """The records that pi reads, by the rule in words: JSON lines that JavaScript takes for true, and no headers."""
    found = []
    for raw in content.split(b"\n"):
        value = as_json(raw)
        is_header = isinstance(value, dict) and value.get("type") == "session"
        if (value or isinstance(value, dict | list)) and not is_header:
            found.append(value)
    return found


def check_list(path: Path, agent: str | None, session: Session | None) -> None:
    """The list reads the same file, in its fast and its thorough way."""
    for name in AGENTS if agent is None else (agent,):
        quick = summarise_path(str(path), lambda _, name=name: name)  # type: ignore[misc]
        assert quick == summary_in_full(path, name)
        assert quick is not None
        json.loads(json_exact(summary_document(quick)))
        texts: list[str] = []
        assert summarise_path(str(path), lambda _, name=name: name, texts=texts) is not None  # type: ignore[misc]
        if session is not None and session.agent == name:
            assert quick.entry_count == len(session.envelopes)
            why = session.unlisted or session.refusal
            # No rule is published by which Claude Code or Codex leaves a file out.
            if session.rules.only_read and session.header_line is None:
                assert quick.problem == f"no session of {session.rules.only_read}"
            else:
                assert quick.problem == (f"{name} {why}" if why else None)


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
@settings(max_examples=500)
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
    stale_head = 'a line of kind "head" sets another leaf than the last entry: indusagi resumes at that leaf'
    assert reasons == ([stale_head] if lines is TRANSCRIPT else [])
    agents: dict[int, str] = {id(OF_OMP): "omp", id(OF_ATOMIC): "atomic", id(TRANSCRIPT): "indusagi"}
    assert session.agent == agents.get(id(lines), "pi")
    check_shape(session, path.read_bytes())
