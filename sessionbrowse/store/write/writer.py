"""The safe writer: append lines to a user's session file, or overwrite its title slot.

The module `whole_files` creates and replaces whole files; `services/` decides which changes are allowed. Every function
keeps three promises: no byte of the file is lost, an error says what the file contains now, and the change is on the
disk before the function returns.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from msgspec import UNSET, Struct

from sessionbrowse.agents.change_plans import AppendLine
from sessionbrowse.errors import ChangedMeanwhile, InUse, RefusedWrite, WriteFailed
from sessionbrowse.format.title_slot import SLOT_BYTES
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.read.content import closing, open_regular
from sessionbrowse.store.read.session_file import Growth, Tail, open_session
from sessionbrowse.store.system.files import CLOEXEC, NOFOLLOW, NONBLOCK, flush, pread, pwrite
from sessionbrowse.store.system.processes import is_alive
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.write_checks import Target, refuse_unwritable, shown_name, writable_path
from sessionbrowse.text import iso_ms
from sessionbrowse.text import size as shown_size

MAX_ATTEMPTS = 50
"""Maximum number of times a line is appended because another program wrote first; each attempt adds a line."""
LINE_LOOKS, LINE_LOOK_S = 5, 0.01
"""An unfinished last line is read again `LINE_LOOKS` times, every `LINE_LOOK_S` s, before it counts as cut off."""
OMP_TICK_NS = 1_000_000
"""Nanoseconds added to a file's time when its title slot changes: omp 18's caches compare only size and time."""

FLAGS = CLOEXEC | NOFOLLOW | NONBLOCK


class Appended(Struct, frozen=True):
    """The result of an append: the new entry's id, the file's fingerprint (`left`), and notes for the user.

    `left` is None if another program wrote to the file meanwhile.
    """

    entry_id: str
    left: Fingerprint | None
    notes: tuple[str, ...] = ()


class OpenedFile:
    """A session file kept open for reading while it is changed, so that a replacement of the file is noticed."""

    def __init__(self, path: str, descriptor: int, session: Session) -> None:
        self.path = path
        self.descriptor = descriptor
        self.session = session
        self.found = Fingerprint.of(os.fstat(descriptor))
        self.tail = Tail(session, descriptor)

    @property
    def name(self) -> str:
        """The file's name, safe to print."""
        return shown_name(self.path)

    def first_bytes(self) -> bytes:
        """Return the first 256 bytes of the file, the size of omp's title slot."""
        return pread(self.descriptor, SLOT_BYTES, 0)


# ---- before ------------------------------------------------------------------------------------------------


@contextmanager
def opened(target: Target, *, refused_too: bool = False, only_copied: bool = False) -> Iterator[OpenedFile]:
    """Open a session file to change it, and read it as the session's agent does.

    `refused_too` allows a damaged file that the agent would not open. `only_copied` also allows a session of Claude
    Code or Codex; the descriptor is then that of the original file, not of its translation.

    Raises:
        RefusedWrite: a link leads out of the folder in which the file was found, or the agent would not open the file.
        NotASession: the file cannot be read, or is no session. WriteFailed: an I/O error occurred that the writer does
        not handle itself.
    """
    path = writable_path(target, only_moved=only_copied)
    with closing(open_regular(path)) as descriptor:
        try:
            session = open_session(path, target.agent)
            refuse_unwritable(session, refused_too=refused_too)
            if not is_at(path, os.fstat(descriptor)):
                raise ChangedMeanwhile(
                    f"{shown_name(path)} was replaced while it was read; nothing was changed. Try again."
                )
            yield OpenedFile(path, descriptor, session)
        except OSError as error:
            reason = error.strerror or str(error)
            raise WriteFailed(
                f"The disk failed at {shown_name(path)} ({reason}); check the disk before you go on."
            ) from error


def unused_id(taken: set[str], new_id: Callable[[], str]) -> str:
    """Return a new entry id that is not in `taken`, the ids of the file; `new_id` makes 8 hex digits, as agents do."""
    while (made := new_id()) in taken:
        pass
    return made


# ---- appending ---------------------------------------------------------------------------------------------


