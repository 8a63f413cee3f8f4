"""Paths of the system's trash directories and of sessionbrowse's own trash, and functions that move files there."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

import msgspec

from sessionbrowse.config import data_dir
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.system.trash_places import INFO_SUFFIX, home_of_send2trash, homes_of
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves, is_on_other_disk
from sessionbrowse.store.write.trash import NoTrash, Trashed

_LONGEST_NAME = 255


def items_of(change: Change) -> list[Trashed]:
    """Return the trashed items of a deletion: the files that belong to the session, then the session file."""
    return [msgspec.convert(item, Trashed) for item in change.after.get("items", ())]


def own_trash(context: ChangeContext) -> str:
    """Return the path of sessionbrowse's own trash, a folder with the layout of a freedesktop.org trash."""
    return str(data_dir(context.around.environ, Path(context.around.home)) / "trash")


def own_name(change: Change, path: str) -> str:
    """Return the name of a deleted item in sessionbrowse's own trash folder; a long name is cut at its beginning.

    A file from another folder can have the same name as the session file, so its name also gets a hash of its folder.
    """
    folder, name = os.path.split(path)
    elsewhere = folder != os.path.dirname(change.path)
    start = f"{change.id}-{blake2b(os.fsencode(folder), digest_size=4).hexdigest()}-" if elsewhere else f"{change.id}-"
    most = _LONGEST_NAME - len(INFO_SUFFIX) - len(start)
    return start + os.fsdecode(os.fsencode(name)[-most:])


def homes(context: ChangeContext) -> tuple[str, ...]:
    """Return the trash directories that may contain a deleted session."""
    named = context.around.environ.get("XDG_DATA_HOME", "")
    data_home = named if os.path.isabs(named) else os.path.join(context.around.home, ".local", "share")
    return (*homes_of(data_home, context.around.home, context.around.platform), own_trash(context))


def put_aside(path: str, change: Change, context: ChangeContext, moves: Moves) -> Trashed:
    """Move a file that can be recreated to the system's trash, or else to sessionbrowse's own trash.

    Raises:
        RefusedWrite: neither trash accepts the file; nothing was changed.
        WriteFailed: an I/O error occurred; the message says where each file is.
    """
    try:
        return put_in_systems(path, change, context, moves, trash.system_trash)
    except NoTrash:
        name = own_name(change, path)
        return trash.put_in_own(path, own_trash(context), moves, name=name, deleted_at=deleted_at(context))


def put_in_systems(
    path: str, change: Change, context: ChangeContext, moves: Moves, to_trash: Callable[[str], None]
) -> Trashed:
    """Move a file or folder to the system's trash.

    If the home trash is on another disk, `send2trash` would copy the item and then remove the original, which another
    program may have replaced meanwhile. So such an item is moved by the safer `put_in_own`.

    Raises:
        NoTrash: no trash accepts the item; nothing was changed.
        WriteFailed: the item is neither at its old path nor in a trash.
    """
    if context.around.platform == "win32":
        raise NoTrash("Windows does not tell where a deleted file goes, so it could not be restored.")
    home = homes(context)[0]
    files = os.path.join(home, "files")
    is_home = context.around.platform != "darwin" and _is_for_home_trash(path)
    # `send2trash` would not shorten a name that is too long with its suffix.
    is_long = len(os.fsencode(os.path.basename(path))) > _LONGEST_NAME - len(INFO_SUFFIX)
    is_home = is_home and to_trash is trash.system_trash
    if is_home and (is_long or home_of_send2trash() is None or is_on_other_disk(path, files, change.id)):
        name = own_name(change, path)
        return trash.put_in_own(path, home, moves, name=name, deleted_at=deleted_at(context))
    return trash.put(path, homes(context), moves, to_trash)


def _is_for_home_trash(path: str) -> bool:
    """Return True if an item is on the disk of the home directory, where freedesktop.org requires the home trash."""
    try:
        return os.lstat(path).st_dev == os.stat(os.path.expanduser("~")).st_dev
    except OSError:
        return False


def deleted_at(context: ChangeContext) -> str:
    """Return the current time as a `.trashinfo` file has it: local time, without a time zone."""
    return datetime.fromtimestamp(context.now_ms() / 1000).strftime("%Y-%m-%dT%H:%M:%S")
