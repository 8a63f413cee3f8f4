"""Replace the header lines and the paths of many session files: of all of them or of none.

Five steps: write every new version beside its final path, move every old version into a hidden folder on its own disk,
give the new versions their names, move folders, remove the old versions. Until the last step everything can be put
back; from then on every new version is in its place.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct

from sessionbrowse.errors import ChangedMeanwhile, RefusedWrite, WriteFailed
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.whole_files import append_bytes, move_file, write_new
from sessionbrowse.text import clean

Json = Any
Move = tuple[str, str]


class Replacement(Struct, frozen=True):
    """One file to replace: its old and new path, and its old and new header line; the old line begins at `offset`."""

    source: str
    target: str
    offset: int
    line: bytes
    new_line: bytes

    def inverse(self, folders: Iterable[Move]) -> Replacement:
        """Return the replacement that undoes this one; files are changed back before their folder moves back."""
        if self.source == self.target:
            here = _through(self.target, folders)
            return Replacement(here, here, self.offset, self.new_line, self.line)
        return Replacement(self.target, self.source, self.offset, self.new_line, self.line)

    def document(self) -> Json:
        """Return the replacement as a JSON object for the journal."""
        lines = [self.line.decode("latin-1"), self.new_line.decode("latin-1")]
        return [self.source, self.target, self.offset, *lines]


def replacements_of(plan: dict[str, Json]) -> list[Replacement]:
    """Return the folder moves and the replacements of a plan in the journal."""
    return [
        Replacement(source, target, offset, line.encode("latin-1"), new_line.encode("latin-1"))
        for source, target, offset, line, new_line in plan["files"]
    ]


def carry_out(replacements: list[Replacement], folders: list[Move], change_id: str) -> list[str]:
    """Replace all files and move all folders, or leave everything as it is; return the paths that `finish` returns.

    Raises:
        RefusedWrite: a file changed meanwhile, or a new path is taken.
        WriteFailed: the disk refused.
    """
    made: dict[Replacement, Fingerprint] = {}
    try:
        for one in replacements:
            os.makedirs(os.path.dirname(one.target), exist_ok=True)
            made[one] = _new_version(one, new_path(one, change_id))
        for one in replacements:
            if Fingerprint.of(os.lstat(one.source)) != made[one]:
                raise ChangedMeanwhile(f"{clean(one.source)} changed meanwhile; nothing was changed. Try again.")
            os.makedirs(os.path.dirname(aside_path(one, change_id)), exist_ok=True)
            move_file(one.source, aside_path(one, change_id))
            if Fingerprint.of(os.lstat(aside_path(one, change_id))) != made[one]:
                raise ChangedMeanwhile(f"{clean(one.source)} changed meanwhile; nothing was changed. Try again.")
        for one in replacements:
            move_file(new_path(one, change_id), one.target)
        for source, target in folders:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            trash.move(source, target)
        for one in replacements:
            _carry_over(_through(aside_path(one, change_id), folders), made[one].size, _through(one.target, folders))
    except BaseException as error:
        left = put_back(replacements, folders, change_id)
        if left:
            raise WriteFailed(f"Not everything could be put back: {' '.join(left)}") from error
        if isinstance(error, FileExistsError):
            raise RefusedWrite("A session's new path is taken. Move that file away; nothing was changed.") from error
        if isinstance(error, OSError):
            raise WriteFailed(f"The disk refused ({error.strerror or error}). Every session is as it was.") from error
        raise
    return finish(replacements, folders, change_id)


def is_complete(replacements: list[Replacement], folders: list[Move], change_id: str) -> bool:
    """Tell whether every new version is in its place, so that only old versions have to be removed."""
    if any(os.path.lexists(source) or not os.path.lexists(target) for source, target in folders):
        return False
    return all(_holds(_through(one.target, folders), one.offset, one.new_line) for one in replacements)


def put_back(replacements: list[Replacement], folders: list[Move], change_id: str) -> list[str]:
    """Undo the steps made so far; return a sentence for each file that could not be put back."""
    sentences: list[str] = []
    for source, target in reversed(folders):
        if not trash.drop_second_name(source, target) and os.path.lexists(target) and not os.path.lexists(source):
            _tried(lambda source=source, target=target: trash.move(target, source), target, sentences)
    for one in replacements:
        aside, new = aside_path(one, change_id), new_path(one, change_id)
        if os.path.lexists(aside) and not trash.drop_second_name(one.source, aside):
            if _is_only_new(one, aside):
                _tried(lambda one=one: os.unlink(one.target), one.target, sentences)
            elif os.path.lexists(one.target):
                sentences.append(f"{clean(one.target)} was changed by another program; {clean(aside)} is the old file.")
            if not os.path.lexists(one.source):
                _tried(lambda one=one, aside=aside: move_file(aside, one.source), aside, sentences)
        with suppress(OSError):
            os.unlink(new)
    _remove_folders(replacements, change_id)
    return sentences


def finish(replacements: list[Replacement], folders: list[Move], change_id: str) -> list[str]:
    """Remove the old versions, after the new ones are in place; return the paths that could not be removed."""
    left: list[str] = []
    for one in replacements:
        aside = _through(aside_path(one, change_id), folders)
        for leftover in (aside, _through(new_path(one, change_id), folders)):
            with suppress(OSError):
                os.unlink(leftover)
            if os.path.lexists(leftover):
                left.append(leftover)
        with suppress(OSError):
            os.rmdir(os.path.dirname(aside))
    _remove_folders(replacements, change_id)
    return left


def new_path(one: Replacement, change_id: str) -> str:
    """Return the temporary path of a new version: beside its final path, under a name that no program lists."""
    folder, name = os.path.split(one.target)
    return os.path.join(folder, f".{name}.{change_id}.new")


def aside_path(one: Replacement, change_id: str) -> str:
    """Return the path that an old version has during the replacement: in a hidden folder that no program lists."""
    folder, name = os.path.split(one.source)
    return os.path.join(folder, f".{change_id}", f"{name}.old")


def _new_version(one: Replacement, path: str) -> Fingerprint:
    """Write a file's new version and return the old one as it was read."""
    with closing(open_regular(one.source)) as descriptor:
        status = os.fstat(descriptor)
        if status.st_nlink > 1:
            raise RefusedWrite(f"{clean(one.source)} has a second name (a hard link). Nothing was changed.")
        if os.pread(descriptor, len(one.line), one.offset) != one.line:
            raise ChangedMeanwhile(f"{clean(one.source)} changed meanwhile; nothing was changed. Try again.")
        mode, owner = stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
        write_new(path, _pieces(one, descriptor, status.st_size), mode, status.st_mtime_ns, owner)
        return Fingerprint.of(status)


