"""The text of an entry's row in a tree, and the text that the tree's search reads, as in omp 18.2.3."""

from __future__ import annotations

import re

from sessionbrowse.format.json_value import MISSING, Json, cut, is_true, string, to_number, trim
from sessionbrowse.model.tree import row_text_pi
from sessionbrowse.model.tree.tool_call_text import (
    TEXT_UNITS,
    Call,
    Fields,
    is_text_block,
    one_line,
    shown_field,
    words,
)
from sessionbrowse.text import truncate

_ERROR_UNITS = row_text_pi.ERROR_UNITS
_NOTE_CELLS = 80
_TAB = "   "
# These bits of `errorId` are the reasons why an answer ended; older files have the reasons as words in `errorMessage`.
_SILENT, _BY_USER, _ABORTED = 0x0200_0000, 0x0400_0000, 0x0800_0000
_SILENT_WORDS, _BY_USER_WORDS = "__omp.silent_abort__", "Interrupted by user"
_ABORTED_WORDS = "Request was aborted"

_SYSTEM_WRAPPER = re.compile(
    r"""<(system-[\w-]+)(?:[\s\ufeff](?:[^"'<>]|"[^"]*"|'[^']*')*)?>""", re.IGNORECASE | re.ASCII
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def row_text(kind: str, role: str, entry: Fields, call: Call | None, home: str) -> str:
    """Return the text of an entry's row in omp's tree.

    For a tool result, `call` is the tool call; None if the call is not in the file. Paths below `home` begin with `~`.
    """
    match kind:
        case "message":
            message = entry.get("message")
            if message is None:
                return row_text_pi.NO_MESSAGE
            return _message(role, message if isinstance(message, dict) else {}, call, home)
        case "custom_message" if entry.get("customType") == "advisor":
            qualifier, notes = _advice(entry)
            return f"advisor ({qualifier}): {one_line(notes)}" if qualifier else f"advisor: {one_line(notes)}"
        case "custom_message":
            text = _without_wrapper(_joined_text(entry.get("content")))
            return f"[{shown_field(entry, 'customType')}]: {one_line(text)}"
        case "compaction":
            return row_text_pi.compaction_text(entry)
        case "branch_summary":
            return f"[branch summary]: {one_line(entry.get('summary'))}"
        case "model_change":
            return f"[model: {shown_field(entry, 'model')}]"
        case "model_usage":
            purpose, used_as, provider, model = (_field(entry.get(key)) for key in _USAGE_KEYS)
            return f"[model usage: {purpose} {used_as + ' ' if used_as else ''}{provider}/{model}]"
        case "thinking_level_change":
            return f"[thinking: {_thinking(entry)}]"
        case "custom":
            return f"[custom: {shown_field(entry, 'customType')}]"
        case "label":
            return row_text_pi.label_text(entry)
        case "service_tier_change":
            tiers = _tiers(entry)
            families = " ".join([f"{family}:{string(tier)}" for family, tier in tiers])
            return f"[service tier: {families if is_true(entry.get('serviceTier')) else '(default)'}]"
        case "title_change":
            return f"[title: {one_line(entry.get('title'))}]"
        case "mode_change":
            return f"[mode: {shown_field(entry, 'mode')}]"
        case "credential_pin":
            return f"[credential pin: {shown_field(entry, 'provider')}]"
        case _:
            return f"[{kind.replace('_', ' ')}]"


def search_text(kind: str, role: str, entry: Fields) -> str:
    """Return the text in which the search of omp's tree looks for a query: an entry's text without the label."""
    match kind:
        case "message":
            message = entry.get("message")
            if not isinstance(message, dict):
                return ""
            command = message.get("command") if role == "bashExecution" else None
            return words(role, _first_text(message.get("content")), command)
        case "custom_message" if entry.get("customType") == "advisor":
            return words("advisor", *_advice(entry))
        case "custom_message":
            text = _without_wrapper(_joined_text(entry.get("content")))
            return words(entry.get("customType"), cut(text, TEXT_UNITS))
        case "branch_summary":
            return words("branch summary", entry.get("summary"))
        case "model_change":
            return words("model", entry.get("model"))
        case "model_usage":
            return words("model usage", *[_field(entry.get(key)) for key in _USAGE_KEYS])
        case "thinking_level_change":
            return words("thinking", _thinking(entry))
        case "custom":
            return words("custom", entry.get("customType"))
        case "label":
            return words("label", entry.get("label"))
        case "service_tier_change":
            return words("service tier", *[part for tier in _tiers(entry) if is_true(tier[1]) for part in tier])
        case "title_change":
            return words("title", entry.get("title"))
        case "mode_change":
            return words("mode", entry.get("mode"))
        case "credential_pin":
            return words("credential pin", entry.get("provider"))
        case "ttsr_injection":
            rules = entry.get("injectedRules")
            return words("ttsr injection", *(rules if isinstance(rules, list) else []))
        case "compaction" | "reset_boundary" | "session_init":
            return kind.replace("_", " ")
        case _:
            return ""


_USAGE_KEYS = ("purpose", "role", "provider", "model")


def _message(role: str, message: Fields, call: Call | None, home: str) -> str:
    match role:
        case "user" | "developer":
            return f"{role}: {one_line(_first_text(message.get('content')))}"
        case "assistant":
            return f"assistant: {_answer(message)}"
        case "toolResult":
            return row_text_pi.tool_result_text("omp", message, call, home)
        case "bashExecution":
            return f"[bash]: {one_line(message.get('command'))}"
        case _:
            return f"[{role or string(message.get('role', MISSING))}]"


def _answer(message: Fields) -> str:
    """Return the row text of an answer: omp's note on a successful retry, else the answer's text.

    For an answer without text, return the reason why it ended.
    """
    recovery = message.get("retryRecovery")
    status = recovery.get("status") if isinstance(recovery, dict) else None
    if status == "recovered" and isinstance(recovery, dict):
        note = " ".join(string(recovery.get("note", "")).replace("\t", _TAB).split())
        return truncate(note or "retried", _NOTE_CELLS)
    text = one_line(_first_text(message.get("content")))
    if text:
        return text
    ended = "" if status == "superseded" else _why_it_ended(message)
    if ended:
        return cut(one_line(ended), _ERROR_UNITS)
    return "(aborted)" if message.get("stopReason") == "aborted" else "(no content)"


def _why_it_ended(message: Fields) -> str:
    error = message.get("errorMessage")
    said = string(error) if is_true(error) else ""
    bits = to_number(message.get("errorId"))
    flags = int(bits) if bits == bits and abs(bits) < 2**53 else 0
    quiet = flags & (_SILENT | _BY_USER) or said in (_SILENT_WORDS, _BY_USER_WORDS)
    if message.get("stopReason") == "error":
        return said or "Error"
    if quiet:
        return ""
    if message.get("stopReason") == "aborted":
        return "Operation aborted" if flags & _ABORTED or said in ("", _ABORTED_WORDS) else said
    return said


def _advice(entry: Fields) -> tuple[str, str]:
    """Return two texts of an omp advisor message: the distinct names and severities of its notes, and all notes."""
    details = entry.get("details")
    notes = details.get("notes") if isinstance(details, dict) else None
    notes = [note for note in notes if isinstance(note, dict)] if isinstance(notes, list) else []
    texts = [note["note"] for note in notes if isinstance(note.get("note"), str)]
    advisors = [_field(note.get("advisor")) for note in notes]
    severities = [_field(note.get("severity")) for note in notes]
    named = dict.fromkeys(name for name in advisors if name not in ("", "default"))
    graded = dict.fromkeys(severity for severity in severities if severity)
    return ", ".join([*named, *graded]), " ".join(texts)


def _thinking(entry: Fields) -> str:
    level = entry.get("thinkingLevel")
    return "off" if level is None else string(level)


def _tiers(entry: Fields) -> list[tuple[str, Json]]:
    """Return the service tiers of an entry as pairs (group of providers, tier).

    Older files have a single word in place of the pairs. For them, return (position, letter) pairs, because omp treats
    the word as a list of letters.
    """
    tiers = entry.get("serviceTier")
    if isinstance(tiers, dict):
        return list(tiers.items())
    return [(str(place), letter) for place, letter in enumerate(tiers)] if isinstance(tiers, str) else []


def _joined_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if is_text_block(block)]
    return "".join([text for text in texts if isinstance(text, str)])


def _first_text(content: Json) -> str:
    return cut(_joined_text(content), TEXT_UNITS)


def _without_wrapper(content: str) -> str:
    """Return a text without the `<system-…>` tag that encloses it, if there is one."""
    text = trim(content)
    opening = _SYSTEM_WRAPPER.match(text)
    if opening is None:
        return content
    closing = len(text) - len(f"</{opening[1]}>")
    if closing < opening.end() or text[closing:].lower() != f"</{opening[1]}>".lower():
        return content
    return trim(text[opening.end() : closing])


def _field(value: Json) -> str:
    """Return a JSON string as one line, without colour escapes, control characters and lone surrogates.

    Return "" for a JSON value that is not a string.
    """
    if not isinstance(value, str):
        return ""
    if _SURROGATES.search(value):
        value = _SURROGATES.sub("", value).replace("\ufffd", "")
    return one_line(_CONTROLS.sub("", _ESCAPES.sub("", value)))
