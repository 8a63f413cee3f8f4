"""Move whole files and folders, on one disk or across disks; at every moment each has a name that is listed.

On one disk a move is one rename that replaces nothing. Across disks a copy is made under a hidden name and gets its
name; then the original gets a hidden name, its late lines are carried over, and it is let go (see `let_go`).
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.format.title_slot import SLOT_BYTES, parse_slot
from sessionbrowse.store.own.state_directory import sync_directory
from sessionbrowse.store.read.content import closing
from sessionbrowse.store.system.files import CLOEXEC, NOFOLLOW
from sessionbrowse.store.write import atomic_rename, let_go
from sessionbrowse.store.write.copies import NEW_FILE, copy, remove
from sessionbrowse.store.write.let_go import OldVersion, hidden_beside
from sessionbrowse.text import clean

_COMPARED_BYTES = 4096
_HEADER = b'"type":"session"'
_MOST_BEGUN = 5
"""The number of files that an agent may begin anew at an old path while a session comes back to it."""
_RESERVED_MODE = stat.S_IWUSR
"""The file mode that marks an empty file as a reserved name; no session has this mode."""


class Moves:
    """The moves of one change; hidden names hold the change's id, so that they are found again after a crash."""

    def __init__(self, change_id: str) -> None:
        self.change_id = change_id
        self.old_versions: list[OldVersion] = []

    def move(self, source: str, target: str) -> None:
        """Move a file or folder, also to another disk, without overwriting anything; access rights and times are kept.

        Raises:
            FileExistsError: there is something of that name.
            RefusedWrite: its owner cannot be kept on another disk. OSError: the disk refused. The source is where it
            was.
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
        if not os.path.samestat(os.lstat(self.aside(source)), was):
            rename(self.aside(source), source)
            if os.lstat(target).st_size == size:
                remove(target)  # a copy of what another program replaced
            raise OSError(errno.ESTALE, "another program replaced it meanwhile", source)
        self.old_versions.append(OldVersion(self.aside(source), target, size, size))

    def move_back(self, source: str, target: str) -> None:
        """Undo a move, wherever it was interrupted; lines that the target got meanwhile are carried over.

        Raises:
            FileExistsError: another program put something at the old path. OSError: the disk refused. The moved file
            is at `target` then.
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
                hide(target, self._withdrawn(target))
            else:
                # Only a session that lies aside has its heir at the target; else another program's file is there.
                lies_aside = os.path.lexists(self.aside(source))
                self.note_hidden(source, target, target if lies_aside else source)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source)
        self.note_hidden(source, target, source)

    def finish(self, source: str, target: str) -> None:
        """Complete a move, wherever it was interrupted.

        Raises:
            OSError: the disk refused, or something else is at the new path.
        """
        self.drop_unfinished(source, target)
        _give_up_reserved(target, source)
        if os.path.lexists(source):
            if not os.path.lexists(target):
                self.move(source, target)
            elif is_same_file(source, target):
                os.unlink(source)
            elif is_copy(source, target):
                hide(source, self.aside(source))
        self.note_hidden(source, target, target)

    def reclaim(self, source: str) -> None:
        """Give a file that lies aside its name again.

        Lines that an agent wrote by that name meanwhile are carried over. Another session stays there.
        """
        aside = self.aside(source)
        for hidden in self._begun(source):
            if os.path.lexists(hidden):
                continue
            if _is_begun_by_name(source, aside) and not atomic_rename.exchange(aside, source):
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
        """Remove an unfinished copy, and the second names that a rename by links left."""
        remove(self._unfinished(target))
        for name, second in ((source, self.aside(source)), (target, self._withdrawn(target))):
            if is_same_file(name, second):
                os.unlink(second)

    def note_hidden(self, source: str, target: str, heir: str) -> None:
        """Note all hidden files that a move or its undoing may have left; the file `heir` has their content now."""
        for hidden in (self.aside(source), *self._begun(source), self._withdrawn(target), self.aside(target)):
            self._note(hidden, heir)

    def let_go(self, wait_s: float | None = None) -> list[OldVersion]:
        """Let go of all old versions, waiting two seconds in all; return those that have to stay for now."""
        deadline = time.monotonic() + (let_go.WAIT_S if wait_s is None else wait_s)
        waiting = list(dict.fromkeys(self.old_versions))
        self.old_versions = [old for old in waiting if not let_go.let_go(old, max(0.0, deadline - time.monotonic()))]
        return self.old_versions

    def aside(self, source: str) -> str:
        """Return the hidden name to which a file is moved when a new version takes its name."""
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
        """Copy to another disk, whole or not at all; return the number of bytes that were copied of a file."""
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        unfinished = self._unfinished(target)
        try:
            size = copy(source, unfinished, lambda name: name.endswith(f".{self.change_id}.new"))
        except (OSError, RefusedWrite):
            remove(unfinished)
            raise
        try:
            rename(unfinished, target)
        except OSError:
            # It may have had the name for a moment, in which a program opened it.
            if not let_go.let_go(OldVersion(unfinished, source)):
                rename(unfinished, self._withdrawn(target))
                self._note(self._withdrawn(target), source)
            raise
        return size


