"""The demo store is what the agents would have written, holds every feature, and stays in its folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.demo import make_demo
from sessionbrowse.text import iso_ms, parse_time

NOW = 1_795_270_000_000  # 2026-11-21T14:06:40Z

Entries = list[dict[str, Any]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo(tmp_path_factory.mktemp("demo"), NOW)


def entries_of(path: Path) -> Entries:
    """The lines of a file that parse, its header first."""
    entries = []
    for line in path.read_bytes().split(b"\n"):
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def session_files(store: Path, agent: str = "*") -> list[Path]:
    return sorted(store.glob(f"{agent}/agent/sessions/*/*.jsonl"))


def every_entry(store: Path, agent: str = "*") -> Entries:
    return [entry for path in session_files(store, agent) for entry in entries_of(path)]


def find(store: Path, agent: str, words: str) -> Path:
    found = [path for path in session_files(store, agent) if words in path.read_bytes().decode(errors="replace")]
    assert len(found) == 1, words
    return found[0]


def digest(folder: Path) -> str:
    lines = [
        f"{path.relative_to(folder)} {path.stat().st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    return "\n".join(lines)


def test_the_same_moment_and_place_give_the_same_bytes(tmp_path: Path) -> None:
    target = tmp_path / "demo"
    first = digest(make_demo(target, NOW))
    assert digest(make_demo(target, NOW)) == first
    assert digest(make_demo(target, NOW + 60_000)) != first


def test_nothing_is_written_outside_the_target(tmp_path: Path, own_home: Path) -> None:
    make_demo(tmp_path / "outer" / "demo", NOW)
    assert [path.name for path in tmp_path.iterdir()] == ["outer"]
    assert [path.name for path in (tmp_path / "outer").iterdir()] == ["demo"]
    assert list(own_home.iterdir()) == []


def test_there_is_a_store_of_every_agent_in_several_projects(store: Path) -> None:
    assert {path.relative_to(store).parts[0] for path in session_files(store)} == {"pi", "omp", "atomic", "indusagi"}
    projects = {entry["cwd"] for entry in every_entry(store) if entry["type"] == "session"}
    assert len(projects) == 6
    assert 25 <= len(session_files(store)) <= 40


def test_every_project_but_the_moved_one_is_a_directory_below_the_target(store: Path) -> None:
    projects = {entry["cwd"] for entry in every_entry(store) if entry["type"] == "session"}
    missing = {cwd for cwd in projects if not Path(cwd).is_dir()}
    assert missing == {str(store / "home/dev/legacy-crm")}
    assert all(Path(cwd).is_relative_to(store) for cwd in projects)


def test_lines_are_written_as_the_agents_write_them(store: Path) -> None:
    damaged = find(store, "pi", "looks_like_latin1")
    for path in session_files(store):
        if path == damaged:
            continue
        for line in path.read_bytes().splitlines(keepends=True):
            if line.startswith(b'{"type":"title"'):
                continue
            entry = json.loads(line)
            assert line == json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def test_ids_are_unique_and_parents_come_first(store: Path) -> None:
    known_orphan = "5f0c1a7e"  # of indusagi's fork bug
    damaged = find(store, "pi", "looks_like_latin1")
    for path in session_files(store):
        seen: set[str | None] = {None, known_orphan}
        for entry in entries_of(path):
            if entry["type"] in ("session", "title") or "id" not in entry or path == damaged:
                continue
            assert entry["id"] not in seen
            assert entry["parentId"] in seen
            seen.add(entry["id"])


def test_times_run_forward_and_end_before_now(store: Path) -> None:
    for path in session_files(store):
        times = [parse_time(entry["timestamp"]) for entry in entries_of(path) if "timestamp" in entry]
        assert None not in times
        # A fork sets the labels of its parent again, with their own times.
        is_fork = any(entry.get("parentSession") for entry in entries_of(path) if entry["type"] == "session")
        left_out = {"session", "title", "label" if is_fork else ""}
        own = [entry for entry in entries_of(path) if entry["type"] not in left_out]
        entries = [parse_time(entry["timestamp"]) for entry in own if "timestamp" in entry]
        assert entries == sorted(entries, key=lambda time: time or 0), path
        assert max(time or 0 for time in times) <= NOW
        messages = [entry["message"] for entry in entries_of(path) if "message" in entry]
        assert all(0 < message["timestamp"] <= NOW for message in messages)
        assert abs(path.stat().st_mtime - (entries[-1] or 0) / 1000) < 1 or "claims UTF-8" in path.read_text("latin-1")


def test_file_names_hold_the_time_and_id_of_the_header(store: Path) -> None:
    for path in session_files(store):
        header = next(entry for entry in entries_of(path) if entry["type"] == "session")
        stamp = header["timestamp"].replace(":", "-").replace(".", "-")
        assert path.name == f"{stamp}_{header['id']}.jsonl"


def test_the_tree_has_branches_labels_and_a_cleared_label(store: Path) -> None:
    entries = entries_of(find(store, "pi", "Refactor auth module"))
    parents = [entry["parentId"] for entry in entries if "parentId" in entry]
    assert sum(parents.count(parent) > 1 for parent in set(parents)) >= 2
    labels = [entry for entry in entries if entry["type"] == "label"]
    assert any("label" not in entry for entry in labels)
    assert {"two-ways", "jwt-works", "green"} <= {entry.get("label") for entry in labels}


@pytest.mark.parametrize(
    ("agent", "entry_type"),
    [
        ("pi", "compaction"), ("pi", "branch_summary"), ("pi", "custom"), ("pi", "custom_message"),
        ("pi", "session_info"), ("pi", "usage"), ("pi", "context_edit"), ("pi", "model_change"),
        ("omp", "title"), ("omp", "compaction"), ("omp", "reset_boundary"), ("omp", "mode_change"),
        ("omp", "service_tier_change"), ("omp", "credential_pin"), ("omp", "title_change"), ("omp", "model_usage"),
        ("atomic", "compaction"), ("atomic", "session_summary"), ("indusagi", "session_info"),
    ],
)  # fmt: skip
def test_each_agent_shows_its_kinds_of_entries(store: Path, agent: str, entry_type: str) -> None:
    assert any(entry["type"] == entry_type for entry in every_entry(store, agent))


def test_messages_show_every_kind_of_content_and_end(store: Path) -> None:
    messages = [entry["message"] for entry in every_entry(store) if "message" in entry]
    assert {message["role"] for message in messages} == {
        "user", "assistant", "toolResult", "bashExecution", "pythonExecution",
    }  # fmt: skip
    blocks = {block["type"] for message in messages for block in message.get("content", [])}
    assert blocks == {"text", "thinking", "toolCall", "image"}
    assert {message.get("stopReason") for message in messages} >= {"stop", "toolUse", "aborted", "error"}
    tools = {message.get("toolName") for message in messages}
    assert {"read", "edit", "write", "bash", "grep", "find", "ls"} <= tools


def test_every_tool_result_answers_a_call_of_its_file(store: Path) -> None:
    for path in session_files(store):
        calls: set[str] = set()
        for entry in entries_of(path):
            message = entry.get("message", {})
            blocks = message.get("content") or []
            calls |= {block["id"] for block in blocks if block["type"] == "toolCall"}
            if message.get("role") == "toolResult":
                assert message["toolCallId"] in calls


def test_costs_add_up(store: Path) -> None:
    for entry in every_entry(store):
        usage = entry.get("message", {}).get("usage") or entry.get("usage")
        if not usage:
            continue
        cost = usage["cost"]
        assert cost["total"] == pytest.approx(
            sum(cost[kind] for kind in ("input", "output", "cacheRead", "cacheWrite"))
        )
        assert all(usage[kind] >= 0 for kind in ("input", "output", "cacheRead", "cacheWrite"))
        counted = sum(usage[kind] for kind in ("input", "output", "cacheRead", "cacheWrite"))
        assert usage.get("totalTokens", counted) == counted


def test_forks_name_their_parent_by_path_or_as_omp_does_by_id(store: Path) -> None:
    parents = [entry["parentSession"] for entry in every_entry(store) if entry.get("parentSession")]
    paths = {str(path) for path in session_files(store)}
    ids = {entry["id"] for entry in every_entry(store, "omp") if entry["type"] == "session"}
    assert len(parents) == 3
    assert sum(parent in paths for parent in parents) == 2
    assert sum(parent in ids for parent in parents) == 1


def test_a_fork_keeps_the_ids_and_times_of_its_parent_and_marks_them_anew(store: Path) -> None:
    parent = {entry.get("id"): entry for entry in entries_of(find(store, "pi", "Refactor auth module"))}
    fork = entries_of(find(store, "pi", "fix flaky test"))
    shared = [entry for entry in fork[1:] if entry["id"] in parent]
    assert len(shared) > 10
    assert all(entry["timestamp"] == parent[entry["id"]]["timestamp"] for entry in shared)
    assert "label" not in {entry["type"] for entry in shared}
    assert [entry["label"] for entry in fork if entry["type"] == "label"] == ["two-ways", "jwt-works"]


def test_omp_names_stand_in_a_slot_of_256_bytes(store: Path) -> None:
    titles = []
    for path in session_files(store, "omp"):
        slot = path.read_bytes().split(b"\n")[0] + b"\n"
        assert len(slot) == 256
        titles.append(json.loads(slot)["title"])
    assert "" in titles
    assert "zsh → fish" in titles


def test_an_omp_session_has_a_subagent_and_tool_output_beside_it(store: Path) -> None:
    session = find(store, "omp", "port to uv")
    scout = session.with_suffix("") / "Scout.jsonl"
    entries = entries_of(scout)
    assert entries[1]["parentSession"] == str(session)
    assert "session_init" in {entry["type"] for entry in entries}
    assert (session.with_suffix("") / "0.bash.log").is_file()


def test_atomic_has_hidden_stages_and_a_compaction_with_its_backup(store: Path) -> None:
    headers = [entry for entry in every_entry(store, "atomic") if entry["type"] == "session"]
    assert sum(header.get("internal") is True and bool(header["workflow"]["runId"]) for header in headers) == 2
    audit = find(store, "atomic", "Accessibility audit")
    compaction = next(entry for entry in entries_of(audit) if entry["type"] == "compaction")
    backup = Path(compaction["details"]["backupPath"])
    assert backup.parent == audit.parent
    assert audit.read_bytes().startswith(backup.read_bytes())
    assert compaction["id"] not in backup.read_text()


def test_one_file_is_damaged_in_three_ways(store: Path) -> None:
    content = find(store, "pi", "looks_like_latin1").read_bytes()
    assert not content.endswith(b"\n")
    with pytest.raises(UnicodeDecodeError):
        content.decode()
    torn = [line for line in content.split(b"\n")[:-1] if not line.endswith(b"}")]
    assert len(torn) == 1


def test_one_file_is_of_the_first_format(store: Path) -> None:
    first = [path for path in session_files(store, "pi") if "version" not in entries_of(path)[0]]
    assert len(first) == 1
    entries = entries_of(first[0])
    assert not any("id" in entry or "parentId" in entry for entry in entries[1:])
    kept = next(entry["firstKeptEntryIndex"] for entry in entries if entry["type"] == "compaction")
    assert entries[kept]["message"]["role"] == "user"


def test_indusagi_has_transcripts_of_todays_form(store: Path) -> None:
    transcripts = sorted(store.glob("indusagi/agent/sessions/*/*.ndjson"))
    assert len(transcripts) == 2
    for path in transcripts:
        nodes = entries_of(path)
        assert {node["schema"] for node in nodes} == {"indus/transcript@1"}
        assert [node["prev"] for node in nodes] == [None, *(node["id"] for node in nodes[:-1])]
        assert all(iso_ms(node["message"]["timestamp"]) == node["at"] for node in nodes)
