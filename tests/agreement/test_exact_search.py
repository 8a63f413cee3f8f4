"""Whatever a query of the grammar asks, `search --json` finds what a slow reading of the files finds, and only that."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sessionbrowse.cli import main
from tests.agreement.slow_search import Asked, Entry, entries_in, folded, found
from tests.support.index_support import entry, header, write

pytestmark = pytest.mark.slow

SESSIONS = 40
MATCHES = ("exact", "forms", "session", "some", "typo")
TITLES = ("name", "label", "directory", "id")
WORDS = str.split(
    "login Login logins auth authentication naïve NAÏVE über Straße strasse foo_bar foo bar2 x ab don't a-b-c "
    "path/to/file.py fooBar --no-cache v1.2.3 résumé éé cache caching user's 100% C++ test_login e\u0301tude def f(x): "
    "日本語 日本 検索 エラー 修复 缓存 한국어 🎉 → the and of to it is"
)
PROJECTS = ("/home/dev/shop", "/home/dev/blog", "/srv/Über app")
NAMES = ("Fix the login", "日本語の検索", "Cache of résumés", "")
LABELS = ("works now", "été", "keep?")
MODELS = (("anthropic", "claude-sonnet-4-5"), ("openai", "gpt-5.2"))
TOOLS = ("bash", "read", "Grep")
FOLDERS = {"pi": "--home-dev-shop--", "omp": "-shop", "atomic": "--home-dev-shop--"}
FIRST_MS = 1_767_225_600_000  # 2026-01-01
DAY_MS = 86_400_000
KINDS = {
    *("words", "phrases", "pattern", "agent", "project", "name", "label", "role", "tool", "model"),
    *("branch", "after", "before"),
}
"""Every kind of term in the grammar."""
PATTERNS = ("log(in|ins)", "^the", "a.b", "日+", r"\d+\.\d", "f\\(x\\)", "[^a-z ]{4}", "caf?ch", "é|ü")


@pytest.mark.parametrize("queries", [30, pytest.param(300, marks=pytest.mark.stress)])
@pytest.mark.parametrize("seed", range(4))
def test_a_search_finds_what_a_slow_reading_finds(
    seed: int, queries: int, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    dice = random.Random(seed)
    store = tmp_path / "store"
    _write_store(store, dice)
    entries = entries_in(store)
    assert len({each.id for each in entries}) == len(entries)
    if seed != 3:  # without an index every file is read
        main(["index", "--rebuild", *(["--tools"] if seed == 2 else []), "--root", str(store)])
    capfdbinary.readouterr()
    answered: Counter[str] = Counter()
    for _ in range(queries):
        asked = _random_query(dice, entries)
        tools = dice.random() < 0.4
        begun = found(entries, asked, tools=tools, whole=False)
        exact = found(entries, asked, tools=tools, whole=True)
        for order in ("newest", "best"):
            arguments = ["search", "--json", "--sort", order, "--limit", "100000", "--per-session", "100000"]
            arguments += [*(["--tools"] if tools else []), "--root", str(store)]
            assert main([*arguments, "--", asked.text()]) == 0, asked.text()
            printed, _ = capfdbinary.readouterr()
            hits = json.loads(printed)
            told = [(hit["path"], MATCHES.index(hit["match"])) for hit in hits]
            hits = [hit for hit in hits if hit["role"] not in TITLES]
            ids = [hit["entry_id"] for hit in hits]
            assert len(ids) == len(set(ids)), asked.text()
            assert {hit["entry_id"] for hit in hits if hit["match"] == "exact"} == exact, (order, asked.text())
            if order == "newest":
                assert set(ids) == begun, asked.text()
                continue
            assert _come_by_class(told), asked.text()
            # a word of one letter does not stand for all words that begin with it
            if all(len(folded(word)) > 1 for word in asked.words):
                assert begun <= set(ids), asked.text()
        if begun:
            answered.update(_kinds(asked))
    # Some dozen queries do not draw every kind, but most.
    assert len(answered) >= 9 if queries < 100 else set(answered) == KINDS, answered


def _come_by_class(told: list[tuple[str, int]]) -> bool:
    """Tell whether sessions come by their best class (the first two are one), and the hits of each by class."""
    classes: dict[str, list[int]] = {}
    for path, match in told:
        classes.setdefault(path, []).append(match)
    best = [max(1, min(each)) for each in classes.values()]
    return best == sorted(best) and all(each == sorted(each) for each in classes.values())


def _kinds(asked: Asked) -> set[str]:
    parts = {"words": asked.words, "phrases": asked.phrases, "pattern": asked.pattern}
    return {key for key, _ in asked.filters} | {kind for kind, value in parts.items() if value}


def _random_query(dice: random.Random, entries: list[Entry]) -> Asked:
    """Return a query with parts of an entry that exists, and now and then one that is not in it."""
    entry = dice.choice(entries)
    text = entry.said or entry.tool or "the"
    words: list[str] = []
    phrases: list[str] = []
    for _ in range(dice.choice([0, 1, 1, 2, 3])):
        words.append(_changed(dice, dice.choice(text.split() or ["the"])))
    if dice.random() < 0.1:
        words.append(dice.choice(WORDS))
    if dice.random() < 0.3:
        parts = text.split()
        at = dice.randrange(len(parts)) if parts else 0
        phrases.append(_changed(dice, " ".join(parts[at : at + dice.randint(1, 4)])))
    filters: list[tuple[str, str]] = []
    while dice.random() < 0.45:
        filters.append(dice.choice(_filters(dice, entry)))
    # a query of only marks is a phrase or nothing: here every term has a letter or a digit
    words = [word for word in words if re.fullmatch(r"\w+", folded(word)) and not word.startswith("re:")]
    phrases = [phrase for phrase in phrases if any(sign.isalnum() for sign in folded(phrase)[:1])]
    pattern = dice.choice(PATTERNS) if dice.random() < 0.15 else ""
    if not words and not phrases and not pattern and not filters:
        words = ["the"]
    return Asked(words=tuple(words), phrases=tuple(phrases), pattern=pattern, filters=tuple(filters))


def _filters(dice: random.Random, entry: Entry) -> list[tuple[str, str]]:
    day = datetime.fromtimestamp((entry.time + dice.choice([-3, 0, 3]) * DAY_MS) / 1000, UTC).strftime("%Y-%m-%d")
    choices = [
        ("agent", entry.agent),
        ("project", dice.choice(["shop", "über app", "dev/blog"])),
        ("name", dice.choice(["login", "RESUMES", "検索"])),
        ("label", entry.label or "works"),
        ("role", dice.choice(["user", "assis", "toolResult", "compaction", "bashExecution", "custom_message"])),
        ("tool", dice.choice(TOOLS).lower()),
        ("model", dice.choice(["claude", "openai/gpt", "sonnet-4"])),
        ("branch", entry.state),
        ("after", day),
        ("before", day),
    ]
    return [(key, value) for key, value in choices if value]


def _changed(dice: random.Random, text: str) -> str:
    """Return a text in another case, or cut at its end."""
    text = text.replace('"', "")
    how = dice.random()
    if how < 0.2:
        return text.upper()
    if how < 0.4 and len(text) > 3:
        return text[: dice.randint(2, len(text) - 1)].rstrip()
    return text


# ---- the store ---------------------------------------------------------------------------------------------------


def _write_store(store: Path, dice: random.Random) -> None:
    for number in range(SESSIONS):
        agent = dice.choice(["pi", "pi", "omp", "atomic"])
        folder = store / agent / "agent" / "sessions" / FOLDERS[agent]
        folder.mkdir(parents=True, exist_ok=True)
        name = dice.choice(NAMES)
        made = header(f"{number:08x}-0000-7000-8000-000000000000", cwd=dice.choice(PROJECTS))
        lines = [made, *_session(f"{number:04x}", agent, "" if agent == "omp" else name, dice)]
        if agent == "omp":  # its name stands in the first line
            lines.insert(0, {"type": "title", "v": 1, "title": name, "source": "user", "updatedAt": made["timestamp"]})
        write(folder / f"2026-08-13T08-00-00-000Z_{made['id']}.jsonl", *lines)


def _session(prefix: str, agent: str, name: str, dice: random.Random) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    now = FIRST_MS + dice.randrange(200 * DAY_MS)
    parent: str | None = None

    def add(kind: str, **fields: Any) -> str:
        nonlocal parent, now
        now += dice.randrange(1_000, DAY_MS)
        made = f"{prefix}{len(lines):04x}"
        stamp = datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines.append(entry(kind, made, parent) | {"timestamp": stamp} | fields)
        parent = made
        return made

    for _ in range(dice.randint(3, 25)):
        if lines and dice.random() < 0.15:
            parent = dice.choice(lines)["id"]
        how = dice.random()
        if how < 0.35:
            content = _text(dice) if dice.random() < 0.3 else [{"type": "text", "text": _text(dice)}]
            add("message", message={"role": "user", "content": content, "timestamp": now})
        elif how < 0.65:
            provider, model = dice.choice(MODELS)
            blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": f"hidden {_text(dice)}"}]
            blocks.append({"type": "text", "text": _text(dice)})
            if dice.random() < 0.4:
                arguments = {"command": _text(dice)}
                blocks.append({"type": "toolCall", "id": "c", "name": dice.choice(TOOLS), "arguments": arguments})
            message = {"role": "assistant", "content": blocks, "provider": provider, "model": model}
            add("message", message=message | {"stopReason": "stop", "timestamp": now})
        elif how < 0.8:
            output = [{"type": "text", "text": _text(dice)}]
            message = {"role": "toolResult", "toolCallId": "c", "toolName": dice.choice(TOOLS), "content": output}
            add("message", message=message | {"isError": False, "timestamp": now})
        elif how < 0.87:
            ran = {"role": "bashExecution", "command": _text(dice), "output": _text(dice), "exitCode": 0}
            add("message", message=ran | {"cancelled": False, "truncated": False, "timestamp": now})
        elif how < 0.93 and agent != "atomic" and (messages := _messages_before(lines, parent)):
            # atomic keeps everything but for what the details of its compactions leave out
            kept = dice.choice(messages)
            add("compaction", summary=_text(dice), firstKeptEntryId=kept, tokensBefore=9)
        else:
            add("custom_message", customType="note", content=_text(dice), display=True)
    if name:
        add("session_info", name=name)
    if dice.random() < 0.5:
        add("label", targetId=dice.choice(lines)["id"], label=dice.choice(LABELS))
    add("message", message={"role": "user", "content": _text(dice), "timestamp": now})
    return lines


def _messages_before(lines: list[dict[str, Any]], at: str | None) -> list[str]:
    by_id = {line["id"]: line for line in lines}
    way = []
    while at is not None:
        way.append(by_id[at])
        at = by_id[at]["parentId"]
    return [line["id"] for line in way if line["type"] == "message"]


def _text(dice: random.Random) -> str:
    blanks = dice.choice([" ", " ", " ", "\n", "  ", ", "])
    return blanks.join(dice.choices(WORDS, k=dice.choice([1, 3, 8, 20])))
