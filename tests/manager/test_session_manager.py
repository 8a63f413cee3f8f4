"""`SessionManager`: the programs' own rules for writing, looking without writing, and the differences of the agents."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import sessionbrowse
from sessionbrowse import (
    SessionManager,
    build_session_context,
    get_latest_compaction_entry,
    migrate_session_entries,
    parse_session_entries,
)
from sessionbrowse.agents import Surroundings
from sessionbrowse.errors import InUse, NoSuchEntry, NotASession, RefusedWrite, WriteFailed
from sessionbrowse.manager.environment import Environment
from sessionbrowse.store.read.session_file import open_session
from tests.faults.fault_injection import failing_disk, fails_with
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, NOW_MS, Store, entry, header, line, lines_of, user
from tests.support.file_helpers import picture

QUESTION = {"role": "user", "content": "hello", "timestamp": 1}
ANSWER = {
    "role": "assistant",
    "content": [{"type": "text", "text": "hi"}],
    "provider": "p",
    "model": "m",
    "stopReason": "stop",
    "timestamp": 2,
}
AGENTS = ["pi", "omp", "atomic", "indusagi"]


class World:
    """Surroundings of a test's own, a clock that ticks, and ids that count."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder)
        self.ticks = 0
        self.chance = 0

    @property
    def environment(self) -> Environment:
        around = Surroundings(home=str(self.store.home), environ={}, cwd=str(self.store.folder))
        return Environment(around=around, now_ms=self._now, random_bytes=self._bytes, proc=str(self.store.proc))

    def _now(self) -> float:
        self.ticks += 1
        return NOW_MS + self.ticks

    def _bytes(self, size: int) -> bytes:
        self.chance += 1
        return self.chance.to_bytes(size, "big")

    def create(self, agent: str = "pi", **options: Any) -> SessionManager:
        return SessionManager.create("/projects/webshop", agent=agent, environment=self.environment, **options)

    def open(self, path: Path | str | None, **options: Any) -> SessionManager:
        assert path is not None
        return SessionManager.open(path, environment=self.environment, **options)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_library_names_its_values_and_costs_nothing_to_import() -> None:
    for name in sessionbrowse.__all__:
        assert getattr(sessionbrowse, name) is not None
    code = "import sessionbrowse, sys; print(sorted(name for name in sys.modules if 'sessionbrowse.' in name))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
        == "['sessionbrowse.version']\n"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_is_written_when_its_program_would_write_it(world: World, agent: str) -> None:
    manager = world.create(agent)
    manager.append_thinking_level_change("high")
    assert picture(world.store.home) == {}
    manager.append_message(QUESTION)
    assert manager.is_session_on_disk() == (agent == "pi")
    manager.append_message(ANSWER)
    path = Path(manager.get_session_file() or "")
    kinds = [value["type"] for value in lines_of(path)]
    assert kinds == [*(["title"] if agent == "omp" else []), "session", "thinking_level_change", "message", "message"]
    manager.append_custom_entry("x", {"n": 1})
    assert lines_of(path)[-1]["parentId"] == manager.get_entries()[-2]["id"]
    again = world.open(path, agent=agent)
    assert again.get_entries() == manager.get_entries()
    assert again.get_header() == manager.get_header()


def test_headers_and_entries_have_the_key_order_of_the_programs(world: World) -> None:
    pi = world.create(parent_session="/p.jsonl")
    first = pi.append_message(QUESTION)
    pi.append_custom_message_entry("t", "text", True, {"d": 1})
    pi.append_usage("cache_warm", "p", "m", {"input": 1}, "note")
    pi.append_label_change(first, "mark")
    pi.append_compaction("short", first, 10, details={"x": 1}, from_hook=False)
    pi.branch_with_summary(first, "left", {"r": []}, True)
    pi.append_context_edit(first, None)
    base = ["type", "id", "parentId", "timestamp"]
    assert [list(value) for value in lines_of(Path(pi.get_session_file() or ""))] == [
        ["type", "version", "id", "timestamp", "cwd", "parentSession"],
        [*base, "message"],
        ["type", "customType", "content", "display", "details", "id", "parentId", "timestamp"],
        [*base, "kind", "provider", "model", "usage", "note"],
        [*base, "targetId", "label"],
        [*base, "summary", "firstKeptEntryId", "tokensBefore", "details", "fromHook"],
        [*base, "fromId", "summary", "details", "fromHook"],
        [*base, "targetId", "replacement"],
    ]
    assert pi.get_entries()[-2]["fromId"] == pi.get_entries()[-3]["id"]
    name = os.path.basename(pi.get_session_file() or "")
    stamp = str(pi.get_header()["timestamp"]).replace(":", "-").replace(".", "-")
    assert name == f"{stamp}_{pi.get_session_id()}.jsonl"
    assert pi.get_session_id()[14] == "7"
    assert world.create("indusagi").get_session_id()[14] == "4"


