"""The user's editor or pager; it opens read-only copies, never the session's own file, and the settings file."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from sessionbrowse import text
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.tui.outside.temporary_copies import TemporaryCopies

LARGEST_COPY = 512 * 1024 * 1024
VARIABLES = ("VISUAL", "EDITOR", "PAGER")
FALLBACKS = ("less", "more", "vi", "nano")


class NoEditor(SessionBrowseError):
    """Raised if no editor is installed, or the file cannot be copied for the editor."""


def editor_command(environ: Mapping[str, str], *, writes: bool = False) -> tuple[str, ...]:
    """Return the command of $VISUAL, $EDITOR or $PAGER, else an installed pager; with `writes`, of no pager.

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
