"""The sessions that the questions are about: real ones, the demo's, and those of `written.toml`."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from sessionbrowse.demo import make_demo
from sessionbrowse.model.session.session import migrated_id
from sessionbrowse.text import parse_time
from tests.bench import words
from tests.bench.generate import LAST_DAY_MS
from tests.bench.search_quality.questions import Question, Written, written_sessions
from tests.bench.search_quality.story import Story

DAY_MS = 86_400_000
FOLDERS = {"pi": ".pi/agent", "omp": ".omp/agent", "atomic": ".atomic/agent", "indusagi": ".indusagi/agent"}


class Known(Struct, frozen=True):
    """A session as its file holds it, read without the program that is measured."""

    agent: str
    id: str
    name: str
    first_prompt: str
    entries: dict[str, str]
    """The text of each entry by its id."""
    said: tuple[str, ...]
    """The texts that people and models wrote."""
    source: str = ""
    key: str = ""
    """The key of a written session, else empty."""


class Asked(Struct, frozen=True):
    """A question with its right sessions and entries as ids, and the agents of these sessions."""

    question: Question
    sessions: frozenset[str]
    entries: frozenset[str]
    agents: frozenset[str]


def write_base(home: Path, corpus: Path) -> dict[str, dict[int, str]]:
    """Write all sessions that are asked about below a home; return the entry ids of written ones by key and turn."""
    for agent, folder in FOLDERS.items():
        if (corpus / agent / "sessions").is_dir():
            _copy(corpus / agent / "sessions", home / folder / "sessions")
    made = make_demo(home.parent / "demo", LAST_DAY_MS)
    for agent, folder in FOLDERS.items():
        _copy(made / agent / "agent" / "sessions", home / folder / "sessions")
    written: dict[str, dict[int, str]] = {}
    stories: dict[str, Story] = {}
    for each in written_sessions():
        ends_ms = LAST_DAY_MS - round(each.days * DAY_MS)
        story = Story(home / FOLDERS["pi"], home / "dev" / each.project, ends_ms, each.key)
        begun = {}
        if each.fork_of:
            begun = {turn: entry for turn, entry in written[each.fork_of].items() if turn <= each.at}
            story.continue_from(stories[each.fork_of], begun[each.at])
        written[each.key] = _tell(story, each)
        story.save(f"--home-dev-{each.project}--")
        stories[each.key] = story
    return written


def read_base(home: Path, corpus: Path, written: dict[str, dict[int, str]]) -> list[Known]:
    """Return the sessions below a home in which nothing but these sessions was written yet."""
    real = {_header_id(path) for path in corpus.rglob("*.jsonl")}
    key_of = {frozenset(turns.values()): key for key, turns in written.items()}
    found = []
    for agent, folder in FOLDERS.items():
        sessions = home / folder / "sessions"
        for path in sorted([*sessions.rglob("*.jsonl"), *sessions.rglob("*.ndjson")]):
            session = _read(path, agent)
            key = next((key for ids, key in key_of.items() if ids <= session.entries.keys()), "")
            source = "corpus" if session.id in real else "written" if key else "demo"
            found.append(msgspec.structs.replace(session, source=source, key=key))
    return found


def resolve(question: Question, known: list[Known], written: dict[str, dict[int, str]]) -> Asked:
    """Return a question with the ids of its sessions and entries.

    Raises:
        LookupError: a reference names no session or no entry.
    """
    sessions: list[Known] = []
    for reference in question.right:
        matching = [each for each in known if _is_named(each, reference, question.source)]
        exact = [each for each in matching if each.name == reference]
        if not matching:
            raise LookupError(f"{question.ask}: no session {reference}")
        sessions += exact or matching
    entries: set[str] = set()
    for entry in question.entries:
        ids = _entry_ids(entry, question, sessions, written)
        if not ids:
            raise LookupError(f"{question.ask}: no entry {entry}")
        entries |= ids
    return Asked(
        question,
        frozenset(each.id for each in sessions),
        frozenset(entries),
        frozenset(each.agent for each in sessions),
    )


def _is_named(session: Known, reference: str, source: str) -> bool:
    if session.source != source:
        return False
    match source:
        case "corpus":
            return session.id.startswith(reference)
        case "written":
            return session.key == reference
        case _:
            return session.name.startswith(reference) or session.first_prompt.startswith(reference)


def _entry_ids(
    entry: str | int, question: Question, sessions: list[Known], written: dict[str, dict[int, str]]
) -> set[str]:
    match question.source:
        case "written":
            key, _, turn = entry.partition(":") if isinstance(entry, str) else (question.right[0], "", entry)
            found = written.get(key, {}).get(int(turn))
            return {found} if found else set()
        case "corpus":
            # the same conversation lies in two stores; the older file has no ids, its entries stand in the same order
            for session in sessions:
                if entry in session.entries:
                    place = list(session.entries).index(str(entry))
                    same = [list(other.entries)[place] for other in sessions if place < len(other.entries)]
                    return {str(entry), *same}
            return set()
        case _:
            return {each for session in sessions for each, text in session.entries.items() if str(entry) in text}


def _copy(source: Path, target: Path) -> None:
    """Copy a store; a real session's file is as old as its last entry."""
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        placed = target / path.relative_to(source)
        placed.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, placed)
        times = [parse_time(entry["timestamp"]) for entry in _lines(path) if isinstance(entry.get("timestamp"), str)]
        last = max((each for each in times if each), default=None)
        if last is not None:
            os.utime(placed, (last / 1000, last / 1000))