def test_pi_puts_the_system_prompt_of_now_into_a_compaction(world: World) -> None:
    pi = world.create()
    tools = [{"name": "read"}, {"name": "bash"}]
    pi.append_message(
        {"role": "system", "content": "base", "sections": {"a": "1"}, "toolsAdded": tools, "timestamp": 5}
    )
    pi.append_message(QUESTION)
    pi.append_message({"role": "system", "content": "", "sections": {"a": None, "b": "2"}, "toolsRemoved": [tools[0]]})
    compaction = pi.get_entry(pi.append_compaction("s", None, 1)) or {}
    assert compaction["firstKeptEntryId"] == compaction["id"]
    assert compaction["systemMessage"] == {
        "role": "system",
        "content": "base",
        "sections": {"b": "2"},
        "toolsAdded": [tools[1]],
        "timestamp": compaction["systemMessage"]["timestamp"],
    }
    roles = [message["role"] for message in pi.build_session_context().messages]
    assert roles == ["system", "compactionSummary"]


def test_looking_writes_nothing_and_makes_no_folder(world: World) -> None:
    v1 = [{key: value for key, value in header().items() if key != "version"}]
    world.store.session(head=v1, entries=[{"type": "message", "timestamp": "t", "message": QUESTION}], name="v1.jsonl")
    torn = world.store.session(end=b'{"type":"mess', name="torn.jsonl")
    before = picture(world.store.home)
    for agent in AGENTS:
        SessionManager.list("/projects/webshop", agent=agent, environment=world.environment)
        SessionManager.list_all(agent=agent, environment=world.environment)
        SessionManager.continue_recent("/never/seen", agent=agent, environment=world.environment)
        SessionManager.find_by_id("/never/seen", "x", agent=agent, environment=world.environment)
        world.create(agent)
    for name in ("v1.jsonl", "torn.jsonl"):
        manager = world.open(torn.parent / name)
        manager.get_tree()
        manager.build_session_context()
    world.open(world.store.home / "missing" / "x.jsonl")
    assert picture(world.store.home) == before
    assert sorted(os.listdir(world.store.home)) == [".pi"]


def test_a_missing_or_empty_file_becomes_a_session_with_its_first_message(world: World) -> None:
    for path in (world.store.folder / "new" / "deep" / "a.jsonl", world.store.folder / "empty.jsonl"):
        if path.name == "empty.jsonl":
            path.write_bytes(b"")
        manager = world.open(path, agent="pi")
        assert not manager.is_session_on_disk()
        manager.append_message(QUESTION)
        manager.append_message(ANSWER)
        assert [value["type"] for value in lines_of(path)] == ["session", "message", "message"]
        assert open_session(path).problems == ()


def test_what_the_program_would_refuse_is_refused(world: World) -> None:
    path = world.store.session(head=[], entries=[user("00000001", None, "x")])
    with pytest.raises(NotASession, match="refuses"):
        world.open(path)
    with pytest.raises(RefusedWrite, match="letters"):
        world.create(id="../x")
    v1 = {key: value for key, value in header().items() if key != "version"}
    old = world.store.session(head=[v1], entries=[{"type": "message", "timestamp": "t", "message": QUESTION}])
    before = old.read_bytes()
    with pytest.raises(RefusedWrite, match="version 1"):
        world.open(old).append_message(QUESTION)
    assert old.read_bytes() == before


def test_what_others_write_meanwhile_stays_on_the_branch(world: World) -> None:
    path = world.store.session()
    manager = world.open(path)
    with open(path, "ab") as file:
        file.write(line(user("0000000a", "00000008", "from pi")))
    manager.append_label_change("00000002", "mark")
    assert [one["id"] for one in manager.get_branch()][-2] == "0000000a"
    assert open_session(path).labels
    # A manager that stands elsewhere keeps its place.
    manager.branch("00000006")
    with open(path, "ab") as file:
        file.write(line(user("0000000b", manager.get_entries()[-1]["id"], "more from pi")))
    manager.append_message(QUESTION)
    assert manager.get_entries()[-1]["parentId"] == "00000006"
    assert manager.get_entry("0000000b")


