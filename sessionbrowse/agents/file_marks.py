"""Find marks at the beginning of a session file; a mark is content that only one of the agent programs writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sessionbrowse.agents.attribution import Marks
from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import Header
from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.model.session.records import is_workflow_stage
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES, ONLY, VERBATIM_STRATEGY

HEAD_BYTES = 64 * 1024


def marks_of_head(head: bytes) -> Marks:
    """Return the marks in the first bytes of a file; a mark is content that only one agent program writes.

    Only the starts of lines are searched, because the text of a message may look like a mark.
    """
    head = head.removeprefix(b"\xef\xbb\xbf")
    types = [
        (found[1].decode("ascii"), at)
        for at in _line_starts(head)
        if not head.startswith(_MESSAGE, at) and (found := _TYPE.match(head, at))
    ]
    names = {name for name, _ in types}
    agents: set[str] = set()
    if types[:1] == [("title", 0)]:
        agents |= {"omp", f"{ONLY}omp"}
    elif names & OMP_ONLY_TYPES:
        agents.add("omp")
    if (
        names & ATOMIC_ONLY_TYPES
        or any(name == "compaction" and _is_verbatim(_line(head, at)) for name, at in types)
        or any(name == "session" and _is_workflow(_line(head, at)) for name, at in types[:2])
    ):
        agents.add("atomic")
    if _TRANSCRIPT.match(head):
        agents |= {"indusagi", f"{ONLY}indusagi"}
    return Marks(frozenset(agents))


_TYPE = re.compile(rb'[ \t\r]*\{[ \t]*"type"[ \t]*:[ \t]*"([a-z_]+)"')
# Most lines are messages. They are skipped, because no message shows which program wrote the file.
_MESSAGE = b'{"type":"message"'
_TRANSCRIPT = re.compile(rb'\s*\{[^\n]{0,200}?"schema"[ \t]*:[ \t]*"indus/transcript@1"')


def _line_starts(head: bytes) -> Iterator[int]:
    # Searching for newlines is faster than `re` with `^`, which tests every byte.
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
