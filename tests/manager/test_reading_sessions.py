"""Reading a session through `SessionManager`: state, tree, names and context, each by its program's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessionbrowse import (
    SessionManager,
    build_session_context,
    parse_session_entries,
    session_entry_to_context_messages,
)
from sessionbrowse.errors import NoSuchEntry, RefusedWrite
from sessionbrowse.manager.context import current_system_message
from tests.manager.test_session_manager import ANSWER, QUESTION, World
from tests.support.change_helpers import CONVERSATION, assistant, entry, header, user


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_session_tells_where_it_is_and_what_it_is(world: World) -> None:
    manager = world.create()
    assert (manager.agent, manager.is_persisted(), manager.is_session_on_disk()) == ("pi", True, False)
    assert manager.get_leaf_entry() is None
    first = manager.append_message(QUESTION)
    second = manager.append_message(ANSWER)
    assert manager.get_entry_count() == 2
    assert (manager.get_leaf_entry() or {})["id"] == manager.get_leaf_id() == second
    assert [one["id"] for one in manager.get_children(first)] == [second]
    assert [one["id"] for one in manager.get_children(None)] == [first]
    assert manager.get_entry("none") is None
    assert manager.get_recorded_cwd() == manager.get_cwd() == "/projects/webshop"
    assert manager.uses_default_session_dir()
    again = world.open(manager.get_session_file())
    assert again.get_session_dir() == manager.get_session_dir()
    elsewhere = world.create(session_dir=str(world.store.folder / "mine"))
    assert not elsewhere.uses_default_session_dir()
    (root,) = manager.get_tree()
    assert repr(root) == f"<SessionTreeNode message {first}, 1 children>"


def test_a_session_in_memory_has_no_file(world: World) -> None:
    manager = SessionManager.in_memory("/projects/webshop", environment=world.environment)
    manager.append_message(QUESTION)
    assert (manager.is_persisted(), manager.get_session_file(), manager.get_session_dir()) == (False, None, "")


def test_a_name_is_named_cleared_or_missing(world: World) -> None:
    manager = world.create()
    assert manager.get_session_name_state() == "unnamed"
    manager.append_session_info("first")
    assert (manager.get_session_name(), manager.get_session_name_state()) == ("first", "named")
    manager.append_session_info("")
    assert (manager.get_session_name(), manager.get_session_name_state()) == (None, "cleared")


def test_omps_own_entries_are_told_from_the_branch(world: World) -> None:
    roles = [
        entry("model_change", "00000010", "00000008", model="a/b", role="smol"),
        entry("ttsr_injection", "00000011", "00000010", injectedRules=["no-any", "short"]),
        entry("ttsr_injection", "00000012", "00000011", injectedRules=["short", "late"]),
        entry("credential_pin", "00000013", "00000012", provider="anthropic", hash="abc"),
        assistant("00000014", "00000013", "used it", provider="anthropic"),
    ]
    path = world.store.session("omp", [*CONVERSATION, *roles], head=[header(additionalDirectories=["/x"])])
    manager = world.open(path, agent="omp")
    assert manager.get_additional_directories() == ["/x"]
    assert manager.get_last_model_change_role() == "smol"
    assert manager.get_injected_ttsr_rules() == ["no-any", "short", "late"]
    (pin,) = manager.get_credential_pins().items()
    answered = manager.get_entries()[-1]["message"]["timestamp"]
    assert (pin[0], pin[1]["hash"], pin[1]["last_used_at"]) == (
        "anthropic",
        "abc",
        max(answered, pin[1]["last_used_at"]),
    )
    assert manager.title_source == "auto"
    manager.branch("00000001")
    assert manager.get_last_model_change_role() == "default"
    assert manager.get_credential_pins() == {}
    empty = world.create("omp")
    assert empty.get_last_model_change_role() is None
    assert empty.get_injected_ttsr_rules() == []


def test_omp_refuses_what_its_files_cannot_hold(world: World) -> None:
    manager = world.create("omp")
    first = manager.append_message(QUESTION)
    with pytest.raises(RefusedWrite, match="first_kept_entry_id"):
        manager.append_compaction("short", None, 10)
    copied = {"type": "custom", "id": "copied00", "parentId": first, "timestamp": "2026-08-13T08:00:00.000Z"}
    manager.ingest_replicated_entry(copied | {"customType": "x"})
    assert manager.get_entries()[-1] == copied | {"customType": "x"}
    with pytest.raises(RefusedWrite, match="does not have yet"):
        manager.ingest_replicated_entry(copied)
    with pytest.raises(TypeError):
        manager.ingest_replicated_entry({"id": "n", "parentId": 7})


def test_pis_edits_of_the_context_are_checked_and_done(world: World) -> None:
    manager = world.create()
    question = manager.append_message(QUESTION)
    answered = manager.append_message(ANSWER)
    level = manager.append_thinking_level_change("high")
    with pytest.raises(RefusedWrite, match="replacement"):
        manager.append_context_edit(question, {"content": 7})
    with pytest.raises(RefusedWrite, match="nothing that can be edited"):
        manager.append_context_edit(level, None)
    with pytest.raises(NoSuchEntry):
        manager.append_context_edit("none", None)
    manager.append_context_edit(answered, {"content": "shorter"})
    assert manager.get_entries()[-1]["replacement"] == {"content": [{"type": "text", "text": "shorter"}]}
    said = manager.build_session_context().messages[-1]["content"]
    assert said == [{"type": "text", "text": "shorter"}]
    manager.branch(question)
    with pytest.raises(NoSuchEntry, match="not on the active branch"):
        manager.append_context_edit(answered, None)


def test_pis_projection_names_the_entry_of_each_message(world: World) -> None:
    manager = world.create()
    for message in (QUESTION, ANSWER, QUESTION, ANSWER):
        manager.append_message(message)
    kept = manager.get_entries()[2]["id"]
    manager.append_compaction("the first half", kept, 10)
    projection = manager.build_session_projection()
    by_entry = [(one.source_entry["type"], len(one.messages)) for one in projection.entries]
    assert by_entry == [("compaction", 1), ("message", 1), ("message", 1)]
    assert [one["role"] for one in projection.messages] == ["compactionSummary", "user", "assistant"]
    assert [one["type"] for one in manager.build_context_entries()] == [kind for kind, _ in by_entry]
    assert (projection.thinking_level, projection.model) == ("off", manager.build_session_context().model)


def test_system_messages_of_a_context_become_one() -> None:
    tool, other = {"name": "bash"}, {"name": "edit"}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "be kind", "timestamp": 5, "sections": {"a": 1, "b": 2}, "toolsAdded": [tool]},
        QUESTION,
        {
            "role": "system",
            "content": [{"type": "text", "text": "be brief"}, {"type": "image"}],
            "timestamp": 9,
            "sections": {"a": None},
            "toolsAdded": [other],
            "toolsRemoved": [tool],
        },
    ]
    assert current_system_message(messages) == {
        "role": "system",
        "content": "be kind\n\nbe brief",
        "sections": {"b": 2},
        "toolsAdded": [other],
        "timestamp": 5,
    }
    assert current_system_message([QUESTION]) is None


def test_each_entry_gives_the_model_its_messages() -> None:
    def roles(value: dict[str, Any]) -> list[Any]:
        return [message.get("role") for message in session_entry_to_context_messages(value)]

    assert roles(user("a", None, "x")) == ["user"]
    assert roles(entry("message", "a", None, message="no object")) == []
    assert roles(entry("branch_summary", "a", None, summary="left", fromId="b")) == ["branchSummary"]
    assert roles(entry("branch_summary", "a", None, summary="")) == []
    assert roles(entry("model_change", "a", None)) == []
    system = {"role": "system", "content": "now"}
    assert roles(entry("compaction", "a", None, summary="s", systemMessage=system)) == ["system", "compactionSummary"]
    (repaired,) = session_entry_to_context_messages(entry("message", "a", None, message={"role": "assistant"}))
    assert repaired["content"] == []
    (custom,) = session_entry_to_context_messages(entry("custom_message", "a", None, customType="t", content=None))
    assert custom["content"] == []


def test_lines_that_are_no_json_and_trees_without_ids_are_read_as_pi_reads_them() -> None:
    values = parse_session_entries('{"type":"session"}\n\nnot json\n{"id":"a","parentId":"a"}\n')
    assert values == [{"type": "session"}, {"id": "a", "parentId": "a"}]
    assert build_session_context([], None).messages == []
    looped = [user("a", "b", "one"), user("b", "a", "two")]
    assert [one["content"][0]["text"] for one in build_session_context(looped).messages] == ["one", "two"]
    assert [one["content"][0]["text"] for one in build_session_context(looped, "a").messages] == ["two", "one"]
