"""Sessions that nobody asks for: scrambled words of the sessions that are asked about, with or without their topics.

An entry draws from a random half of each topic of its session. At first it drew from all of their words, so that whole
questions stood in single entries of noise, and no program could find the right sessions. This was changed after the
project's own ranking had been seen. The number of topics and their share were then set by fast-resume's answers alone:
its recall at 5 was to be between .33 and .35 on the hard store and near .81 on the ordinary one, as in a measurement by
others on stores of their own. It is .340 and .854 of the questions about pi's sessions.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from msgspec import Struct

from tests.bench.generate import DAYS, LAST_DAY_MS, iso, session_id

EVERYDAY = 800
"""So many of the most frequent words belong to no topic."""
TOPICS_OF_A_SESSION = 6
FREQUENT_IN_ONE = 8
"""Frequent words in one entry."""
TOPIC_SHARE = 0.35
"""Of the words of a noisy session; a topic is the words of one question."""
WORD = re.compile(r"[^\W_]+")
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
MILLISECONDS_A_DAY = 86_400_000
PROJECTS = ("portal", "gateway", "trainer", "termkit", "etl", "platform", "handbook", "monolith", "notes", "lab")


class Vocabulary(Struct, frozen=True):
    """Words with their frequencies, added up; and the topics, which are drawn beside them."""

    words: tuple[str, ...]
    weights: tuple[int, ...]
    topics: tuple[tuple[str, ...], ...]


def vocabulary(talk: Iterable[str], asked: Iterable[str], *, invent: bool) -> Vocabulary:
    """Return the words of what was said and of what is asked; `invent` replaces the topics by words nobody asks for."""
    counts: Counter[str] = Counter()
    for text in talk:
        counts.update(words_of(text))
    everyday = {word.casefold() for word, _ in counts.most_common(EVERYDAY)}
    topics = [words_of(text) for text in asked]
    rare = {word.casefold() for topic in topics for word in topic} - everyday
    if invent:
        rng = random.Random("invented topics")
        replaced = {word: _invented(rng) for word in sorted(rare)}
        stems = tuple(word[:5] for word in replaced if len(word) > 4)
        mixed: Counter[str] = Counter()
        for word, count in counts.items():
            folded = word.casefold()
            # a topic's other forms are replaced too: "retry" beside "retries"
            about = folded in replaced or (folded not in everyday and folded.startswith(stems))
            mixed[replaced.get(folded) or _invented(rng) if about else word] += count
        counts = mixed
        topics = [[replaced.get(word.casefold()) or _invented(rng) for word in topic] for topic in topics]
    chosen = sorted(counts)
    return Vocabulary(tuple(chosen), tuple(accumulate(counts[word] for word in chosen)), tuple(map(tuple, topics)))


def words_of(text: str) -> list[str]:
    """Return the words of a text; wide writing has no blanks and is cut into pairs."""
    found: list[str] = []
    for word in WORD.findall(text):
        if WIDE.search(word):
            for run in WIDE.findall(word):
                found += [run[at : at + 2] for at in range(0, len(run), 2)]
        elif len(word) <= 30:
            found.append(word)
    return found


def write_noise(folder: Path, vocabulary: Vocabulary, count: int, seed: str, frequent: Sequence[str] = ()) -> None:
    """Write sessions of scrambled words, the n-th always the same, into pi's folders below `folder`.

    Each of the `frequent` words stands in every third session.
    """
    for number in range(count):
        own = [word for place, word in enumerate(frequent) if (place + number) % 3 == 0]
        _write(folder, vocabulary, random.Random(f"{seed} {number}"), own)


def _write(folder: Path, vocabulary: Vocabulary, rng: random.Random, frequent: list[str]) -> None:
    project = rng.choice(PROJECTS)
    topics = rng.sample(vocabulary.topics, TOPICS_OF_A_SESSION)
    now = LAST_DAY_MS - rng.randrange(DAYS * MILLISECONDS_A_DAY)
    made = session_id(rng, now)
    lines: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": made, "timestamp": iso(now).decode(), "cwd": f"/home/dev/{project}"}
    ]
    name = f"{iso(now).decode().replace(':', '-').replace('.', '-')}_{made}.jsonl"
    parent: str | None = None

    def add(kind: str, **fields: object) -> str:
        nonlocal parent, now
        now += rng.randrange(2_000, 90_000)
        entry = f"{rng.getrandbits(32):08x}"
        lines.append({"type": kind, "id": entry, "parentId": parent, "timestamp": iso(now).decode()} | fields)
        parent = entry
        return entry

    def say(role: str, block: dict[str, object], **fields: object) -> str:
        return add("message", message={"role": role, "content": [block], "timestamp": now} | fields)

    answered = {
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "stopReason": "stop",
    }
    for turn in range(round(rng.lognormvariate(1.5, 0.7)) + 1):
        say("user", {"type": "text", "text": _text(vocabulary, topics, rng, rng.lognormvariate(2.6, 0.6))})
        while rng.random() < 0.4:
            call = f"call_{rng.getrandbits(48):012x}"
            command: dict[str, object] = {"command": _text(vocabulary, topics, rng, 6)}
            say("assistant", {"type": "toolCall", "id": call, "name": "bash", "arguments": command}, **answered)
            output: dict[str, object] = {
                "type": "text",
                "text": _text(vocabulary, topics, rng, rng.lognormvariate(3.8, 0.9)),
            }
            say("toolResult", output, toolCallId=call, toolName="bash", isError=False)
        said = say(
            "assistant",
            {"type": "text", "text": _text(vocabulary, topics, rng, rng.lognormvariate(3.9, 0.7))},
            **answered,
        )
        if turn == 0 and rng.random() < 0.3:
            add("session_info", name=_text(vocabulary, topics, rng, rng.randrange(2, 6)))
        if rng.random() < 0.04:
            add("label", targetId=said, label=_text(vocabulary, topics, rng, 2))
    rng.shuffle(frequent)
    for at in range(0, len(frequent), FREQUENT_IN_ONE):
        some = [*frequent[at : at + FREQUENT_IN_ONE], *_text(vocabulary, topics, rng, 20).split()]
        rng.shuffle(some)
        say(rng.choice(["user", "assistant"]), {"type": "text", "text": " ".join(some)})
    path = folder / f"--home-dev-{project}--" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines))
    os.utime(path, (now / 1000, now / 1000))


def _text(vocabulary: Vocabulary, topics: list[tuple[str, ...]], rng: random.Random, length: float) -> str:
    count = max(1, round(length))
    chosen = rng.choices(vocabulary.words, cum_weights=vocabulary.weights, k=count)
    halves = [word for topic in topics for word in rng.sample(topic, max(1, len(topic) // 2))]
    for place in range(count):
        if rng.random() < TOPIC_SHARE:
            chosen[place] = rng.choice(halves)
    return " ".join(chosen)


def _invented(rng: random.Random) -> str:
    return "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randrange(2, 5)))
