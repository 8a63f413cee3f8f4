"""Open a session file, interpret it as its agent does, and follow it as it grows. Reading never changes a file."""

from __future__ import annotations

import os
from typing import NoReturn

from msgspec import Struct

from sessionbrowse.agents.base import HEAD_BYTES, Marks
from sessionbrowse.errors import NeedsRepair, SessionBrowseError, UnsupportedFormat
from sessionbrowse.format.codec import recognise
from sessionbrowse.format.entries import BadLine
from sessionbrowse.format.envelope import read_envelope
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session, build_session
from sessionbrowse.store.find.discover import agent_of_path
from sessionbrowse.store.read.archive import Unpacked
from sessionbrowse.store.read.content import Content, closing, file_blocks, open_content, read_at, unreadable
from sessionbrowse.store.system.files import pread
from sessionbrowse.text import clean


def open_session(path: str | os.PathLike[str], agent: str | None = None) -> Session:
    """Read a session file, and interpret it as its agent does.

    Without `agent`, the agent is recognised by the file's content, its folder's name or its path. A damaged file raises
    no error: see `Session.problems` and `Session.refusal`.

    Raises:
        Unreadable: the file is gone, forbidden, or no regular file.
        UnsupportedFormat: the file has another format: format version 4, an event stream, or the transcript of
        another program.
    """
    place = os.path.abspath(path)
    content = open_content(place)
    with closing(content.descriptor) as descriptor:
        try:
            head = pread(descriptor, HEAD_BYTES, 0)
            foreign = recognise(head)
            if foreign is not None:
                raise UnsupportedFormat(f"{os.path.basename(place)}: {foreign}")
            marks = content.marks(head)
            session = _read(content, place, content.program or agent or agent_of_path(place, marks))
            # Later lines may show that another agent wrote the file; then it is read again by the rules of that agent.
            named = content.program or agent or agent_of_path(place, Marks(marks.agents | session.marks))
            if session.is_transcript:
                named = "indusagi"
            return session if named == session.agent else _read(content, place, named)
        except OSError as error:
            raise unreadable(place, error) from error


def refuse_damaged(session: Session, empty: type[SessionBrowseError]) -> NoReturn:
    """Raise the error for a session that its agent refuses: of the type `empty` if the file has no entry to save."""
    sentence = f"{clean(os.path.basename(session.path))}: {session.agent} {session.refusal}."
    if not session.ids:
        raise empty(sentence)
    raise NeedsRepair(f"{sentence} Repair the session first.")


def _read(content: Content, path: str, agent: str) -> Session:
    blocks = line_blocks(file_blocks(content.descriptor))
    if not content.is_in_place:
        return build_session(blocks, RULES[agent], path, Unpacked(content.descriptor).read)
    return build_session(blocks, RULES[agent], path, lambda offset, size: read_at(path, offset, size))


# ---- a growing file: its last entry, the ids in use, an unfinished last line -------------------------------------

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