def append_line(
    file: OpenedFile,
    plan: AppendLine,
    entry_id: str,
    *,
    now_ms: Callable[[], float],
    new_id: Callable[[], str] = lambda: secrets.token_hex(4),
    under_lock: bool = False,
) -> Appended:
    """Append one entry with one write, then check whether another program wrote first.

    If another program did, the appended entry is last but its parent is an older entry, so that the agent would resume
    without that program's messages. Then the entry is appended again, with the right parent. An unfinished last line
    of the file is ended first.

    Args:
        entry_id: an unused id for the entry. under_lock: if True, omp's lock is held during the append.

    Raises:
        RefusedWrite: the file was replaced or shortened since it was read, or its last entry has no id.
        WriteFailed: an I/O error occurred; the message says whether the line is in the file.
    """
    with locked(file.path, under_lock), _open_same(file, os.O_WRONLY | os.O_APPEND) as writing:
        alone = True
        for attempt in range(MAX_ATTEMPTS):
            if file.tail.shrank(file.descriptor):
                raise ChangedMeanwhile(f"{file.name} was rewritten while it was read; nothing was changed. Try again.")
            file.tail.read_on(file.descriptor)
            _let_line_end(file)
            parent_id = _parent(file, plan)
            if attempt or entry_id in file.tail.ids:
                entry_id = unused_id(file.tail.ids, new_id)
            line = plan.line(entry_id, parent_id, iso_ms(now_ms()))
            before = os.fstat(file.descriptor)
            written = _write_line(file, writing, line)
            growth = file.tail.read_on(file.descriptor, line[:-1])
            alone = alone and growth == Growth(ours=True, others_before=False, others_after=False)
            if growth.others_after:
                return Appended(entry_id, None, (_overtaken(file, plan),))
            if growth.ours and (not growth.others_before or plan.parent_id is not UNSET):
                return _settled(file, plan, entry_id, before, written, alone)
        note = "Another program keeps writing to this session; check it again when that program is done."
        return Appended(entry_id, None, (note,))


def _let_line_end(file: OpenedFile) -> None:
    """Wait a moment for another program to finish the last line; ending the line for it could leave a blank line."""
    for _ in range(LINE_LOOKS):
        if not file.tail.torn:
            return
        time.sleep(LINE_LOOK_S)
        file.tail.read_on(file.descriptor)


def _parent(file: OpenedFile, plan: AppendLine) -> str | None:
    if plan.parent_id is not UNSET:
        return plan.parent_id
    if file.tail.last_is_nameless:
        # An entry without a parent would begin a new, empty conversation.
        raise RefusedWrite(
            f"The last entry of {file.name} has no id, so {file.session.agent} would resume the session with an empty "
            "conversation. Check out the entry at which to continue, and try again."
        )
    return file.tail.last_id


def _write_line(file: OpenedFile, writing: int, line: bytes) -> os.stat_result:
    """Append a line to the file, flush it, and return the file's `os.stat` result from right after the write."""
    content = (b"\n" if file.tail.torn else b"") + line
    _refuse_full_disk(file, writing, len(content))
    try:
        written = os.write(writing, content)
    except OSError as error:
        raise WriteFailed(f"{file.name} could not be written ({error.strerror}); it was not changed.") from error
    if written < len(content):
        _close_short_line(file, writing, written, len(content))
    status = os.fstat(writing)
    try:
        flush(writing)
    except OSError as error:
        raise WriteFailed(
            f"{file.name} has the new line, but the disk did not confirm it ({error.strerror}): it may be gone after "
            "a crash."
        ) from error
    if not is_at(file.path, status):
        raise WriteFailed(
            f"{file.name} was moved or replaced while it was written; the file at its path now lacks the change."
        )
    return status


def _close_short_line(file: OpenedFile, writing: int, written: int, size: int) -> None:
    """End a line that was written only in part, so that the next line does not continue it."""
    is_closed = False
    with suppress(OSError):
        is_closed = os.write(writing, b"\n") == 1
    if written < size - 1:
        raise WriteFailed(
            f"The disk took only {written} of {size} bytes of the new line of {file.name}. Everything before it is "
            "unchanged; readers skip the incomplete line, and the next change begins a new one."
        )
    if not is_closed:
        raise WriteFailed(
            f"The change is in {file.name}, but its line end could not be written; the next change adds the line end."
        )


def _refuse_full_disk(file: OpenedFile, writing: int, size: int) -> None:
    """Raise `WriteFailed` if the disk has no room for a line, so that no part of the line is written."""
    try:
        disk = os.fstatvfs(writing)
    except (OSError, AttributeError):  # Windows has no `fstatvfs`.
        return
    if disk.f_blocks == 0 or disk.f_frsize == 0:
        return
    free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
    room = -os.fstat(writing).st_size % disk.f_frsize + free * disk.f_frsize
    if size > room:
        raise WriteFailed(f"The disk is full ({shown_size(room)} left); {file.name} was not changed.")


