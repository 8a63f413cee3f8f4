"""What the interface and the process that searches for it say to each other: one value per message, by pipe.

Messages are pickled: paths and texts may hold lone surrogates, which no exact format carries. Both ends are this
program, and the pipe is theirs alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import IO

from msgspec import Struct, field

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.search.hits import Checkpoint, Hit

_LENGTH_BYTES = 4


class Start(Struct, frozen=True, kw_only=True):
    """Where to look: what a `Scope` says, and the directory of the index."""

    index_directory: str
    home: str
    environ: Mapping[str, str]
    roots: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


class Find(Struct, frozen=True):
    """Search for a text, instead of what was searched before; `limit` hits are wanted at first."""

    stamp: int
    text: str
    tools: bool = False
    limit: int = 60


class More(Struct, frozen=True):
    """Go on with the search of that stamp until there are `limit` hits."""

    stamp: int
    limit: int


class Stop(Struct, frozen=True):
    """Search no more."""

    stamp: int


class ListCheckpoints(Struct, frozen=True):
    """Send every label of every session, newest session first."""

    stamp: int


class Refresh(Struct, frozen=True):
    """Look at the disk again."""


Request = Find | More | Stop | ListCheckpoints | Refresh


class Known(Struct, frozen=True, kw_only=True):
    """What is searched: how many sessions, whether by an index, with tools, and how far reading them has come.

    `note` is a sentence about the index, if there is one to say.
    """

    sessions: int
    has_index: bool
    has_tools: bool
    reading: bool
    note: str | None = None


class Page(Struct, frozen=True):
    """Hits from place `at` on; what stood there and behind is void. `sessions` are those not sent before."""

    stamp: int
    at: int
    hits: list[Hit]
    sessions: list[Summary] = field(default_factory=list)


class Searched(Struct, frozen=True):
    """How far a search has come: `finished` at its end, `paused` with as many hits as were asked for, or `stopped`.

    `problem` is a sentence that says why it stopped, if the user did not stop it.
    """

    stamp: int
    looked_at: int
    sessions: int
    finished: bool = False
    paused: bool = False
    stopped: bool = False
    problem: str | None = None


class Refused(Struct, frozen=True):
    """Why the text cannot be searched for."""

    stamp: int
    sentence: str


class Checkpoints(Struct, frozen=True):
    """Some more checkpoints; `finished` with the last of them."""

    stamp: int
    checkpoints: list[Checkpoint]
    sessions: list[Summary]
    looked_at: int
    of: int
    finished: bool = False


Answer = Known | Page | Searched | Refused | Checkpoints


def write_message(stream: IO[bytes], message: Start | Request | Answer) -> None:
    """Send a message.

    Raises:
        OSError: the other end is gone.
    """
    content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(len(content).to_bytes(_LENGTH_BYTES) + content)
    stream.flush()


def read_message(stream: IO[bytes]) -> Start | Request | Answer | None:
    """Wait for a message; None when the other end is gone."""
    head = stream.read(_LENGTH_BYTES)
    if len(head) < _LENGTH_BYTES:
        return None
    size = int.from_bytes(head)
    content = stream.read(size)
    if len(content) < size:
        return None
    message: Start | Request | Answer = pickle.loads(content)
    return message
