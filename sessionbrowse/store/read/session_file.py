"""Open a session file, and interpret it as its agent does. Reading never writes, repairs or creates a file."""

from __future__ import annotations

import os
from typing import NoReturn

from sessionbrowse.agents.base import Marks
from sessionbrowse.errors import NeedsRepair, SessionBrowseError, UnsupportedFormat
from sessionbrowse.format.lines import line_blocks
from sessionbrowse.format.other_files import recognise
from sessionbrowse.model.session.build_session import build_session
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.find.discover import agent_of_path
from sessionbrowse.store.read.archive import Unpacked
from sessionbrowse.store.read.content import (
    HEAD_BYTES,
    Content,
    closing,
    file_blocks,
    open_content,
    read_at,
    unreadable,
)
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
