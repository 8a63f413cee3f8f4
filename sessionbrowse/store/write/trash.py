"""Move files to the trash and back: the system's trash, or sessionbrowse's own in freedesktop.org form.

The package `send2trash` does not return the name of an item in the trash. So one item is moved at a time, under the
lock `state_directory.only_one`, and the trash is listed before and after. `send2trash` may copy a file to another disk,
so a session file gets a hidden second name (a hard link) first, and lines that a program still writes are copied from
that hidden file. Only `remove_for_good` deletes a user's file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.errors import RefusedWrite, SessionBrowseError, WriteFailed
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.system.files import pread
from sessionbrowse.store.system.trash_places import INFO_SUFFIX, clear_stray_infos, listed, new_items, trashes_of_disk
from sessionbrowse.store.write.copies import discard, files_below, keep_access, make_folder, remove, write_new
from sessionbrowse.store.write.in_use import RECENT_MS
from sessionbrowse.store.write.moves import Moves, is_copy, is_same_file, rename
from sessionbrowse.store.write.old_versions import OldVersion, same_bytes
from sessionbrowse.text import clean

_DIGESTED_BYTES = 64 * 1024


class Trashed(Struct, frozen=True, kw_only=True):
    """A deleted file or folder: its original path, its path in the trash (None if unknown), its `.trashinfo` if any.

    A file in a trash is this item if its first `size` bytes have the `digest`, so lines added later do not matter. The
    digest of a folder covers its files' names and sizes. Without a digest, inode and size are compared.
    """

    original: str
    item: str | None
    info: str | None
    inode: int
    size: int
    digest: str | None = None


class NoTrash(RefusedWrite):
    """The error for an item that the system's trash does not take; nothing was changed."""


def system_trash(path: str) -> None:
    """Move a file or folder to the system's trash."""
    from send2trash import send2trash  # The import takes 20 ms, and only deletions need it.

    send2trash(path)


# ---- to the trash ------------------------------------------------------------------------------------------


def put(path: str, homes: tuple[str, ...], moves: Moves, to_trash: Callable[[str], None] = system_trash) -> Trashed:
    """Move a file or folder to the system's trash and return the trashed item.

    `homes` are the user's trash directories; trash directories on the item's own disk are searched too. If the item was
    copied to another disk, its original is kept under a hidden name and listed in `moves`, to be removed later.

    Raises:
        NoTrash: no trash accepts the item; it is still at its path. WriteFailed: the item is neither at its old path
        nor in a trash; the message says so.
    """
    status = os.lstat(path)
    wanted = identified(path)
    directories = tuple(dict.fromkeys((*homes, *trashes_of_disk(path))))
    try:
        before = {directory: listed(directory) for directory in directories}
    except PermissionError as error:
        raise NoTrash(
            f"{clean(path)} cannot go to the system's trash: this terminal may not read the trash, so a restore would "
            "fail. In System Settings, under Privacy, give the terminal Full Disk Access, or use sessionbrowse's trash."
        ) from error
    second = _second_name(path, status, moves)
    try:
        to_trash(path)
    except Exception as error:  # `send2trash` raises different exceptions on each operating system.
        forget_stray(path, homes)
        if not _is_back(path, status, second):
            raise WriteFailed(
                f"{clean(path)} is gone, but the trash reported {reason_of(error)}. Look into your system's trash."
            ) from error
        raise NoTrash(
            f"{clean(path)} cannot go to the system's trash ({reason_of(error)}); nothing was changed."
        ) from error
    clear_stray_infos(path, before)
    if is_where_it_was(path, status.st_ino):
        _is_back(path, status, second)
        raise NoTrash(f"{clean(path)} is still there, though the system's trash accepted it; nothing was changed.")
    trashed = _found(wanted, before) or wanted
    if second is None:
        return trashed
    if os.lstat(second).st_nlink > 1 or trashed.item is None:
        os.unlink(second)
        return trashed
    try:
        keep_access_of(second, trashed.item)
    except (OSError, SessionBrowseError) as error:
        rename(second, path)
        forget_second(trashed)
        raise NoTrash(f"{clean(path)} cannot go to the system's trash: {reason_of(error)}") from error
    moves.old_versions.append(OldVersion(second, trashed.item))
    return trashed


