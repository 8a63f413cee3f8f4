"""File locks that the operating system releases when the process that holds them ends."""

from __future__ import annotations


def take_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting; return False if another process has locked it.

    Closing the descriptor releases the lock. On a disk that does not support locks, True is returned, so that changes
    are possible without a lock. With `shared`, several processes can hold the lock, but not while one holds it without
    `shared`. Windows has no such locks: there `shared` only checks that no other process has locked the file, and the
    lock is released at once.
    """
    try:
        import fcntl
    except ImportError:
        return _take_windows_lock(descriptor, shared=shared)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _take_windows_lock(descriptor: int, *, shared: bool) -> bool:
    import msvcrt

    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        if shared:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError:
        return False
    return True