def test_a_name_and_a_label_leave_the_time_of_change(world: World) -> None:
    path = world.store.session()
    manager = world.open(path)
    manager.append_session_info(" two\r\nlines ")
    manager.append_label_change("00000002", "x")
    assert path.stat().st_mtime_ns == LONG_AGO_NS
    assert manager.get_session_name() == open_session(path).name == "two lines"
    manager.append_message(QUESTION)
    assert path.stat().st_mtime_ns != LONG_AGO_NS


def test_a_failed_write_leaves_memory_as_the_file_is(world: World) -> None:
    path = world.store.session()
    manager = world.open(path)
    before = path.read_bytes()
    manager.append_message(QUESTION)
    entries = manager.get_entries()
    for at in range(1, 4):
        with failing_disk(at, fails_with(28)), pytest.raises((WriteFailed, OSError)):
            manager.append_message(ANSWER)
        if len(lines_of(path)) == 10:
            break
    assert manager.get_entries() == entries
    assert path.read_bytes().startswith(before)
    fresh = world.create()
    with failing_disk(2, fails_with(28)), pytest.raises(WriteFailed):
        fresh.append_message(QUESTION)
    assert (fresh.get_entries(), fresh.get_leaf_id()) == ([], None)


def test_an_omp_that_may_have_the_session_open_is_not_harmed(world: World) -> None:
    path = world.store.session("omp")
    os.utime(path, ns=(1, int(NOW_MS * 1_000_000)))
    with pytest.raises(InUse, match="stops saving"):
        world.open(path).append_label_change("00000002", "x")
    world.store.session("omp")
    manager = world.open(path)
    manager.append_label_change("00000002", "x")
    manager.append_label_change("00000002", None)
    assert world.open(path, force=True).get_label("00000002") is None


def test_omps_title_goes_into_the_slot_and_is_noted(world: World) -> None:
    manager = world.create("omp")
    assert manager.set_session_name("first", "auto")
    manager.append_message(ANSWER)
    path = Path(manager.get_session_file() or "")
    assert lines_of(path)[0]["title"] == "first"
    assert manager.set_session_name("  second\n title ", "user")
    assert not manager.set_session_name("third", "auto")
    slot, _, *entries = lines_of(path)
    assert (slot["title"], slot["source"], manager.title_source) == ("second title", "user", "user")
    assert [one.get("title") for one in entries] == ["first", None, "second title"]
    assert entries[-1]["previousTitle"] == "first"
    assert open_session(path).name == "second title"
    with pytest.raises(RefusedWrite, match="omp has no append_session_info"):
        manager.append_session_info("x")
    plain = world.store.session("omp", slot=None, name="plain.jsonl")
    old = world.open(plain)
    assert old.set_session_name("now named", "user")
    assert open_session(plain).name == "now named"


def test_methods_of_one_program_are_refused_for_the_others(world: World) -> None:
    pi, omp = world.create(), world.create("omp")
    with pytest.raises(RefusedWrite, match="pi has no append_reset_boundary: only omp can do that"):
        pi.append_reset_boundary()
    with pytest.raises(RefusedWrite, match="omp has no append_usage"):
        omp.append_usage("k", "p", "m", {})
    with pytest.raises(NoSuchEntry):
        pi.branch("nowhere")
    with pytest.raises(NoSuchEntry):
        pi.append_label_change("nowhere", "x")


def test_what_omp_appends_beside_the_branch_does_not_move_the_leaf(world: World) -> None:
    omp = world.create("omp")
    first = omp.append_message(QUESTION)
    leaf = omp.append_message(ANSWER)
    aside = omp.append_message_to_branch(QUESTION, first)
    assert omp.get_leaf_id() == leaf
    used = omp.append_model_usage({"purpose": "title", "model": "m"}, first)
    assert omp.get_leaf_id() == leaf
    assert omp.append_model_usage({"purpose": "title"}, leaf) == omp.get_leaf_id()
    assert (omp.get_entry(aside) or {})["parentId"] == (omp.get_entry(used) or {})["parentId"] == first
    omp.append_message(QUESTION)
    assert [one["id"] for one in world.open(omp.get_session_file(), force=True).get_branch()][:2] == [first, leaf]


