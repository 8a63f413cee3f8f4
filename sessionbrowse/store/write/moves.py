"""Move files and folders, on one disk or to another; at every moment each has a visible name, which agents list.

On one disk a move is one rename that replaces nothing. To another disk, a copy is made under a hidden name and then
renamed. After that the original gets a hidden name (it is "aside"), lines that programs still write to it are copied,
and it is removed (see `old_versions`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import time
from contextlib import suppress

from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.format.title_slot import SLOT_BYTES, parse_slot
from sessionbrowse.store.own.state_directory import sync_directory
from sessionbrowse.store.read.content import closing
from sessionbrowse.store.system.files import CLOEXEC, NOFOLLOW
from sessionbrowse.store.write import old_versions
from sessionbrowse.store.write.copies import NEW_FILE, copy, discard, make_folder, remove
from sessionbrowse.store.write.old_versions import OldVersion, hidden_beside
from sessionbrowse.text import clean

_COMPARED_BYTES = 4096
_HEADER = b'"type":"session"'
_MOST_BEGUN = 5
"""Maximum number of new files that an agent may create at a session's old path while the session is moved back."""
_RESERVED_MODE = stat.S_IWUSR
"""Mode of the empty file that reserves the new name for a rename where hard links are missing; no session has it."""


class Moves:
    """The moves of files and folders that one change makes.

    Originals and unfinished copies get hidden names with the change's id, so that recovery finds them after a crash.
    """

    def __init__(self, change_id: str) -> None:
        self.change_id = change_id
        self.old_versions: list[OldVersion] = []

    def move(self, source: str, target: str) -> None:
        """Move a file or folder, also to another disk, without overwriting anything; access rights and times are kept.

        Raises:
            FileExistsError: the target exists.
            RefusedWrite: the owner cannot be kept on another disk. OSError: an I/O error occurred. After each of these
            errors the source is at its old path.
        """
        try:
            rename(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        else:
            return
        was = os.lstat(source)
        size = self._copy(source, target)
        try:
            rename(source, self.aside(source))
        except OSError:
            self.move_back(source, target)
            raise
        # A folder is not compared: if it was moved file by file, it has another inode.
        if not stat.S_ISDIR(was.st_mode) and not os.path.samestat(os.lstat(self.aside(source)), was):
            rename(self.aside(source), source)
            if os.lstat(target).st_size == size:
                discard(target)  # The copy is outdated, because another program has replaced the original.
            raise OSError(errno.ESTALE, "another program replaced the file meanwhile", source)
        self.old_versions.append(OldVersion(self.aside(source), target, size, size))

    def move_back(self, source: str, target: str) -> None:
        """Undo a complete or interrupted move; lines that programs added to the target are copied to the source.

        Raises:
            FileExistsError: another program created a file at the old path. OSError: an I/O error occurred. After each
            of these errors the moved file is at `target`.
        """
        self.drop_unfinished(source, target)
        _give_up_reserved(target, source)
        self.reclaim(source)
        if os.path.lexists(target):
            if not os.path.lexists(source):
                self.move(target, source)
            elif is_same_file(source, target):
                os.unlink(target)
            elif is_copy(source, target):
                if not _is_merged(target, source):
                    hide(target, self._withdrawn(target))
            else:
                # If the original still has its hidden name, the file at `target` is a copy of it. Otherwise that file
                # may be another program's, and must not get lines from hidden files.
                lies_aside = os.path.lexists(self.aside(source))
                self.note_hidden(source, target, target if lies_aside else source)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source)
        self.note_hidden(source, target, source)

    def finish(self, source: str, target: str) -> None:
        """Complete an interrupted move, at whatever step it stopped.

        Raises:
            OSError: an I/O error occurred, or another file is at the new path.
        """
        self.drop_unfinished(source, target)
        _give_up_reserved(target, source)
        if os.path.lexists(source):
            if not os.path.lexists(target):
                self.move(source, target)
            elif is_same_file(source, target):
                os.unlink(source)
            elif is_copy(source, target) and not _is_merged(source, target):
                hide(source, self.aside(source))
        self.note_hidden(source, target, target)

    def reclaim(self, source: str) -> None:
        """Rename the original of a move from its hidden name back to `source`.

        Lines that an agent meanwhile wrote to a new file at `source` are kept. Another session at `source` stays there.
        """
        aside = self.aside(source)
        for hidden in self._begun(source):
            if os.path.lexists(hidden):
                continue
            if _is_begun_by_name(source, aside) and not exchange(aside, source):
                rename(source, hidden)
            if _is_begun_by_name(aside, source):
                rename(aside, hidden)
            if os.path.lexists(aside) and not os.path.lexists(source):
                with suppress(FileExistsError):
                    rename(aside, source)
            if not _is_begun_by_name(source, aside):
                break
        for hidden in self._begun(source):
            self._note(hidden, source)

    def drop_unfinished(self, source: str, target: str) -> None:
        """Remove an unfinished copy, and hard links that an interrupted rename left; raise `OSError` if one stays."""
        remove(self._unfinished(target))
        for name, second in ((source, self.aside(source)), (target, self._withdrawn(target))):
            if is_same_file(name, second):
                os.unlink(second)

    def note_hidden(self, source: str, target: str, heir: str) -> None:
        """Add to `old_versions` the hidden files that a move or its undo left; `heir` has their content now."""
        for hidden in (self.aside(source), *self._begun(source), self._withdrawn(target), self.aside(target)):
            self._note(hidden, heir)

    def remove_old_versions(self, wait_s: float | None = None) -> list[OldVersion]:
        """Remove the originals of moved files within two seconds; return the files that a program may have open."""
        end = time.monotonic() + (old_versions.WAIT_S if wait_s is None else wait_s)
        waiting = dict.fromkeys(self.old_versions)
        self.old_versions = [old for old in waiting if not old_versions.remove(old, max(0.0, end - time.monotonic()))]
        return self.old_versions

    def aside(self, source: str) -> str:
        """Return the hidden path that the original of a moved or replaced file gets until it is removed."""
        return hidden_beside(source, self.change_id, "old")

    def _unfinished(self, target: str) -> str:
        return hidden_beside(target, self.change_id, "new")

    def _withdrawn(self, target: str) -> str:
        return hidden_beside(target, self.change_id, "gone")

    def _begun(self, source: str) -> list[str]:
        return [hidden_beside(source, self.change_id, f"{number}.gone") for number in range(_MOST_BEGUN)]

    def _note(self, hidden: str, heir: str) -> None:
        if os.path.lexists(hidden):
            self.old_versions.append(OldVersion(hidden, heir))

    def _copy(self, source: str, target: str) -> int:
        """Copy a file or folder to another disk, completely or not at all; return a file's size, 0 for a folder."""
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        unfinished = self._unfinished(target)
        try:
            size = copy(source, unfinished, lambda name: name.endswith(f".{self.change_id}.new"))
        except (OSError, RefusedWrite):
            discard(unfinished)
            raise
        try:
            rename(unfinished, target)
        except OSError:
            # A rename that fails late gives the copy its final name for a moment: a program may have opened it by this
            # name and added lines.
            if not old_versions.remove(OldVersion(unfinished, source)):
                rename(unfinished, self._withdrawn(target))
                self._note(self._withdrawn(target), source)
            raise
        return size


