"""Unpack a session that omp compressed: write it at its old path, and move the packed file to the trash.

The unpacked session is written under a temporary name, then renamed. A failure before the rename is rolled back;
afterwards only the packed file has to be moved to the trash.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from sessionbrowse.errors import CannotUndo, RefusedWrite, SessionBrowseError, WriteFailed
from sessionbrowse.services.transaction.change import ChangeResult, noted, recovering
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.move_together import move_all
from sessionbrowse.services.transaction.recover import recover_change
from sessionbrowse.services.transaction.trash_directories import put_aside
from sessionbrowse.store.find.discover import PACKED_SUFFIX
from sessionbrowse.store.read import archive as places
from sessionbrowse.store.read.content import closing, open_regular
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.admission import shown_name
from sessionbrowse.store.write.copies import make_folder, missing_folders
from sessionbrowse.store.write.journal import Change, Fingerprint
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.trash import Trashed
from sessionbrowse.store.write.whole_files import create_file, temporary_beside
from sessionbrowse.text import clean

Json = Any


def unpack(path: str, wanted: str, agent: str, context: ChangeContext, group: str | None) -> ChangeResult:
    """Unpack a session to its old path `wanted`. The caller must hold the lock for changes.

    The packed file stays if no trash accepts it.

    Raises:
        RefusedWrite: a file with the unpacked name exists.
        WriteFailed: an I/O error occurred, or the content is damaged; the packed session is unchanged.
    """
    if os.path.lexists(wanted):
        raise RefusedWrite(f"The path {clean(wanted)} exists already. Nothing was changed or overwritten.")
    stem = path.removesuffix(PACKED_SUFFIX)
    folder = [(stem, wanted.removesuffix(".jsonl"))] if os.path.isdir(stem) else []
    temporary = temporary_beside(wanted)
    with closing(open_regular(path)) as descriptor:
        mtime_ns = os.fstat(descriptor).st_mtime_ns
    change = context.journal.begin(
        "unpack",
        agent,
        wanted,
        group=group,
        before={"path": path},
        plan={
            "kind": "unpack",
            "moves": [list(move) for move in folder],
            "packed": trash.identity(path),
            "temporary": temporary,
            "new_folders": missing_folders([wanted]),
        },
    )
    moves = Moves(change.id)
    try:
        make_folder(os.path.dirname(wanted), os.path.dirname(path))
        move_all(folder, moves)
        with closing(open_regular(path)) as like:
            left = create_file(wanted, places.unpacked(path), mtime_ns=mtime_ns, temporary=temporary, like=like)
    except (SessionBrowseError, OSError) as error:
        sentence = error.sentence if isinstance(error, SessionBrowseError) else f"{error.strerror or error}."
        recover_change(context, change, sentence)
        raise WriteFailed(f"{sentence} The packed session is unchanged.") from error
    packed: Trashed | None = None
    notes: tuple[str, ...] = ()
    try:
        packed = put_aside(path, change, context, moves)
    except (RefusedWrite, WriteFailed):
        notes = (f"The packed file {clean(path)} was not removed, because no trash accepts it.",)
    notes += noted(context, change, {"path": wanted, "packed": msgspec.to_builtins(packed)}, left, moves)
    return ChangeResult(done="unarchive", path=wanted, undo_id=change.id, notes=notes)


def pack_again(change: Change, context: ChangeContext) -> ChangeResult:
    """Undo an unpacking: move the packed file back, and the unpacked file to the trash.

    The caller must hold the lock for changes.

    Raises:
        CannotUndo: the session has new entries since the unpacking, or the packed file is gone.
        WriteFailed: an I/O error occurred; the error says where each file is.
    """
    name = shown_name(change.path)
    if not is_unchanged(change, name):
        raise CannotUndo(f"{name} has new content since it was unpacked. Instead of undoing this, archive the session.")
    packed = msgspec.convert(change.after.get("packed"), Trashed | None)
    original = str(change.before["path"])
    reason = trash.missing(packed) if packed is not None else None
    if reason is not None or (packed is None and not os.path.lexists(original)):
        raise CannotUndo(
            reason or f"The packed file {clean(original)} is gone. Instead of undoing this, archive the session."
        )
    moves = [(str(target), str(source)) for source, target in change.plan["moves"]]
    new = context.journal.begin(
        "undo",
        change.agent,
        change.path,
        undoes=change.id,
        plan={
            "kind": "pack again",
            "moves": [list(move) for move in moves],
            "packed": msgspec.to_builtins(packed),
            "unpacked": trash.identity(change.path),
            "new_folders": missing_folders([original]),
        },
    )
    made = Moves(new.id)
    with recovering(context, new, made):
        if packed is not None:
            trash.take_back(packed, made, keep_info=True)
        move_all(moves, made)
        gone = put_aside(change.path, new, context, made)
    if packed is not None:
        trash.forget(packed)
    notes = noted(context, new, {"path": original, "unpacked": msgspec.to_builtins(gone)}, None, made)
    return ChangeResult(done="undo", path=original, undo_id=new.id, notes=notes)


def is_unchanged(change: Change, name: str) -> bool:
    """Return True if a file has not changed since the given change was made.

    Raises:
        CannotUndo: the file is gone.
    """
    try:
        return change.left in (None, Fingerprint.of(os.lstat(change.path)))
    except OSError:
        raise CannotUndo(f"{name} no longer exists.") from None