def keep_access_of(original: str, item: str) -> None:
    """Give a copy in a trash the owner and access rights of its original; see `keep_access` for the errors."""
    with closing(open_regular(original)) as source, closing(open_regular(item)) as made:
        keep_access(made, source, original)


def _second_name(path: str, status: os.stat_result, moves: Moves) -> str | None:
    """Give a file a hidden hard link, because `send2trash` may copy the file and remove the original at once.

    The result is the link's path; None for a folder, or if the disk has no hard links.

    Raises:
        NoTrash: an I/O error occurred, or the disk has no hard links and the file changed in the last ten minutes.
    """
    if not stat.S_ISREG(status.st_mode):
        return None
    second = moves.aside(path)
    try:
        os.link(path, second, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOSPC, errno.EROFS):
            raise NoTrash(f"{clean(path)} cannot go to the system's trash ({reason_of(error)}).") from error
        if time.time_ns() - status.st_mtime_ns < RECENT_MS * 1_000_000:
            raise NoTrash(
                f"{clean(path)} changed lately, and its disk has no hard links, without which a move to the system's "
                "trash is not safe. Nothing was changed; try again ten minutes after its last change."
            ) from error
        return None
    return second


def _is_back(path: str, status: os.stat_result, second: str | None) -> bool:
    """Return True if an item that the trash did not take is at its path.

    If the item is missing there, its hidden hard link `second` is renamed to the path; else the link is removed.
    """
    if second is not None:
        with suppress(OSError):
            if is_same_file(path, second) or os.lstat(second).st_nlink > 1:
                os.unlink(second)
            else:
                rename(second, path)
    return os.path.lexists(path)


def put_in_own(path: str, directory: str, moves: Moves, *, name: str, deleted_at: str) -> Trashed:
    """Move a file or folder without `send2trash` into a freedesktop.org trash directory, such as sessionbrowse's own.

    Args:
        name: the name of the item in the trash, which must be unused.
        deleted_at: the local time as `YYYY-MM-DDThh:mm:ss`.

    Raises:
        NoTrash: the trash cannot take the item, which is still at its old path.
    """
    wanted = identified(path)
    files, infos = os.path.join(directory, "files"), os.path.join(directory, "info")
    item, info = os.path.join(files, name), os.path.join(infos, name + INFO_SUFFIX)
    try:
        for folder in (directory, files, infos):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        content = f"[Trash Info]\nPath={quote(os.fsencode(path))}\nDeletionDate={deleted_at}\n".encode()
        write_new(info, [content], 0o600)
        moves.move(path, item)
    except (OSError, RefusedWrite) as error:
        with suppress(OSError, RefusedWrite):
            moves.move_back(path, item)
        # If the rollback failed too, the item is in the trash and is returned as trashed.
        if os.path.lexists(path) or not os.path.lexists(item):
            with suppress(OSError):
                os.unlink(info)
            raise NoTrash(
                f"{clean(path)} cannot go to {clean(directory)} ({reason_of(error)}); nothing was changed."
            ) from error
    return msgspec.structs.replace(wanted, item=item, info=info, inode=os.lstat(item).st_ino)


# ---- back --------------------------------------------------------------------------------------------------


def find(wanted: Trashed, homes: tuple[str, ...]) -> Trashed | None:
    """Return an item that an interrupted change may have moved, with its path in a trash; None if it is in no trash."""
    directories = dict.fromkeys((*homes, *trashes_of_disk(wanted.original)))
    return _found(wanted, {directory: set() for directory in directories})


def find_in_own(wanted: Trashed, directory: str, name: str) -> Trashed | None:
    """Return an item with its path in the trash `directory`; if it is missing there, remove its `.trashinfo`."""
    item = os.path.join(directory, "files", name)
    info = os.path.join(directory, "info", name + INFO_SUFFIX)
    if os.path.lexists(item):
        return msgspec.structs.replace(wanted, item=item, info=info)
    with suppress(OSError):
        os.unlink(info)
    return None


def is_where_it_was(original: str, inode: int) -> bool:
    """Return True if the file or folder at a path still has the inode of the item, so that it was not moved."""
    try:
        return os.lstat(original).st_ino == inode
    except OSError:
        return False


def forget_second(trashed: Trashed) -> None:
    """Undo an interrupted move to a trash: remove the item's hard link or copy from the trash."""
    assert trashed.item is not None
    if not drop_second_name(trashed.original, trashed.item) and is_copy(trashed.original, trashed.item):
        remove(trashed.item)
    if not os.path.lexists(trashed.item):
        forget(trashed)