def test_contexts_follow_the_rules_of_each_program(world: World) -> None:
    edits = [*CONVERSATION, entry("context_edit", "0000000a", "00000008", targetId="00000006", replacement=None)]
    pi = world.open(world.store.session(entries=edits)).build_session_context()
    assert [message["role"] for message in pi.messages] == [
        "user",
        "assistant",
        *["toolResult"] * 2,
        "user",
        "assistant",
    ]
    assert pi.model is not None
    assert (pi.model.provider, pi.model.model_id, pi.thinking_level) == ("anthropic", "claude-sonnet-4-5", "off")
    omp = world.open(world.store.session("omp", [*CONVERSATION, entry("reset_boundary", "0000000a", "00000008")]))
    assert omp.build_session_context().messages == []
    assert omp.build_session_context().models == {"default": "a/b"}
    details = {"strategy": "verbatim-lines"}
    compaction = entry(
        "compaction", "0000000a", "00000008", summary="[User]: x", firstKeptEntryId=None, details=details
    )
    (boundary,) = (
        world.open(world.store.session("atomic", [*CONVERSATION, compaction])).build_session_context().messages
    )
    assert (boundary["role"], boundary["customType"]) == ("custom", "compaction")
    assert boundary["content"][0]["text"].endswith("[User]: x")
    kept = entry("compaction", "0000000b", "00000008", summary="s", firstKeptEntryId="00000007", tokensBefore=1)
    older = world.open(world.store.session("indusagi", [*CONVERSATION, kept])).build_session_context()
    assert [message["role"] for message in older.messages] == ["compactionSummary", "user", "assistant"]


def test_a_branched_session_takes_the_place_of_the_manager(world: World) -> None:
    path = world.store.session(
        entries=[*CONVERSATION, entry("label", "0000000a", "00000008", targetId="00000003", label="x")]
    )
    before = path.read_bytes()
    manager = world.open(path)
    made = manager.create_branched_session("00000006")
    assert made == manager.get_session_file() != str(path)
    assert manager.get_header()["parentSession"] == str(path)
    assert [one["id"] for one in manager.get_branch()][:6] == [f"{number:08}" for number in range(1, 7)]
    assert manager.get_label("00000003") == "x"
    manager.append_message(QUESTION)
    assert open_session(made or "").problems == ()
    assert path.read_bytes() == before
    memory = SessionManager.in_memory(environment=world.environment, entries=[header(), *CONVERSATION])
    assert memory.create_branched_session("00000002") is None
    assert [one["id"] for one in memory.get_entries()] == ["00000001", "00000002"]
    empty = world.create()
    setting = empty.append_thinking_level_change("low")
    assert not Path(empty.create_branched_session(setting) or "").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_fork_from_another_directory_is_written_at_once(world: World, agent: str) -> None:
    path = world.store.session(agent)
    fork = SessionManager.fork_from(path, "/projects/other", agent=agent, environment=world.environment)
    assert Path(fork.get_session_file() or "").parent == Path(
        SessionManager.get_default_session_dir("/projects/other", agent=agent, environment=world.environment)
    )
    assert [one["id"] for one in fork.get_entries()] == [one["id"] for one in CONVERSATION]
    fork.append_message(QUESTION)
    assert (fork.get_header()["cwd"], open_session(fork.get_session_file() or "").problems) == ("/projects/other", ())


def test_lists_are_those_of_the_program_with_progress(world: World) -> None:
    first = world.store.session(name="a.jsonl")
    second = world.store.session(name="b.jsonl", entries=[user("00000001", None, "only")], head=[header(id="b")])
    (first.parent / "c.jsonl").write_text("no session\n")
    seen: list[tuple[int, int, bool]] = []
    found = SessionManager.list(
        "/projects/webshop",
        on_progress=lambda one: seen.append((one.loaded, one.total, one.session is None)),
        environment=world.environment,
    )
    assert [one.path for one in found] == [str(first), str(second)]
    assert found[0].first_message == "first question"
    assert found[0].all_messages_text.startswith("first question I look first answer")
    assert seen == [(1, 3, True), (2, 3, False), (3, 3, False)]
    assert SessionManager.list("/projects/webshop", cancelled=lambda: True, environment=world.environment) == []
    assert len(SessionManager.list_all(environment=world.environment)) == 2
    flat = str(first.parent)
    assert (
        SessionManager.list("/projects/other", flat + "/../--projects-webshop--", environment=world.environment) == []
    )
    os.utime(second, ns=(1, LONG_AGO_NS + 1))
    assert SessionManager.continue_recent("/projects/webshop", environment=world.environment).get_session_id() == "b"
    assert SessionManager.find_by_id("/projects/webshop", "b", environment=world.environment) == str(second)
    assert SessionManager.find_by_id("/projects/webshop", "B", environment=world.environment) is None