def _overtaken(file: OpenedFile, plan: AppendLine) -> str:
    if plan.parent_id is UNSET:
        return "Another program is writing to this session now."
    return f"Another program wrote to this session meanwhile: {file.session.agent} resumes at that program's entry."


def _settled(
    file: OpenedFile, plan: AppendLine, entry_id: str, before: os.stat_result, written: os.stat_result, alone: bool
) -> Appended:
    """Return the result of an append; first restore the file's modification time, if `plan` asks for it.

    The time is not restored if another program wrote to the file.
    """
    if not alone:
        return Appended(entry_id, None)
    if not plan.keep_mtime:
        return Appended(entry_id, Fingerprint.of(written))
    return Appended(entry_id, *restore_mtime(file.descriptor, before.st_mtime_ns, written))


def restore_mtime(
    descriptor: int, mtime_ns: int, written: os.stat_result
) -> tuple[Fingerprint | None, tuple[str, ...]]:
    """Set a file's modification time back to `mtime_ns`; return the file's fingerprint.

    If another program wrote meanwhile, noticed by size and time, the time stays current and None is returned.
    """
    now = os.fstat(descriptor)
    if (now.st_size, now.st_mtime_ns) != (written.st_size, written.st_mtime_ns):
        return None, ()
    try:
        os.utime(descriptor, ns=(now.st_atime_ns, mtime_ns))
        if os.fstat(descriptor).st_size != written.st_size:
            os.utime(descriptor)
            return None, ()
    except OSError as error:
        return Fingerprint.of(now), (f"The file's modification time could not be restored ({error.strerror}).",)
    return Fingerprint.of(os.fstat(descriptor)), ()


# ---- omp's slot --------------------------------------------------------------------------------------------


def overwrite_slot(file: OpenedFile, old: bytes, new: bytes) -> tuple[Fingerprint | None, tuple[str, ...]]:
    """Overwrite the title slot in place, under omp's lock; set the file's time to its old value plus a millisecond.

    `old` are the slot's bytes when it was read. No byte after the slot is changed.

    Raises:
        RefusedWrite: the slot's bytes are not `old` any more, or the file was replaced.
        WriteFailed: an I/O error occurred; the message says which title the file has.
    """
    assert len(old) == len(new) == SLOT_BYTES
    with locked(file.path, True), _open_same(file, os.O_RDWR) as writing:
        if pread(writing, SLOT_BYTES, 0) != old:
            raise ChangedMeanwhile(f"{file.name} got another title while it was read; nothing was changed. Try again.")
        before = os.fstat(writing)
        try:
            _write_at_start(writing, new)
        except OSError as error:
            raise WriteFailed(_after_failed_slot(file, writing, old, error)) from error
        status = os.fstat(writing)
        try:
            flush(writing)
        except OSError as error:
            raise WriteFailed(
                f"{file.name} has the new title, but the disk did not confirm it ({error.strerror})."
            ) from error
        if not is_at(file.path, status):
            raise WriteFailed(
                f"{file.name} was replaced by another program while its title was written; the new file may have "
                "another title."
            )
        return restore_mtime(writing, before.st_mtime_ns + OMP_TICK_NS, status)


def mend_slot(path: str, damaged: bytes, whole: bytes) -> None:
    """Restore a title slot that an interrupted process wrote only in part, if no program changed it since.

    Raises:
        RefusedWrite, OSError: the slot could not be restored.
    """
    with locked(path, True), closing(os.open(path, os.O_RDWR | FLAGS)) as descriptor:
        if pread(descriptor, SLOT_BYTES, 0) == damaged:
            _write_at_start(descriptor, whole)
            flush(descriptor)


def _write_at_start(writing: int, content: bytes) -> None:
    # A partial write can be continued where it stopped, because other programs only append to the end of the file.
    done = 0
    while done < len(content):
        done += pwrite(writing, content[done:], done)


def _after_failed_slot(file: OpenedFile, writing: int, old: bytes, error: OSError) -> str:
    with suppress(OSError):
        if pread(writing, SLOT_BYTES, 0) == old:
            return f"{file.name} could not be written ({error.strerror}); it was not changed."
        _write_at_start(writing, old)
        return f"{file.name} could not be written ({error.strerror}); its old title was restored."
    return (
        f"{file.name} could not be written ({error.strerror}) and its first line may be damaged; everything else is "
        "unchanged. The next change repairs that line with its old bytes from the journal."
    )


# ---- shared ------------------------------------------------------------------------------------------------


