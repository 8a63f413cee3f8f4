"""Recover interrupted changes of whole files: check whether each file was made, moved or trashed."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

import msgspec

from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.move_together import Move, bring_back
from sessionbrowse.services.transaction.trash_directories import homes, items_of, own_name, own_trash, put_aside
from sessionbrowse.store.write import replace_many, trash
from sessionbrowse.store.write.journal import Change


def create_reached(_: ChangeContext, change: Change) -> bool:
    """Tell whether a new file got its final name, which means that it is complete; else remove its new folder."""
    reached = os.path.lexists(change.path)
    if change.plan.get("temporary"):
        with suppress(OSError):
            os.unlink(change.plan["temporary"])
    if not reached and change.plan.get("folder"):
        # The folder's name holds the new session's id, so it is ours.
        shutil.rmtree(change.plan["folder"], ignore_errors=True)
    if not reached and change.plan.get("made"):
        with suppress(OSError):
            os.rmdir(change.plan["made"])
    return reached


def trash_reached(context: ChangeContext, change: Change) -> bool:
    """Tell whether a session was moved to a trash; if not, move the files that belong to it back."""
    places = homes(context)
    gone = []
    for item in change.plan["items"]:
        found = trash.find(item["original"], item["inode"], item["size"], places)
        found = found or trash.find_in_own(item["original"], own_trash(context), own_name(change, item["original"]))
        if not trash.is_where_it_was(item["original"], item["inode"]):
            gone.append(found or trash.Trashed(**item, item=None, info=None))
        else:
            _forget_trashing(item["original"], found, context)
    if gone and gone[-1].original == change.path:
        change.plan["after"] = {"into": "trash", "items": [msgspec.to_builtins(item) for item in gone]}
        return True
    for item in gone:
        try:
            trash.take_back(item)
        except (RefusedWrite, WriteFailed):
            continue  # the file stays in the trash, where the user can find it by its name
    return False


def remove_reached(_: ChangeContext, change: Change) -> bool:
    """Tell whether a session was deleted permanently."""
    change.plan["after"] = {"into": "nowhere", "items": []}
    return not os.path.lexists(change.path)


def restore_reached(context: ChangeContext, change: Change) -> bool:
    """Tell whether a session was restored; if not, put the files that belong to it into the trash again."""
    deleted = context.journal.changes().get(change.undoes or "")
    if deleted is None:
        return False
    *companions, session = items_of(deleted)
    assert session.item is not None
    if os.path.lexists(session.original):
        if trash.drop_second_name(session.original, session.item) or not os.path.lexists(session.item):
            for item in (*companions, session):
                trash.forget(item)
        change.plan["after"] = {"paths": [change.path]}
        return True
    for item in companions:
        if item.item is not None and not trash.drop_second_name(item.item, item.original):
            trash.put_again(item)
    return False


def moves_reached(_: ChangeContext, change: Change) -> bool:
    """Tell whether a session was moved; if not, move the files that belong to it back."""
    moves = _moves(change)
    source, target = moves[-1]
    if os.path.lexists(target) and not os.path.lexists(source):
        change.plan["after"] = {"path": target}
        return True
    bring_back(moves)
    return False


def unpack_reached(context: ChangeContext, change: Change) -> bool:
    """Tell whether a session was unpacked; if not, move the files that belong to it back beside the packed file."""
    reached = os.path.lexists(change.path)
    if os.path.lexists(change.plan["temporary"]):
        os.unlink(change.plan["temporary"])
    packed = change.plan["packed"]
    if not reached:
        bring_back(_moves(change))
        return False
    found = trash.find(packed["original"], packed["inode"], packed["size"], homes(context))
    found = found or trash.find_in_own(packed["original"], own_trash(context), own_name(change, packed["original"]))
    if trash.is_where_it_was(packed["original"], packed["inode"]):
        _forget_trashing(packed["original"], found, context)
        try:
            found = put_aside(packed["original"], change, context)
        except (RefusedWrite, WriteFailed):
            found = None  # the packed file stays beside the unpacked one
    change.plan["after"] = {"path": change.path, "packed": msgspec.to_builtins(found)}
    return True


def pack_again_reached(context: ChangeContext, change: Change) -> bool:
    """Tell whether an unpacking was undone; if not, move every file back to where it was before the undo."""
    packed = msgspec.convert(change.plan["packed"], trash.Trashed | None)
    unpacked = change.plan["unpacked"]
    found = trash.find(unpacked["original"], unpacked["inode"], unpacked["size"], homes(context))
    found = found or trash.find_in_own(unpacked["original"], own_trash(context), own_name(change, unpacked["original"]))
    if not trash.is_where_it_was(unpacked["original"], unpacked["inode"]):
        if packed is not None:
            trash.forget(packed)
        change.plan["after"] = {"path": change.path, "unpacked": msgspec.to_builtins(found)}
        return True
    _forget_trashing(unpacked["original"], found, context)
    bring_back(_moves(change))
    if packed is not None and packed.item is not None and not trash.drop_second_name(packed.item, packed.original):
        trash.put_again(packed)
    return False


def relocate_reached(_: ChangeContext, change: Change) -> bool:
    """Tell whether every session of a relocated project is in its new place; if not, put all of them back."""
    replacements = replace_many.replacements_of(change.plan)
    folders = [(str(source), str(target)) for source, target in change.plan["folders"]]
    if replace_many.is_complete(replacements, folders, change.id):
        replace_many.finish(replacements, folders, change.id)
        return True
    replace_many.put_back(replacements, folders, change.id)
    return False


def _forget_trashing(original: str, found: trash.Trashed | None, context: ChangeContext) -> None:
    """Remove the incomplete trash record of an item that is still at its original path."""
    if found is not None:
        trash.forget_second(found)
    trash.forget_stray(original, homes(context))


def _moves(change: Change) -> list[Move]:
    return [(str(source), str(target)) for source, target in change.plan["moves"]]


FILE_LOOKS = {
    "create": create_reached,
    "trash": trash_reached,
    "remove": remove_reached,
    "restore": restore_reached,
    "moves": moves_reached,
    "unpack": unpack_reached,
    "pack again": pack_again_reached,
    "relocate": relocate_reached,
}
"""For each `kind` of plan, the function that checks whether the change was made."""
