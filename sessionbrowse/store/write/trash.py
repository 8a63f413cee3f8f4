"""Move files to the trash and back: the system's trash (freedesktop.org specification) or our own of the same form.

`send2trash` does not return the name that an item got. So one item is moved at a time, under the lock of
`state_directory.only_one`, and the trash is compared before and after. Only `remove_for_good` deletes a user's file,
apart from the source of a copy that has reached the disk.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import quote, unquote

from msgspec import Struct

from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.store.own.state_directory import sync_directory
from sessionbrowse.store.read.content import closing
from sessionbrowse.store.write.whole_files import move_file, move_folder, write_new
from sessionbrowse.text import clean

INFO_SUFFIX = ".trashinfo"
_BLOCK = 1024 * 1024


class Trashed(Struct, frozen=True, kw_only=True):
    """One item in a trash: its original path, its path now (None if the system did not tell), its `.trashinfo` if any.

    `inode` and `size` identify the item; a folder's size is 0.
    """

    original: str
    item: str | None
    info: str | None
    inode: int
    size: int


class NoTrash(RefusedWrite):
    """The error for an item that the system's trash does not take; nothing was changed."""


def system_trash(path: str) -> None:
    """Move a file or folder to the system's trash."""
    from send2trash import send2trash  # imported here: it takes 20 ms, and only deletions need it

    send2trash(path)


def homes_of(data_home: str) -> tuple[str, ...]:
    """Return the user's own trash directories: `$XDG_DATA_HOME/Trash`, and what `send2trash` found on its import."""
    from send2trash import plat_other

    found = os.path.join(data_home, "Trash")
    return tuple(dict.fromkeys((found, plat_other.HOMETRASH)))


# ---- to the trash ------------------------------------------------------------------------------------------


def put(path: str, homes: tuple[str, ...], to_trash: Callable[[str], None] = system_trash) -> Trashed:
    """Move a file or folder to the system's trash and return where it went.

    `homes` are the user's trash directories; those on the item's own disk are searched too.

    Raises:
        NoTrash: no trash accepts the item; it is still in its place. WriteFailed: the item is neither at its old path
        nor in a trash; the message says so.
    """
    status = os.lstat(path)
    directories = tuple(dict.fromkeys((*homes, *_trashes_of_disk(path))))
    before = {directory: _infos(directory) for directory in directories}
    try:
        to_trash(path)
    except Exception as error:  # send2trash raises other exceptions on each system
        _clear_stray_infos(path, before)
        if not os.path.lexists(path):
            raise WriteFailed(
                f"{clean(path)} is gone, but the trash reported {_reason(error)}. Look into your system's trash."
            ) from error
        raise NoTrash(
            f"{clean(path)} cannot go to the system's trash ({_reason(error)}); nothing was changed."
        ) from error
    if os.path.lexists(path):
        raise NoTrash(f"{clean(path)} is still there after the system's trash took it; nothing was changed.")
    item, info = _arrived(path, status, before)
    return Trashed(original=path, item=item, info=info, inode=status.st_ino, size=size_of(status))


def put_in_own(path: str, directory: str, *, name: str, deleted_at: str) -> Trashed:
    """Move a file or folder into a trash directory of ours, which has the system's form.

    An item on another disk is copied, compared by size and flushed, and then removed from its old place.

    Args:
        name: the name of the item there, which must be unused.
        deleted_at: the local time as `YYYY-MM-DDThh:mm:ss`.

    Raises:
        NoTrash: our trash cannot take the item, which is still at its old path.
    """
    status = os.lstat(path)
    files, infos = os.path.join(directory, "files"), os.path.join(directory, "info")
    item, info = os.path.join(files, name), os.path.join(infos, name + INFO_SUFFIX)
    try:
        for folder in (directory, files, infos):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        content = f"[Trash Info]\nPath={quote(os.fsencode(path))}\nDeletionDate={deleted_at}\n".encode()
        write_new(info, [content], 0o600)
        move(path, item)
    except OSError as error:
        drop_second_name(path, item)
        # The rollback failed too: the item is in the trash, so it is reported as trashed.
        if os.path.lexists(path) or not os.path.lexists(item):
            with suppress(OSError):
                os.unlink(info)
            raise NoTrash(
                f"{clean(path)} cannot go to {clean(directory)} ({_reason(error)}); nothing was changed."
            ) from error
    return Trashed(original=path, item=item, info=info, inode=os.lstat(item).st_ino, size=size_of(status))


# ---- back --------------------------------------------------------------------------------------------------


def find(original: str, inode: int, size: int, homes: tuple[str, ...]) -> Trashed | None:
    """Find an item that an interrupted run moved to a trash; return None if it is in no trash."""
    directories = dict.fromkeys((*homes, *_trashes_of_disk(original)))
    for info, item in _new(original, {directory: set() for directory in directories}):
        try:
            status = os.lstat(item)
        except OSError:
            continue
        if (status.st_ino, size_of(status)) == (inode, size):
            return Trashed(original=original, item=item, info=info, inode=inode, size=size)
    return None


