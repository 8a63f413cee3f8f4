"""What a kill left of changes to whole files: what was made, moved or trashed is looked for by its place."""

from __future__ import annotations

import os

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
        if not os.path.lexists(item["original"]):
            found = trash.find(item["original"], item["inode"], item["size"], places)
            gone.append(found or trash.Trashed(**item, item=None, info=None))
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
    """Tell whether a restored session, which comes last, is back."""
    change.plan["after"] = {"paths": [change.path]}
    return os.path.lexists(change.path)


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
