"""Pinned sessions: our own file in the state directory, and omp's file, which is only read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.small_file import DAMAGED, read_own_file, write_own_file

if TYPE_CHECKING:
    from sessionbrowse.agents import Place

FILE = "pins.json"
OMP_FILE = "session-pins.json"


class Pins(Struct, frozen=True):
    """The pinned sessions: our pins as pairs of agent and id, and the ids that omp pinned itself."""

    own: frozenset[tuple[str, str]] = frozenset()
    omp: frozenset[str] = frozenset()

    def holds(self, summary: Summary) -> bool:
        """Tell whether a session is pinned."""
        return summary.id is not None and (
            (summary.agent, summary.id) in self.own or (summary.agent == "omp" and summary.id in self.omp)
        )


class _PinsFile(Struct):
    version: int
    pins: list[tuple[str, str]]


def read_pins(state: str, places: Iterable[Place] = ()) -> Pins:
    """Return the pinned sessions; a file that is missing or cannot be read has none."""
    omp: set[str] = set()
    for folder in dict.fromkeys([place.agent_dir for place in places if place.agent == "omp" and place.agent_dir]):
        # omp 18.2: an array of session ids beside the agent's settings.
        try:
            omp.update(msgspec.json.decode(read_own_file(os.path.join(folder, OMP_FILE)) or b"[]", type=list[str]))
        except DAMAGED:
            continue
    return Pins(_own(state), frozenset(omp))


def set_pin(state: str, agent: str, session_id: str, pinned: bool) -> None:
    """Pin or unpin a session; other pins stay, even if another browser set them meanwhile.

    Raises:
        OSError: the disk refused.
    """
    pins = dict.fromkeys(sorted(_own(state)))
    pins.pop((agent, session_id), None)
    if pinned:
        pins[agent, session_id] = None
    write_own_file(os.path.join(state, FILE), msgspec.json.encode(_PinsFile(1, list(pins))))


def _own(state: str) -> frozenset[tuple[str, str]]:
    try:
        found = msgspec.json.decode(read_own_file(os.path.join(state, FILE)) or b"", type=_PinsFile)
    except DAMAGED:
        return frozenset()
    return frozenset(found.pins) if found.version == 1 else frozenset()
