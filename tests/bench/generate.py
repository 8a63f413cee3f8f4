"""Made-up stores: pi's folders and files, sizes and shapes from the figures, the same bytes for the same seed.

A store is a home directory, so that pi, fast-resume and we find it where a user's own sessions would lie.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from tests.bench import figures, words

VERSION = 1
"""Part of a store's description: stores of another generator are made anew."""
SESSIONS_BELOW_HOME = Path(".pi/agent/sessions")
LAST_DAY_MS = 1_795_219_200_000  # 2026-11-21
DAYS = 600
LONG_MS = 100 * 86_400_000
"""How long the longest sessions take: none ends in the future."""
TABLE = 8192
SPARE_BYTES = 2_000_000_000
"""Disk space left for indexes and the system."""

Size = Callable[[], int]


class StoreSpec(Struct, frozen=True):
    """A generated store. `kind`: "mixed", "others" (of Claude Code and Codex), or a hard case: "images", "line", …."""

    name: str
    kind: str
    sessions: int
    bytes: int
    entries: int = 0
    seed: int = 1


class Store(Struct, frozen=True):
    """A store on disk: its home directory and the files below it."""

    spec: StoreSpec
    home: Path

    @property
    def sessions_dir(self) -> Path:
        """The folder that holds one folder for each project."""
        return self.home / SESSIONS_BELOW_HOME

    def files(self) -> list[Path]:
        """Return the session files, by name."""
        if self.spec.kind == "others":
            return sorted(self.home.glob(".c[lo]*/**/*.jsonl"))
        return sorted(self.sessions_dir.glob("*/*.jsonl"))


class NoSpace(Exception):
    """The disk has no room for a store."""


def bench_dir() -> Path:
    """Return where stores and peers live: `SESSIONBROWSE_BENCH_DIR`, else below the system's temporary directory."""
    named = os.environ.get("SESSIONBROWSE_BENCH_DIR")
    return Path(named).resolve() if named else Path(tempfile.gettempdir()).resolve() / "sessionbrowse-bench"


def make_store(spec: StoreSpec, below: Path, say: Callable[[str], None] = lambda _: None) -> Store:
    """Return the store, made if it is not there whole.

    Raises:
        NoSpace: the disk has too little room; nothing was written.
    """
    folder = below / spec.name
    home = folder / "home"
    complete = folder / "complete.json"
    description = json.dumps({"generator": VERSION, **{name: getattr(spec, name) for name in spec.__struct_fields__}})
    store = Store(spec, home)
    if complete.is_file() and complete.read_text() == description:
        return store
    shutil.rmtree(folder, ignore_errors=True)
    below.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(below).free
    if free < spec.bytes + SPARE_BYTES:
        raise NoSpace(f"{spec.name} needs {(spec.bytes + SPARE_BYTES) / 1e9:.1f} GB free, there are {free / 1e9:.1f}")
    store.sessions_dir.mkdir(parents=True)
    words.prose(), words.output(), words.foreign(), words.noise()
    started = time.perf_counter()
    written = _MAKERS[spec.kind](spec, store)
    seconds = time.perf_counter() - started
    say(f"made {spec.name}: {spec.sessions:,} sessions, {written / 1e6:,.0f} MB at {written / 1e6 / seconds:,.0f} MB/s")
    complete.write_text(description)
    return store


# ---- one session -------------------------------------------------------------------------------------------------