def is_on_other_disk(path: str, folder: str, change_id: str) -> bool:
    """Return True if a folder is on another disk or mount than a path; a missing folder is created."""
    nothing = hidden_beside(path, change_id, "tmp")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # The file to rename does not exist, so the rename fails. Only the error matters: EXDEV means another disk.
        os.rename(nothing, os.path.join(folder, os.path.basename(nothing)))
    except OSError as error:
        return error.errno == errno.EXDEV
    return False


def is_same_file(first: str, second: str) -> bool:
    """Return True if two paths are hard links to one file, as an interrupted rename by hard links leaves them."""
    try:
        status = os.lstat(first)
        return not stat.S_ISDIR(status.st_mode) and os.path.samestat(status, os.lstat(second))
    except OSError:
        return False


def is_copy(first: str, second: str) -> bool:
    """Return True if one file seems to be a copy of the other, judged by their first lines; added lines do not count.

    A new file that an agent creates at the old path of a moved session has no header, so it is not seen as a copy.
    Two folders always count as copies.
    """
    try:
        modes = [stat.S_IFMT(os.lstat(path).st_mode) for path in (first, second)]
        if modes[0] != modes[1] or modes[0] != stat.S_IFREG:
            return modes[0] == modes[1]
        heads = []
        for path in (first, second):
            with open(path, "rb") as file:
                heads.append(file.read(_COMPARED_BYTES))
    except OSError:
        return False
    # The first line of an omp file may be a title slot, which other sessions may share, so the second line (the header)
    # is compared too.
    count = 2 if parse_slot(heads[0][:SLOT_BYTES]) is not None else 1
    lines = [head.split(b"\n", count)[:count] if head.count(b"\n") >= count else None for head in heads]
    if None not in lines:
        return lines[0] == lines[1]
    shared = min(map(len, heads))
    return heads[0][:shared] == heads[1][:shared] and (shared > 0 or heads[0] == heads[1])


