"""Open a temporary copy of an image in the system's viewer, without waiting for the viewer to end."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.store.read.content import read_blob
from sessionbrowse.tui.layout.images import EXTENSIONS, image_bytes, kind_of
from sessionbrowse.tui.outside.editor import TemporaryCopies

Start = Callable[[Sequence[str], Mapping[str, str]], None]
"""A function that starts a program and returns without waiting for the program's end."""


class NoViewer(SessionBrowseError):
    """Raised if an image cannot be opened in a viewer."""


def show_image(
    data: str | None,
    session_path: str,
    copies: TemporaryCopies,
    environ: Mapping[str, str],
    *,
    platform: str = sys.platform,
    start: Start | None = None,
) -> str:
    """Open an image (base64, or omp's reference to a blob) in the system's viewer; return the sentence for a toast.

    Raises:
        NoViewer: the data is None or not an image, or there is no viewer.
        Unreadable: the blob cannot be read.
    """
    if data is None:
        raise NoViewer("This view cannot open the image. The Entry view can, if the session file contains the image.")
    content = read_blob(session_path, data) if data.startswith("blob:") else image_bytes(data)
    if content is None and data.startswith("blob:"):
        raise NoViewer("The image is missing: omp kept it in a file of its own, and that file is gone.")
    kind = kind_of(content) if content is not None else None
    if content is None or kind is None:
        raise NoViewer("Not opened: the image is not a PNG, JPEG, GIF or WebP.")
    path = copies.write(content, f"image{EXTENSIONS[kind]}")
    try:
        return open_file(str(path), environ, platform=platform, start=start)
    except NoViewer:
        path.unlink(missing_ok=True)
        raise


def open_file(
    path: str, environ: Mapping[str, str], *, platform: str = sys.platform, start: Start | None = None
) -> str:
    """Open a file with the desktop's default program; return the sentence that says so.

    Raises:
        NoViewer: there is no such program, or it cannot be started.
    """
    command = viewer_command(environ, platform)
    try:
        (start or _start)([*command, path], environ)
    except OSError as error:
        raise NoViewer(f"{command[0]} could not be started: {error.strerror or error}.") from error
    return f"Opened with {command[0]}."


def viewer_command(environ: Mapping[str, str], platform: str) -> list[str]:
    """Return the command that opens a file with the desktop's default program.

    Raises:
        NoViewer: there is no such program, or no desktop.
    """
    path = environ.get("PATH")
    if platform == "darwin":
        return ["open"]
    if shutil.which("wslview", path=path):
        return ["wslview"]
    # Without a desktop, xdg-open would start a text-mode web browser in this terminal, so it is not used.
    if not (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
        raise NoViewer("There is no desktop here that could open it.")
    if not shutil.which("xdg-open", path=path):
        raise NoViewer("There is no viewer here: xdg-open is not installed.")
    return ["xdg-open"]


def _start(command: Sequence[str], environ: Mapping[str, str]) -> None:
    subprocess.Popen(
        command,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
