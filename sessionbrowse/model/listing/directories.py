"""Compare working directories: by the stored text, by its normal form, and by the path with symbolic links resolved.

An agent may have written a directory by a link or by the link's target, with a trailing slash, or as a path of another
system. In lists, a directory on another machine has the form `mini:/home/me` (see `listed`). This module does not read
the disk; its callers resolve links (see `store.find.directories`). Case matters.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
import sys
from collections.abc import Iterable, Mapping

from sessionbrowse.config import MACHINE_NAME

WINDOWS = sys.platform == "win32"

_DRIVE_OR_SHARE = re.compile(r"[A-Za-z]:(?:[\\/]|\Z)|\\\\[^\\/]")
# Text with `//` after the colon is an address, such as `file:///home/me`.
_ON_MACHINE = re.compile(rf"({MACHINE_NAME}):(?!//)(.*)", re.DOTALL)
_SHARE_BY_SLASHES = re.compile(r"//[^\\/]")


def is_absolute(directory: str, windows: bool = WINDOWS) -> bool:
    """Return True if a stored directory is an absolute path of this operating system, so that it can be looked up."""
    return _is_of_windows(directory, windows) if windows else directory.startswith("/")


def other_system(directory: str, windows: bool = WINDOWS) -> str | None:
    """Return the name of the system to which an absolute path belongs, None for a path of this system."""
    if windows:
        return "Linux or macOS" if directory.startswith("/") and not _is_of_windows(directory, windows) else None
    return "Windows" if _is_of_windows(directory, windows) else None


def listed(directory: str, machine: str | None) -> str:
    """Return a session's working directory in the form of lists: `mini:/home/me` if it is on the machine `mini`.

    A relative directory of this machine that looks like that form gets a leading `./`.
    """
    if machine is not None:
        return f"{machine}:{re.sub('^//+', '/', directory)}"
    return f"./{directory}" if _reads_like_another(directory) else directory


def stored(directory: str, machine: str | None) -> str:
    """Convert a working directory from the form of lists (see `listed`) back to the form in the session file."""
    if machine is not None:
        return directory.removeprefix(f"{machine}:")
    return directory[2:] if directory.startswith("./") and _reads_like_another(directory) else directory


def machine_in(directory: str) -> tuple[str, str] | None:
    """Split a directory such as `mini:/home/me` into the machine's name and the path there; None for this machine."""
    found = _ON_MACHINE.match(directory)
    return (found[1], found[2]) if found is not None else None


def _reads_like_another(directory: str) -> bool:
    return not directory.startswith("/") and machine_in(directory.lstrip("./")) is not None


def normal_form(directory: str, windows: bool = WINDOWS) -> str:
    """Return a directory without trailing slash, `.`, `..` and doubled slashes; a relative path stays relative."""
    if not directory:
        return ""
    if (there := machine_in(directory)) is not None:
        return f"{there[0]}:{normal_form(there[1], windows=False)}"
    if _is_of_windows(directory, windows):
        return ntpath.normpath(directory)
    normal = posixpath.normpath(directory)
    return normal[1:] if normal.startswith("//") else listed(normal, None)


def why_not_here(directory: str, windows: bool = WINDOWS) -> str | None:
    """Return the reason ("is …") why no program can run in a stored directory, judged by its text; None if one can."""
    if (there := machine_in(directory)) is not None:
        return f"is on {there[0]}"
    system = other_system(directory, windows)
    if system is not None:
        return f"is of another system ({system})"
    return None if is_absolute(directory, windows) else "is not an absolute path"


def missing_word(directory: str) -> str:
    """Return the word that lists show beside a directory that is missing, gone or on another system."""
    if machine_in(directory) is not None:
        return "gone"
    return "other system" if other_system(directory) else "missing"


def split(directory: str, windows: bool = WINDOWS) -> tuple[str, str]:
    """Split a directory into the path above it and its name; the name is "" for a root."""
    is_windows = _is_of_windows(directory, windows)
    bare = directory.rstrip("/\\" if is_windows else "/")
    return ntpath.split(bare) if is_windows else posixpath.split(bare)


def part_below(directory: Iterable[str], top: Iterable[str], windows: bool = WINDOWS) -> tuple[str, ...] | None:
    """Return the names that lead from `top` down to `directory`; None if `directory` is neither `top` nor below it.

    Each is given in several spellings (as stored, with links resolved); any pair may match.
    """
    tops = [_steps(path, windows) for path in top if path]
    for steps in (_steps(path, windows) for path in directory if path):
        for above in tops:
            if steps[: len(above)] == above:
                return steps[len(above) :]
    return None


def joined(top: str, names: Iterable[str], windows: bool = WINDOWS) -> str:
    """Return the path of a directory below another one."""
    return ntpath.join(top, *names) if _is_of_windows(top, windows) else posixpath.join(top, *names)


def one_spelling(directories: Iterable[str], resolved: Mapping[str, str]) -> dict[str, str]:
    """Map each directory to one spelling: the same for all given paths that lead to the same directory.

    That spelling is the resolved path if it is among them, else the shortest. `resolved` maps directories to their
    paths with links resolved; directories that it lacks are compared by their normal form.
    """
    spellings: dict[str, list[str]] = {}
    for directory in dict.fromkeys(directories):
        spellings.setdefault(resolved.get(directory) or normal_form(directory), []).append(directory)
    return {
        each: same[0] if len(same) == 1 else min(same, key=lambda text: (text != path, len(text), text))
        for path, same in spellings.items()
        for each in same
    }


def _is_of_windows(directory: str, windows: bool) -> bool:
    return bool(_DRIVE_OR_SHARE.match(directory) or (windows and _SHARE_BY_SLASHES.match(directory)))


def _steps(path: str, windows: bool) -> tuple[str, ...]:
    """Return the root of a path (`/`, a machine, drive or share, or `.` for a relative path) and the names below it."""
    if (there := machine_in(path)) is not None:
        return (there[0] + ":", *_steps(there[1], windows=False))
    normal = normal_form(path, windows)
    if _is_of_windows(normal, windows):
        root, rest = ntpath.splitdrive(normal)
        return (root, *[name for name in rest.split("\\") if name])
    return ("/" if normal.startswith("/") else ".", *[name for name in normal.split("/") if name not in ("", ".")])


def alphanumeric(path: str) -> str:
    """Replace all characters of a path except ASCII letters and digits by `-`, as Claude Code names project folders."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)
