"""Copying to the clipboard: through the terminal (OSC 52), and with the desktop's own program if there is one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from sessionbrowse import text
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.text import clean

LARGEST_FOR_TERMINAL = 74_994
"""Maximum number of bytes sent through OSC 52: many terminals drop more than 100,000 characters of base64."""

LARGEST_FOR_DESKTOP = 32 * 1024 * 1024
PATIENCE_SECONDS = 3.0
SIZE_SAID_FROM = 1024
"""Minimum number of copied bytes for which the toast reports the size."""

Feed = Callable[[Sequence[str], bytes, Mapping[str, str]], None]
"""A function that runs a program with bytes as its standard input."""


class TooLargeToCopy(SessionBrowseError):
    """The text is larger than every available clipboard allows."""


def copyable(source: str) -> str:
    """Return a text without control characters, except line ends and tabs."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(["\t".join([clean(piece) for piece in line.split("\t")]) for line in lines])


def desktop_command(environ: Mapping[str, str], platform: str = sys.platform) -> list[str] | None:
    """Return the command that writes to the desktop's clipboard; None if no such program is installed."""
    path = environ.get("PATH")
    wanted: list[list[str]] = []
    if platform == "darwin":
        wanted.append(["pbcopy"])
    if environ.get("WAYLAND_DISPLAY"):
        wanted.append(["wl-copy"])
    if environ.get("DISPLAY"):
        wanted += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    return next((command for command in wanted if shutil.which(command[0], path=path)), None)


def copy_text(
    source: str,
    what: str,
    to_terminal: Callable[[str], object],
    environ: Mapping[str, str],
    *,
    platform: str = sys.platform,
    feed: Feed | None = None,
) -> str:
    """Copy a text to every available clipboard; return the sentence for the toast. For background threads.

    Raises:
        TooLargeToCopy: the text is too large for every available clipboard.
    """
    content = copyable(source)
    encoded = content.encode("utf-8", "replace")
    size = text.size(len(encoded))
    done = f"Copied {what}, {size}." if len(encoded) >= SIZE_SAID_FROM else f"Copied {what}."
    command = desktop_command(environ, platform)
    fits_terminal = len(encoded) <= LARGEST_FOR_TERMINAL
    if fits_terminal:
        to_terminal(content)
    if command is not None and len(encoded) <= LARGEST_FOR_DESKTOP:
        try:
            (feed or _feed)(command, encoded, environ)
        except (OSError, subprocess.SubprocessError) as error:
            if fits_terminal:
                return f"Copied {what} through the terminal only; {command[0]} failed."
            raise TooLargeToCopy(f"{command[0]} could not copy {what}: {clean(str(error))}.") from error
        return done
    if not fits_terminal:
        limit = text.size(LARGEST_FOR_TERMINAL)
        raise TooLargeToCopy(
            f"{size} is more than a terminal's clipboard takes ({limit}); open it in your editor, or export it."
        )
    return done


def _feed(command: Sequence[str], content: bytes, environ: Mapping[str, str]) -> None:
    subprocess.run(
        command,
        input=content,
        env=dict(environ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