class SessionWriter:
    """Writes one session's lines. Its leaf is the last line's entry, as in pi."""

    def __init__(self, file: BinaryIO, rng: random.Random, sizes: Sizes, cwd: str, start_ms: int, most: int) -> None:
        self._file = file
        self._rng = rng
        self._sizes = sizes
        self._most = most
        self._now = start_ms
        self._salt = rng.getrandbits(32)
        self._prose = words.foreign() if rng.random() < figures.TEXTS_WITH_CJK else words.prose()
        self._long_ids = rng.random() < 0.32  # OpenAI's call ids carry a signature
        self._provider = rng.choice(_PROVIDERS)
        self.scale = 1.0
        self.bytes = 0
        self.entries = 0
        self.leaf = b"null"
        self.turns: list[bytes] = []
        """For each user message of the file, the entry it follows."""
        self.path_turns: list[tuple[bytes, bytes]] = []
        """For each user message of the active path: the entry it follows, and its own id."""
        self.id = session_id(rng, start_ms)
        self._write(
            b'{"type":"session","version":3,"id":"%b","timestamp":"%b","cwd":%b}\n'
            % (self.id.encode(), iso(start_ms), json.dumps(cwd).encode())
        )

    @property
    def now(self) -> int:
        """The time of the last line, in milliseconds since 1970."""
        return self._now

    def start(self) -> None:
        """Write what pi writes before the first message."""
        self._entry(b"model_change", b'"provider":"%b","modelId":"%b"' % self._provider[1:])
        self._entry(b"thinking_level_change", b'"thinkingLevel":"medium"')

    def go_back(self, turn: int) -> None:
        """Go to the entry that the n-th user message follows: what is written next is a branch beside it."""
        self.leaf = self.turns[turn]
        kept = next((place for place, (follows, _) in enumerate(self.path_turns) if follows == self.leaf), 0)
        del self.path_turns[kept:]

    def turn(self, *, image: int = 0) -> None:
        """Write a user message and all that answers it."""
        self.ask()
        calls = 1
        while calls:
            calls = self._rng.choices(figures.CALLS_PER_ASSISTANT, figures.CALLS_PER_ASSISTANT_WEIGHTS)[0]
            self._answer(calls, image)
            image = 0

    def ask(self) -> None:
        """Write a user message, now and then after another model or thinking level was chosen."""
        rng = self._rng
        if self.turns:
            if rng.random() < figures.THINKING_LEVEL_CHANGE:
                self._entry(b"thinking_level_change", b'"thinkingLevel":"%b"' % rng.choice((b"low", b"high", b"off")))
            if rng.random() < figures.MODEL_CHANGE:
                self._provider = rng.choice(_PROVIDERS)
                self._entry(b"model_change", b'"provider":"%b","modelId":"%b"' % self._provider[1:])
        follows = self.leaf
        self.turns.append(follows)
        size = self._sizes.user() if self.entries > 3 else self._sizes.first_user()
        text = self._text(self._prose, size) or b"go on"
        self._message(b'"role":"user","content":[{"type":"text","text":"%b"}]' % text)
        self.path_turns.append((follows, self.leaf))

    def name(self) -> None:
        """Give the session a name."""
        name = " ".join(self._rng.sample(words.COMMON, self._rng.randint(2, 6)))
        self._entry(b"session_info", b'"name":"%b"' % name.encode())

    def label(self) -> None:
        """Label some earlier user message."""
        _, target = self._rng.choice(self.path_turns)
        text = "-".join(self._rng.sample(words.COMMON, 2))
        self._entry(b"label", b'"targetId":%b,"label":"%b"' % (target, text.encode()))

    def compact(self) -> None:
        """Write a compaction that keeps the last turns."""
        _, kept = self.path_turns[-1 - len(self.path_turns) // 5]
        summary = self._text(self._prose, self._sizes.summary())
        tokens = self._rng.randrange(100_000, 190_000)
        self._entry(b"compaction", b'"summary":"%b","firstKeptEntryId":%b,"tokensBefore":%d' % (summary, kept, tokens))

    def branch_summary(self, left: bytes) -> None:
        """Write the summary of the branch that ended at `left`."""
        summary = self._text(self._prose, 900)
        self._entry(b"branch_summary", b'"fromId":%b,"summary":"%b"' % (left, summary))

    def image(self, size: int) -> None:
        """Write a tool result that is an inline image of `size` base64 characters."""
        self._result(b"call_image", b"read", size)

    def giant(self, size: int, *, text: bool) -> None:
        """Write one line of about `size` bytes: a tool's text, or an image."""
        if not text:
            self._result(b"call_giant", b"read", size)
            return
        river = words.output()
        whole = river * (size // len(river)) + words.piece(river, 0, size % len(river))
        self._message(_RESULT % (b"call_giant", b"bash", whole, b"", b"false"))

    def _answer(self, calls: int, image: int) -> None:
        rng = self._rng
        blocks: list[bytes] = []
        if rng.random() < figures.ASSISTANT_WITH_THINKING:
            thought_size, signature_size = self._sizes.thinking()
            signed = self._noise(signature_size)
            thought = self._text(self._prose, thought_size)
            blocks.append(b'{"type":"thinking","thinking":"%b","thinkingSignature":"%b"}' % (thought, signed))
        if not calls or rng.random() < (figures.ASSISTANT_WITH_TEXT - 0.174) / 0.826:
            text = self._text(self._prose, self._sizes.assistant())
            blocks.append(b'{"type":"text","text":"%b"}' % (text or b"Done."))
        ids: list[tuple[bytes, bytes]] = []
        for _ in range(calls):
            call = b"call_%016x" % rng.getrandbits(64)
            if self._long_ids:
                call += b"|" + self._noise(416)
            tool, arguments = self._arguments(self._sizes.arguments())
            blocks.append(b'{"type":"toolCall","id":"%b","name":"%b","arguments":{%b}}' % (call, tool, arguments))
            ids.append((call, tool))
        self._message(
            b'"role":"assistant","content":[%b],"api":"%b","provider":"%b","model":"%b","usage":%b,"stopReason":"%b"'
            % (b",".join(blocks), *self._provider, rng.choice(_usages()), b"toolUse" if calls else b"stop")
        )
        for made, used in ids:
            self._result(made, used, image)
            image = 0
        if rng.random() < figures.CUSTOM_ENTRY:
            self._entry(b"custom", b'"customType":"my-extension","data":{"step":%d}' % self.entries)

    def _result(self, call: bytes, tool: bytes, image: int = 0) -> None:
        rng = self._rng
        if image:
            data = self._noise(image)
            block = b'{"type":"image","data":"%b","mimeType":"image/png"}' % data
            self._message(
                b'"role":"toolResult","toolCallId":"%b","toolName":"%b","content":[%b],"isError":false'
                % (call, tool, block)
            )
            return
        size = self._sizes.result()
        text = self._text(words.output(), size)
        if size > 200 and rng.random() < 0.5:
            text += b" %010x" % rng.getrandbits(40)  # hashes keep the vocabulary growing, as in life
        details = b""
        if rng.random() < figures.TOOL_WITH_DETAILS:
            details = b',"details":{"diff":"%b"}' % self._text(words.output(), round(self._sizes.result() * 1.3))
        error = b"true" if rng.random() < figures.TOOL_ERROR else b"false"
        self._message(_RESULT % (call, tool, text, details, error))

    def _arguments(self, size: int) -> tuple[bytes, bytes]:
        rng = self._rng
        path = b"src/%b/%b.py" % (rng.choice(words.COMMON).encode(), rng.choice(words.COMMON).encode())
        if size < figures.SHORT_CALL:
            return b"read", b'"path":"%b"' % path
        text = self._text(words.output(), size)
        if size < figures.COMMAND_CALL:
            return b"bash", b'"command":"%b"' % text
        if size < 1500:
            return b"edit", b'"path":"%b","oldText":"%b","newText":"%b"' % (
                path,
                text[: text.rfind(b" ", 0, 200)],
                text,
            )
        return b"write", b'"path":"%b","content":"%b"' % (path, text)

    def _text(self, river: bytes, size: int) -> bytes:
        size = min(self._most, round(size * self.scale))
        return words.piece(river, int(self._rng.random() * (len(river) - 2 * size - 400)), size) if size else b""

    def _noise(self, size: int) -> bytes:
        noise = words.noise()
        if size > len(noise) // 2:
            return noise * (size // len(noise)) + noise[: size % len(noise)]
        start = int(self._rng.random() * (len(noise) - size))
        return noise[start : start + size]

    def _message(self, body: bytes) -> None:
        self._pass_time()
        before = self.leaf
        self._write(
            b'{"type":"message","id":%b,"parentId":%b,"timestamp":"%b","message":{%b,"timestamp":%d}}\n'
            % (self._next_id(), before, iso(self._now), body, self._now)
        )

    def _entry(self, kind: bytes, body: bytes) -> None:
        self._pass_time()
        before = self.leaf
        self._write(
            b'{"type":"%b","id":%b,"parentId":%b,"timestamp":"%b",%b}\n'
            % (kind, self._next_id(), before, iso(self._now), body)
        )

    def _pass_time(self) -> None:
        self._now += self._sizes.gap()

    def _next_id(self) -> bytes:
        # an odd factor makes it a permutation: 8 hex digits, never twice in a file
        self.entries += 1
        self.leaf = b'"%08x"' % ((self.entries * 0x9E3779B1 + self._salt) & 0xFFFFFFFF)
        return self.leaf

    def _write(self, line: bytes) -> None:
        self.bytes += len(line)
        self._file.write(line)


class Sizes:
    """Random sizes from the figures, drawn from tables made beforehand."""

    def __init__(self, rng: random.Random) -> None:
        self.user = _draw(rng, figures.USER_TEXT.table(rng, TABLE))
        self.first_user = _draw(rng, figures.FIRST_USER_TEXT.table(rng, TABLE))
        self.assistant = _draw(rng, figures.ASSISTANT_TEXT.table(rng, TABLE))
        self.arguments = _draw(rng, figures.TOOL_ARGUMENTS.table(rng, TABLE))
        self.result = _draw(rng, figures.TOOL_RESULT_TEXT.table(rng, TABLE))
        self.summary = _draw(rng, figures.COMPACTION_SUMMARY.table(rng, TABLE))
        self.image = _draw(rng, figures.IMAGE_BASE64.table(rng, TABLE))
        self.gap = _draw(rng, [gap * 1000 + rng.randrange(1000) for gap in _gaps(rng)])
        self._thinking = list(_thinking_sizes())
        self._rng = rng

    def thinking(self) -> tuple[int, int]:
        """Return the sizes of a thinking block's text and signature."""
        return self._thinking[self._rng.getrandbits(13)]


def _draw(rng: random.Random, table: list[int]) -> Size:
    assert len(table) == TABLE
    bits = rng.getrandbits
    return lambda: table[bits(13)]


def _gaps(rng: random.Random) -> list[int]:
    return figures.SECONDS_BETWEEN_ENTRIES.table(rng, TABLE, most=3600)


def _thinking_sizes() -> Iterable[tuple[int, int]]:
    for index in range(TABLE):
        share = (index + 0.5) / TABLE
        text = round(figures.THINKING_TEXT.at(share))
        yield text, max(0, round(figures.THINKING_BLOCK.at(share)) - text - 56)


_RESULT = (
    b'"role":"toolResult","toolCallId":"%b","toolName":"%b","content":[{"type":"text","text":"%b"}]%b,"isError":%b'
)
_PROVIDERS = (
    (b"anthropic-messages", b"anthropic", b"claude-sonnet-4-5"),
    (b"anthropic-messages", b"anthropic", b"claude-opus-4-5"),
    (b"openai-responses", b"openai", b"gpt-5-mini"),
    (b"openai-completions", b"openrouter", b"qwen3-coder"),
)


@cache
def _usages() -> list[bytes]:
    rng = random.Random("usage")
    made = []
    for index in range(1000):
        share = (index + 0.5) / 1000
        total = round(figures.TOKENS.at(share))
        output = min(total, rng.randrange(20, 2000))
        cached = round((total - output) * 0.9)
        usage = {"input": total - output - cached, "output": output, "cacheRead": cached, "cacheWrite": 0}
        cost = round(figures.COST.at(share), 6)
        parts = {"input": 0, "output": cost, "cacheRead": 0, "cacheWrite": 0, "total": cost}
        made.append(json.dumps(usage | {"totalTokens": total, "cost": parts}, separators=(",", ":")).encode())
    return made


@cache
def _day(day: int) -> bytes:
    return time.strftime("%Y-%m-%d", time.gmtime(day * 86_400)).encode()


def iso(milliseconds: int) -> bytes:
    """Return a time as pi writes it."""
    seconds, rest = divmod(milliseconds, 1000)
    day, second = divmod(seconds, 86_400)
    return b"%bT%02d:%02d:%02d.%03dZ" % (_day(day), second // 3600, second // 60 % 60, second % 60, rest)


def session_id(rng: random.Random, milliseconds: int) -> str:
    """Return a UUIDv7 as pi names its sessions."""
    head = f"{milliseconds:012x}"
    tail = f"{rng.getrandbits(76):019x}"
    return f"{head[:8]}-{head[8:]}-7{tail[:3]}-a{tail[4:7]}-{tail[7:]}"


# ---- stores ------------------------------------------------------------------------------------------------------


def _mixed(spec: StoreSpec, store: Store) -> int:
    rng = random.Random(f"mixed {spec.seed} {spec.sessions} {spec.bytes}")
    sizes = Sizes(rng)
    drawn = [figures.BYTES_PER_SESSION.at((index + 0.5) / spec.sessions) for index in range(spec.sessions)]
    rng.shuffle(drawn)
    factor = spec.bytes / sum(drawn)
    targets = [round(size * factor) for size in drawn]
    branched = _chosen(rng, targets, 5_000, figures.BRANCHED)
    labelled = _chosen(rng, targets, 3_000, figures.LABELLED)
    compacted = _chosen(rng, targets, 60_000, figures.COMPACTED)
    with_images = _chosen(rng, targets, 300_000, figures.SESSIONS_WITH_IMAGES)
    named = _chosen(rng, targets, 0, figures.NAMED)
    written = wanted = 0
    for number, (project, target) in enumerate(zip(_projects(rng, spec.sessions), targets, strict=True)):
        wanted += target
        # what one session has too much, later ones have less: the sum is right
        target = max(target // 2, wanted - written)
        start = LAST_DAY_MS - int((3 + rng.random() * DAYS) * 86_400_000)
        with _SessionFile(store, project, start, sizes, rng, most=max(400, target // 3)) as writer:
            writer.start()
            branches = rng.randint(1, 3) if number in branched else 0
            images = rng.randint(1, 3) if number in with_images else 0
            compactions = int(number in compacted)
            writer.turn()
            if number in named:
                writer.name()
            while writer.bytes < target or branches:
                if compactions and writer.bytes > target * 0.6:
                    compactions = 0
                    writer.compact()
                if branches and len(writer.turns) > 1 and (writer.bytes >= target or rng.random() < 0.3):
                    branches -= 1
                    left = writer.leaf
                    writer.go_back(rng.randrange(1, len(writer.turns)))
                    if rng.random() < 0.3:
                        writer.branch_summary(left)
                writer.turn(image=min(target // 2, sizes.image()) if images else 0)
                images -= bool(images)
            if compactions:
                writer.compact()
            if number in labelled:
                for _ in range(rng.randint(1, 4)):
                    writer.label()
        written += writer.bytes
    return written


def _others(spec: StoreSpec, store: Store) -> int:
    # Imported here because that module uses this one.
    from tests.bench.generate_others import make_others

    projects = _projects(random.Random(f"projects {spec.seed}"), spec.sessions)
    return make_others(store.home, spec.sessions, spec.bytes, spec.seed, projects)


def _images(spec: StoreSpec, store: Store) -> int:
    rng = random.Random(f"images {spec.seed}")
    sizes = Sizes(rng)
    with _SessionFile(store, "screenshots", LAST_DAY_MS - LONG_MS, sizes, rng, most=40_000) as writer:
        writer.start()
        while writer.bytes < spec.bytes:
            writer.turn(image=min(2_000_000, max(200_000, sizes.image() * 4)))
    return writer.bytes


def _line(spec: StoreSpec, store: Store) -> int:
    rng = random.Random(f"line {spec.seed}")
    sizes = Sizes(rng)
    text = spec.name.endswith("text")
    with _SessionFile(store, "one-line", LAST_DAY_MS - LONG_MS, sizes, rng, most=40_000) as writer:
        writer.start()
        writer.turn()
        writer.giant(spec.bytes, text=text)
        writer.turn()
    return writer.bytes


def _chain(spec: StoreSpec, store: Store) -> int:
    rng = random.Random(f"chain {spec.seed}")
    sizes = Sizes(rng)
    with _SessionFile(store, "long-story", LAST_DAY_MS - LONG_MS, sizes, rng, most=200_000) as writer:
        writer.start()
        while writer.entries < spec.entries - 100:
            left = max(1.0, (spec.bytes - writer.bytes) / (spec.entries - writer.entries))
            mean = writer.bytes / writer.entries
            writer.scale = max(0.05, min(4.0, writer.scale * (left / mean) ** 0.05))
            writer.turn()
        while writer.entries < spec.entries:
            writer.ask()
    return writer.bytes


def _branches(spec: StoreSpec, store: Store) -> int:
    rng = random.Random(f"branches {spec.seed}")
    sizes = Sizes(rng)
    with _SessionFile(store, "many-ways", LAST_DAY_MS - LONG_MS, sizes, rng, most=20_000) as writer:
        writer.scale = 0.25
        writer.start()
        for turn in range(spec.entries * 10 // 9 + 2):
            # every tenth goes on from the leaf, the others begin beside an earlier message
            if turn > 1 and turn % 10:
                writer.go_back(rng.randrange(1, turn))
            writer.turn()
    return writer.bytes


_MAKERS: dict[str, Callable[[StoreSpec, Store], int]] = {
    "mixed": _mixed,
    "others": _others,
    "images": _images,
    "line": _line,
    "chain": _chain,
    "branches": _branches,
}


class _SessionFile:
    """One file of a store, with the name, folder and time of change that pi gives it."""

    def __init__(self, store: Store, project: str, start: int, sizes: Sizes, rng: random.Random, *, most: int) -> None:
        cwd = f"/home/dev/projects/{project}"
        folder = store.sessions_dir / f"--{cwd[1:].replace('/', '-')}--"
        folder.mkdir(exist_ok=True)
        self._open = folder / "unnamed"
        self._file = self._open.open("wb", buffering=1 << 20)
        self._writer = SessionWriter(self._file, rng, sizes, cwd, start, most)
        stamp = re.sub(r"[:.]", "-", iso(start).decode())
        self._path = folder / f"{stamp}_{self._writer.id}.jsonl"

    def __enter__(self) -> SessionWriter:
        return self._writer

    def __exit__(self, *failure: object) -> None:
        self._file.close()
        self._open.rename(self._path)
        os.utime(self._path, (self._writer.now / 1000, self._writer.now / 1000))


def _chosen(rng: random.Random, targets: list[int], least: int, share: float) -> set[int]:
    """Return the sessions with a feature: this share of all, drawn from those large enough to have it."""
    able = [number for number, target in enumerate(targets) if target >= least]
    return set(rng.sample(able, min(len(able), round(share * len(targets)))))


def _projects(rng: random.Random, sessions: int) -> list[str]:
    """Return a project for each session; few have many, many have few."""
    count = max(1, round(sessions / figures.SESSIONS_FOR_A_PROJECT))
    names = [f"{first}-{second}" for first in words.COMMON for second in ("api", "web", "cli", "lib", "app", "infra")]
    weights = [figures.SESSIONS_PER_PROJECT.at((index + 0.5) / count) for index in range(count)]
    return rng.choices(rng.sample(names, count), weights, k=sessions)
