"""Replace, create and rename whole session files, for the safe writer.

A file is complete and on the disk before it gets its name, and no other file is ever overwritten.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress

from sessionbrowse.errors import ChangedMeanwhile, RefusedWrite, WriteFailed
from sessionbrowse.store.own.state_directory import sync_directory
from sessionbrowse.store.read.content import closing, file_blocks
from sessionbrowse.store.write.atomic_rename import exchange, rename_to_free
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.writer import FLAGS, OpenedFile, is_at, locked
from sessionbrowse.text import clean


def temporary_beside(path: str) -> str:
    """Return the temporary name of a file's next version; omp treats it as a leftover, and no program lists it."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(8)}.tmp")


def rewrite_file(
    file: OpenedFile, pieces: Iterable[bytes], temporary: str, *, under_lock: bool = False, tick_ns: int = 0
) -> Fingerprint | None:
    """Replace a file by a new version made beside it; mode, owner and time of change are kept.

    The source must stay unchanged until it is replaced. Lines that another program appends to the old file during the
    replacement are copied to the new one. Return the new file's state, None if such lines were copied. `tick_ns` is
    added to the time of change.

    Raises:
        RefusedWrite: the file changed since it was read, or has a second name, which would keep the old version.
        WriteFailed: the disk refused; the message says whether the old or the new version is there.
    """
    source = os.fstat(file.descriptor)
    if source.st_nlink > 1:
        raise RefusedWrite(f"{file.name} has a second name (a hard link), under which the old version would live on.")
    mtime_ns = source.st_mtime_ns + tick_ns
    try:
        write_new(temporary, pieces, stat.S_IMODE(source.st_mode), mtime_ns, (source.st_uid, source.st_gid))
        made = os.stat(temporary)
        with locked(file.path, under_lock):
            if not is_at(file.path, source) or Fingerprint.of(os.fstat(file.descriptor)) != file.found:
                raise ChangedMeanwhile(f"{file.name} changed while it was read; nothing was changed. Try again.")
            _put_in_place(file, temporary, source)
            left = Fingerprint.of(made) if _carry_over(file, source.st_size) == 0 else None
        sync_directory(os.path.dirname(file.path))
    except RefusedWrite:
        _remove(temporary)
        raise
    except OSError as error:
        if is_at(file.path, source):
            _remove(temporary)
            raise WriteFailed(f"{file.name} could not be replaced ({error.strerror}); it is as it was.") from error
        raise WriteFailed(f"{file.name} has the change, but the disk did not confirm it ({error.strerror}).") from error
    return left


def _put_in_place(file: OpenedFile, temporary: str, source: os.stat_result) -> None:
    """Give the new version the file's name; the file that it replaces must be the one that was read."""
    if not exchange(temporary, file.path):
        os.rename(temporary, file.path)
        return
    if not is_at(temporary, source):
        exchange(temporary, file.path)
        raise ChangedMeanwhile(f"{file.name} was replaced while it was read; nothing was changed. Try again.")
    os.unlink(temporary)


def _carry_over(file: OpenedFile, size: int) -> int:
    """Append the lines that another program added to the old version meanwhile; return their size in bytes."""
    late = b"".join(file_blocks(file.descriptor, size))
    if late:
        append_bytes(file.path, late)
    return len(late)


def append_bytes(path: str, late: bytes) -> None:
    """Append whole lines that another program wrote into an older version of the file."""
    with closing(os.open(path, os.O_WRONLY | os.O_APPEND | FLAGS)) as descriptor:
        _write_all(descriptor, [late])
        os.fsync(descriptor)


def _write_all(descriptor: int, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def create_file(
    path: str,
    pieces: Iterable[bytes],
    *,
    mode: int = 0o644,
    mtime_ns: int | None = None,
    temporary: str | None = None,
) -> Fingerprint:
    """Create a new file, whole or not at all.

    The file gets its name when its content is on the disk, and never replaces another file. `temporary` is its name
    until then.

    Raises:
        RefusedWrite: there is a file of that name. WriteFailed: the disk refused; no file was made.
    """
    temporary = temporary or temporary_beside(path)
    made: os.stat_result | None = None
    try:
        write_new(temporary, pieces, mode, mtime_ns)
        made = os.lstat(temporary)
        move_file(temporary, path)
    except FileExistsError:
        _remove(temporary)
        raise RefusedWrite(f"{clean(path)} is there already; nothing was changed.") from None
    except OSError as error:
        _remove(temporary)
        if made is not None and is_at(path, made):
            # The disk did not confirm the name. The error says that nothing was made, so the file is removed.
            _remove(path)
        raise WriteFailed(f"{clean(path)} could not be made ({error.strerror}); nothing is there.") from error
    return Fingerprint.of(os.stat(path))


def move_file(source: str, target: str) -> None:
    """Rename a file on the same disk without replacing another file; its content is not touched.

    Raises:
        FileExistsError: there is something of that name. OSError: the disk refused or did not confirm; the file has
        its old name again, if the disk allowed that.
    """
    if not rename_to_free(source, target):
        _link_and_unlink(source, target)
    try:
        _sync_names(source, target)
    except OSError:
        with suppress(OSError):
            if not rename_to_free(target, source):
                _link_and_unlink(target, source)
        raise


def _link_and_unlink(source: str, target: str) -> None:
    """Rename a file by linking the new name and unlinking the old one; without hard links, reserve the name first."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # A disk without hard links: reserving the name first keeps the rename from replacing another file.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600))
        try:
            os.rename(source, target)
        except OSError:
            os.unlink(target)
            raise
        return
    if not is_at(source, os.lstat(target)):
        return  # another program removed the old name, or put another file there
    try:
        os.unlink(source)
    except OSError:
        if is_at(source, os.lstat(target)):
            os.unlink(target)
            raise


def move_folder(source: str, target: str) -> None:
    """Rename a folder on the same disk without replacing another one; see `move_file`."""
    if not rename_to_free(source, target):
        # A rename would replace an empty folder, which may belong to another program.
        if os.path.lexists(target):
            raise FileExistsError(target)
        os.rename(source, target)
    try:
        _sync_names(source, target)
    except OSError:
        with suppress(OSError):
            if not rename_to_free(target, source):
                os.rename(target, source)
        raise


def _sync_names(source: str, target: str) -> None:
    sync_directory(os.path.dirname(target))
    if os.path.dirname(source) != os.path.dirname(target):
        sync_directory(os.path.dirname(source))


def write_new(
    path: str,
    pieces: Iterable[bytes],
    mode: int,
    mtime_ns: int | None = None,
    owner: tuple[int, int] | None = None,
) -> None:
    """Write a new file with its mode, owner and time, and wait until the disk has it.

    Without an owner the process's umask limits the mode, as for every new file.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS
    with closing(os.open(path, flags, mode if owner is None else 0o600)) as descriptor:
        _write_all(descriptor, pieces)
        if owner is not None:
            os.fchmod(descriptor, mode)
            made = os.fstat(descriptor)
            if (made.st_uid, made.st_gid) != owner:
                with suppress(PermissionError):
                    os.fchown(descriptor, *owner)
        if mtime_ns is not None:
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
        os.fsync(descriptor)


def _remove(temporary: str) -> None:
    with suppress(OSError):
        os.unlink(temporary)
