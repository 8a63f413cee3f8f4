"""What a kill left of changes to whole files: what was made, moved or trashed is looked for by its place."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.services.bench import Bench
from sessionbrowse.store import replace, trash
from sessionbrowse.store.journal import Change


def create_reached(_: Bench, change: Change) -> bool:
    """Tell whether a new file got its name: it did not before it was whole."""
    return os.path.lexists(change.path)


def trash_reached(bench: Bench, change: Change) -> bool:
    """Tell whether a session went to a trash; one that did not gets back what belongs to it."""
    from sessionbrowse.services.delete import homes

    places = homes(bench)
    gone = []
    for item in change.plan["items"]:
        found = trash.find(item["original"], item["inode"], item["size"], places)
        if not os.path.lexists(item["original"]):
            gone.append(found or trash.Trashed(**item, item=None, info=None))
        elif found is not None and found.item and trash.drop_second_name(item["original"], found.item):
            trash.forget(found)
    if not os.path.lexists(change.path):
        change.plan["after"] = {"into": "trash", "items": [msgspec.to_builtins(item) for item in gone]}
        return True
    for item in gone:
        try:
            trash.take_back(item)
        except (RefusedWrite, WriteFailed):
            continue  # it stays in the trash, where the user can find it by its name
    return False


def remove_reached(_: Bench, change: Change) -> bool:
    """Tell whether a session is gone for good."""
    change.plan["after"] = {"into": "nowhere", "items": []}
    return not os.path.lexists(change.path)


def restore_reached(bench: Bench, change: Change) -> bool:
    """Tell whether a restored session, which comes last, is back; else what belongs to it goes into the trash again."""
    from sessionbrowse.services.delete import items_of

    deleted = bench.journal.changes().get(change.undoes or "")
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
            _into_trash_again(item)
    return False


def _into_trash_again(item: trash.Trashed) -> None:
    with suppress(OSError):
        if item.item is not None and not os.path.lexists(item.item) and os.lstat(item.original).st_ino == item.inode:
            trash.move(item.original, item.item)


def moves_reached(_: Bench, change: Change) -> bool:
    """Tell whether a session, which is moved last, arrived; else what belongs to it is moved back."""
    from sessionbrowse.services.archive import bring_back

    moves = [(str(source), str(target)) for source, target in change.plan["moves"]]
    source, target = moves[-1]
    if os.path.lexists(target) and not os.path.lexists(source):
        change.plan["after"] = {"path": target}
        return True
    bring_back(moves)
    return False


def relocate_reached(_: Bench, change: Change) -> bool:
    """Tell whether every session of a moved project is in its place; else all are put back."""
    replacements = replace.replacements_of(change.plan)
    folders = [(str(source), str(target)) for source, target in change.plan["folders"]]
    if replace.is_complete(replacements, folders, change.id):
        replace.finish(replacements, folders, change.id)
        return True
    replace.put_back(replacements, folders, change.id)
    return False


FILE_LOOKS = {
    "create": create_reached,
    "trash": trash_reached,
    "remove": remove_reached,
    "restore": restore_reached,
    "moves": moves_reached,
    "relocate": relocate_reached,
}
"""How to see whether such a change was made, by the `kind` of its plan."""