def find_in_own(original: str, directory: str, name: str) -> Trashed | None:
    """Return an item that was copied from another disk into our own trash; None if it is not there.

    The leftovers of an interrupted attempt are removed.
    """
    item = os.path.join(directory, "files", name)
    info = os.path.join(directory, "info", name + INFO_SUFFIX)
    _remove(partial_copy(item))
    try:
        status = os.lstat(item)
    except OSError:
        with suppress(OSError):
            os.unlink(info)
        return None
    return Trashed(original=original, item=item, info=info, inode=status.st_ino, size=size_of(status))


def is_where_it_was(original: str, inode: int) -> bool:
    """Tell whether the file or folder at a path is still this item."""
    try:
        return os.lstat(original).st_ino == inode
    except OSError:
        return False


def forget_second(trashed: Trashed) -> None:
    """Undo a move to a trash that was killed halfway: remove the item's second name, or the copy, from the trash."""
    assert trashed.item is not None
    if not drop_second_name(trashed.original, trashed.item):
        with suppress(OSError):
            if _inventory(trashed.original) == _inventory(trashed.item):
                _remove(trashed.item)
    if not os.path.lexists(trashed.item):
        forget(trashed)


def forget_stray(original: str, homes: tuple[str, ...]) -> None:
    """Remove `.trashinfo` files without an item, which a crash in the middle of trashing leaves behind."""
    directories = dict.fromkeys((*homes, *_trashes_of_disk(original)))
    _clear_stray_infos(original, {directory: set() for directory in directories})


def identity(path: str) -> dict[str, str | int]:
    """Return the inode and size that identify an item before it is moved, for the journal."""
    status = os.lstat(path)
    return {"original": path, "inode": status.st_ino, "size": size_of(status)}


def missing(trashed: Trashed) -> str | None:
    """Return the reason why an item cannot be restored, or None if it can."""
    name = clean(os.path.basename(trashed.original))
    if trashed.item is None:
        return f"The system did not say where {name} went; look for it in your system's trash."
    try:
        status = os.lstat(trashed.item)
    except OSError:
        return f"{name} is not in the trash any more; it was restored or emptied by another program."
    if status.st_ino != trashed.inode or size_of(status) != trashed.size:
        return f"The trash now has another file in the place of {name}; look for {name} elsewhere in your trash."
    if os.path.lexists(trashed.original):
        return f"{clean(trashed.original)} exists again and is never overwritten. Move it away first."
    return None


def take_back(trashed: Trashed, *, keep_info: bool = False) -> None:
    """Move an item from the trash back to its original path; its time is kept, missing folders are created.

    Raises:
        RefusedWrite: the item cannot be restored; the sentence says why. WriteFailed: the disk refused; it is still in
        the trash.
    """
    why = missing(trashed)
    if why is not None:
        raise RefusedWrite(why)
    assert trashed.item is not None
    try:
        os.makedirs(os.path.dirname(trashed.original), exist_ok=True)
        move(trashed.item, trashed.original)
    except OSError as error:
        drop_second_name(trashed.item, trashed.original)
        if os.path.lexists(trashed.item):
            raise WriteFailed(
                f"{clean(trashed.original)} could not be restored ({_reason(error)}); it is still in the trash."
            ) from error
    if not keep_info:
        forget(trashed)


def put_again(trashed: Trashed) -> None:
    """Move a restored item back to its old path in the trash, unless another file has taken its place."""
    with suppress(OSError):
        if (
            trashed.item is not None
            and not os.path.lexists(trashed.item)
            and is_where_it_was(trashed.original, trashed.inode)
        ):
            move(trashed.original, trashed.item)


def forget(trashed: Trashed) -> None:
    """Remove the `.trashinfo` file of an item that is no longer in the trash."""
    if trashed.info is not None:
        with suppress(OSError):
            os.unlink(trashed.info)


def remove_for_good(path: str) -> None:
    """Delete a file or a whole folder for good, as the user asked.

    Raises:
        WriteFailed: the disk refused; a part of a folder may already be deleted.
    """
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError as error:
        raise WriteFailed(f"{clean(path)} could not be removed ({_reason(error)}).") from error


# ---- moving ------------------------------------------------------------------------------------------------


def move(source: str, target: str) -> None:
    """Move a file or folder, also to another disk, without overwriting anything; times are kept.

    Raises:
        FileExistsError: the target exists.
        OSError: the disk refused; the source is where it was.
    """
    status = os.lstat(source)
    if os.lstat(os.path.dirname(target)).st_dev != status.st_dev:
        _move_to_other_disk(source, target)
    elif stat.S_ISDIR(status.st_mode):
        move_folder(source, target)
    else:
        move_file(source, target)


