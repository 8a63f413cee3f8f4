"""The trash directories of each operating system, and the search for new items in them.

A freedesktop.org trash has the item `files/NAME`, and `info/NAME.trashinfo` with the original path. A macOS trash has
only the items; Finder renames an item whose name is taken, so an item is recognised by its content there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import unquote

INFO_SUFFIX = ".trashinfo"


def homes_of(data_home: str, home: str, system: str) -> tuple[str, ...]:
    """Return the user's own trash directories; () on Windows, whose trash does not report where it puts an item."""
    if system == "win32":
        return ()
    if system == "darwin":
        return (os.path.join(home, ".Trash"),)
    own, other = os.path.join(data_home, "Trash"), home_of_send2trash()
    return (own,) if other in (own, None) else (own, other)


def home_of_send2trash() -> str | None:
    """Return the trash directory that `send2trash` uses on the disk of the home directory.

    It is None if `XDG_DATA_HOME` is empty or relative: the standard ignores such a value, but `send2trash` would make a
    trash in the current directory.
    """
    from send2trash import plat_other

    return plat_other.HOMETRASH if os.path.isabs(plat_other.HOMETRASH) else None


def trashes_of_disk(path: str) -> Iterator[str]:
    """Yield the trash directories that Linux or macOS may use at the top of the disk that contains a path."""
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
    """Return the names of the `.trashinfo` files in a trash directory, or on macOS the names of the items.

    Raises:
        PermissionError: macOS does not allow this terminal to read the trash.
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
    """Yield a pair of paths for each new trash item that may come from `path`: of its `.trashinfo`, and of the item.

    An item is new if its name is not in `before`, which has the earlier names in each trash directory. On macOS there
    is no `.trashinfo`, so None takes the place of its path.
    """
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
    """Remove new `.trashinfo` files whose item is missing, because moving it from `path` to the trash failed.

    Raises:
        OSError: one of the files could not be removed.
    """
    for info, item in new_items(path, before):
        if info is not None and not os.path.lexists(item):
            with suppress(FileNotFoundError):
                os.unlink(info)
    stem = os.path.splitext(os.path.basename(path))[0]
    for directory, old in before.items():
        if _is_of_macos(directory):
            continue
        for name in listed(directory) - old:
            # A crash may leave an empty `.trashinfo`, without a path. It belongs to `path` if their names begin alike.
            info = os.path.join(directory, "info", name)
            item = os.path.join(directory, "files", name.removesuffix(INFO_SUFFIX))
            if name.startswith(stem) and not os.path.lexists(item):
                with suppress(FileNotFoundError):
                    if os.lstat(info).st_size == 0:
                        os.unlink(info)


def _is_of_macos(directory: str) -> bool:
    return os.path.basename(directory) == ".Trash" or os.path.basename(os.path.dirname(directory)) == ".Trashes"


def _path_in(info: str, directory: str) -> str | None:
    """Return the original path in a `.trashinfo`; a relative path starts at the directory that contains the trash."""
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
