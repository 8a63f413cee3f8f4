"""Read and write sessionbrowse's small state files; after a crash, a file has its old or its new content as a whole."""

from __future__ import annotations

import os
import re
from contextlib import suppress

import msgspec

from sessionbrowse.store.system.files import CLOEXEC, flush

MOST_BYTES = 16 * 1024 * 1024
DAMAGED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The exceptions that decoding a damaged state file can raise."""


def read_own_file(path: str) -> bytes | None:
    """Return the content of a small file; None if the file is missing or cannot be read."""
    try:
        # Opening a FIFO without O_NONBLOCK would block until another process writes to it.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            return file.read(MOST_BYTES)
    except (OSError, ValueError):
        return None


def is_temporary_name(name: str, of: str) -> bool:
    """Return True if a file's name has the form that `write_own_file` uses for a new version of the file named `of`."""
    return re.fullmatch(rf"\.{re.escape(of)}\.[0-9a-f]{{8}}", name) is not None


def write_own_file(path: str, content: bytes) -> None:
    """Replace a small file by a new version atomically; if several processes write, the last version stays.

    Raises:
        OSError: the file could not be written; the old file is unchanged.
    """
    import secrets  # Imported here because only writing needs `secrets`.

    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            flush(file.fileno())
        if os.path.isdir(path) and not os.path.islink(path):
            # A file cannot replace a directory, so a directory with this name is renamed and keeps its content.
            os.rename(path, os.path.join(folder, f"odd-{secrets.token_hex(4)}-{name}"))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
