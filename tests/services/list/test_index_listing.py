"""The quick list is the careful list: reading only what a list needs gives what reading every record in full gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionbrowse.agents import AGENTS
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.gather import gather_summaries
from sessionbrowse.store.read import content, worker_processes
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.store.read.worker_processes import chunked, fork_map
from tests.support.file_helpers import unmeasured_environ
from tests.support.full_reading import summary_in_full
from tests.support.index_support import answer, entry, folder, header, line_of, result, scope_of, user, write

ORDINARY = [
    line_of(user("u", "p", "hello")),
    line_of(answer("a", "u", "world", command="make")),
    line_of(result("r", "a", "output with → and über")),
    line_of(result("t", "a", "x" * 5000)),
    line_of(entry("label", "l", "u", targetId="u", label="mark")),
    line_of(entry("session_info", "i", "u", name="A name")),
    line_of(entry("model_change", "m", "u", provider="openai", modelId="gpt")),
    line_of(entry("compaction", "c", "u", summary="s", firstKeptEntryId="u", details={"strategy": "verbatim-lines"})),
    line_of(entry("mode_change", "o", "u", mode="plan")),
    line_of(user("s", "u", "cut \u2028 here")),
    line_of(user("b", "u", "big " * 80_000)),
    line_of(header("second")),
    b"\n",
    b"null\n",
]


def both_ways(path: Path, agent: str) -> tuple[Summary | None, Summary | None]:
    """The quick list and the careful one."""
    return summarise_path(str(path), lambda _: agent), summary_in_full(path, agent)


@given(st.data(), st.sampled_from(list(AGENTS)), st.sampled_from([None, 1, 2, 3]))
def test_mutated_files_are_summed_up_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, agent: str, version: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.jsonl"
    lines = data.draw(st.lists(st.sampled_from(ORDINARY), max_size=12))
    content = bytearray(line_of(header("a", version=version)) + b"".join(lines))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(content)))
        what = data.draw(
            st.sampled_from([b"", b"}", b"{", b'"', b"\\", b"\n", b"\r", b"\xff", b"0", b"null", b"1e999"])
        )
        content[at : at + data.draw(st.integers(0, 3))] = what
    path.write_bytes(content)
    quick, careful = both_ways(path, agent)
    assert quick == careful


USAGE = {"input": 5, "cost": {"total": 2}}
STRANGE = [
    line_of(user("f", "u", "one"))[:-1] + b" " + line_of(answer("g", "f", "two")),
    line_of(answer("h", "u", "split")).replace(b",", b",\n", 1),
    line_of(answer("j", "u", "split")).replace(b'"message"', b'\n"message"', 1),
    line_of(user("k", "u", "carriage return"))[:-1] + b"\r\n",
    line_of(result("q", "u", "not UTF-8")).replace(b"not", b"\xff\xfe"),
    line_of(result("v", "u", "half of a character")).replace(b"half", b"\xe2\x80"),
    line_of(answer("w", "u", "deep")).replace(b'"deep"', b"[" * 2000 + b"]" * 2000),
    line_of(entry("custom", "x", "w", customType="x", data={"type": "message"})),
    line_of(entry("thinking_level_change", "y", "x", thinkingLevel="high")),
    line_of(entry("model_change", "z", "y", provider="p", modelId="m", role="fallback")),
    line_of(entry("model_change", "z", "y", model="p/m", usage={"input": 1})),
    line_of(entry("custom", "E", "u", customType="sessionbrowse")),
    line_of(entry("custom", "x", "w", message={"role": "user", "content": "no"})),
    line_of(entry("message", "A", "z", message={"role": "toolResult", "usage": {"input": 5, "cost": {"total": 2}}})),
    line_of(
        entry(
            "message", "B", "A", message={"role": "toolResult", "toolName": "task", "details": {"usage": {"input": 5}}}
        )
    ),
    b'{"type":"custom","id":"C","parentId":"A","timestamp":"t","type":"message"}\n',
    b'{"id":"D","parentId":"A","timestamp":"2026-08-13T08:00:00.000Z","message":{"role":"user","content":"untold"}}\n',
    b"\xef\xbb\xbf",
    b" \n\r\n",
    b"\0\0\n",
    b'{"type":"mess',
]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(ORDINARY[:10] + STRANGE), max_size=14),
    st.sampled_from(list(AGENTS)),
    st.sampled_from([64, 301, 1000, content.BLOCK_BYTES]),
    st.booleans(),
)
def test_lines_that_are_no_one_record_are_summed_up_the_same_wherever_a_block_ends(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    agent: str,
    block: int,
    ends: bool,
) -> None:
    path = tmp_path_factory.getbasetemp() / "strange.jsonl"
    written = line_of(header("a")) + b"".join(lines)
    path.write_bytes(written if ends else written.rstrip(b"\n"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(content, "BLOCK_BYTES", block)
        quick, careful = both_ways(path, agent)
    assert quick == careful


@pytest.mark.parametrize("agent", list(AGENTS))
def test_real_sessions_are_summed_up_the_same(corpus: Path, agent: str) -> None:
    paths = [path for path in corpus.rglob("*") if path.suffix in (".jsonl", ".ndjson")]
    assert paths
    for path in paths:
        quick, careful = both_ways(path, agent)
        assert quick == careful, path


@pytest.mark.parametrize("size", [256 * 1024 - 200, 512 * 1024, 3_000_000, 9_000_000])
def test_a_line_of_any_size_is_summed_up_the_same(tmp_path: Path, size: int) -> None:
    image = [{"type": "image", "data": "A" * size, "mimeType": "image/png"}, {"type": "text", "text": "look"}]
    path = write(tmp_path / "a.jsonl", header("a"), user("1", None, image), answer("2", "1", "seen"))
    for torn in (False, True):
        if torn:
            path.write_bytes(path.read_bytes()[:-1])
        quick, careful = both_ways(path, "pi")
        assert quick == careful
        assert quick is not None
        assert (quick.first_message, quick.entry_count) == ("look", 2)


def test_several_processes_give_the_list_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        write(folder(tmp_path) / f"{number}.jsonl", header(str(number)), user("1", None, f"session {number}"))
    alone = {summary.path: summary for summary in gather_summaries(scope_of(tmp_path))}
    monkeypatch.setattr(worker_processes, "MIN_BYTES", 0)
    monkeypatch.setattr(worker_processes, "CHUNK_BYTES", 600)
    monkeypatch.setattr(worker_processes, "_is_alone", lambda: True)
    together = {summary.path: summary for summary in gather_summaries(scope_of(tmp_path), processes=True)}
    assert together == alone
    assert len(together) == 30


def test_what_a_process_that_died_left_is_done_again() -> None:
    parent = os.getpid()

    def work(chunk: list[int]) -> list[int]:
        if os.getpid() != parent:
            os._exit(1)
        return chunk

    done = [number for chunk in fork_map(chunked([worker_processes.CHUNK_BYTES] * 6), work, 2) for number in chunk]
    assert sorted(done) == list(range(6))


def test_answers_larger_than_a_pipe_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_processes, "_MOST_UNSENT", 1024 * 1024)
    chunks = chunked([worker_processes.CHUNK_BYTES] * 20)
    answers = list(fork_map(chunks, lambda chunk: (chunk, bytes(3 * 1024 * 1024)), 3))
    assert sorted(number for chunk, _ in answers for number in chunk) == list(range(20))
    assert all(len(content) == 3 * 1024 * 1024 for _, content in answers)


def test_listing_imports_no_interface(tmp_path: Path) -> None:
    write(folder(tmp_path) / "a.jsonl", header("a"), user("1", None, "hello"))
    code = (
        "import sys; from sessionbrowse.cli import main; main(['list', '--json', '--root', sys.argv[1]]); "
        "print([name for name in ('textual', 'rich', 'platformdirs', 'hashlib') if name in sys.modules],"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=unmeasured_environ(),
    )
    assert done.stderr.strip() == "[]"