def test_omp_continues_the_newest_session_that_is_not_empty(world: World) -> None:
    talked = world.create("omp")
    talked.append_message(QUESTION)
    talked.append_message(ANSWER)
    path = Path(str(talked.get_session_file()))
    empty = path.with_name(f"2028{path.name[4:]}")
    empty.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    os.utime(path, ns=(1, LONG_AGO_NS))
    os.utime(empty, ns=(1, LONG_AGO_NS + 1))
    found = SessionManager.continue_recent("/projects/webshop", agent="omp", environment=world.environment)
    assert found.get_session_file() == str(path)
    listed = SessionManager.list("/projects/webshop", agent="omp", environment=world.environment)
    assert {one.path for one in listed} == {str(path), str(empty)}


def test_atomics_workflow_stages_are_listed_only_on_request(world: World) -> None:
    stage = {"runId": "r", "stageId": "s", "stageName": "n"}
    manager = world.create("atomic", internal=True, workflow=stage)
    manager.append_message(ANSWER)
    assert manager.get_header()["workflow"] == stage
    assert "internal" not in world.create("atomic", internal=True).get_header()
    assert SessionManager.list("/projects/webshop", agent="atomic", environment=world.environment) == []
    (found,) = SessionManager.list(
        "/projects/webshop", agent="atomic", include_internal=True, environment=world.environment
    )
    assert found.internal
    assert (
        SessionManager.continue_recent("/projects/webshop", agent="atomic", environment=world.environment).get_entries()
        == []
    )


@pytest.mark.slow
def test_chains_as_deep_as_files_can_be_do_not_overflow(world: World) -> None:
    deep = 200_000
    entries = [{"type": "custom", "id": str(n), "parentId": str(n - 1) if n else None} for n in range(deep)]
    manager = SessionManager.in_memory(entries=entries, environment=world.environment)
    (root,) = manager.get_tree()
    assert root != manager.get_tree()[0]
    assert len({root}) == 1
    assert len(manager.get_branch()) == deep
    del root
    gc.collect()


def test_cycles_of_parents_end_at_the_first_repeat(world: World) -> None:
    entries = [entry("custom", "a", "b"), entry("custom", "b", "a")]
    manager = SessionManager.in_memory(entries=entries, environment=world.environment)
    assert [one["id"] for one in manager.get_branch()] == ["a", "b"]
    assert manager.get_tree() == []
    assert build_session_context(entries).messages == []


def test_the_module_functions_work_on_plain_lists(world: World) -> None:
    content = b"".join(line(value) for value in [header(), *CONVERSATION]).decode() + "not json\n\n"
    values = parse_session_entries(content)
    assert len(values) == 9
    assert get_latest_compaction_entry(values) is None
    assert [message["role"] for message in build_session_context(values[1:], "00000002").messages] == ["user"]
    assert build_session_context(values[1:], None).messages == []
    old: list[dict[str, Any]] = [
        {"type": "session", "id": "x"},
        {"type": "message", "message": {"role": "hookMessage"}},
        {"type": "compaction", "firstKeptEntryIndex": 1},
    ]
    migrate_session_entries(old)
    assert old[0]["version"] == 3
    assert old[1]["message"] == {"role": "custom"}
    assert old[2]["firstKeptEntryId"] == old[1]["id"] == old[2]["parentId"]
    assert "firstKeptEntryIndex" not in old[2]


def test_messages_may_be_structs_of_the_format(world: World) -> None:
    source = open_session(world.store.session())
    manager = world.create()
    for index in range(len(source.envelopes)):
        stored = source.entry(index)
        if source.envelopes[index].type == "message":
            manager.append_message(msgspec.structs.asdict(stored)["message"])
    written = [value["message"] for value in lines_of(Path(manager.get_session_file() or ""))[1:]]
    assert written == [one["message"] for one in CONVERSATION if one["type"] == "message"]
    assert "1786608001000}" in Path(manager.get_session_file() or "").read_text()
