"""Follow a growing session file: its last entry, the entry ids in use, and an unfinished last line."""

from __future__ import annotations

import os

from msgspec import Struct

from sessionbrowse.format.entries import BadLine
from sessionbrowse.format.envelope import read_envelope
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.read.content import file_blocks
from sessionbrowse.store.system.files import pread

_STEP = 65536


class Growth(Struct, frozen=True):
    """The writers of the lines that were appended to a session file since its last reading.

    `ours` is True if the line that sessionbrowse wrote is among them; `others_before` and `others_after` are True if
    other programs appended lines before or after this line.
    """

    ours: bool
    others_before: bool
    others_after: bool


class Tail:
    """The state at the end of a session file: its last entry, all entry ids, and its size.

    An entry that sessionbrowse itself has just written does not count: `last_id` and `ids` are those of the entries
    before it and of other programs. This class only reads the file.
    """

    def __init__(self, session: Session, descriptor: int) -> None:
        last = session.envelopes[-1] if session.envelopes else None
        self.ids = set(session.index_by_id)
        self.last_id = last.id if last is not None else None
        self.last_is_nameless = last is not None and last.id is None
        self.size = session.size
        self.torn = session.torn
        self._keeps_headers = session.rules.later_headers_are_entries
        self._line_start = line_start(descriptor, session.size) if session.torn else session.size

    def shrank(self, descriptor: int) -> bool:
        """Return True if the file was shortened, or rewritten so that no line ends where the file ended before."""
        if os.fstat(descriptor).st_size < self.size:
            return True
        return self.size > 0 and not self.torn and pread(descriptor, 1, self.size - 1) != b"\n"

    def read_on(self, descriptor: int, ours: bytes | None = None) -> Growth:
        """Read the lines appended since the last reading; `ours` is sessionbrowse's own new line, without newline."""
        found = before = after = False
        end = self._line_start
        size = os.fstat(descriptor).st_size
        self.torn = False
        for block in line_blocks(file_blocks(descriptor, self._line_start, size), self._line_start):
            offset = block.offset
            last = len(block.lines) - 1
            for number, raw in enumerate(block.lines):
                self.torn = block.torn and number == last
                end = offset + (block.reduced_from or len(raw)) + (not self.torn)
                is_new = end - (not self.torn) > self.size
                if is_new and raw == ours:
                    found = True
                elif is_new and (self._take(raw) or self.torn):
                    before, after = before or not found, after or found
                if self.torn:
                    self._line_start = offset
                offset = end
        if not self.torn:
            self._line_start = end
        self.size = size
        return Growth(found, before, after)

    def _take(self, raw: bytes) -> bool:
        """Record an entry that another program wrote; return False for a line that is not an entry."""
        line = raw.strip(b" \t\r\n")
        envelope = read_envelope(line) if line else BadLine("")
        if isinstance(envelope, BadLine) or (envelope.type == "session" and not self._keeps_headers):
            return False
        self.last_id = envelope.id
        self.last_is_nameless = envelope.id is None
        if envelope.id is not None:
            self.ids.add(envelope.id)
        return True


def line_start(descriptor: int, offset: int) -> int:
    """Return the offset at which the line that contains `offset` begins."""
    end = offset
    while end > 0:
        start = max(0, end - _STEP)
        newline = pread(descriptor, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
