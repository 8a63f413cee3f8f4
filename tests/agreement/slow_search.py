"""A slow reading of the grammar of search queries and of session files, which shares no code with the program."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

Json = Any
WIDE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
SAYING = {"user", "assistant", "developer", "custom"}
SUMMARIES = {"compaction", "branch_summary"}


class Asked(Struct, frozen=True, kw_only=True):
    """A query by its parts."""

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    pattern: str = ""
    filters: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Return the query as a user would type it."""
        parts = [*self.words, *[f'"{phrase}"' for phrase in self.phrases]]
        parts += [f'{key}:"{value}"' if " " in value else f"{key}:{value}" for key, value in self.filters]
        return " ".join([*parts, *([f"re:{self.pattern}"] if self.pattern else [])])


class Entry(Struct, frozen=True, kw_only=True):
    """An entry with what a query may ask about it and its session."""

    id: str
    said: str
    tool: str
    """Calls, results and outputs, which only `--tools` and the filter `tool:` search."""
    done: str
    """The names of called tools, and their commands: these stores have no other names in calls."""
    role: str
    time: float
    tools: frozenset[str]
    model: str
    state: str
    label: str
    agent: str
    project: str
    name: str


def entries_in(store: Path) -> list[Entry]:
    """Return all entries of all sessions of a store that has one folder for each agent."""
    return [
        entry for path in sorted(store.rglob("*.jsonl")) for entry in _entries(path, path.relative_to(store).parts[0])
    ]


def found(entries: list[Entry], asked: Asked, *, tools: bool, whole: bool) -> set[str]:
    """Return the ids of the entries that a query finds; `whole`: a word that is only begun does not count."""
    tools = tools or any(key == "tool" for key, _ in asked.filters)
    return {entry.id for entry in entries if _fits(entry, asked, tools=tools, whole=whole)}


@cache
def folded(text: str) -> str:
    """Return a text without case and accents, with single blanks."""
    plain = []
    for character in " ".join(text.split()):
        if WIDE.match(character):
            plain.append(character)
            continue
        parts = unicodedata.normalize("NFD", unicodedata.normalize("NFD", character).casefold())
        plain.append("".join(part for part in parts if not unicodedata.category(part).startswith("M")))
    return "".join(plain)


def _fits(entry: Entry, asked: Asked, *, tools: bool, whole: bool) -> bool:
    text = "\n".join(part for part in (entry.said, entry.tool if tools else entry.done) if part)
    if not text:
        return False
    plain = folded(text)
    if not all(_holds(plain, folded(word), whole=whole) for word in asked.words):
        return False
    if not all(_holds(plain, folded(phrase), whole=whole) for phrase in asked.phrases):
        return False
    if asked.pattern and re.search(asked.pattern, text, re.IGNORECASE) is None:
        return False
    by_key: dict[str, list[str]] = {}
    for key, value in asked.filters:
        by_key.setdefault(key, []).append(value)
    return all(
        (all if key in ("after", "before") else any)(_fits_filter(entry, key, value) for value in values)
        for key, values in by_key.items()
    )


def _holds(text: str, wanted: str, *, whole: bool) -> bool:
    """Tell whether `wanted` stands in `text` from the beginning of a word, and if `whole` up to the end of one."""
    at = text.find(wanted)
    while at >= 0:
        begins = not _joins(text[at - 1 : at], wanted[:1])
        ends = not whole or not _joins(wanted[-1:], text[at + len(wanted) :][:1])
        if begins and ends:
            return True
        at = text.find(wanted, at + 1)
    return False


def _joins(left: str, right: str) -> bool:
    """Tell whether two neighbours belong to one word; in wide writing every character is a word."""
    return all(side and (side.isalnum() or side == "_") and not WIDE.match(side) for side in (left, right))


