"""The questions and the sessions written for them, as the three files beside this module hold them."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

HERE = Path(__file__).resolve().parent
SOURCES = ("corpus", "demo", "written")


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """A question and its answers. `right` and `entries` are references whose form depends on the source."""

    ask: str
    wants: str
    right: tuple[str, ...]
    entries: tuple[str | int, ...]
    source: str = ""


class Written(Struct, frozen=True, forbid_unknown_fields=True):
    """A session that the bench writes. `pad` is the number of bytes of other talk and output around its turns."""

    key: str
    project: str
    days: float
    turns: tuple[tuple[str | int, ...], ...]
    pad: int = 0
    fork_of: str = ""
    at: int = 0


def is_held_out(question: Question) -> bool:
    """Return True for the half of the questions that only reports; the search is built with the other half."""
    return bool(sha256(question.ask.encode()).digest()[-1] & 1)


def questions() -> list[Question]:
    """Return all questions in the order of the file."""
    tables = tomllib.loads((HERE / "questions.toml").read_text())
    return [
        msgspec.structs.replace(msgspec.convert(row, Question), source=source)
        for source in SOURCES
        for row in tables[source]
    ]


def half_remembered() -> list[Question]:
    """Return the questions with typing mistakes, other spellings and forms, words apart and other words; `wants` is
    their kind."""
    tables = tomllib.loads((HERE / "half_remembered.toml").read_text())
    found = []
    for kind, rows in tables.items():
        for ask, *right in rows:
            (source,) = {reference.partition(":")[0] for reference in right}
            named = tuple(reference.partition(":")[2] for reference in right)
            found.append(Question(ask, kind, named, (), source))
    return found


def written_sessions() -> list[Written]:
    """Return the sessions of `written.toml`; a fork stands after its source."""
    tables = tomllib.loads((HERE / "written.toml").read_text())
    return msgspec.convert(tables["session"], list[Written])