def forget_stray(original: str, homes: tuple[str, ...]) -> None:
    """Remove unfinished copies and their `.trashinfo` files, which a crash during a move to the trash leaves behind.

    Raises:
        OSError: one of them could not be removed.
    """
    everything: dict[str, set[str]] = {directory: set() for directory in (*homes, *trashes_of_disk(original))}
    for info, item in new_items(original, everything):
        # An item without a `.trashinfo` may be a file of the same session that was deleted earlier, so the item stays.
        if info is not None and is_beginning(item, original):
            remove(item)
            remove(info)
    clear_stray_infos(original, everything)


def is_beginning(item: str, original: str) -> bool:
    """Return True if a trashed item is a complete or unfinished copy: the original begins with the item's bytes."""
    if os.path.isdir(item) and os.path.isdir(original):
        files = list(files_below(item))
        return all(is_beginning(file, os.path.join(original, os.path.relpath(file, item))) for file in files)
    try:
        with closing(open_regular(item)) as first, closing(open_regular(original)) as second:
            return same_bytes(first, 0, second, 0) == os.fstat(first).st_size
    except (OSError, SessionBrowseError):
        return False


def identified(path: str) -> Trashed:
    """Return a `Trashed` without the path in the trash; inode, size and digest identify the file or folder later."""
    status = os.lstat(path)
    size = size_of(status)
    return Trashed(original=path, item=None, info=None, inode=status.st_ino, size=size, digest=_digest(path, size))


def identity(path: str) -> dict[str, str | int | None]:
    """Return path, inode, size and digest of a file or folder for the journal, before it is moved to a trash."""
    one = identified(path)
    return {"original": path, "inode": one.inode, "size": one.size, "digest": one.digest}


def _digest(path: str, size: int) -> str | None:
    """Return the digest of the beginning and the end of a file's first `size` bytes, or of a folder's names and sizes.

    At most 128 KB of a file are read, which is enough to distinguish sessions that had the same path.
    """
    digest = hashlib.blake2b(digest_size=16)
    try:
        if os.path.islink(path):
            digest.update(os.fsencode(os.readlink(path)))
        elif os.path.isdir(path):
            sizes = sorted((os.path.relpath(file, path), os.lstat(file).st_size) for file in files_below(path))
            digest.update(repr(sizes).encode("utf-8", "surrogateescape"))
        else:
            with closing(open_regular(path)) as descriptor:
                digest.update(pread(descriptor, min(size, _DIGESTED_BYTES), 0))
                last = min(size, _DIGESTED_BYTES)
                digest.update(pread(descriptor, last, size - last))
    except (OSError, SessionBrowseError):
        return None
    return digest.hexdigest()