def _fits_filter(entry: Entry, key: str, value: str) -> bool:
    match key:
        case "agent":
            return entry.agent == value
        case "project":
            return folded(value) in folded(entry.project)
        case "name":
            return folded(value) in folded(entry.name)
        case "label":
            return folded(value) in folded(entry.label)
        case "role":
            return entry.role.lower().startswith(value.lower())
        case "tool":
            return value.lower() in entry.tools
        case "model":
            return value.lower() in entry.model
        case "branch":
            return entry.state == value
        case "after":
            return entry.time >= _moment(value)
        case "before":
            return entry.time < _moment(value)
    raise ValueError(key)


def _moment(date: str) -> float:
    return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp() * 1000


def _entries(path: Path, agent: str) -> Iterator[Entry]:
    lines: list[Json] = [json.loads(line) for line in path.read_text().split("\n") if line]
    header = next(line for line in lines if line["type"] == "session")
    titles = [line["title"] for line in lines if line["type"] == "title"]
    lines = [line for line in lines if line["type"] not in ("session", "title")]
    names = titles + [line["name"] for line in lines if line["type"] == "session_info"]
    labels = {line["targetId"]: line.get("label") or "" for line in lines if line["type"] == "label"}
    states = _states(lines)
    for line in lines:
        message = line.get("message") or {}
        blocks = _blocks(message)
        names_of_tools = {block["name"] for block in blocks if block.get("type") == "toolCall"}
        if message.get("role") == "toolResult":
            names_of_tools.add(message["toolName"])
        if message.get("role") == "bashExecution":
            names_of_tools.add("bash")
        yield Entry(
            id=line["id"],
            said=_said(line),
            done=_done(blocks) if message.get("role") == "assistant" else "",
            tool=_tool(message, blocks),
            role=message.get("role") or line["type"],
            time=datetime.fromisoformat(line["timestamp"]).timestamp() * 1000,
            tools=frozenset(name.lower() for name in names_of_tools),
            model=f"{message['provider']}/{message['model']}".lower() if "model" in message else "",
            state=states[line["id"]],
            label=labels.get(line["id"], ""),
            agent=agent,
            project=header["cwd"],
            name=names[-1] if names else "",
        )


def _blocks(message: Json) -> list[Json]:
    content = message.get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _said(line: Json) -> str:
    if line["type"] in SUMMARIES:
        return str(line["summary"])
    message = line if line["type"] == "custom_message" else line.get("message") or {}
    if message.get("role") == "bashExecution":
        return str(message["command"])
    if line["type"] == "custom_message" or message.get("role") in SAYING:
        return "\n".join(block["text"] for block in _blocks(message) if block.get("type") == "text" and block["text"])
    return ""


def _tool(message: Json, blocks: list[Json]) -> str:
    match message.get("role"):
        case "toolResult":
            texts = [message["toolName"], *[block["text"] for block in blocks]]
        case "bashExecution":
            texts = [message["output"]]
        case "assistant":
            calls = [block for block in blocks if block.get("type") == "toolCall"]
            texts = [text for call in calls for text in (call["name"], *call["arguments"].values())]
        case _:
            texts = []
    return "\n".join(text for text in texts if text)


def _done(blocks: list[Json]) -> str:
    calls = [block for block in blocks if block.get("type") == "toolCall"]
    return "\n".join(text for call in calls for text in (call["name"], call["arguments"]["command"]) if text)


def _states(lines: list[Json]) -> dict[str, str]:
    """Return the state of each entry: on the way to the last line, off it, or on it but before what is kept."""
    parents = {line["id"]: line["parentId"] for line in lines}
    by_id = {line["id"]: line for line in lines}
    path = []
    at = lines[-1]["id"]
    while at is not None:
        path.append(at)
        at = parents[at]
    path.reverse()
    states = {each: "active" if each in path else "abandoned" for each in parents}
    compactions = [each for each in path if by_id[each]["type"] == "compaction"]
    if compactions:
        kept = by_id[compactions[-1]]["firstKeptEntryId"]
        # everything before the last compaction but what it keeps
        upto = path.index(kept) if kept in path[: path.index(compactions[-1])] else path.index(compactions[-1])
        for each in path[:upto]:
            states[each] = "compacted"
    return states
