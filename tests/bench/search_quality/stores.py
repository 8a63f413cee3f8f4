"""The stores of the measurement: the sessions that are asked about, in three kinds of noise. Deterministic by seed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.bench.generate import SESSIONS_BELOW_HOME, Store, StoreSpec, make_store
from tests.bench.search_quality import noise
from tests.bench.search_quality.base import Asked, Known, read_base, resolve, write_base
from tests.bench.search_quality.questions import HERE, half_remembered, questions

VERSION = 3
"""Part of a store's description: stores of another generator are made anew."""
STORES = ("hard", "ordinary", "10,000", "frequent", "hard, half remembered", "ordinary, half remembered")
"""`frequent`: like `ordinary`, but each word that is asked for stands in every third session, anywhere in it.

`half remembered`: other questions, with noise about their words.
"""
GENERATED = StoreSpec("search-generated", "mixed", 150, 30_000_000)
FEW_GENERATED = StoreSpec("quick-search-generated", "mixed", 15, 3_000_000)
NOISY = 450
FEW_NOISY = 45


class QualityStore(Struct, frozen=True):
    """A store, and the questions that are asked of it."""

    store: Store
    asked: tuple[Asked, ...]
    sessions: int


class _Made(Struct, frozen=True):
    """The description that a complete store has beside it."""

    wanted: list[str | int]
    asked: tuple[Asked, ...]
    sessions: int


def make_quality_store(
    name: str, below: Path, corpus: Path, say: Callable[[str], None] = lambda _: None, *, quick: bool = False
) -> QualityStore:
    """Return the store of this name, made if it is not there whole; `quick` leaves most of the noise out."""
    folder = below / f"{'quick-' if quick else ''}search-{name.replace(',', '').replace(' ', '-')}"
    store = Store(StoreSpec(folder.name, "search", 0, 0), folder / "home")
    complete = folder / "complete.json"
    wanted: list[str | int] = [VERSION, _digest(corpus), name, int(quick)]
    if complete.is_file():
        made = msgspec.json.decode(complete.read_bytes(), type=_Made)
        if made.wanted == wanted:
            return QualityStore(store, made.asked, made.sessions)
    shutil.rmtree(folder, ignore_errors=True)
    written = write_base(store.home, corpus)
    known = read_base(store.home, corpus, written)
    asked_for = half_remembered() if name.endswith("half remembered") else questions()
    asked = tuple(resolve(question, known, written) for question in asked_for)
    vocabulary = noise.vocabulary(
        talk(known), [each.question.ask for each in asked], invent=not name.startswith("hard")
    )
    generated = make_store(FEW_GENERATED if quick else GENERATED, below, say)
    for file in generated.files():
        placed = store.home / file.relative_to(generated.home)
        placed.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, placed)
    noisy = FEW_NOISY if quick else NOISY
    if name == "10,000":
        noisy = (500 if quick else 10_000) - len(known) - len(generated.files())
    asked_words = sorted({word for each in asked for word in noise.words_of(each.question.ask.casefold())})
    frequent = asked_words if name == "frequent" else ()
    noise.write_noise(store.home / SESSIONS_BELOW_HOME, vocabulary, noisy, "noise", frequent)
    sessions = len(known) + len(generated.files()) + noisy
    complete.write_bytes(msgspec.json.encode(_Made(wanted, asked, sessions)))
    say(f"made {folder.name}: {sessions:,} sessions")
    return QualityStore(store, asked, sessions)


def talk(known: list[Known]) -> list[str]:
    """Return what people and models said in sessions, without the output of tools."""
    return [text for session in known for text in session.said]


def _digest(corpus: Path) -> str:
    """Return what the base of a store follows from: questions, written sessions, and the files of the corpus."""
    parts = [(HERE / name).read_bytes() for name in ("questions.toml", "half_remembered.toml", "written.toml")]
    parts += [f"{path.name} {path.stat().st_size}".encode() for path in sorted(corpus.rglob("*.jsonl"))]
    return sha256(b"\0".join(parts)).hexdigest()