def _move_to_other_disk(source: str, target: str) -> None:
    if os.path.lexists(target):
        raise FileExistsError(target)
    _copy(source, target)
    try:
        if not os.path.isdir(source) or os.path.islink(source):
            os.unlink(source)
            return
        # A folder is renamed before it is removed, so no session has half a folder if removing stops halfway.
        going = os.path.join(os.path.dirname(source), f".{os.path.basename(source)}.going")
        os.rename(source, going)
    except OSError:
        _remove(target)
        raise
    shutil.rmtree(going, ignore_errors=True)


def drop_second_name(path: str, second: str) -> bool:
    """Remove the second name that an interrupted move left on a file; return False if there is only one."""
    try:
        if not os.path.samestat(os.lstat(path), os.lstat(second)) or os.path.isdir(path):
            return False
        os.unlink(second)
    except OSError:
        return False
    return True


def _copy(source: str, target: str) -> None:
    """Copy a file or folder to another disk and flush it, completely or not at all."""
    partial = partial_copy(target)
    try:
        if os.path.isdir(source) and not os.path.islink(source):
            shutil.copytree(source, partial, symlinks=True)
        else:
            shutil.copy2(source, partial, follow_symlinks=False)
        for path in _files_below(partial):
            with closing(os.open(path, os.O_RDONLY | os.O_CLOEXEC)) as descriptor:
                os.fsync(descriptor)
        if _inventory(source) != _inventory(partial):
            raise OSError("the copy differs from the original")
        os.rename(partial, target)
    except OSError:
        _remove(partial)
        raise
    try:
        sync_directory(os.path.dirname(target))
    except OSError:
        _remove(target)
        raise


def partial_copy(target: str) -> str:
    """Return the temporary path of a copy from another disk: beside its final place, hidden from every list."""
    return os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.partial")


def _remove(copy: str) -> None:
    """Remove a copy whose source is still in its place."""
    shutil.rmtree(copy, ignore_errors=True)
    with suppress(OSError):
        os.unlink(copy)


def _inventory(path: str) -> list[tuple[str, int, int]]:
    found = []
    for file in _files_below(path):
        status = os.lstat(file)
        found.append((os.path.relpath(file, path), status.st_size, status.st_mtime_ns))
    return sorted(found)


def _files_below(path: str) -> Iterator[str]:
    if not os.path.isdir(path) or os.path.islink(path):
        yield path
        return
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names if not os.path.islink(os.path.join(folder, name)))


# ---- where things went -------------------------------------------------------------------------------------


def _trashes_of_disk(path: str) -> Iterator[str]:
    """Yield the trash directories that the specification allows on the disk of a path."""
    top = os.path.dirname(os.path.realpath(path))
    while not os.path.ismount(top):
        top = os.path.dirname(top)
    uid = os.getuid()
    yield os.path.join(top, ".Trash", str(uid))
    yield os.path.join(top, f".Trash-{uid}")


def _infos(directory: str) -> set[str]:
    try:
        return {name for name in os.listdir(os.path.join(directory, "info")) if name.endswith(INFO_SUFFIX)}
    except OSError:
        return set()


def _arrived(path: str, status: os.stat_result, before: dict[str, set[str]]) -> tuple[str | None, str | None]:
    """Return the new item in a trash whose `.trashinfo` names this original path, and that `.trashinfo`."""
    for info, item in _new(path, before):
        with suppress(OSError):
            found = os.lstat(item)
            if size_of(found) == size_of(status) and stat.S_IFMT(found.st_mode) == stat.S_IFMT(status.st_mode):
                return item, info
    return None, None


def _clear_stray_infos(path: str, before: dict[str, set[str]]) -> None:
    """Remove `.trashinfo` files whose item is missing because trashing it failed."""
    for info, item in _new(path, before):
        if not os.path.lexists(item):
            with suppress(OSError):
                os.unlink(info)
    stem = os.path.splitext(os.path.basename(path))[0]
    for directory, old in before.items():
        for name in _infos(directory) - old:
            # A crash may leave an empty `.trashinfo`.
            info = os.path.join(directory, "info", name)
            item = os.path.join(directory, "files", name.removesuffix(INFO_SUFFIX))
            if name.startswith(stem) and not os.path.lexists(item):
                with suppress(OSError):
                    if os.lstat(info).st_size == 0:
                        os.unlink(info)


def _new(path: str, before: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    for directory, old in before.items():
        for name in sorted(_infos(directory) - old):
            info = os.path.join(directory, "info", name)
            if _path_in(info, directory) == os.path.abspath(path):
                yield info, os.path.join(directory, "files", name.removesuffix(INFO_SUFFIX))


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


def size_of(status: os.stat_result) -> int:
    """Return an item's size in bytes, 0 for a folder; together with the inode it identifies the item."""
    return 0 if stat.S_ISDIR(status.st_mode) else status.st_size


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return clean(str(error)) or type(error).__name__
