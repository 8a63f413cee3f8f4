"""Replace the header lines and the paths of many session files: of all files or of none.

Four steps: write every new version under a hidden name; rename the new versions to their final names and move folders;
give old versions of moved sessions hidden names; remove all old versions (see `old_versions`). So each session has a
name at every moment. Until every new version has its name, an interrupted change is rolled back; afterwards it is
completed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct

from sessionbrowse.errors import ChangedMeanwhile, RefusedWrite, WriteFailed
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.system.files import pread
from sessionbrowse.store.write.copies import make_folder, remove, write_new
from sessionbrowse.store.write.moves import Moves, hide, rename
from sessionbrowse.store.write.old_versions import OldVersion, hidden_beside
from sessionbrowse.store.write.whole_files import put_in_place
from sessionbrowse.store.write.writer import is_at
from sessionbrowse.text import clean

Json = Any
Move = tuple[str, str]


class Replacement(Struct, frozen=True):
    """The replacement of a file: its old and new path, its old and new header line; the old line begins at `offset`."""

    source: str
    target: str
    offset: int
    line: bytes
    new_line: bytes

    def inverse(self, folders: Iterable[Move]) -> Replacement:
        """Return the replacement that undoes this one: it writes the old header line, and gives the file its old path.

        `folders` are the old and new paths of the folders that the relocation moved. A file in such a folder is undone
        at its new path, before the folder is moved back.
        """
        if self.source == self.target:
            here = through(self.target, folders)
            return Replacement(here, here, self.offset, self.new_line, self.line)
        return Replacement(self.target, self.source, self.offset, self.new_line, self.line)

    def document(self) -> Json:
        """Return the replacement as a JSON object for the journal."""
        lines = [self.line.decode("latin-1"), self.new_line.decode("latin-1")]
        return [self.source, self.target, self.offset, *lines]


def replacements_of(plan: dict[str, Json]) -> list[Replacement]:
    """Return the replacements of files that the journal recorded for a relocation (`plan`)."""
    return [
        Replacement(source, target, offset, line.encode("latin-1"), new_line.encode("latin-1"))
        for source, target, offset, line, new_line in plan["files"]
    ]


def replace_all(replacements: list[Replacement], folders: list[Move], moves: Moves) -> None:
    """Replace all files and move all folders, or change nothing; list the old versions in `moves`, for removal.

    Raises:
        RefusedWrite: a file changed meanwhile, a new path is taken, or a new file would get another owner (user);
            nothing was changed.
        WriteFailed: an I/O error occurred; nothing was changed, or the message names the files that were not put back.
    """
    made: dict[Replacement, tuple[os.stat_result, int]] = {}
    try:
        for one in replacements:
            make_folder(os.path.dirname(one.target), os.path.dirname(one.source))
            made[one] = _new_version(one, new_path(one, moves.change_id))
        for one in replacements:
            _refuse_changed(one, made[one][0])
        for one in replacements:
            _give_name(one, made[one][0], moves.change_id)
        for source, target in folders:
            make_folder(os.path.dirname(target), os.path.dirname(source))
            moves.move(source, target)
        for one in replacements:
            _hide_source(one, made[one][0], moves)
    except BaseException as error:
        left = put_back(replacements, folders, moves)
        if left:
            told = " ".join(f"{clean(path)} ({_reason(why)})" for path, why in left)
            raise WriteFailed(f"Some files could not be put back: {told} The next change tries again.") from error
        if isinstance(error, FileExistsError):
            raise RefusedWrite("Another file has a session's new path; nothing was changed. Move it away.") from error
        if isinstance(error, OSError):
            raise WriteFailed(f"The move failed ({error.strerror or error}); no session was changed.") from error
        raise
    _note_old_versions(replacements, folders, moves, {one: (was.st_size, size) for one, (was, size) in made.items()})


def is_complete(replacements: list[Replacement], folders: list[Move]) -> bool:
    """Return True if every new file has its final name, so that only the replaced files have to be removed."""
    if any(not os.path.lexists(target) for _, target in folders):
        return False
    return all(_holds(through(one.target, folders), one.offset, one.new_line) for one in replacements)


def put_back(replacements: list[Replacement], folders: list[Move], moves: Moves) -> list[tuple[str, Exception]]:
    """Undo an incomplete replacement of many files; return path and error of each file that could not be put back."""
    left: list[tuple[str, Exception]] = []
    for source, target in reversed(folders):
        try:
            moves.move_back(source, target)
        except (OSError, RefusedWrite) as error:
            left.append((target, error))
    for one in replacements:
        try:
            _take_back(one, moves)
        except (OSError, RefusedWrite) as error:
            left.append((one.source, error))
    return left


def finish(replacements: list[Replacement], folders: list[Move], moves: Moves) -> None:
    """Complete a replacement of many files, all of whose new versions have their names.

    Old versions get hidden names and are listed in `moves`, so that they are removed when no program has them open.

    Raises:
        OSError: an I/O error occurred.
    """
    for source, target in folders:
        moves.finish(source, target)
    for one in replacements:
        if one.source != one.target and _holds(one.source, one.offset, one.line):
            hide(one.source, moves.aside(one.source))
    _note_old_versions(replacements, folders, moves, {})


def adopt(replacements: list[Replacement], moves: Moves) -> None:
    """Find replaced files that an older sessionbrowse put into a hidden folder; give them today's hidden names."""
    for one in replacements:
        folder, name = os.path.split(one.source)
        former = os.path.join(folder, f".{moves.change_id}", f"{name}.old")
        if os.path.lexists(former) and not os.path.lexists(moves.aside(one.source)):
            rename(former, moves.aside(one.source))
            with suppress(OSError):
                os.rmdir(os.path.dirname(former))


