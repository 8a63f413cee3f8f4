"""Replace and create whole session files; the module `writer` appends lines and overwrites title slots.

A file is complete and flushed to the disk before it gets its name, and no other file is ever overwritten.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from sessionbrowse.errors import ChangedMeanwhile, RefusedWrite, SessionBrowseError, WriteFailed
from sessionbrowse.store.own.state_directory import sync_directory
from sessionbrowse.store.read.content import closing, open_regular
from sessionbrowse.store.write import moves, old_versions
from sessionbrowse.store.write.copies import copy, discard, write_new
from sessionbrowse.store.write.in_use import RECENT_MS
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.moves import rename
from sessionbrowse.store.write.old_versions import OldVersion
from sessionbrowse.store.write.writer import OpenedFile, is_at, locked
from sessionbrowse.text import clean


def temporary_beside(path: str) -> str:
    """Return a hidden temporary path for a file's next version; no agent lists it, and omp treats it as a leftover."""
    return old_versions.hidden_beside(path, secrets.token_hex(8), "tmp")


def rewrite_file(
    file: OpenedFile,
    pieces: Iterable[bytes],
    temporary: str,
    keep: Callable[[OldVersion], object],
    *,
    under_lock: bool = False,
    tick_ns: int = 0,
    check: Callable[[str], None] = lambda temporary: None,
) -> Fingerprint | None:
    """Replace a file by a new version, written to `temporary` first; access rights and modification time are kept.

    Lines that another program appends to the old file during the replacement are copied to the new file. Return the new
    file's fingerprint, None if such lines were copied. `tick_ns` is added to the modification time. `keep` is called
    with the old version if it cannot be removed yet. `check` is called with the path of the new version before the
    replacement, and raises `RefusedWrite` to prevent it.

    Raises:
        RefusedWrite: the file changed since it was read, has a hard link, or its owner cannot be kept.
        WriteFailed: an I/O error occurred; the message says whether the file was replaced.
    """
    source = os.fstat(file.descriptor)
    if source.st_nlink > 1:
        raise RefusedWrite(f"{file.name} has a second name (a hard link), which would keep the old version.")
    old: OldVersion | None = None
    try:
        size = write_new(temporary, pieces, mtime_ns=source.st_mtime_ns + tick_ns, like=file.descriptor)
        made = os.stat(temporary)
        check(temporary)
        with locked(file.path, under_lock):
            if not is_at(file.path, source) or Fingerprint.of(os.fstat(file.descriptor)) != file.found:
                raise ChangedMeanwhile(f"{file.name} changed while it was read; nothing was changed. Try again.")
            hidden = put_in_place(temporary, file.path, second_name(temporary), source)
            old = OldVersion(hidden, file.path, source.st_size, size)
        sync_directory(os.path.dirname(file.path))
    except RefusedWrite:
        discard(temporary)
        raise
    except OSError as error:
        if old is None:
            discard(temporary)
            raise WriteFailed(f"{file.name} could not be replaced ({error.strerror}); it was not changed.") from error
        keep(old)
        raise WriteFailed(f"{file.name} has the change, but the disk did not confirm it ({error.strerror}).") from error
    if not old_versions.remove(old, descriptor=file.descriptor):
        keep(old)
    return Fingerprint.of(made) if os.fstat(file.descriptor).st_size == source.st_size else None


def second_name(temporary: str) -> str:
    """Return the hidden name of an old version on a disk that cannot exchange names."""
    return temporary.rpartition(".")[0] + ".old"


def put_in_place(new: str, path: str, second: str, expected: os.stat_result) -> str:
    """Give a new version the name of a file in one step; return the hidden name of the old version.

    On a disk that cannot exchange names, the old version gets the hidden name `second` first: by a hard link, or as a
    copy if the disk has no links and the file has not changed for ten minutes.

    Raises:
        ChangedMeanwhile: the file is not the `expected` file any more. RefusedWrite: the disk can neither exchange
        names nor link files, and the file changed lately. OSError: an I/O error occurred.
    """
    name = clean(os.path.basename(path))
    replaced = ChangedMeanwhile(f"{name} was replaced while it was read; nothing was changed. Try again.")
    if moves.exchange(new, path):
        if not is_at(new, expected):
            moves.exchange(new, path)
            raise replaced
        return new
    try:
        os.link(path, second, follow_symlinks=False)
    except OSError as error:
        if time.time_ns() - expected.st_mtime_ns < RECENT_MS * 1_000_000:
            raise RefusedWrite(
                f"{name} changed lately, and its disk can neither exchange names nor link files. Nothing was changed; "
                "try again ten minutes after its last change."
            ) from error
        copy(path, second)
        is_expected = is_at(path, expected) and os.lstat(path).st_mtime_ns == expected.st_mtime_ns
    else:
        is_expected = is_at(second, expected)
    try:
        if not is_expected:
            raise replaced
        os.rename(new, path)
    except (OSError, RefusedWrite):
        discard(second)
        raise
    return second


def create_file(
    path: str,
    pieces: Iterable[bytes],
    *,
    mtime_ns: int | None = None,
    temporary: str | None = None,
    like: int | None = None,
    may_be_ours: bool = False,
    mode: int = 0o644,
) -> Fingerprint:
    """Create a new file, completely or not at all.

    The file gets its name when its content is on the disk, and never replaces another file. `temporary` is the file's
    name until then. `like` is the descriptor of a file whose owner, mode and access list are copied (see `write_new`).

    Raises:
        RefusedWrite: a file with that name exists, or the owner cannot be kept.
        WriteFailed: an I/O error occurred; no file was made.
    """
    temporary = temporary or temporary_beside(path)
    made: os.stat_result | None = None
    try:
        write_new(temporary, pieces, mode, mtime_ns=mtime_ns, like=like, may_be_ours=may_be_ours)
        made = os.lstat(temporary)
        rename(temporary, path)
    except RefusedWrite:
        discard(temporary)
        raise
    except FileExistsError:
        discard(temporary)
        raise RefusedWrite(f"{clean(path)} already exists; nothing was changed.") from None
    except OSError as error:
        if made is not None and _has_grown(path, temporary, made):
            return Fingerprint.of(os.stat(path))
        discard(temporary)
        raise WriteFailed(f"{clean(path)} could not be made ({error.strerror}); there is no new file.") from error
    return Fingerprint.of(os.stat(path))


def _has_grown(path: str, temporary: str, made: os.stat_result) -> bool:
    """Give a new file its temporary name again after an I/O error.

    If another program has written to the file, it keeps its final name, and True is returned.
    """
    with suppress(OSError, SessionBrowseError):
        if is_at(path, made):
            rename(path, temporary)
        with closing(open_regular(temporary)) as descriptor:
            old_versions.nobody_has_open(descriptor, old_versions.WAIT_S)
            if os.fstat(descriptor).st_size > made.st_size:
                rename(temporary, path)
    return is_at(path, made)
