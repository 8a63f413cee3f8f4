"""Translate sessions of Claude Code and Codex into pi's format, in temporary files without names.

The sessions' files are only read. The last translations stay open, because a session is read in many small pieces.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from sessionbrowse.agents.base import stem_of
from sessionbrowse.agents.codex import codex_name, codex_title, id_in_name
from sessionbrowse.errors import Unreadable
from sessionbrowse.format.codec import HEAD_SIZES, ZSTD
from sessionbrowse.format.entries import Header
from sessionbrowse.format.json_value import Json, json_object
from sessionbrowse.model.listing.directories import alphanumeric
from sessionbrowse.store.find.discover import FileStamp, stamp_of
from sessionbrowse.store.read.archive import first_bytes, unpacked
from sessionbrowse.store.system.files import pread
from sessionbrowse.text import clean, size

if TYPE_CHECKING:
    from sessionbrowse.model.foreign.translated import Translated

MOST_BYTES = 1024 * 1024 * 1024
"""Maximum size of a file to translate, which takes several times as much memory; a larger one is not read."""
_KEPT = 4


Names = tuple[str | None, str | None]
"""The name of a session in the index of names that Codex keeps, and its title in the database of Codex; else None."""

_AT_ONCE = 1 << 30
"""Maximum number of bytes that one call reads; macOS refuses 2 GiB."""


class _Translation(Struct):
    stamp: FileStamp
    file: BinaryIO
    names: Names


_kept: dict[str, _Translation] = {}
_lock = threading.Lock()


def other_header(path: str, program: str) -> Header:
    """Return a header with the id and directory of a session of Claude Code or Codex, reading only its beginning."""
    folder, name = os.path.split(path)
    made, key = Header(), b'"id"' if program == "codex" else b'"cwd"'
    for most in HEAD_SIZES[1:]:
        head = b""
        with suppress(OSError, Unreadable):
            head = first_bytes(path, most)
        values = (value for line in head.split(b"\n") if key in line and (value := json_object(line)))
        if program == "codex":
            payloads = (value.get("payload", value) for value in values if value.get("type") in (None, "session_meta"))
            meta = next((one for one in payloads if isinstance(one, dict)), {})
            made = Header(id=_text(meta.get("id")) or id_in_name(path) or None, cwd=_text(meta.get("cwd")))
        else:
            made = Header(id=stem_of(name), cwd=_own_directory(values, os.path.basename(folder)))
        if made.cwd is not None or len(head) < most:
            break
    return made


def translate(agent: str, content: bytes, path: str, names: Names = (None, None), *, brief: bool = False) -> Translated:
    """Translate the given content of a Claude Code or Codex session; the file `path` itself is not read.

    With `brief`, entries have only the content that a list of sessions shows.
    """
    from sessionbrowse.model.foreign.claude import claude
    from sessionbrowse.model.foreign.codex import codex

    if agent == "claude":
        return claude(content, path, brief=brief)
    return codex(content, path, name=names[0], title=names[1], brief=brief)


def own_content(path: str, descriptor: int, size: int) -> bytes:
    """Return the first `size` bytes of an open Claude Code or Codex session; the whole content if it is compressed.

    Raises:
        Unreadable: the file is compressed, and cannot be unpacked here. OSError: the file cannot be read.
    """
    if pread(descriptor, len(ZSTD), 0) == ZSTD:
        return b"".join(unpacked(path))
    # Nothing after `size` is read: the agent may be appending to the file meanwhile.
    content = pread(descriptor, min(size, _AT_ONCE), 0)
    while len(content) < size and (more := pread(descriptor, min(size - len(content), _AT_ONCE), len(content))):
        content += more
    return content


def _own_directory(values: Iterable[dict[str, Json]], folder: str) -> str | None:
    """Return the session's working directory among those that its records name.

    Claude Code names the folder of a project after its directory: the first directory that gives the name `folder` is
    the session's own. If none does, the first directory is returned.
    """
    first = None
    for value in values:
        cwd = _text(value.get("cwd"))
        if cwd and alphanumeric(cwd) == folder:
            return cwd
        first = first or cwd
    return first


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _names_of(path: str, agent: str) -> Names:
    return (codex_name(path), codex_title(path)) if agent == "codex" else (None, None)


def translated(path: str, descriptor: int, status: os.stat_result, agent: str, *, brief: bool = False) -> Translated:
    """Return the session in an open file with the given status; see `translate` and `translated_descriptor`."""
    if status.st_size > MOST_BYTES:
        raise Unreadable(f"{clean(path)} cannot be read: it is larger than {size(MOST_BYTES)}")
    names = _names_of(path, agent)
    return translate(agent, own_content(path, descriptor, status.st_size), path, names, brief=brief)


def translated_descriptor(path: str, descriptor: int, status: os.stat_result, agent: str) -> int:
    """Translate an open file, and return a new descriptor from which the translation is read.

    `status` is the result of `os.fstat` for the file.

    Raises:
        Unreadable: the file is too large, or the disk has no space; or it is compressed, and cannot be unpacked here.
        OSError: the file cannot be read.
    """
    stamp = stamp_of(path, status)
    names = _names_of(path, agent)
    with _lock:
        known = _kept.get(path)
        if known is not None and known.stamp == stamp and known.names == names:
            return os.dup(known.file.fileno())
    made = translated(path, descriptor, status, agent)
    # Imported here because most lists read no session of these programs.
    import tempfile

    file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  It stays open while it is kept.
    try:
        file.writelines(made.lines())
        file.flush()
    except OSError as error:
        file.close()
        raise Unreadable(f"{clean(path)} cannot be translated: {error.strerror}") from error
    with _lock:
        old = _kept.pop(path, None)
        while len(_kept) >= _KEPT:
            _kept.pop(next(iter(_kept))).file.close()
        if old is not None:
            old.file.close()
        _kept[path] = _Translation(stamp, file, names)
        return os.dup(file.fileno())
