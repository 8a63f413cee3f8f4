"""Recover interrupted changes that create, move, trash or restore files: check whether each file got its new path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import msgspec

from sessionbrowse.errors import RefusedWrite, SessionBrowseError, WriteFailed
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.trash_directories import (
    deleted_at,
    homes,
    items_of,
    own_name,
    own_trash,
    put_aside,
)
from sessionbrowse.store.read.archive import unpacked
from sessionbrowse.store.read.content import closing, open_regular
from sessionbrowse.store.system.files import pread
from sessionbrowse.store.write import copies, replace_many, trash
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Move, Moves, is_copy, is_same_file, rename
from sessionbrowse.store.write.old_versions import OldVersion
from sessionbrowse.store.write.trash import Trashed

T = TypeVar("T")
_COMPARED_BYTES = 4096


def recover_create(_: ChangeContext, change: Change, __: Moves) -> bool:
    """Return True if a new file has its final name, and so is complete; else remove the folder made beside it."""
    reached = os.path.lexists(change.path)
    if change.plan.get("temporary"):
        copies.remove(change.plan["temporary"])
    if not reached and change.plan.get("folder"):
        # The artifacts folder has the new session's id in its name, so only this change can have made it.
        copies.remove(change.plan["folder"])
    return reached


def recover_trash(context: ChangeContext, change: Change, moves: Moves) -> bool:
    """Return True if a session was moved to a trash; if not, move the other files that belong to the session back."""
    gone = []
    for item in change.plan["items"]:
        wanted = trash.Trashed(**item, item=None, info=None)
        found = _trashed(wanted, context, change, moves)
        if found is not None:
            gone.append(found)
    if gone and gone[-1].original == change.path:
        change.plan["after"] = {"into": "trash", "items": [msgspec.to_builtins(item) for item in gone]}
        return True
    _all_tried(gone, lambda one: _taken_back(one, moves))
    return False


def _taken_back(one: Trashed, moves: Moves) -> None:
    trash.take_back(one, moves, keep_info=True)
    _forget(one)


def _forget(one: Trashed) -> None:
    """Remove the `.trashinfo` file of an item that is no longer in the trash; raise `OSError` if it stays."""
    if one.info is not None:
        copies.remove(one.info)


def _all_tried(items: Iterable[T], step: Callable[[T], object]) -> None:
    """Move files back by calling a function for each; a file whose path is taken stays where the user can find it.

    Raises:
        OSError: an I/O error occurred at an item; the others were moved back, and the next change tries again.
    """
    failed: OSError | None = None
    for item in items:
        try:
            step(item)
        except (OSError, RefusedWrite, WriteFailed) as error:
            cause = error.__cause__ if isinstance(error, WriteFailed) else error
            if isinstance(cause, OSError) and not isinstance(cause, FileExistsError):
                failed = cause
    if failed is not None:
        raise failed


def _trashed(wanted: Trashed, context: ChangeContext, change: Change, moves: Moves) -> Trashed | None:
    """Return a deleted file with its path in a trash, None if it is still at its old path; remove unfinished copies."""
    original, second = wanted.original, moves.aside(wanted.original)
    name = own_name(change, original)
    own = (own_trash(context), homes(context)[0])
    found = trash.find(wanted, homes(context))
    for directory in own:
        found = found or trash.find_in_own(wanted, directory, name)
    if found is None and not os.path.lexists(original) and os.path.lexists(second) and os.lstat(second).st_nlink == 1:
        rename(second, original)
    if trash.is_where_it_was(original, wanted.inode):
        trash.drop_second_name(original, second)
        for directory in own:
            moves.move_back(original, os.path.join(directory, "files", name))
        if found is not None and found.item is not None:
            # If the deleted item is a folder, some of its files may be gone; they are taken back from the trash's copy.
            if os.path.lexists(found.item) and not trash.drop_second_name(original, found.item):
                moves.old_versions.append(OldVersion(found.item, original))
            _forget(found)
        trash.forget_stray(original, homes(context))
        return None
    if found is not None and found.item is not None and not trash.drop_second_name(found.item, second):
        if os.path.lexists(second):
            with suppress(OSError, SessionBrowseError):
                trash.keep_access_of(second, found.item)
            moves.old_versions.append(OldVersion(second, found.item))
    elif found is None and os.path.lexists(second):
        if os.lstat(second).st_nlink > 1:
            os.unlink(second)  # Another hard link to the deleted file is in a trash under an unknown name.
        else:
            # No trash has the file, and another file is at its old path, so sessionbrowse's own trash takes it.
            try:
                taken = trash.put_in_own(second, own[0], moves, name=name, deleted_at=deleted_at(context))
            except trash.NoTrash as error:
                raise error.__cause__ or error from error
            found = msgspec.structs.replace(taken, original=original)
    trash.forget_stray(original, homes(context))
    return found or wanted


def recover_remove(_: ChangeContext, change: Change, __: Moves) -> bool:
    """Return True if a session was deleted permanently."""
    change.plan["after"] = {"into": "nowhere", "items": []}
    return not os.path.lexists(change.path)


def recover_restore(context: ChangeContext, change: Change, moves: Moves) -> bool:
    """Return True if a session was restored; if not, move the files that belong to it to the trash again."""
    deleted = context.journal.changes().get(change.undoes or "")
    if deleted is None:
        return False
    items = [item for item in items_of(deleted) if item.item is not None]
    session = items[-1]
    if _is_moved(session.item or "", session.original, moves, session.inode):
        for item in items:
            if _is_moved(item.item or "", item.original, moves, item.inode):
                moves.finish(item.item or "", item.original)
            if not os.path.lexists(item.item or ""):
                _forget(item)
        change.plan["after"] = {"paths": [change.path]}
        return True
    _all_tried(items, lambda item: _move_back(item, moves))
    return False


def _is_moved(source: str, target: str, moves: Moves, inode: int | None) -> bool:
    """Return True if a file was moved from `source` to `target`, even if there is a file at `source` too.

    The file at `source` may be a copy or hard link of the moved file, or a new file that an agent created after the
    move. In the last case the file before the move either has a hidden name now, or is the file at `target`, which then
    has the same inode number (`inode`).
    """
    if not os.path.lexists(target):
        return False
    if not os.path.lexists(source) or is_same_file(source, target) or is_copy(source, target):
        return True
    return os.path.lexists(moves.aside(source)) or (inode is not None and trash.is_where_it_was(target, inode))


def _move_back(item: Trashed, moves: Moves) -> None:
    assert item.item is not None
    moves.drop_unfinished(item.item, item.original)
    if _is_moved(item.item, item.original, moves, item.inode) or not os.path.lexists(item.original):
        moves.move_back(item.item, item.original)
    else:
        moves.note_hidden(item.item, item.original, item.item)


def _bring_back(pairs: list[Move], moves: Moves) -> None:
    """Move files back to their old paths, except files whose old path is taken.

    Raises:
        OSError: a file could not be moved back; the next change tries again.
    """

    def move_back(pair: Move) -> None:
        source, target = pair
        copies.make_folder(os.path.dirname(source), os.path.dirname(target))
        moves.move_back(source, target)

    _all_tried(reversed(pairs), move_back)


def recover_moves(_: ChangeContext, change: Change, moves: Moves) -> bool:
    """Return True if a session was moved; if not, move the other files that belong to the session back."""
    pairs = _pairs(change)
    (source, target), inode = pairs[-1], change.plan.get("inode")
    is_left = inode is not None and os.path.lexists(target) and not trash.is_where_it_was(source, inode)
    if not is_left and not _is_moved(source, target, moves, inode):
        _bring_back(pairs, moves)
        return False
    for source, target in pairs:
        moves.finish(source, target)
    change.plan["after"] = {"path": pairs[-1][1]}
    return True


def recover_unpack(context: ChangeContext, change: Change, moves: Moves) -> bool:
    """Return True if a session was unpacked; if not, move the files that belong to it back to their old paths."""
    wanted = trash.Trashed(**change.plan["packed"], item=None, info=None)
    reached = os.path.lexists(change.path) and not _is_begun_beside(wanted.original, change.path)
    if os.path.lexists(change.plan["temporary"]):
        os.unlink(change.plan["temporary"])
    if not reached:
        _bring_back(_pairs(change), moves)
        return False
    for source, target in _pairs(change):
        moves.finish(source, target)
    packed = _trashed(wanted, context, change, moves)
    if packed is None:
        try:
            packed = put_aside(wanted.original, change, context, moves)
        except (RefusedWrite, WriteFailed):
            packed = None  # The packed file stays at its path, because no trash accepts it.
    change.plan["after"] = {"path": change.path, "packed": msgspec.to_builtins(packed)}
    return True


def _is_begun_beside(packed: str, path: str) -> bool:
    """Return True if the file at `path` is not the unpacked session, but was created there by another program."""
    if not os.path.lexists(packed):
        return False
    try:
        with closing(open_regular(path)) as descriptor:
            head = pread(descriptor, _COMPARED_BYTES, 0)
        start = next(iter(unpacked(packed)), b"")[:_COMPARED_BYTES]
    except (OSError, SessionBrowseError):
        return False
    shared = min(len(head), len(start))
    return shared == 0 or head[:shared] != start[:shared]


def recover_pack_again(context: ChangeContext, change: Change, moves: Moves) -> bool:
    """Return True if an unpacking was undone; if not, move every file back to its path before the undo."""
    packed = msgspec.convert(change.plan["packed"], trash.Trashed | None)
    wanted = trash.Trashed(**change.plan["unpacked"], item=None, info=None)
    unpacked = _trashed(wanted, context, change, moves)
    if unpacked is not None:
        for source, target in _pairs(change):
            moves.finish(source, target)
        if packed is not None:
            moves.finish(packed.item or "", packed.original)
            _forget(packed)
        change.plan["after"] = {"path": change.path, "unpacked": msgspec.to_builtins(unpacked)}
        return True
    _bring_back(_pairs(change), moves)
    if packed is not None and packed.item is not None:
        _all_tried([packed], lambda item: _move_back(item, moves))
    return False


def recover_relocate(_: ChangeContext, change: Change, moves: Moves) -> bool:
    """Return True if every session of a relocated project has its new path; if not, move all sessions back."""
    replacements = replace_many.replacements_of(change.plan)
    folders = [(str(source), str(target)) for source, target in change.plan["folders"]]
    replace_many.adopt(replacements, moves)
    if replace_many.is_complete(replacements, folders):
        replace_many.finish(replacements, folders, moves)
        return True
    left = [error for _, error in replace_many.put_back(replacements, folders, moves)]
    for error in left:
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise error
    return False


def _pairs(change: Change) -> list[Move]:
    return [(str(source), str(target)) for source, target in change.plan["moves"]]


FILE_RECOVERERS = {
    "create": recover_create,
    "trash": recover_trash,
    "remove": recover_remove,
    "restore": recover_restore,
    "moves": recover_moves,
    "unpack": recover_unpack,
    "pack again": recover_pack_again,
    "relocate": recover_relocate,
}
"""For each kind of change (`kind` in the journal), a function: True if the change was made; else it is rolled back."""