def _carry_over(aside: str, size: int, target: str) -> None:
    """Append to a new version the lines that another program wrote into the old one since it was read."""
    if os.lstat(aside).st_size == size:
        return
    with closing(open_regular(aside)) as descriptor:
        late = b"".join(file_blocks(descriptor, size))
    append_bytes(target, late)


def _pieces(one: Replacement, descriptor: int, size: int) -> Iterator[bytes]:
    yield from file_blocks(descriptor, 0, one.offset)
    yield one.new_line
    yield from file_blocks(descriptor, one.offset + len(one.line), size)


def _through(path: str, folders: Iterable[Move]) -> str:
    for source, target in folders:
        if path.startswith(source + "/"):
            return target + path.removeprefix(source)
    return path


def _remove_folders(replacements: list[Replacement], change_id: str) -> None:
    for folder in {os.path.dirname(aside_path(one, change_id)) for one in replacements}:
        with suppress(OSError):
            os.rmdir(folder)
    for folder in {os.path.dirname(one.target) for one in replacements}:
        with suppress(OSError):
            os.rmdir(folder)  # removes only empty folders, which were made for this change


def _holds(path: str, offset: int, line: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(len(line)) == line
    except OSError:
        return False


def _is_only_new(one: Replacement, aside: str) -> bool:
    """Tell whether the target is our new version; it may be removed then, because the old one is still there."""
    try:
        expected = os.lstat(aside).st_size + len(one.new_line) - len(one.line)
        return os.lstat(one.target).st_size == expected and _holds(one.target, one.offset, one.new_line)
    except OSError:
        return False


def _tried(step: Any, path: str, sentences: list[str]) -> None:
    try:
        step()
    except OSError as error:
        sentences.append(f"{clean(path)} ({error.strerror or error}).")
