"""The words of the format that the real programs' code declares are known here, so that a new one is noticed.

Read are the declarations that the programs' packages contain: entries, messages and blocks with their fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from sessionbrowse.format.codec import BLOCK_TYPES, ENTRY_TYPES, MESSAGE_TYPES, PLAIN_TYPES, UNREAD_KEYS
from sessionbrowse.format.entries import EntryBase, Header, Value
from sessionbrowse.model.context.message import SUMMARY_ROLES
from tests.interop import real

pytestmark = pytest.mark.interop

SOURCES = {
    "pi": ("dist/core/session-manager.d.ts", "dist/core/messages.d.ts", "docs/message-types.md"),
    "omp": (
        "pi-coding-agent/src/session/session-entries.ts",
        "pi-coding-agent/src/session/messages.ts",
        "pi-agent-core/src/compaction/messages.ts",
        "pi-ai/src/types.ts",
    ),
}
# Values inside of messages, which are kept whole.
NESTED = {"tokens", "computer", "openaiResponsesHistory", "anthropicMessage", "anthropicCompaction"}
KEPT: dict[str, str] = {
    "anthropicServerTool": "block",
    "assistant": "disabledFeatures errorClassificationMessage errorId errorStatus inputTransformations stopDetails "
    "requestBodyReadTimeoutFullReplay toolCallAbortMessages",
    "credential_pin": "provider hash",
    "developer": "attribution userInitiated",
    "fallback": "from to",
    "fileMention": "attribution",
    "image": "detail providerFile url",
    "mode_change": "data",
    "model_usage": "purpose role api provider model usage stopReason errorMessage",
    "session": "additionalDirectories previousSessionFiles providerPromptCacheKey titleSource",
    "session_init": "systemPrompt task tools agent modelRole resolvedModel readOnly outputSchema outputSchemaMode "
    "restrictToolNames spawns readSummarize advisor compactionThreshold isolated",
    "system": "replace",
    "text": "textSignature",
    "thinking": "itemId",
    "title_change": "title source trigger previousTitle",
    "toolCall": "customWireName namespace providerMetadata rawBlock thoughtSignature",
    "toolResult": "attribution providerMetadata",
    "usage": "kind provider model usage note",
    "user": "attribution",
}
"""Fields that no struct has: they are kept as they are, and shown with the entry. By entry type, role or block type."""


def declarations(program: str, version: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the types and roles that the program's package declares, each with its fields."""
    folder = real.pi_package(version) if program == "pi" else real.omp_folder(version) / "node_modules/@oh-my-pi"
    for source in SOURCES[program]:
        if (folder / source).is_file():
            yield from _interfaces((folder / source).read_text())


def _interfaces(text: str) -> Iterator[tuple[str, set[str]]]:
    for found in re.finditer(r"\binterface \w+[^{]*\{", text):
        depth, end = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        body = re.sub(r"/\*.*?\*/|//[^\n]*", "", text[found.end() : end - 1], flags=re.DOTALL)
        while (outer := re.sub(r"\{[^{}]*\}", "", body)) != body:
            body = outer
        kind = re.search(r'^\s*(?:type|role): "(\w+)";', body, re.MULTILINE)
        if kind is not None:
            yield kind[1], set(re.findall(r"^\s*(?:readonly )?(\w+)\??:", body, re.MULTILINE))


def _own_fields(kind: str) -> set[str]:
    tables: tuple[dict[str, type[Value]], ...] = (BLOCK_TYPES, MESSAGE_TYPES, {**ENTRY_TYPES, "session": Header})
    read = {field for table in tables for field in table.get(kind, EntryBase).__struct_encode_fields__}
    return {*read, "type", "role", "timestamp", *UNREAD_KEYS, *KEPT.get(kind, "").split()}


@pytest.mark.parametrize(("program", "version"), real.PROGRAMS)
def test_every_type_role_and_field_of_the_program_is_known(program: str, version: str) -> None:
    try:
        declared = list(declarations(program, version))
    except real.Unavailable as reason:
        pytest.skip(str(reason))
    assert len(declared) >= 15
    kinds = {*BLOCK_TYPES, *MESSAGE_TYPES, *ENTRY_TYPES, *PLAIN_TYPES, *SUMMARY_ROLES, *NESTED, "session"}
    assert {kind for kind, _ in declared} - kinds == set()
    unknown = {
        kind: sorted(fields - _own_fields(kind))
        for kind, fields in declared
        if kind not in NESTED and kind not in SUMMARY_ROLES and not fields <= _own_fields(kind)
    }
    assert unknown == {}
