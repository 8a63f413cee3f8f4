"""Take back changes of whole files: a fork goes to the trash, what was deleted or moved comes back."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from sessionbrowse.errors import CannotUndo, SessionBrowseError
from sessionbrowse.services.change import archive, relocate, restore
from sessionbrowse.services.change.delete import Into, take_away, unit_of
from sessionbrowse.services.change.unpack import pack_again
from sessionbrowse.services.transaction.change import Changed, noted
from sessionbrowse.services.transaction.change_context import Bench
from sessionbrowse.services.transaction.recover import settle
from sessionbrowse.services.transaction.trash_directories import own_trash
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.admission import Target, shown_name
from sessionbrowse.store.write.journal import Change, Fingerprint
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.text import clean


def _undo_fork(change: Change, bench: Bench, _: bool) -> Changed:
    name = shown_name(change.path)
    try:
        now = Fingerprint.of(os.lstat(change.path))
    except OSError:
        raise CannotUndo(f"The fork {name} is not there any more.") from None
    if change.left is not None and now != change.left:
        raise CannotUndo(f"The fork {name} went on since. Delete it if you do not want it any more.")
    unit = unit_of(Target(change.path, change.agent), bench)
    into: Into = "trash"
    new = bench.journal.begin(
        "undo",
        change.agent,
        change.path,
        session_id=change.session_id,
        undoes=change.id,
        plan={"kind": "trash", "items": [trash.identity(path) for path in (*unit.companions, unit.path)]},
    )
    try:
        try:
            gone = take_away(unit, into, new, bench, trash.system_trash)
        except NoTrash:
            into = "own"
            gone = take_away(unit, into, new, bench, trash.system_trash)
    except SessionBrowseError as error:
        settle(bench, new, error.sentence)
        raise
    notes = noted(bench, new, {"into": into, "items": [msgspec.to_builtins(item) for item in gone]}, None)
    where = "the trash" if into == "trash" else f"our own trash {clean(own_trash(bench))}"
    return Changed(done="undo", path=change.path, undo_id=new.id, notes=(*notes, f"The fork is in {where}."))


def _undo_delete(change: Change, bench: Bench, _: bool) -> Changed:
    return restore.take_back(change, bench)


def _undo_moves(change: Change, bench: Bench, _: bool) -> Changed:
    return archive.take_back(change, bench)


def _undo_unpack(change: Change, bench: Bench, _: bool) -> Changed:
    return pack_again(change, bench)


def _undo_relocate(change: Change, bench: Bench, _: bool) -> Changed:
    return relocate.take_back(change, bench)


def _from(change: Change) -> str:
    return f"from {clean(str(change.before.get('path') or change.after.get('source') or change.path))}"


FILE_UNDOERS: dict[str, tuple[Callable[[Change, Bench, bool], Changed], Callable[[Change], str]]] = {
    "fork": (_undo_fork, _from),
    "delete": (_undo_delete, lambda change: f"to the {change.after.get('into', 'trash')}"),
    "unpack": (_undo_unpack, _from),
    "archive": (_undo_moves, _from),
    "unarchive": (_undo_moves, _from),
    "relocate": (_undo_relocate, _from),
}
"""How changes of these verbs are taken back, and what the list of changes says of one."""
