"""Each method that appends writes the entry of its agent, with that agent's keys, and refuses it to the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse import SessionManager
from sessionbrowse.errors import RefusedWrite
from tests.manager.test_session_manager import ANSWER, QUESTION, World

COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
USAGE = {"input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7, "cost": COST}
ENTRIES: list[tuple[str, str, tuple[Any, ...], dict[str, Any], dict[str, Any]]] = [
    (
        "omp",
        "append_compaction",
        ("short", "FIRST", 900),
        {"short_summary": "s", "tokens_after": 90, "method": "llm", "from_hook": True, "preserve_data": {"a": 1}},
        {
            "type": "compaction",
            "summary": "short",
            "shortSummary": "s",
            "firstKeptEntryId": "FIRST",
            "tokensBefore": 900,
            "tokensAfter": 90,
            "method": "llm",
            "fromExtension": True,
            "preserveData": {"a": 1},
        },
    ),
    ("omp", "append_model_change", ("openai/gpt-5", "smol"), {}, {"model": "openai/gpt-5", "role": "smol"}),
    (
        "omp",
        "append_custom_message_entry",
        ("todo", "read on", True),
        {"attribution": "agent"},
        {"type": "custom_message", "customType": "todo", "content": "read on", "attribution": "agent"},
    ),
    (
        "omp",
        "append_service_tier_change",
        ({"openai": "priority"},),
        {},
        {"type": "service_tier_change", "serviceTier": {"openai": "priority"}},
    ),
    (
        "omp",
        "append_mode_change",
        ("plan", {"step": 1}),
        {},
        {"type": "mode_change", "mode": "plan", "data": {"step": 1}},
    ),
    (
        "omp",
        "append_session_init",
        ({"task": "look", "tools": []},),
        {},
        {"type": "session_init", "task": "look", "tools": []},
    ),
    ("omp", "append_reset_boundary", (), {}, {"type": "reset_boundary"}),
    ("omp", "append_ttsr_injection", (["no-any"],), {}, {"type": "ttsr_injection", "injectedRules": ["no-any"]}),
    (
        "omp",
        "append_credential_pin",
        ("openai", "5f0c"),
        {},
        {"type": "credential_pin", "provider": "openai", "hash": "5f0c"},
    ),
    (
        "omp",
        "append_model_usage",
        ({"purpose": "title", "provider": "p", "model": "m", "usage": USAGE}, "LEAF"),
        {},
        {"type": "model_usage", "purpose": "title", "usage": USAGE, "parentId": "LEAF"},
    ),
    (
        "atomic",
        "append_custom_message_entry",
        ("stage", "wait", False),
        {"exclude_from_context": True, "stage_admission_key": "k", "protected_reconciliation": {"a": 1}},
        {
            "type": "custom_message",
            "customType": "stage",
            "excludeFromContext": True,
            "stageAdmissionKey": "k",
            "protectedReconciliation": {"a": 1},
        },
    ),
    (
        "atomic",
        "append_session_summary",
        ("what was done", "LEAF"),
        {},
        {"type": "session_summary", "summary": "what was done", "summarizedThroughId": "LEAF"},
    ),
    (
        "atomic",
        "append_compaction",
        ("short", None, 900),
        {"details": {"strategy": "verbatim-lines"}},
        {"type": "compaction", "firstKeptEntryId": None, "details": {"strategy": "verbatim-lines"}},
    ),
    ("pi", "append_compaction", ("short", "FIRST", 900), {"usage": USAGE}, {"type": "compaction", "usage": USAGE}),
    (
        "pi",
        "append_context_edit",
        ("LEAF", {"content": "shorter"}),
        {},
        {
            "type": "context_edit",
            "targetId": "LEAF",
            "replacement": {"content": [{"type": "text", "text": "shorter"}]},
        },
    ),
]


def begun(tmp_path: Path, agent: str) -> tuple[SessionManager, str, str]:
    """A session with a question and an answer, and their ids."""
    manager = World(tmp_path).create(agent)
    first = manager.append_message(QUESTION)
    return manager, first, manager.append_message(ANSWER)


def named(value: Any, first: str, leaf: str) -> Any:
    """The value, with the ids of the session in place of FIRST and LEAF."""
    return json.loads(json.dumps(value).replace("FIRST", first).replace("LEAF", leaf))


@pytest.mark.parametrize(("agent", "method", "arguments", "options", "expected"), ENTRIES)
def test_an_entry_has_the_keys_of_its_agent(
    tmp_path: Path,
    agent: str,
    method: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    manager, first, leaf = begun(tmp_path, agent)
    entry_id = getattr(manager, method)(*named(arguments, first, leaf), **options)
    path = manager.get_session_file()
    assert path is not None
    written = json.loads(Path(path).read_text().splitlines()[-1])
    assert written["id"] == entry_id
    assert written["parentId"] == leaf
    assert written | named(expected, first, leaf) == written


def test_a_message_below_an_earlier_entry_leaves_the_leaf_where_it_is(tmp_path: Path) -> None:
    manager, first, leaf = begun(tmp_path, "omp")
    aside = manager.append_message_to_branch(ANSWER, first)
    spent = manager.append_model_usage({"purpose": "title", "usage": USAGE}, first)
    assert manager.get_leaf_id() == leaf
    for entry_id in (aside, spent):
        entry = manager.get_entry(entry_id)
        assert entry is not None
        assert entry["parentId"] == first


SHARED = {"append_compaction", "append_model_change", "append_custom_message_entry"}


@pytest.mark.parametrize("method", sorted({method for agent, method, *_ in ENTRIES if agent == "omp"} - SHARED))
def test_what_only_omp_writes_is_refused_to_pi(tmp_path: Path, method: str) -> None:
    manager, _, leaf = begun(tmp_path, "pi")
    arguments = next(arguments for _, name, arguments, *_ in ENTRIES if name == method)
    with pytest.raises(RefusedWrite):
        getattr(manager, method)(*arguments)
    assert manager.get_leaf_id() == leaf


def test_what_an_agent_cannot_say_is_refused(tmp_path: Path) -> None:
    pi = World(tmp_path).create("pi")
    with pytest.raises(TypeError, match="model_id must be str"):
        pi.append_model_change("openai/gpt-5")
    with pytest.raises(TypeError, match="level must be str"):
        pi.append_thinking_level_change(None)
    omp, _, _ = begun(tmp_path, "omp")
    with pytest.raises(RefusedWrite, match="first kept entry"):
        omp.append_compaction("short", None, 900)
