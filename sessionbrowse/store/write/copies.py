"""Write new files and copies completely, flushed to the disk, with no wider permissions than the original.

Owner, mode, access list and modification time are kept. A copy is refused if it cannot have the same owner; fewer users
may read it if it cannot have the same group or access list.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.system.files import CLOEXEC, DIRECTORY, NOFOLLOW, flush
from sessionbrowse.store.write.write_checks import refuse_new_on_machine
from sessionbrowse.text import clean

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC | NOFOLLOW
_NOT_EMPTY = frozenset({errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})
_ACCESS_LISTS = ("system.posix_acl_access", "system.posix_acl_default")


def write_new(
    path: str,
    pieces: Iterable[bytes],
    mode: int = 0o644,
    *,
    mtime_ns: int | None = None,
    like: int | None = None,
    may_be_ours: bool = False,
) -> int:
    """Write a new file, flush it to the disk, and return its size in bytes.

    `like` is the descriptor of a file whose owner, mode and access list the new file gets; without it, the file gets
    `mode`, limited by the umask. If the owner cannot be kept, `may_be_ours` permits a file that the current user owns;
    no other user may read it then.

    Raises:
        RefusedWrite: the owner cannot be kept. OSError: an I/O error occurred. The unfinished file is not removed.
    """
    refuse_new_on_machine(path)
    with closing(os.open(path, NEW_FILE, mode if like is None else 0o600)) as descriptor:
        for piece in pieces:
            write_all(descriptor, piece)
        if like is not None:
            keep_access(descriptor, like, path, may_be_ours=may_be_ours)
            if may_be_ours:
                # Files in a mirror are read-only, but a new session made from one must be writable for its agent.
                os.fchmod(descriptor, stat.S_IMODE(os.fstat(descriptor).st_mode) | stat.S_IWUSR)
        if mtime_ns is not None:
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
        flush(descriptor)
        return os.fstat(descriptor).st_size


def write_all(descriptor: int, content: bytes) -> None:
    """Write all bytes to a descriptor, with as many calls of `os.write` as needed."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def append_bytes(path: str, late: bytes) -> None:
    """Append lines to a file and flush it; another program wrote the lines (`late`) to the file's old version."""
    with closing(os.open(path, os.O_WRONLY | os.O_APPEND | CLOEXEC | NOFOLLOW)) as descriptor:
        write_all(descriptor, late)
        flush(descriptor)


def keep_access(made: int, source: int, path: str, *, may_be_ours: bool = False) -> None:
    """Give a new file or folder (`made`) the owner, group, access list and mode of the original (`source`).

    If the group or the access list cannot be kept, the new mode gives fewer users access.

    Raises:
        RefusedWrite: the owner cannot be kept, and `may_be_ours` is False.
    """
    wanted, is_now = os.fstat(source), os.fstat(made)
    mode = stat.S_IMODE(wanted.st_mode)
    if is_now.st_uid != wanted.st_uid:
        try:
            os.fchown(made, wanted.st_uid, -1)
        except OSError as error:
            if may_be_ours:
                os.fchmod(made, mode & stat.S_IRWXU)
                return
            name = clean(os.path.basename(path))
            raise RefusedWrite(
                f"{name} could not keep its owner, user {wanted.st_uid} ({error.strerror}). Nothing was changed."
            ) from error
    if is_now.st_gid != wanted.st_gid:
        try:
            os.fchown(made, -1, wanted.st_gid)
        except OSError:
            mode &= ~(stat.S_IRWXG | stat.S_ISGID)
    lists_are_kept = [_keep_access_list(made, source, name) for name in _ACCESS_LISTS]
    if not all(lists_are_kept):
        mode &= stat.S_IRWXU
    os.fchmod(made, mode)


