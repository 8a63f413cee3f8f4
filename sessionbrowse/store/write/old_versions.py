"""Remove the old version of a replaced or moved file when no program has it open any more.

An old version has a hidden name, by which no program opens it; a program that opened it before may still write lines to
it. These late lines are first copied to the file that replaced it, its heir. On Linux a write lease proves that no
program has a file open, except on disks that a program or another computer serves, such as FUSE. There and on other
systems an old version is kept until it has not changed for ten minutes.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import stat
import time
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.store.read.content import BLOCK_BYTES, closing, file_blocks, open_regular
from sessionbrowse.store.read.session_file import line_start
from sessionbrowse.store.system.files import pread
from sessionbrowse.store.write.copies import append_bytes, copy, files_below, make_folder
from sessionbrowse.store.write.in_use import RECENT_MS, holders, running

WAIT_S = 2.0
"""Maximum number of seconds that a change waits for programs to close the old version of a file."""
_POLL_S = 0.002
_LONGEST_NAME = 255
_STATFS_BYTES = 512
_SERVED_DISKS = frozenset({0x65735546, 0x01021997, 0xFF534D42, 0xFE534D42, 0x517B, 0x786F4256, 0x00C36400})
"""Kinds of disks (`f_type` of statfs) that other programs or computers serve: FUSE, 9p, SMB, VirtualBox, Ceph."""
_HIDDEN_NAME = re.compile(r"\.(.*)\.(?:[0-9a-f]{8}|[0-9a-f]{16})\.(?:old|new|tmp|(?:\d\.)?gone)", re.DOTALL)


class OldVersion(Struct, frozen=True):
    """A replaced or moved file or folder under a hidden name, and its heir: the path that has its content now.

    A program that has the old version open may still add lines to it. To find them, both files are compared: the old
    version from byte `size` on, the heir from byte `heir_size` on. By default the whole files are compared.
    """

    hidden: str
    heir: str
    size: int = 0
    heir_size: int = 0


def hidden_beside(path: str, tag: str, suffix: str) -> str:
    """Return a hidden path in a file's folder, which no agent lists; the same `tag` (an id) gives the same path."""
    folder, name = os.path.split(path)
    end = os.fsencode(f".{tag}.{suffix}")
    return os.path.join(folder, os.fsdecode(b"." + os.fsencode(name)[: _LONGEST_NAME - 1 - len(end)] + end))


def is_hidden_name(path: str) -> bool:
    """Return True if a path has the form of a replaced file's hidden name; recovery may remove only such files."""
    return _HIDDEN_NAME.fullmatch(os.path.basename(path)) is not None


def remove(old: OldVersion, wait_s: float | None = None, *, descriptor: int | None = None) -> bool:
    """Remove the old version of a replaced or moved file; return False if it must stay.

    It stays if a program has it open, or after an I/O error. Lines that programs wrote to the old version late are
    first copied to the file that replaced it. `descriptor` is the caller's open descriptor of the old version, if the
    caller has one.
    """
    wait_s = WAIT_S if wait_s is None else wait_s
    try:
        status = os.lstat(old.hidden)
        if stat.S_ISDIR(status.st_mode):
            return _remove_folder(old, wait_s)
        if not stat.S_ISREG(status.st_mode):
            os.unlink(old.hidden)
        elif descriptor is not None:
            return _remove_file(old, descriptor, wait_s)
        else:
            with closing(open_regular(old.hidden)) as opened:
                return _remove_file(old, opened, wait_s)
    except (OSError, SessionBrowseError):
        return not os.path.lexists(old.hidden)
    return True


def follow(descriptor: int, heir: str) -> None:
    """Wait until programs have closed a file without a name; append its bytes to the file at `heir`."""
    nobody_has_open(descriptor, WAIT_S)
    late = b"".join(file_blocks(descriptor, 0))
    if late:
        append_bytes(heir, late)


def nobody_has_open(descriptor: int, timeout_s: float) -> bool:
    """Return True if no other descriptor of a file is open; wait for other programs until the timeout.

    Linux grants a write lease only in this case. The lease is released at once, and uses a signal that processes ignore
    by default. Where there are no leases, the result is False.
    """
    deadline = time.monotonic() + timeout_s
    while (taken := _take_lease(descriptor)) is False and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return bool(taken)


def _take_lease(descriptor: int) -> bool | None:
    """Take and release a write lease on a file; return False if it is refused, None if system or disk has no leases."""
    try:
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return False
    except (ImportError, AttributeError, OSError):
        return None
    return True


def proves_by_lease(descriptor: int) -> bool:
    """Return True if a write lease on an open file proves that no program has the file open.

    On FUSE each name of a file can be a file of its own for the kernel, with a lease and a size of its own, and other
    computers may write to what FUSE and network disks show.
    """
    try:
        status = ctypes.create_string_buffer(_STATFS_BYTES)
        if ctypes.CDLL(None, use_errno=True).fstatfs(descriptor, status) != 0:
            return False
    except (OSError, AttributeError):
        return False
    # The kind of the disk is the first field, a `long` on most processors; these numbers have 32 bits.
    return ctypes.c_long.from_buffer(status).value & 0xFFFFFFFF not in _SERVED_DISKS


