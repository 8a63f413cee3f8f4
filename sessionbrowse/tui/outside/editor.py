"""The user's editor or pager, and the read-only temporary copies of session files that it opens."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sessionbrowse import text
from sessionbrowse.errors import SessionBrowseError, WriteFailed

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

    def remove_all(self) -> None:
        """Remove all temporary copies and their directory."""
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


LARGEST_COPY = 512 * 1024 * 1024
VARIABLES = ("VISUAL", "EDITOR", "PAGER")
FALLBACKS = ("less", "more", "vi", "nano")


class NoEditor(SessionBrowseError):
    """Raised if no editor is installed, or the file cannot be copied for the editor."""


def editor_command(environ: Mapping[str, str], *, writes: bool = False) -> tuple[str, ...]:
    """Return the command of $VISUAL, $EDITOR or $PAGER, else an installed pager; with `writes`, never a pager.

    Raises:
        NoEditor: no editor or pager is set or installed.
    """
    for name in VARIABLES[:2] if writes else VARIABLES:
        written = environ.get(name, "").strip()
        if not written:
            continue
        try:
            words = shlex.split(written)
        except ValueError as error:
            raise NoEditor(f"${name} cannot be read as a command: {error}.") from error
        if not shutil.which(words[0], path=environ.get("PATH")):
            raise NoEditor(f"${name} names {words[0]}, which is not installed.")
        return tuple(words)
    found = next((name for name in FALLBACKS[2 * writes :] if shutil.which(name, path=environ.get("PATH"))), None)
    if found is None:
        raise NoEditor("No editor is installed: set $VISUAL or $EDITOR.")
    return (found,)


def private_copy(copies: TemporaryCopies, source: Path) -> Path:
    """Make a private copy of a session's file, which only this user can read; return the path of the copy.

    Raises:
        NoEditor: the file is too large to be copied, or cannot be read.
    """
    try:
        size = os.stat(source).st_size
        if size > LARGEST_COPY:
            raise NoEditor(f"{text.size(size)} is too large to copy for an editor; open the file itself: {source}")
        return copies.write(source.read_bytes(), source.name, mode=0o400)
    except OSError as error:
        raise NoEditor(f"{source} cannot be copied: {error.strerror or error}.") from error
