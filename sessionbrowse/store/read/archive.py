"""Compute the paths of archived sessions, and read the packed sessions of omp's archive and of Codex.

pi, atomic and indusagi list only files directly in a project's folder, so a folder `archive` below it hides a session
from them. omp has its own directory, `archive/sessions` beside `sessions`, into which `omp gc --archive` packs files
as `.jsonl.gz` (omp 18); sessionbrowse stores files there unpacked, as older versions of omp did.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import PurePath
from typing import BinaryIO, cast

from sessionbrowse.errors import RefusedWrite, Unreadable
from sessionbrowse.store.find.discover import ARCHIVE_FOLDER, COMPRESSED_SUFFIX
from sessionbrowse.store.system.files import NONBLOCK, pread
from sessionbrowse.text import clean, size

BLOCK_BYTES = 512 * 1024
ALWAYS_UNPACKED_BYTES = 256 * 1024 * 1024
MOST_TIMES = 100
"""A session that unpacks to more than 256 MiB and more than 100 times its packed size is refused; 10 times is usual."""

NO_ZSTD = "it is compressed; to read it, use Python 3.14 or run: pip install 'sessionbrowse[zstd]'"
"""The reason why a compressed session of Codex cannot be read, if no zstd decompressor is installed."""

_SESSIONS = "sessions"


def is_archived(path: str) -> bool:
    """Return True if the path of a session file is in an archive folder."""
    folder = os.path.dirname(path)
    return os.path.basename(folder) == ARCHIVE_FOLDER or _below_omp_archive(folder)


def archived_path(path: str, agent: str) -> str:
    """Return the path to which archiving moves a session.

    Raises:
        RefusedWrite: the session is archived already, or its agent would still list it after archiving.
    """
    folder, name = os.path.split(path)
    if is_archived(path):
        raise RefusedWrite(f"{clean(name)} is archived already.")
    project, root = os.path.basename(folder), os.path.dirname(folder)
    if agent == "omp" and os.path.basename(root) == _SESSIONS:
        return os.path.join(os.path.dirname(root), ARCHIVE_FOLDER, _SESSIONS, project, name)
    if os.path.basename(folder) == _SESSIONS:
        # In `sessions`, each folder is a project, so a folder `archive` in it would be listed as a project.
        raise RefusedWrite(f"{clean(name)} is in no project's folder, so it cannot be archived.")
    return os.path.join(folder, ARCHIVE_FOLDER, name)


def original_path(path: str) -> str:
    """Return the path that an archived session had before archiving.

    Raises:
        RefusedWrite: the session is not archived.
    """
    folder, name = os.path.split(path)
    if not is_archived(path):
        if any(is_archived(str(one)) and os.path.exists(f"{one}.jsonl") for one in PurePath(path).parents):
            raise RefusedWrite(f"{clean(name)} is in the folder of an archived session. Unarchive that session.")
        raise RefusedWrite(f"{clean(name)} is not archived.")
    name = name.removesuffix(".gz")
    if os.path.basename(folder) == ARCHIVE_FOLDER and not _below_omp_archive(folder):
        return os.path.join(os.path.dirname(folder), name)
    project, sessions = os.path.basename(folder), os.path.dirname(folder)
    return os.path.join(os.path.dirname(os.path.dirname(sessions)), _SESSIONS, project, name)


def unpacked(path: str) -> Iterator[bytes]:
    """Yield the unpacked content of a session file that is packed with gzip or zstd.

    Raises:
        Unreadable: the file is gone or damaged, unpacks to far more than a session can have, or no zstd decompressor is
        installed.
    """
    import zlib

    damages: list[type[Exception]] = [OSError, EOFError, zlib.error]
    try:
        most = max(ALWAYS_UNPACKED_BYTES, os.path.getsize(path) * MOST_TIMES)
        with _opened_packed(path, damages) as file:
            read = 0
            while piece := file.read(BLOCK_BYTES):
                read += len(piece)
                if read > most:
                    raise OSError(errno.EFBIG, f"the unpacked session would be larger than {size(most)}")
                yield piece
    except tuple(damages) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "the file's content is damaged"
        raise Unreadable(f"{clean(path)} cannot be read: {reason}") from error


def _opened_packed(path: str, damages: list[type[Exception]]) -> BinaryIO:
    """Open a packed file to read its content; the types of errors that damaged content raises go to `damages`."""
    # Imported here because importing `gzip` takes 4 ms, and few sessions are packed.
    if not path.endswith(COMPRESSED_SUFFIX):
        import gzip

        return cast("BinaryIO", gzip.open(path, "rb"))
    with suppress(ImportError):
        zstd = import_module("compression.zstd")  # Part of Python from 3.14 on.
        damages.append(zstd.ZstdError)
        return cast("BinaryIO", zstd.open(path, "rb"))
    try:
        import zstandard
    except ImportError:
        raise OSError(errno.ENOTSUP, NO_ZSTD) from None
    damages.append(zstandard.ZstdError)
    reader = zstandard.ZstdDecompressor().stream_reader(open(path, "rb"), read_across_frames=True)  # noqa: SIM115
    return cast("BinaryIO", reader)


def first_bytes(path: str, most: int) -> bytes:
    """Return at least the first `most` bytes of a session file (fewer if it is shorter), unpacked if it is packed.

    Raises:
        Unreadable: the file is packed, and it is damaged or no zstd decompressor is installed. OSError: the file cannot
        be read.
    """
    if not path.endswith(COMPRESSED_SUFFIX):
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NONBLOCK)) as file:
            return file.read(most)
    found = b""
    for piece in unpacked(path):
        found += piece
        if len(found) >= most:
            break
    return found


def unpacked_descriptor(path: str) -> int:
    """Decompress a session into a temporary file that has no name, and return its open file descriptor.

    Raises:
        Unreadable: the file is gone or damaged, or the disk has no space to unpack it.
    """
    import tempfile  # Imported here because only packed sessions need `tempfile`.

    with tempfile.TemporaryFile() as file:
        try:
            for piece in unpacked(path):
                file.write(piece)
            file.flush()
        except OSError as error:
            raise Unreadable(f"{clean(path)} cannot be unpacked: {error.strerror}") from error
        return os.dup(file.fileno())


class Unpacked:
    """The unpacked content of a packed session, which can be read at any offset as long as this object exists."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(os.dup(descriptor), "rb", buffering=0)

    def read(self, offset: int, size: int) -> bytes:
        """Return `size` bytes at an offset of the unpacked content."""
        return pread(self._file.fileno(), size, offset)


def _below_omp_archive(folder: str) -> bool:
    sessions = os.path.dirname(folder)
    return os.path.basename(sessions) == _SESSIONS and os.path.basename(os.path.dirname(sessions)) == ARCHIVE_FOLDER
