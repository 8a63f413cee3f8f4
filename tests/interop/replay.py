"""Write a session again through our `SessionManager`, call by call, as an extension of the program would have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sessionbrowse import SessionManager
from sessionbrowse.text import parse_time

Json = Any
_BASE = ("type", "id", "parentId", "timestamp")


def replayed(source: SessionManager, folder: Path) -> tuple[SessionManager, dict[str, str]]:
    """Return a new session with the same entries, and the new ids by the old ones."""
    made = SessionManager.create(source.get_cwd(), folder, agent=source.agent)
    ids: dict[str, str] = {}
    for entry in source.get_entries():
        parent = entry.get("parentId")
        if parent is None:
            made.reset_leaf()
        else:
            made.branch(ids[parent])
        ids[entry["id"]] = _append(made, entry, ids)
    return made, ids


def _append(made: SessionManager, entry: dict[str, Json], ids: dict[str, str]) -> str:
    own = {key: value for key, value in entry.items() if key not in _BASE}

    def optional(**names: str) -> dict[str, Json]:
        return {name: own[key] for name, key in names.items() if key in own}

    def known(entry_id: str) -> str:
        return ids.get(entry_id, entry_id)

    match entry["type"]:
        case "message":
            return made.append_message(own["message"])
        case "thinking_level_change":
            return made.append_thinking_level_change(own["thinkingLevel"], **optional(configured="configured"))
        case "model_change" if made.agent == "omp":
            more = optional(role="role", is_fallback="resolvedModelIsFallback")
            return made.append_model_change(own["model"], **more)
        case "model_change":
            return made.append_model_change(own["provider"], own["modelId"])
        case "usage":
            return str(made.append_usage(**own)["id"])
        case "compaction":
            kept = None if own["firstKeptEntryId"] == entry["id"] else known(own["firstKeptEntryId"])
            more = optional(
                details="details",
                usage="usage",
                short_summary="shortSummary",
                tokens_after="tokensAfter",
                method="method",
                preserve_data="preserveData",
            ) | optional(from_hook="fromExtension" if made.agent == "omp" else "fromHook")
            if "providerReplayThroughEntryId" in own:
                more["provider_replay_through_entry_id"] = known(own["providerReplayThroughEntryId"])
            return made.append_compaction(own["summary"], kept, own["tokensBefore"], **more)
        case "branch_summary":
            more = optional(details="details", usage="usage")
            more |= optional(from_hook="fromExtension" if made.agent == "omp" else "fromHook")
            at = made.get_leaf_id()
            if own["fromId"] in ids:
                made.branch(ids[own["fromId"]])
            elif made.agent == "pi":
                made.reset_leaf()
            return made.branch_with_summary(at, own["summary"], **more)
        case "custom":
            return made.append_custom_entry(own["customType"], **optional(data="data"))
        case "custom_message":
            more = optional(details="details", attribution="attribution")
            if made.agent == "omp":
                more["timestamp_ms"] = parse_time(entry["timestamp"])
            return made.append_custom_message_entry(own["customType"], own["content"], own["display"], **more)
        case "label":
            return made.append_label_change(known(own["targetId"]), own.get("label"))
        case "session_info":
            return made.append_session_info(own["name"])
        case "context_edit":
            return made.append_context_edit(known(own["targetId"]), own["replacement"])
        case "service_tier_change":
            return made.append_service_tier_change(own["serviceTier"])
        case "mode_change":
            return made.append_mode_change(own["mode"], **optional(data="data"))
        case "session_init":
            return made.append_session_init(own)
        case "reset_boundary":
            return made.append_reset_boundary()
        case "ttsr_injection":
            return made.append_ttsr_injection(own["injectedRules"])
        case "credential_pin":
            return made.append_credential_pin(own["provider"], own["hash"])
        case "model_usage":
            return made.append_model_usage(own, made.get_leaf_id())
        case "title_change":
            previous = made.get_leaf_id()
            assert made.set_session_name(own["title"], own["source"], own.get("trigger"))
            leaf = made.get_leaf_id()
            assert leaf is not None
            assert leaf != previous
            return leaf
        case kind:
            raise ValueError(f"{made.agent} has no method for {kind}")


def described(manager: SessionManager) -> dict[str, Json]:
    """Return what a manager says of its session, in the words of manage_pi.mjs and manage_omp.ts."""
    entries = manager.get_entries()
    labels = {entry["id"]: manager.get_label(entry["id"]) for entry in entries if "id" in entry}
    context = manager.build_session_context()
    said: dict[str, Json] = {
        "header": manager.get_header(),
        "name": manager.get_session_name(),
        "leaf": manager.get_leaf_id(),
        "entries": entries,
        "branch": [entry.get("id") for entry in manager.get_branch()],
        "labels": {entry_id: label for entry_id, label in labels.items() if label is not None},
        "tree": _flat(manager),
    }
    if manager.agent == "omp":
        return said | {
            "titleSource": manager.title_source,
            "context": {
                "messages": context.messages,
                "thinkingLevel": context.thinking_level,
                "models": context.models,
                "serviceTier": context.service_tier,
                "mode": context.mode,
                "modeData": context.mode_data,
                "injectedTtsrRules": list(context.injected_ttsr_rules),
                "configuredThinkingLevel": context.configured_thinking_level,
            },
        }
    model = context.model and {"provider": context.model.provider, "modelId": context.model.model_id}
    return said | {
        "children": [[child.get("id") for child in manager.get_children(entry.get("id"))] for entry in entries[:20]],
        "contextEntries": [entry.get("id") for entry in manager.build_context_entries()],
        "context": {"messages": context.messages, "thinkingLevel": context.thinking_level, "model": model},
    }


def without_absent(value: Json) -> Json:
    """Return a value without keys that are null: JSON cannot tell them from JavaScript's undefined."""
    if isinstance(value, dict):
        return {key: without_absent(item) for key, item in value.items() if item is not None}
    return [without_absent(item) for item in value] if isinstance(value, list) else value


def _flat(manager: SessionManager) -> list[list[Json]]:
    found: list[list[Json]] = []
    stack = [(0, node) for node in reversed(manager.get_tree())]
    while stack:
        depth, node = stack.pop()
        found.append([depth, node.entry.get("id"), node.label, node.label_timestamp])
        stack += [(depth + 1, child) for child in reversed(node.children)]
    return found
