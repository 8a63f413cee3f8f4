"""The facts of an entry that a search filters by: text, role, time, model and tools, read from its line."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.model.search.entry_text import done_text, message_text, tool_text
from sessionbrowse.model.search.query import CALLS, SearchQuery, has_excluded
from sessionbrowse.text import model_name, parse_time, without_sequences


class EntryFacts(Struct, frozen=True):
    """The facts of an entry that a search checks against a query: text, role, time, model, names of tools.

    `model` is `provider/model` in lower case, empty if the entry has none. The first `said` characters of `text` are
    the message itself; names in tool calls, or whole tool calls and results, follow.
    """

    text: str
    role: str
    time_ms: float | None
    model: str
    tool_names: tuple[str, ...]
    said: int


def facts_of(raw: bytes, *, tools: bool) -> EntryFacts | None:
    """Return the facts of the entry in the line `raw`, None if the line is not a JSON object; see `facts_in`."""
    try:
        value: Json = loads(raw)
    except BadJson:
        return None
    return facts_in(value, tools=tools) if isinstance(value, dict) else None


def facts_in(value: dict[str, Json], *, tools: bool) -> EntryFacts:
    """Return the facts of a decoded entry.

    The text includes the names in tool calls, with `tools` the whole tool calls and results. Escape sequences are not
    part of the text.
    """
    said = without_sequences(message_text(value))
    more = without_sequences(tool_text(value) if tools else done_text(value))
    text = f"{said}\n{more}" if said and more else said or more
    found = value.get("message")
    message: dict[str, Json] = found if isinstance(found, dict) else {}
    model = (model_name(message.get("provider"), message["model"]) or "").lower() if message.get("model") else ""
    role = role_of(value)
    return EntryFacts(
        text,
        role,
        _time(value, message),
        model,
        tuple(_tool_names(message)),
        len(said if role == "assistant" else text),
    )


def fits_facts(query: SearchQuery, facts: EntryFacts) -> bool:
    """Return True if an entry fits the filters of a query: role, tools, model, time, and words it must not have."""
    return (
        (not query.roles or facts.role.lower().startswith(query.roles) or _is_wanted_call(query, facts))
        and (not query.tools or any(name.lower() in query.tools for name in facts.tool_names))
        and (not query.models or any(wanted in facts.model for wanted in query.models))
        and is_in_time(query, facts.time_ms)
        and not has_excluded(query, facts.text)
    )


def _is_wanted_call(query: SearchQuery, facts: EntryFacts) -> bool:
    return CALLS in query.roles and facts.role == "assistant" and bool(facts.tool_names)


def _tool_names(message: dict[str, Json]) -> list[str]:
    names = [message.get("toolName")]
    content = message.get("content")
    if isinstance(content, list):
        names += [block.get("name") for block in content if isinstance(block, dict) and block.get("type") == "toolCall"]
    if message.get("role") == "bashExecution":
        names.append("bash")
    return [name for name in names if isinstance(name, str)]


def role_of(value: Json) -> str:
    """Return the role of a decoded entry's message, else the type of the entry; "" if it has none."""
    if not isinstance(value, dict):
        return ""
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else value.get("type")
    return role if isinstance(role, str) else ""


def _time(value: dict[str, Json], message: dict[str, Json]) -> float | None:
    for stamp in (value.get("timestamp"), value.get("at"), message.get("timestamp")):
        if isinstance(stamp, str):
            moment = parse_time(stamp)
            if moment is not None:
                return moment
        elif isinstance(stamp, int | float) and not isinstance(stamp, bool):
            return stamp
    return None


def is_in_time(query: SearchQuery, moment: float | None) -> bool:
    """Return True if a time in milliseconds since 1970 fits the query's `after:` and `before:` filters.

    The time None (unknown) fits only a query without these filters.
    """
    if query.after_ms is None and query.before_ms is None:
        return True
    if moment is None:
        return False
    return (query.after_ms is None or moment >= query.after_ms) and (
        query.before_ms is None or moment < query.before_ms
    )
