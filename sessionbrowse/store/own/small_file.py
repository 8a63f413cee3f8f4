"""Read and write our own small files; each is replaced as a whole, so a crash leaves the old or the new version."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from sessionbrowse.store.system.files import CLOEXEC, flush

MOST_BYTES = 16 * 1024 * 1024
DAMAGED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of decoding a damaged file."""


def read_own_file(path: str) -> bytes | None:
    """Return the content of a small file; None if it cannot be read."""
    try:
        # Opening a FIFO without O_NONBLOCK would wait for a writer, for ever.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            return file.read(MOST_BYTES)
    except (OSError, ValueError):
        return None


def write_own_file(path: str, content: bytes) -> None:
    """Write a small file in place of its older version; of several writers the last one wins.

    Raises:
        OSError: the disk refused; the old file is as it was.
    """
    import secrets  # imported here: only writing needs it

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
            # A file cannot replace a directory; whatever is in it is kept.
            os.rename(path, os.path.join(folder, f"odd-{secrets.token_hex(4)}-{name}"))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