def _is_begun_by_name(path: str, session: str) -> bool:
    """Return True if the file at `path` has no header, but the file at `session` has one.

    Then `path` was made by an agent that appended to the session by its old path while the file was moved away.
    """
    try:
        with open(session, "rb") as file:
            if _HEADER not in file.read(_COMPARED_BYTES):
                return False
        with open(path, "rb") as file:
            return _HEADER not in file.read(_COMPARED_BYTES)
    except OSError:
        return False


def rename(source: str, target: str) -> None:
    """Rename a file or folder on the same disk, without replacing another file or folder.

    Raises:
        FileExistsError: the new name is taken. OSError: the rename failed, or the disk did not confirm it; the file
        has its old name, if the rename could be undone.
    """
    _rename(source, target)
    try:
        sync_directory(os.path.dirname(target))
        if os.path.dirname(source) != os.path.dirname(target):
            sync_directory(os.path.dirname(source))
    except OSError:
        with suppress(OSError):
            _rename(target, source)
        raise


def hide(path: str, hidden: str) -> None:
    """Rename a file or folder to its hidden name; complete an interrupted rename, which left both names."""
    if is_same_file(path, hidden):
        os.unlink(path)
    elif _is_folder(path) and _is_folder(hidden):
        _merge(path, hidden)
    else:
        rename(path, hidden)


def _rename(source: str, target: str) -> None:
    try:
        _rename_at_once(source, target)
    except OSError as error:
        # overlayfs, as in containers, refuses to rename a folder that comes from the image, but not the files in it.
        is_here = os.lstat(source).st_dev == os.lstat(os.path.dirname(target)).st_dev
        if error.errno != errno.EXDEV or not is_here or not _is_folder(source) or os.path.lexists(target):
            raise
        _merge(source, target)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _merge(source: str, target: str) -> None:
    """Move the content of a folder, file by file, to another folder, which may be missing; remove the emptied folder.

    Raises:
        OSError: an I/O error occurred, or the disk cannot rename the files either; each file is in one of the folders.
    """
    status = os.lstat(source)
    make_folder(target, source)
    try:
        for name in sorted(os.listdir(source)):
            here, there = os.path.join(source, name), os.path.join(target, name)
            if _is_folder(here):
                _merge(here, there)
            else:
                _rename_at_once(here, there)
    except OSError:
        with suppress(OSError):
            os.rmdir(target)  # Only an empty folder is removed: then nothing was moved.
        raise
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    sync_directory(target)
    os.rmdir(source)


def _is_merged(source: str, target: str) -> bool:
    """Complete an interrupted `_merge`; return False if there was none, and one folder is a copy on another disk."""
    if not (_is_folder(source) and _is_folder(target)) or os.lstat(source).st_dev != os.lstat(target).st_dev:
        return False
    try:
        _merge(source, target)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.EXDEV):
            raise
        return False
    return True


