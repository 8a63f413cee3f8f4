"""Whose session a file is. Three programs read the same variable, so a place alone does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import Header
from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.model.reading import is_workflow_stage
from sessionbrowse.model.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES, VERBATIM_STRATEGY

HEAD_BYTES = 64 * 1024

OWNER_ORDER = ("pi", "omp", "atomic", "indusagi")


class Marks(Struct, frozen=True):
    """The programs of which a file holds something that only they write."""

    agents: frozenset[str] = frozenset()

    def agent(self) -> str | None:
        """Return the program that wrote the file, or None if nothing tells; omp's marks count first."""
        return next((name for name in ("omp", "atomic", "indusagi") if name in self.agents), None)


def attribute(place_agents: Sequence[str], folder_name: str, marks: Marks, override: str | None = None) -> str:
    """Return the agent of a file: the user's word, its marks, its folder's form, the first owner of its
    place.

    `folder_name` is that of a project's folder, "" for files of a flat directory.
    """
    if override is not None:
        return override
    marked = marks.agent()
    if marked is not None:
        return marked
    if is_omp_folder(folder_name):
        return "omp"
    return next((name for name in OWNER_ORDER if name in place_agents), OWNER_ORDER[0])


def is_omp_folder(name: str) -> bool:
    """Tell whether a project's folder has a form that only omp writes: `-`, `-rel`, `-tmp-rel`, or its hashed
    one.
    """
    return (name.startswith("-") and not name.startswith("--")) or bool(_HASHED_FOLDER.fullmatch(name))


def marks_of_head(head: bytes) -> Marks:
    """Return the marks in a file's first bytes, at line starts only: what a message quotes is no mark."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    types = [
        (found[1].decode("ascii"), at)
        for at in _line_starts(head)
        if not head.startswith(_MESSAGE, at) and (found := _TYPE.match(head, at))
    ]
    names = {name for name, _ in types}
    agents = set()
    if types[:1] == [("title", 0)] or names & OMP_ONLY_TYPES:
        agents.add("omp")
    if (
        names & ATOMIC_ONLY_TYPES
        or any(name == "compaction" and _is_verbatim(_line(head, at)) for name, at in types)
        or any(name == "session" and _is_workflow(_line(head, at)) for name, at in types[:2])
    ):
        agents.add("atomic")
    if _TRANSCRIPT.match(head):
        agents.add("indusagi")
    return Marks(frozenset(agents))


# 17.2.5 to 17.2.8 named folders by a hash; omp moves them back only when their project is used again.
_HASHED_FOLDER = re.compile(r"(?:home|tmp|abs)-.+-[0-9a-f]{64}")
_TYPE = re.compile(rb'[ \t\r]*\{[ \t]*"type"[ \t]*:[ \t]*"([a-z_]+)"')
# Most lines are messages, which mark nothing.
_MESSAGE = b'{"type":"message"'
_TRANSCRIPT = re.compile(rb'\s*\{[^\n]{0,200}?"schema"[ \t]*:[ \t]*"indus/transcript@1"')


def _line_starts(head: bytes) -> Iterator[int]:
    # A pattern that looks for line starts itself steps through every byte.
    at = 0
    while True:
        yield at
        at = head.find(b"\n", at) + 1
        if at == 0:
            return


def _is_verbatim(line: bytes) -> bool:
    entry = read_envelope(line)
    return isinstance(entry, Envelope) and entry.text == VERBATIM_STRATEGY


def _is_workflow(line: bytes) -> bool:
    if b"internal" not in line:
        return False
    header = decode_line(line)
    return isinstance(header, Header) and is_workflow_stage(header)


def _line(head: bytes, at: int) -> bytes:
    end = head.find(b"\n", at)
    return head[at : end if end >= 0 else len(head)]