@contextmanager
def _open_same(file: OpenedFile, flags: int) -> Iterator[int]:
    """Open a file for writing; raise `ChangedMeanwhile` if the file was replaced after it was read."""
    try:
        descriptor = os.open(file.path, flags | FLAGS)
    except OSError as error:
        raise WriteFailed(f"{file.name} cannot be written ({error.strerror}); it was not changed.") from error
    with closing(descriptor):
        if not os.path.samestat(os.fstat(descriptor), os.fstat(file.descriptor)):
            raise ChangedMeanwhile(f"{file.name} was replaced while it was read; nothing was changed. Try again.")
        yield descriptor


@contextmanager
def locked(path: str, is_wanted: bool) -> Iterator[None]:
    """Hold omp's lock on a session file inside the `with` block, if `is_wanted`."""
    with ExitStack() as stack:
        try:
            if is_wanted:
                stack.enter_context(publish_lock(path))
        except OSError as error:
            raise WriteFailed(
                f"{shown_name(path)} cannot be locked with omp's lock file ({error.strerror}); it was not changed."
            ) from error
        yield


def is_at(path: str, status: os.stat_result) -> bool:
    """Return True if the file at a path is the file that has the given `os.stat` result."""
    try:
        return os.path.samestat(os.lstat(path), status)
    except OSError:
        return False


# ---- omp's lock file, made before an append or a rewrite (omp 18.2.1 and newer) ----------------------------

_LOCK_WAIT_S = 0.5
"""Seconds that omp waits for the lock before its own write fails; no program may hold the lock longer."""
_POLL_S = 0.002
# Number of attempts to remove the lock: a lock file left behind would keep omp from saving while this process lives.
_REMOVALS = 3
_LONGEST_NAME = 255
_RECORD = re.compile(rb"(\d+):(\d+)\s*")


def lock_path(path: str) -> str:
    """Return the path of omp's lock file for a session file."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.lock")


@contextmanager
def publish_lock(
    path: str,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.time,
) -> Iterator[None]:
    """Hold omp's lock on a session file; the caller must release it after a few milliseconds.

    Raises:
        InUse: another program held the lock for half a second.
        OSError: the lock file cannot be made.
    """
    lock = lock_path(path)
    if len(os.fsencode(os.path.basename(lock))) > _LONGEST_NAME:
        yield  # omp cannot make this file either, so it cannot hold the lock.
        return
    record = f"{os.getpid()}:{int(now() * 1000)}\n".encode()
    deadline = clock() + _LOCK_WAIT_S
    while not (_create(lock, record) or (_remove_stale(lock, now) and _create(lock, record))):
        if clock() >= deadline:
            raise InUse(f"{os.path.basename(path)} is being written by omp just now; nothing was changed. Try again.")
        sleep(_POLL_S)
    try:
        yield
    finally:
        for _ in range(_REMOVALS):
            # Another program may have treated our lock as stale, and may hold its own lock now.
            if _content(lock) != record:
                break
            with suppress(OSError):
                os.unlink(lock)


def _create(lock: str, record: bytes) -> bool:
    try:
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC, 0o600)
    except FileExistsError:
        return False
    with closing(descriptor):
        try:
            if os.write(descriptor, record) < len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), lock)
        except OSError:
            with suppress(OSError):
                os.unlink(lock)
            raise
    # While the lock file was still empty, another program may have removed it as a leftover. Then the lock is not held.
    return _content(lock) == record


def _remove_stale(lock: str, now: Callable[[], float]) -> bool:
    """Remove a lock file whose process has ended; return True if there is no lock file now."""
    content = _content(lock)
    if content is None:
        return True
    found = _RECORD.fullmatch(content)
    if found is not None:
        # This process makes one change at a time, so a lock file with its process id is left from an earlier change.
        if int(found[1]) != os.getpid() and is_alive(int(found[1])):
            return False
    elif not _is_orphan(lock, now):
        return False
    if _content(lock) != content:
        return False
    with suppress(FileNotFoundError):
        os.unlink(lock)
    return True


def _is_orphan(lock: str, now: Callable[[], float]) -> bool:
    """Return True if a lock file without a process id is so old that no program can still be writing it."""
    try:
        return now() - os.stat(lock).st_mtime > _LOCK_WAIT_S
    except OSError:
        return True


def _content(lock: str) -> bytes | None:
    try:
        descriptor = os.open(lock, os.O_RDONLY | NOFOLLOW | CLOEXEC | NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        return b""
    with closing(descriptor):
        try:
            return os.read(descriptor, 256)
        except OSError:
            return b""