def _rename_at_once(source: str, target: str) -> None:
    if rename_to_free(source, target):
        return
    status = os.lstat(source)
    if status.st_dev != os.lstat(os.path.dirname(target)).st_dev:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), source)
    if not stat.S_ISDIR(status.st_mode):
        _link_and_unlink(source, target)
        return
    # A rename would replace an empty folder, which may belong to another program.
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


def _link_and_unlink(source: str, target: str) -> None:
    """Rename a file by a hard link with the new name; on a disk without hard links, reserve the new name first."""
    _give_up_reserved(target, source)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        # This rename may have been interrupted earlier, when the file had both names.
        if not is_same_file(source, target):
            raise
    except OSError:
        # The disk has no hard links, so the name is first reserved, which keeps the rename from replacing another file.
        with closing(os.open(target, NEW_FILE ^ os.O_WRONLY | os.O_RDWR, _RESERVED_MODE)) as reserved:
            try:
                os.rename(source, target)
            except OSError:
                os.unlink(target)
                old_versions.follow(reserved, source)
                raise
            old_versions.follow(reserved, target)
        return
    if not is_same_file(source, target):
        return  # Another program removed the old name, or gave it to another file.
    try:
        os.unlink(source)
    except OSError:
        if is_same_file(source, target):
            os.unlink(target)
            raise


def _give_up_reserved(target: str, heir: str) -> None:
    """Remove the empty file by which an interrupted rename reserved the name `target`.

    If a program wrote lines to this file, they are appended to the file at `heir`.
    """
    with suppress(FileNotFoundError):
        status = os.lstat(target)
        if not stat.S_ISREG(status.st_mode) or stat.S_IMODE(status.st_mode) != _RESERVED_MODE:
            return
        os.chmod(target, 0o600)
        try:
            with closing(os.open(target, os.O_RDWR | CLOEXEC | NOFOLLOW)) as reserved:
                os.unlink(target)
                old_versions.follow(reserved, heir)
        except OSError:
            with suppress(OSError):
                # By these permission bits, the next attempt at the move knows the file as ours.
                os.chmod(target, _RESERVED_MODE)
            raise


def in_the_way(path: str) -> RefusedWrite:
    """Return the error for a target path at which a file or folder exists already."""
    return RefusedWrite(f"The path {clean(path)} exists already. Nothing was changed or overwritten.")


# ---- atomic renames of the operating system ----------------------------------------------------------------

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


# ---- a session file together with the files that belong to it: all or none ---------------------------------

Move = tuple[str, str]
"""The move of one file or folder: its source path and its target path."""


def move_all(pairs: list[Move], moves: Moves) -> None:
    """Move all files or none of them, in the given order, the session file last.

    The original of a file that was copied to another disk gets a hidden name. It is listed in `moves`, so that the
    caller removes it when no program has it open.

    Raises:
        RefusedWrite: a target file exists, or a copy would get another owner (user); nothing was moved.
        WriteFailed: an I/O error occurred. All files are at their old paths, except those that the message names.
    """
    for _, target in pairs:
        if os.path.lexists(target):
            raise in_the_way(target)
    done: list[Move] = []
    try:
        for source, target in pairs:
            done.append((source, target))
            make_folder(os.path.dirname(target), os.path.dirname(source))
            moves.move(source, target)
    except (OSError, RefusedWrite) as error:
        left = bring_back(done, moves)
        if isinstance(error, RefusedWrite) and not left:
            raise
        told = f" {' '.join(left)}" if left else " Nothing was moved."
        reason = error.sentence if isinstance(error, RefusedWrite) else error.strerror or error
        raise WriteFailed(f"{clean(pairs[-1][0])} could not be moved ({reason}).{told}") from error


def bring_back(pairs: list[Move], moves: Moves) -> list[str]:
    """Undo moves in reverse order; return an error sentence for each file that could not be moved back."""
    sentences = []
    for source, target in reversed(pairs):
        try:
            make_folder(os.path.dirname(source), os.path.dirname(target))
            moves.move_back(source, target)
        except (OSError, RefusedWrite) as error:
            reason = error.sentence if isinstance(error, RefusedWrite) else error.strerror or error
            sentences.append(f"{clean(target)} could not be moved back ({reason}).")
    return sentences
