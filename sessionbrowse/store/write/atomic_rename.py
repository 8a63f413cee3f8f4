"""Atomic renames of the operating system: swap two names, or rename without replacing anything."""

from __future__ import annotations

import ctypes
import errno
import os

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_MACOS_FLAGS = {_RENAME_NOREPLACE: 4, _RENAME_EXCHANGE: 2}
_NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})


def exchange(first: str, second: str) -> bool:
    """Swap two files' names in one step; return False if the operating system or the disk cannot do that.

    Raises:
        OSError: one of the files is gone, or another I/O error occurred.
    """
    return _renamed(first, second, _RENAME_EXCHANGE)


def rename_to_free(source: str, target: str) -> bool:
    """Rename a file or folder to an unused name in one step; return False if the system or disk cannot do that.

    Raises:
        FileExistsError: the new name is taken. OSError: the file or folder is gone, or another I/O error occurred.
    """
    return _renamed(source, target, _RENAME_NOREPLACE)


def _renamed(source: str, target: str, flags: int) -> bool:
    library = ctypes.CDLL(None, use_errno=True)
    old, new = os.fsencode(source), os.fsencode(target)
    if (renameat2 := getattr(library, "renameat2", None)) is not None:
        result = renameat2(_AT_FDCWD, old, _AT_FDCWD, new, ctypes.c_uint(flags))
    elif (renamex_np := getattr(library, "renamex_np", None)) is not None:
        result = renamex_np(old, new, ctypes.c_uint(_MACOS_FLAGS[flags]))
    else:
        return False
    if result == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_HERE:
        return False
    raise OSError(code, os.strerror(code), target)