def _tell(story: Story, session: Written) -> dict[int, str]:
    """Append a written session's turns and its filling; return the entry ids by turn."""
    rng = random.Random(session.key)
    ids: dict[int, str] = {}
    share = session.pad // max(1, len(session.turns))
    for number, (kind, *rest) in enumerate(session.turns):
        text = [str(each) for each in rest]
        match kind:
            case "user":
                ids[number] = story.user(text[0])
            case "assistant":
                ids[number] = story.say(text[0])
            case "tool":
                argument = {"command": text[1]} if text[0] == "bash" else {"path": text[1]}
                ids[number] = story.use(text[0], argument, text[2])
            case "bash":
                ids[number] = story.bash(text[0], text[1])
            case "name":
                story.name(text[0])
                ids[number] = str(story.session.get_entries()[-1]["id"])
            case "label":
                ids[number] = story.label(ids[int(rest[0])], text[1])
            case "back":
                story.leave(ids[int(rest[0])])
            case _:
                raise ValueError(f"{session.key}: turn {number} is a {kind}")
        if share and kind in ("user", "assistant"):
            _fill(story, rng, share)
    return ids


def _fill(story: Story, rng: random.Random, size: int) -> None:
    """Append tool calls with output and some talk, `size` bytes in all."""
    while size > 0:
        result = min(size, rng.randrange(400, 9_000))
        story.use("read", {"path": f"src/{rng.choice(words.COMMON)}.py"}, _some(words.output(), rng, result))
        size -= result
        if size > 0 and rng.random() < 0.5:
            talk = min(size, rng.randrange(80, 700))
            story.say(_some(words.prose(), rng, talk))
            size -= talk


def _some(river: bytes, rng: random.Random, size: int) -> str:
    start = rng.randrange(len(river) - 2 * size - 400)
    text: str = json.loads(b'"' + words.piece(river, start, size) + b'"')
    return text


def _lines(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_bytes().splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def _header_id(path: Path) -> str:
    return next((str(line["id"]) for line in _lines(path) if line.get("type") == "session"), path.stem)


def _read(path: Path, agent: str) -> Known:
    lines = _lines(path)
    session_id = _header_id(path)
    entries: dict[str, str] = {}
    said: list[str] = []
    first_prompt = ""
    name = next((str(line.get("title") or "") for line in lines if line.get("type") == "title"), "")
    body = [line for line in lines if line.get("type") not in ("session", "title")]
    for ordinal, line in enumerate(body, 1):  # the header is 0
        entry_id = line.get("id") or migrated_id(session_id, ordinal, set(entries))
        inner = line.get("message")
        message = inner if isinstance(inner, dict) else line
        text = "\n".join(_texts(message))
        if line.get("type") == "session_info":
            name = line.get("name") or ""
            text = name
        role = message.get("role") or line.get("role")
        if not first_prompt and role == "user":
            first_prompt = text
        if role in ("user", "assistant"):
            said += [block["text"] for block in _blocks(message) if isinstance(block.get("text"), str)]
        entries[str(entry_id)] = text
    return Known(agent, session_id, name, first_prompt, entries, tuple(said))


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"text": content}]
    return [block for block in content or [] if isinstance(block, dict)]


def _texts(value: Any) -> list[str]:
    """Return the strings of a message that hold what was said, called or printed."""
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _texts(each)]
        case dict():
            left_out = ("type", "id", "parentId", "role", "thinkingSignature", "timestamp", "usage", "data", "mimeType")
            return [text for field, each in value.items() if field not in left_out for text in _texts(each)]
        case _:
            return []