def _has_rested(old: OldVersion, descriptor: int) -> bool:
    """Return True if the old version of a replaced file may be removed on a disk without write leases.

    A write lease would prove that no program has the file open. Instead, the file must not have changed for ten
    minutes, and no process may be seen to have it open for writing.
    """
    status = os.fstat(descriptor)
    newest_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if time.time_ns() - newest_ns < RECENT_MS * 1_000_000:
        return False
    leased = _take_lease(descriptor)
    if leased is False or (leased and proves_by_lease(descriptor)):
        return False
    # If the hidden name was made as a second hard link, a program may still have the file open under its first name.
    found = _HIDDEN_NAME.fullmatch(os.path.basename(old.hidden))
    names = [os.path.basename(old.heir), *([found[1]] if found is not None else [])]
    pids = (process.pid for process in running() if process.pid != os.getpid())
    return not any(holders(old.hidden, pids, former_names=[*names, *(f"{name} (deleted)" for name in names)]))


def _remove_file(old: OldVersion, descriptor: int, wait_s: float) -> bool:
    _carry_over(old, descriptor, is_last=False)
    is_closed = nobody_has_open(descriptor, wait_s) and proves_by_lease(descriptor)
    if not is_closed and not _has_rested(old, descriptor):
        return False
    _carry_over(old, descriptor, is_last=True)
    os.unlink(old.hidden)
    return True


def _remove_folder(old: OldVersion, wait_s: float) -> bool:
    """Remove the old version of a moved folder: every file as `remove` does, then the folder.

    The new folder (`heir`) may be on another disk.
    """
    if not os.path.isdir(old.heir):
        return False
    deadline = time.monotonic() + wait_s
    for path in list(files_below(old.hidden, links=True)):
        heir = os.path.join(old.heir, os.path.relpath(path, old.hidden))
        if not os.path.lexists(heir):
            make_folder(os.path.dirname(heir), os.path.dirname(path))
            copy(path, heir)
        if not remove(OldVersion(path, heir), max(0.0, deadline - time.monotonic())):
            return False
    shutil.rmtree(old.hidden)
    return True


# ---- carrying over -----------------------------------------------------------------------------------------


def _carry_over(old: OldVersion, descriptor: int, *, is_last: bool) -> None:
    """Append to the new file the lines that only the old version has.

    An unfinished last line is appended only if `is_last` is True: then no program has the old version open any more.
    """
    status = os.fstat(descriptor)
    if status.st_size <= old.size:
        return
    with closing(open_regular(old.heir)) as reading:
        heir = os.fstat(reading)
        if not old.size and (heir.st_size, heir.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
            return
        same = same_bytes(descriptor, old.size, reading, old.heir_size)
        late = b"".join(file_blocks(descriptor, old.size + same))
        since = b"".join(file_blocks(reading, old.heir_size + same))
        if not is_last:
            late = late[: late.rfind(b"\n") + 1]
        if not late:
            return
        if since:
            # Both files got different lines, so whole lines are compared from the line in which the files first differ.
            start = line_start(descriptor, old.size + same)
            back = old.size + same - start
            late = b"".join(file_blocks(descriptor, start, old.size + same)) + late
            heir_start = old.heir_size + same - back
            since = b"".join(file_blocks(reading, heir_start, old.heir_size + same)) + since
            late = _missing(late, since)
        if not late:
            return
        torn = bool(since) and not since.endswith(b"\n")
    append_bytes(old.heir, (b"\n" if torn else b"") + late)


def same_bytes(first: int, first_at: int, second: int, second_at: int) -> int:
    """Compare two open files, each from an offset; return the number of equal bytes before a difference or an end."""
    same = 0
    while True:
        one, other = pread(first, BLOCK_BYTES, first_at + same), pread(second, BLOCK_BYTES, second_at + same)
        shared = min(len(one), len(other))
        if one[:shared] != other[:shared]:
            return same + next(at for at in range(shared) if one[at] != other[at])
        same += shared
        if not shared:
            return same


def _missing(late: bytes, since: bytes) -> bytes:
    """Return the lines added to the old version of a file (`late`) that were not added to the new one too (`since`).

    If a line occurs several times, each occurrence in `since` cancels one occurrence in `late`.
    """
    have = Counter(since.split(b"\n"))
    missing = []
    for line in _lines(late):
        if have[line.removesuffix(b"\n")] > 0:
            have[line.removesuffix(b"\n")] -= 1
        else:
            missing.append(line)
    return b"".join(missing)


def _lines(content: bytes) -> Iterator[bytes]:
    *whole, last = content.split(b"\n")
    yield from (line + b"\n" for line in whole)
    if last:
        yield last
