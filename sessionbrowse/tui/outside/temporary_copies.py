"""Temporary copies of files for other programs: readable only by this user, removed when the browser ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from sessionbrowse.errors import WriteFailed

NAME_BYTES = 200
"""Maximum bytes of the original file name in the name of its copy; a longer name loses its beginning."""


class TemporaryCopies:
    """A temporary directory for copies; `write` creates it on first use in `parent` (None: the system's default)."""

    def __init__(self, parent: str | None = None) -> None:
        self._parent = parent
        self._directory: str | None = None
        self._count = 0

    def write(self, content: bytes, name: str, *, mode: int = 0o600) -> Path:
        """Write `content` to a new file `<number>-<name>` in the temporary directory, and return the file's path.

        Raises:
            WriteFailed: the copy cannot be written.
        """
        try:
            if self._directory is None:
                # A TMPDIR that does not exist is ignored, as other programs do.
                parent = self._parent if self._parent and os.path.isdir(self._parent) else None
                self._directory = tempfile.mkdtemp(prefix="sessionbrowse-", dir=parent)
            self._count += 1
            # A long name loses its beginning, not its suffix, because file systems limit file names to 255 bytes.
            path = Path(self._directory) / f"{self._count}-{os.fsdecode(os.fsencode(name)[-NAME_BYTES:])}"
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError as error:
            raise WriteFailed(f"The temporary copy could not be written ({error.strerror or error}).") from error
        return path

    def remove(self, path: Path) -> None:
        """Remove one temporary copy."""
        path.unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Remove all temporary copies and their directory."""
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