def _keep_access_list(made: int, source: int, name: str) -> bool:
    if not hasattr(os, "getxattr"):
        return True
    try:
        wanted = os.getxattr(source, name)
    except OSError:
        # A new file may inherit an access list from its folder, which could permit other users to read the file.
        with suppress(OSError):
            os.removexattr(made, name)
        return True
    try:
        os.setxattr(made, name, wanted)
    except OSError:
        return False
    return True


def make_folder(folder: str, like: str) -> None:
    """Make a folder and its missing parents, with no wider permissions than the folder `like`."""
    refuse_new_on_machine(folder)
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
        with suppress(OSError), closing(_folder(like)) as source, closing(_folder(path)) as made:
            keep_access(made, source, path, may_be_ours=True)
            # Even if the folder `like` is read-only, the owner must be able to create files in the new folder.
            os.fchmod(made, stat.S_IMODE(os.fstat(made).st_mode) | stat.S_IRWXU)


def copy(source: str, target: str, leave_out: Callable[[str], bool] = lambda name: False) -> int:
    """Copy a file, link or folder, flushed to the disk; return a file's size in bytes, 0 for a link or folder.

    When a folder is copied, a file in it is left out if `leave_out` returns True for the file's name.

    Raises:
        RefusedWrite: the owner cannot be kept. OSError: an I/O error occurred. The unfinished copy is not removed.
    """
    status = os.lstat(source)
    if stat.S_ISREG(status.st_mode):
        with closing(open_regular(source)) as descriptor:
            return write_new(target, file_blocks(descriptor), mtime_ns=status.st_mtime_ns, like=descriptor)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
        return 0
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "the path is neither a file nor a folder", source)
    folders = []
    for here, below, names in os.walk(source):
        there = os.path.normpath(os.path.join(target, os.path.relpath(here, source)))
        os.mkdir(there, 0o700)
        folders.append((here, there))
        links = [name for name in below if os.path.islink(os.path.join(here, name))]
        for name in (*names, *links):
            if not leave_out(name):
                copy(os.path.join(here, name), os.path.join(there, name))
    for here, there in reversed(folders):
        with closing(_folder(here)) as descriptor, closing(_folder(there)) as made:
            keep_access(made, descriptor, there)
            os.utime(made, ns=(os.fstat(descriptor).st_atime_ns, os.fstat(descriptor).st_mtime_ns))
            flush(made)
    return 0


def missing_folders(paths: Iterable[str]) -> list[str]:
    """Return the folders above the given paths that do not exist, outermost first, for `remove_empty`."""
    found: dict[str, None] = {}
    for path in paths:
        folder, missing = os.path.dirname(path), []
        while not os.path.isdir(folder) and folder not in found:
            missing.append(folder)
            folder = os.path.dirname(folder)
        found.update(dict.fromkeys(reversed(missing)))
    return list(found)


def remove_empty(folders: Sequence[str]) -> None:
    """Remove those of the folders that are empty, the last one first; `folders` come from `missing_folders`.

    Raises:
        OSError: an empty folder could not be removed.
    """
    for folder in reversed(folders):
        try:
            os.rmdir(folder)
        except OSError as error:
            if error.errno not in _NOT_EMPTY:
                raise


def remove(path: str) -> None:
    """Remove a file or folder, such as an unfinished copy; do nothing if it is missing.

    Raises:
        OSError: the file, or a part of the folder, could not be removed.
    """
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def discard(path: str) -> None:
    """Remove a file or folder after an error; further I/O errors are ignored."""
    with suppress(OSError):
        remove(path)


def files_below(path: str, *, links: bool = False) -> Iterator[str]:
    """Yield the regular files of a folder, at any depth; if `links` is True, also the symbolic links."""
    for here, folders, names in os.walk(path):
        for name in (*names, *folders):
            file = os.path.join(here, name)
            with suppress(OSError):
                mode = os.lstat(file).st_mode
                if stat.S_ISREG(mode) or (links and stat.S_ISLNK(mode)):
                    yield file


def _folder(path: str) -> int:
    return os.open(path, os.O_RDONLY | CLOEXEC | DIRECTORY)