def new_path(one: Replacement, change_id: str) -> str:
    """Return the hidden path of a file's new version; after an exchange of names, the old version has this path."""
    return hidden_beside(one.target, change_id, "new")


def _new_version(one: Replacement, path: str) -> tuple[os.stat_result, int]:
    """Write the new version of a file; return the old version's `os.stat` result and the new version's size."""
    with closing(open_regular(one.source)) as descriptor:
        status = os.fstat(descriptor)
        if status.st_nlink > 1:
            raise RefusedWrite(f"{clean(one.source)} has a second name (a hard link). Nothing was changed.")
        if pread(descriptor, len(one.line), one.offset) != one.line:
            raise _changed(one)
        pieces = _pieces(one, descriptor, status.st_size)
        return status, write_new(path, pieces, mtime_ns=status.st_mtime_ns, like=descriptor)


def _refuse_changed(one: Replacement, was: os.stat_result) -> None:
    """Raise `ChangedMeanwhile` for a file that was replaced or rewritten since it was read; added lines are allowed."""
    now = os.lstat(one.source)
    rewritten = now.st_size == was.st_size and now.st_mtime_ns != was.st_mtime_ns
    if not os.path.samestat(now, was) or now.st_size < was.st_size or rewritten:
        raise _changed(one)


def _give_name(one: Replacement, was: os.stat_result, change_id: str) -> None:
    new = new_path(one, change_id)
    if one.source == one.target:
        put_in_place(new, one.target, hidden_beside(one.target, change_id, "old"), was)
    else:
        rename(new, one.target)


def _hide_source(one: Replacement, was: os.stat_result, moves: Moves) -> None:
    if one.source != one.target:
        rename(one.source, moves.aside(one.source))
        if not is_at(moves.aside(one.source), was):
            raise _changed(one)


def _take_back(one: Replacement, moves: Moves) -> None:
    """Undo the replacement of one file, at whatever step it stopped: give the old version its name again."""
    new, aside = new_path(one, moves.change_id), moves.aside(one.source)
    withdrawn = hidden_beside(one.target, moves.change_id, "gone")
    after_new, after_old = one.offset + len(one.new_line), one.offset + len(one.line)
    if one.source != one.target:
        moves.reclaim(one.source)
    elif os.path.lexists(aside) and not os.path.lexists(one.source):
        rename(aside, one.source)
    if one.source == one.target:
        old = aside if _holds(aside, one.offset, one.line) else new
        if _holds(one.target, one.offset, one.new_line) and _holds(old, one.offset, one.line):
            hidden = put_in_place(old, one.target, withdrawn, os.lstat(one.target))
            moves.old_versions.append(OldVersion(hidden, one.source, after_new, after_old))
    elif _holds(one.source, one.offset, one.line) and _holds(one.target, one.offset, one.new_line):
        hide(one.target, withdrawn)
    if not _holds(one.source, one.offset, one.line):
        # Another program put its own file at the session's path. Lines from hidden files do not belong into this file.
        if _holds(new, one.offset, one.new_line):
            remove(new)
        return
    for hidden in (new, aside, withdrawn):
        # A hidden file that is a hard link to the session file is removed. Any other one is a new version: while it had
        # the session's name, a program may have added lines to it.
        if os.path.lexists(hidden) and not _is_second_name(hidden, one.source):
            moves.old_versions.append(OldVersion(hidden, one.source, after_new, after_old))


def _note_old_versions(
    replacements: list[Replacement], folders: list[Move], moves: Moves, sizes: dict[Replacement, tuple[int, int]]
) -> None:
    """List the old versions of all files in `moves`, so that they are removed when no program has them open.

    If a folder was moved to another disk, old versions are also in the original folder, which has a hidden name.
    """
    behind = [(source, moves.aside(source)) for source, _ in folders]
    found = []
    for one in replacements:
        heir = through(one.target, folders)
        size, heir_size = sizes.get(one, (one.offset + len(one.line), one.offset + len(one.new_line)))
        hidden = (moves.aside(one.source), new_path(one, moves.change_id))
        for path in [path for name in hidden for path in (name, through(name, folders), through(name, behind))]:
            if os.path.lexists(path) and not _is_second_name(path, heir):
                found.append(OldVersion(path, heir, size, heir_size))
    # Old versions of files are removed before the folders that contain them.
    moves.old_versions[:0] = dict.fromkeys(found)


def _is_second_name(hidden: str, path: str) -> bool:
    """Remove a hidden path that is a hard link to the file at `path`; return False if it is another file."""
    with suppress(FileNotFoundError):
        if os.path.samestat(os.lstat(hidden), os.lstat(path)):
            remove(hidden)
            return True
    return False


def _pieces(one: Replacement, descriptor: int, size: int) -> Iterator[bytes]:
    yield from file_blocks(descriptor, 0, one.offset)
    yield one.new_line
    yield from file_blocks(descriptor, one.offset + len(one.line), size)


def through(path: str, folders: Iterable[Move]) -> str:
    """Return the path of a file after the given folders (pairs of old and new path) are moved."""
    for source, target in folders:
        if path.startswith(source + "/"):
            return target + path.removeprefix(source)
    return path


def _holds(path: str, offset: int, line: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(len(line)) == line
    except (FileNotFoundError, NotADirectoryError):
        return False


def _changed(one: Replacement) -> ChangedMeanwhile:
    return ChangedMeanwhile(f"{clean(one.source)} was changed by another program; nothing was moved. Try again.")


def _reason(error: Exception) -> str:
    return error.sentence if isinstance(error, RefusedWrite) else f"{getattr(error, 'strerror', None) or error}."