def is_item(trashed: Trashed, path: str) -> bool:
    """Return True if the file or folder at `path` is a trashed item or a copy of it; a file may have grown."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    if trashed.digest is not None and size_of(status) >= trashed.size:
        if _digest(path, trashed.size) == trashed.digest:
            return True
        # A folder is recognised by its inode too, because a program may have added a file to it.
        return stat.S_ISDIR(status.st_mode) and status.st_ino == trashed.inode
    return (status.st_ino, size_of(status)) == (trashed.inode, trashed.size)


def missing(trashed: Trashed) -> str | None:
    """Return the reason why an item in the trash cannot be restored, as a sentence; None if it can be restored."""
    name = clean(os.path.basename(trashed.original))
    if trashed.item is None:
        return f"The system's trash did not report where it put {name}; look for the session there."
    if not os.path.lexists(trashed.item):
        return f"{name} is no longer in the trash; another program restored or deleted it."
    if not is_item(trashed, trashed.item):
        return f"The trash has another file under the name of {name}; look for {name} elsewhere in your trash."
    if os.path.lexists(trashed.original):
        return f"{clean(trashed.original)} exists again and is never overwritten. Move it away first."
    return None


def take_back(trashed: Trashed, moves: Moves, *, keep_info: bool = False) -> None:
    """Move an item from the trash back to its original path, with its modification time; create missing folders.

    Raises:
        RefusedWrite: the item cannot be restored; the message says why. WriteFailed: an I/O error occurred; the item is
        still in the trash.
    """
    why = missing(trashed)
    if why is not None:
        raise RefusedWrite(why)
    assert trashed.item is not None
    try:
        make_folder(os.path.dirname(trashed.original), os.path.dirname(trashed.item))
        if os.path.lexists(moves.aside(trashed.original)):
            # The item in the trash is a copy, and its original still exists under a hidden name.
            moves.move_back(trashed.original, trashed.item)
        else:
            moves.move(trashed.item, trashed.original)
    except (OSError, RefusedWrite) as error:
        with suppress(OSError, RefusedWrite):
            moves.move_back(trashed.item, trashed.original)
        if os.path.lexists(trashed.item):
            raise WriteFailed(
                f"{clean(trashed.original)} could not be restored ({reason_of(error)}); it is still in the trash."
            ) from error
    if not keep_info:
        forget(trashed)


def forget(trashed: Trashed) -> None:
    """Remove the `.trashinfo` file of an item that is no longer in the trash."""
    if trashed.info is not None:
        with suppress(OSError):
            os.unlink(trashed.info)


def remove_for_good(path: str) -> None:
    """Delete a file or a whole folder permanently, without a trash, as the user asked.

    Raises:
        WriteFailed: an I/O error occurred; a part of a folder may already be deleted.
    """
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError as error:
        raise WriteFailed(f"{clean(path)} could not be removed ({reason_of(error)}).") from error


def drop_second_name(path: str, second: str) -> bool:
    """Remove the file at `second` if it is a hard link to the file at `path`, as an interrupted move leaves it.

    Return True if the hard link was removed; raise `OSError` if it could not be removed.
    """
    if not is_same_file(path, second):
        return False
    os.unlink(second)
    return True


# ---- where things went -------------------------------------------------------------------------------------


def _found(wanted: Trashed, before: dict[str, set[str]]) -> Trashed | None:
    """Return an item that was just moved to a trash, with its path there; None if it is not found.

    `before` has the names in each trash directory before the move: only other names are searched.
    """
    for info, item in new_items(wanted.original, before):
        if is_item(wanted, item):
            return msgspec.structs.replace(wanted, item=item, info=info)
    return None


def size_of(status: os.stat_result) -> int:
    """Return an item's size in bytes, 0 for a folder; together with the inode it identifies the item."""
    return 0 if stat.S_ISDIR(status.st_mode) else status.st_size


def reason_of(error: BaseException) -> str:
    if isinstance(error, SessionBrowseError):
        return error.sentence
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return clean(str(error)) or type(error).__name__


def paths_in(directory: str, name: str) -> tuple[str, str]:
    """Return the paths of an item and of its `.trashinfo` file in a trash directory."""
    return os.path.join(directory, "files", name), os.path.join(directory, "info", name + INFO_SUFFIX)


def put_copy(path: str, descriptor: int, item: str, info: str, deleted_at: str) -> Trashed:
    """Write a copy of a session file, open as `descriptor`, into a trash; the file itself stays.

    Raises:
        NoTrash: the copy could not be written; no part of it is left in the trash.
    """
    status = os.fstat(descriptor)
    try:
        for folder in (os.path.dirname(item), os.path.dirname(info)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        content = f"[Trash Info]\nPath={quote(os.fsencode(path))}\nDeletionDate={deleted_at}\n".encode()
        write_new(info, [content], 0o600)
        write_new(item, file_blocks(descriptor, 0, status.st_size), mtime_ns=status.st_mtime_ns, like=descriptor)
    except (OSError, RefusedWrite) as error:
        discard(item)
        discard(info)
        place = clean(os.path.dirname(os.path.dirname(item)))
        raise NoTrash(f"{clean(path)} was not copied to {place} ({reason_of(error)}); nothing was changed.") from error
    return found_copy(path, item, info)


def found_copy(path: str, item: str, info: str) -> Trashed:
    """Return the copy that `put_copy` made in a trash, as a trashed item."""
    return replace(identified(item), original=path, item=item, info=info)


def drop_copy(path: str, item: str, info: str) -> None:
    """Remove the copy of a session file from the trash, unless the file at `path` has other content than the copy.

    Raises:
        OSError: the copy could not be removed.
    """
    if not os.path.lexists(item) or is_beginning(item, path):
        remove(item)
        remove(info)
