"""Find a session by what the user calls it: a path, a session id, or the beginning of one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from sessionbrowse.errors import AmbiguousReference, NoSuchSession, SessionBrowseError
from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import Header
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.read.content import HEAD_BYTES, open_regular

_MOST_CANDIDATES = 10
# pi looks no further for a header either (fact sheet of pi, section c); those of version 1 may hold a system prompt.
_LARGEST_HEAD_BYTES = 1024 * 1024


def looks_like_path(reference: str) -> bool:
    """Tell whether a reference is a path, by the agents' own rule: a separator in it, or a session's suffix."""
    return "/" in reference or os.sep in reference or reference.endswith((".jsonl", ".ndjson"))


def find_path(reference: str, files: Iterable[FoundFile]) -> str:
    """Return the path of the session that `reference` names among the files; a path names itself.

    Raises:
        NoSuchSession: nothing fits.
        AmbiguousReference: several files fit; the sentence lists them.
    """
    if looks_like_path(reference):
        path = os.path.abspath(os.path.expanduser(reference))
        if not os.path.exists(path):
            raise NoSuchSession(f"There is no file {path}")
        return path
    wanted = reference.casefold()
    if not wanted:
        raise NoSuchSession("Name a session: a path, an id, or the beginning of an id")
    exact: list[str] = []
    beginning: list[str] = []
    for file in files:
        session_id = header_id(file.path)
        if session_id is None:
            continue
        folded = session_id.casefold()
        if folded == wanted:
            exact.append(file.path)
        elif folded.startswith(wanted):
            beginning.append(file.path)
    found = exact or beginning
    if not found:
        raise NoSuchSession(f"No session has the id {reference!r} or one that begins so")
    if len(found) > 1:
        shown = "\n  ".join(found[:_MOST_CANDIDATES])
        more = f"\n  and {len(found) - _MOST_CANDIDATES} more" if len(found) > _MOST_CANDIDATES else ""
        raise AmbiguousReference(f"{len(found)} sessions fit {reference!r}:\n  {shown}{more}", found)
    return found[0]


def header_id(path: str) -> str | None:
    """Return the id in a file's header, reading only its beginning; a transcript's is its name."""
    if path.endswith(".ndjson"):
        return os.path.basename(path)[: -len(".ndjson")]
    return header_of(path).id


def header_of(path: str) -> Header:
    """Return a file's session header, reading only its beginning; an empty one where none is found there."""
    for size in (HEAD_BYTES, _LARGEST_HEAD_BYTES):
        head = _head(path, size)
        for line in re.split(rb"[\r\n]", head.removeprefix(b"\xef\xbb\xbf")):
            if b'"session"' in line:
                value = decode_line(line)
                if isinstance(value, Header):
                    return value
        if len(head) < size:
            break
    return Header()


def _head(path: str, size: int = HEAD_BYTES) -> bytes:
    try:
        descriptor = open_regular(path)
    except SessionBrowseError:
        return b""
    try:
        return os.pread(descriptor, size, 0)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
