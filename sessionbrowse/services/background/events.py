"""What the companion of the browser tells it, and the bytes in which that crosses from process to process."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary


class Folder(Struct, frozen=True):
    """A directory that sessions belong to, counted before all its sessions are there."""

    cwd: str
    sessions: int
    named: int
    modified: float | None
    agents: tuple[str, ...]


class Opening(Struct, frozen=True):
    """What the first look at the list needs: its first sessions, and how many there are in which folders."""

    summaries: tuple[Summary, ...]
    folders: tuple[Folder, ...]
    sessions: int


class Found(Struct, frozen=True):
    """Sessions, new or replacing earlier readings, and how far the reading is; `total` 0 where nothing is counted."""

    summaries: tuple[Summary, ...]
    done: int = 0
    total: int = 0


class Indexed(Struct, frozen=True):
    """All that the index remembers was handed over; what changed since follows."""


class Gone(Struct, frozen=True):
    """Files that are no longer there."""

    paths: tuple[str, ...]


class Complete(Struct, frozen=True):
    """A look at the whole disk came to its end: every session was handed over. `skipped` are paths with reasons."""

    skipped: tuple[tuple[str, str], ...] = ()


class Indexing(Struct, frozen=True):
    """How far the index is; all done ends it."""

    done: int
    total: int


class InUse(Struct, frozen=True):
    """The sessions that running programs speak for, in place of those said before."""

    paths: tuple[str, ...]


class Note(Struct, frozen=True):
    """A sentence that the user should read."""

    sentence: str


class Failed(Struct, frozen=True):
    """Nothing can be read, and why."""

    sentence: str


News = Opening | Found | Indexed | Gone | Complete | Indexing | InUse | Note | Failed

_KINDS: tuple[type[Any], ...] = (Opening, Found, Indexed, Gone, Complete, Indexing, InUse, Note, Failed)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_FIELDS = Summary.__struct_fields__


def encode(news: News) -> bytes:
    """Return the news as bytes; paths keep what is no valid text in them."""
    number = _NUMBERS[type(news)]
    match news:
        case Opening(summaries, folders, sessions):
            plain: tuple[Any, ...] = (
                _plain(summaries),
                [(each.cwd, each.sessions, each.named, each.modified, each.agents) for each in folders],
                sessions,
            )
        case Found(summaries, done, total):
            plain = (_plain(summaries), done, total)
        case _:
            plain = tuple(getattr(news, name) for name in news.__struct_fields__)
    return marshal.dumps((number, plain))


def decode(content: bytes) -> News:
    """Return the news that `encode` made these bytes of."""
    number, plain = marshal.loads(content)
    kind = _KINDS[number]
    if kind is Opening:
        return Opening(_summaries(plain[0]), tuple([Folder(*each) for each in plain[1]]), plain[2])
    if kind is Found:
        return Found(_summaries(plain[0]), plain[1], plain[2])
    news: News = kind(*plain)
    return news


def _plain(summaries: Sequence[Summary]) -> list[tuple[Any, ...]]:
    return [tuple([getattr(summary, name) for name in _FIELDS]) for summary in summaries]


def _summaries(plain: list[tuple[Any, ...]]) -> tuple[Summary, ...]:
    return tuple([Summary(**dict(zip(_FIELDS, values, strict=True))) for values in plain])
