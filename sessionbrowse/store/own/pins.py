"""Read and write pinned sessions: sessionbrowse's file in the state directory, and omp's file, which is only read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.own.state_directory import DAMAGED, read_own_file, write_own_file

if TYPE_CHECKING:
    from sessionbrowse.agents import Place

FILE = "pins.json"
OMP_FILE = "session-pins.json"


class Pins(Struct, frozen=True):
    """The pinned sessions: `own` are pairs (agent, session id) pinned in sessionbrowse, `omp` are ids pinned in omp."""

    own: frozenset[tuple[str, str]] = frozenset()
    omp: frozenset[str] = frozenset()

    def holds(self, summary: Summary) -> bool:
        """Return True if a session is pinned, in sessionbrowse or in omp."""
        return summary.id is not None and (
            (summary.agent, summary.id) in self.own or (summary.agent == "omp" and summary.id in self.omp)
        )


class _PinsFile(Struct):
    version: int
    pins: list[tuple[str, str]]


def read_pins(state: str, places: Iterable[Place] = ()) -> Pins:
    """Return the sessions pinned in sessionbrowse's file and in omp's; a missing or unreadable file counts as empty."""
    omp: set[str] = set()
    for folder in dict.fromkeys([place.agent_dir for place in places if place.agent == "omp" and place.agent_dir]):
        # omp 18.2 stores its pins as a JSON array of session ids, in the directory of its settings.
        try:
            omp.update(msgspec.json.decode(read_own_file(os.path.join(folder, OMP_FILE)) or b"[]", type=list[str]))
        except DAMAGED:
            continue
    return Pins(_own(state), frozenset(omp))


def set_pin(state: str, agent: str, session_id: str, pinned: bool) -> None:
    """Pin or unpin a session; the pins are read again first, so that pins set by another sessionbrowse are kept.

    Raises:
        OSError: the file could not be written.
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