def is_on_other_disk(path: str, folder: str, change_id: str) -> bool:
    """Tell whether a rename into a folder, which is made if it is missing, would leave the disk or bind mount."""
    nothing = hidden_beside(path, change_id, "tmp")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        # Linux compares the disks before it looks for the file, so a name that nothing has is enough.
        os.rename(nothing, os.path.join(folder, os.path.basename(nothing)))
    except OSError as error:
        return error.errno == errno.EXDEV
    return False


def is_same_file(first: str, second: str) -> bool:
    """Tell whether two names are of one file, as an interrupted rename by a link leaves it."""
    try:
        status = os.lstat(first)
        return not stat.S_ISDIR(status.st_mode) and os.path.samestat(status, os.lstat(second))
    except OSError:
        return False


def is_copy(first: str, second: str) -> bool:
    """Tell by the beginning of two files whether one is a copy of the other, to which a program may have added lines.

    A file that an agent begins anew at an old path has no header, so its beginning is another one.
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
    # omp's first line is a title, which other sessions may share; its header is the second.
    count = 2 if parse_slot(heads[0][:SLOT_BYTES]) is not None else 1
    lines = [head.split(b"\n", count)[:count] if head.count(b"\n") >= count else None for head in heads]
    if None not in lines:
        return lines[0] == lines[1]
    shared = min(map(len, heads))
    return heads[0][:shared] == heads[1][:shared] and (shared > 0 or heads[0] == heads[1])


def _is_begun_by_name(path: str, session: str) -> bool:
    """Tell whether an agent began a file without a header at the path of a session that it has open."""
    try:
        with open(session, "rb") as file:
            if _HEADER not in file.read(_COMPARED_BYTES):
                return False
        with open(path, "rb") as file:
            return _HEADER not in file.read(_COMPARED_BYTES)
    except OSError:
        return False


def rename(source: str, target: str) -> None:
    """Give a file or folder another name on the same disk, never that of another one.

    Raises:
        FileExistsError: there is something of that name. OSError: the disk refused or did not confirm; the file has
        its old name again, if the disk allowed that.
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
    """Give a file or folder its hidden name, also if that was interrupted when it had both names."""
    if is_same_file(path, hidden):
        os.unlink(path)
    else:
        rename(path, hidden)


def _rename(source: str, target: str) -> None:
    if atomic_rename.rename_to_free(source, target):
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
    """Rename a file by linking the new name and unlinking the old one; without hard links, reserve the name first."""
    _give_up_reserved(target, source)
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        # A kill in the middle of this very rename leaves both names.
        if not is_same_file(source, target):
            raise
    except OSError:
        # A disk without hard links: reserving the name first keeps the rename from replacing another file.
        with closing(os.open(target, NEW_FILE ^ os.O_WRONLY | os.O_RDWR, _RESERVED_MODE)) as reserved:
            try:
                os.rename(source, target)
            except OSError:
                os.unlink(target)
                let_go.follow(reserved, source)
                raise
            let_go.follow(reserved, target)
        return
    if not is_same_file(source, target):
        return  # another program removed the old name, or put another file there
    try:
        os.unlink(source)
    except OSError:
        if is_same_file(source, target):
            os.unlink(target)
            raise


def _give_up_reserved(target: str, heir: str) -> None:
    """Remove a name that an interrupted `_link_and_unlink` reserved; a program may have opened it meanwhile."""
    with suppress(OSError):
        status = os.lstat(target)
        if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == _RESERVED_MODE:
            os.chmod(target, 0o600)
            with closing(os.open(target, os.O_RDWR | CLOEXEC | NOFOLLOW)) as reserved:
                os.unlink(target)
                let_go.follow(reserved, heir)


def in_the_way(path: str) -> RefusedWrite:
    """Return the error for a path that is taken."""
    return RefusedWrite(f"There is a {clean(path)} already, which is never overwritten. Nothing was changed.")
