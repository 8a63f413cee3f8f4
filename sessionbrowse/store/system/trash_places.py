"""The trash directories of each system, and finding what is new in them.

The freedesktop.org form has `files/NAME` and `info/NAME.trashinfo`, which names the original path. macOS's has the
items alone; Finder gives an item another name if its own is taken, so there an item is known by its content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

INFO_SUFFIX = ".trashinfo"


def homes_of(data_home: str, home: str, system: str) -> tuple[str, ...]:
    """Return the user's own trash directories; none on Windows, whose trash does not tell where an item went."""
    if system == "win32":
        return ()
    if system == "darwin":
        return (os.path.join(home, ".Trash"),)
    from send2trash import plat_other

    return tuple(dict.fromkeys((os.path.join(data_home, "Trash"), plat_other.HOMETRASH)))


def trashes_of_disk(path: str) -> Iterator[str]:
    """Yield the trash directories that a system may have on the disk of a path."""
    if not hasattr(os, "getuid"):
        return
    top = os.path.dirname(os.path.realpath(path))
    while not os.path.ismount(top):
        top = os.path.dirname(top)
    uid = os.getuid()
    yield os.path.join(top, ".Trash", str(uid))
    yield os.path.join(top, f".Trash-{uid}")
    yield os.path.join(top, ".Trashes", str(uid))


def listed(directory: str) -> set[str]:
    """Return the names that tell what is in a trash directory: of `.trashinfo` files, or on macOS of the items.

    Raises:
        PermissionError: macOS lets this terminal not read the trash.
    """
    if _is_of_macos(directory):
        try:
            return set(os.listdir(directory))
        except FileNotFoundError:
            return set()
    try:
        return {name for name in os.listdir(os.path.join(directory, "info")) if name.endswith(INFO_SUFFIX)}
    except OSError:
        return set()


def new_items(path: str, before: dict[str, set[str]]) -> Iterator[tuple[str | None, str]]:
    """Yield the `.trashinfo` (None on macOS) and the item of all that may be this path's, and was not there before."""
    for directory, old in before.items():
        try:
            names = sorted(listed(directory) - old)
        except OSError:
            continue
        if _is_of_macos(directory):
            yield from ((None, os.path.join(directory, name)) for name in names)
            continue
        for name in names:
            info = os.path.join(directory, "info", name)
            if _path_in(info, directory) == os.path.abspath(path):
                yield info, os.path.join(directory, "files", name.removesuffix(INFO_SUFFIX))


def clear_stray_infos(path: str, before: dict[str, set[str]]) -> None:
    """Remove `.trashinfo` files whose item is missing because trashing it failed."""
    for info, item in new_items(path, before):
        if info is not None and not os.path.lexists(item):
            with suppress(OSError):
                os.unlink(info)
    stem = os.path.splitext(os.path.basename(path))[0]
    for directory, old in before.items():
        if _is_of_macos(directory):
            continue
        for name in listed(directory) - old:
            # A crash may leave an empty `.trashinfo`.
            info = os.path.join(directory, "info", name)
            item = os.path.join(directory, "files", name.removesuffix(INFO_SUFFIX))
            if name.startswith(stem) and not os.path.lexists(item):
                with suppress(OSError):
                    if os.lstat(info).st_size == 0:
                        os.unlink(info)


def _is_of_macos(directory: str) -> bool:
    return os.path.basename(directory) == ".Trash" or os.path.basename(os.path.dirname(directory)) == ".Trashes"


def _path_in(info: str, directory: str) -> str | None:
    """Return the original path in a `.trashinfo`; a relative one starts at the disk's top or the trash's parent."""
    try:
        with open(info, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:
        return None
    for line in lines:
        if line.startswith("Path="):
            named = unquote(line.removeprefix("Path="), errors="surrogateescape")
            top = os.path.dirname(directory)
            bases = (top, os.path.dirname(top)) if os.path.basename(top) == ".Trash" else (top,)
            return os.path.normpath(os.path.join(bases[-1], named))
    return None
