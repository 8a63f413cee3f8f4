"""Archive a session, so that its agent no longer lists it; move it back; unpack a session that omp compressed.

Archiving moves the session and the files that belong to it without any change to their content.

A session that omp compressed is unpacked at its old path: it is written under a temporary name, then renamed, and the
packed file goes to the trash. A failure before the rename is rolled back; afterwards only the packed file is left to
be moved.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import msgspec

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import CannotUndo, RefusedWrite, SessionBrowseError, WriteFailed
from sessionbrowse.services.change.delete import agent_of, is_lock
from sessionbrowse.services.list.locate import header_of
from sessionbrowse.services.transaction.change import (
    ChangeResult,
    changing,
    record_done,
    recovering,
    refuse_taken,
    usage_at,
)
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.recover import recover_change
from sessionbrowse.services.transaction.trash_directories import put_aside
from sessionbrowse.store.find.discover import ARCHIVE_FOLDER, PACKED_SUFFIX
from sessionbrowse.store.read import archive as places
from sessionbrowse.store.read.content import closing, open_regular
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.copies import make_folder, missing_folders
from sessionbrowse.store.write.journal import Change, Fingerprint
from sessionbrowse.store.write.moves import Move, Moves, move_all
from sessionbrowse.store.write.trash import Trashed
from sessionbrowse.store.write.whole_files import create_file, temporary_beside
from sessionbrowse.store.write.write_checks import Target, shown_name, writable_path
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
    notes += record_done(context, change, {"path": wanted, "packed": msgspec.to_builtins(packed)}, left, moves)
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
    notes = record_done(context, new, {"path": original, "unpacked": msgspec.to_builtins(gone)}, None, made)
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


class Archived(ChangeResult, frozen=True, kw_only=True):
    """The result of archiving or unarchiving a session: its new path (`path`) and its old path (`was`)."""

    was: str


def archive(
    target: Target, *, force: bool = False, context: ChangeContext | None = None, group: str | None = None
) -> Archived:
    """Move a session to the archive, so that its agent no longer lists it.

    Raises:
        InUse: a program may have the session open, and `force` is False.
        RefusedWrite: the session is archived already, is in no project's folder, or its path in the archive is taken.
        WriteFailed: an I/O error occurred; nothing was moved.
    """
    context = context or ChangeContext.real()
    with changing(context):
        path = writable_path(target)
        agent = agent_of(path, target)
        wanted = places.archived_path(path, agent.name)
        _refuse_link(wanted)
        _refuse_in_use(path, agent.name, context, force)
        return _move("archive", moves_of(path, wanted, agent.name), agent.name, context, group)


def unarchive(
    target: Target, *, force: bool = False, context: ChangeContext | None = None, group: str | None = None
) -> Archived:
    """Move an archived session back, so that its agent lists it again; a session that omp compressed is unpacked.

    Raises:
        InUse: a program may have the session open, and `force` is False.
        RefusedWrite: the session is not archived, or another file has its old path.
        WriteFailed: an I/O error occurred; the session is still in the archive.
    """
    context = context or ChangeContext.real()
    with changing(context):
        path = writable_path(target)
        agent = agent_of(path, target).name
        wanted = places.original_path(path)
        _refuse_link(wanted)
        if path.endswith(PACKED_SUFFIX):
            made = unpack(path, wanted, agent, context, group)
            return Archived(done=made.done, path=made.path, undo_id=made.undo_id, notes=made.notes, was=path)
        _refuse_in_use(path, agent, context, force)
        return _move("unarchive", moves_of(path, wanted, agent), agent, context, group)


def take_back(change: Change, context: ChangeContext, force: bool = False) -> Archived:
    """Undo the archiving or unarchiving of a session: move its files back. The caller holds the lock for changes."""
    moves = [(target, source) for source, target in change.plan["moves"]]
    source = moves[-1][0]
    if not os.path.lexists(source):
        raise RefusedWrite(f"{clean(source)} no longer exists.")
    _refuse_in_use(source, change.agent, context, force)
    return _move("undo", moves, change.agent, context, change.group, change.id)


def _refuse_in_use(path: str, agent: str, context: ChangeContext, force: bool) -> None:
    refuse_taken(path, agent, usage_at(path, agent, header_of(path).cwd or "", context), force=force)


def _refuse_link(wanted: str) -> None:
    """Raise `RefusedWrite` if the folder to which a session would be moved is a symbolic link or below one."""
    folder = os.path.dirname(wanted)
    if (real := os.path.realpath(folder)) != folder:
        raise RefusedWrite(f"{clean(folder)} leads to {clean(real)} by a symbolic link. Nothing was changed.")


def moves_of(path: str, wanted: str, agent: str) -> list[Move]:
    """Return the old and new paths of a session file and the files that belong to it, the session file last."""
    folder = os.path.dirname(wanted)
    own = [found for found in AGENTS[agent].companions(path) if not is_lock(found)]
    return [*((found, os.path.join(folder, os.path.basename(found))) for found in own), (path, wanted)]


def _move(
    verb: str, moves: list[Move], agent: str, context: ChangeContext, group: str | None, undoes: str | None = None
) -> Archived:
    """Move a session file, the last of `moves`, with the files that belong to it, as one change in the journal."""
    was, path = moves[-1]
    change = context.journal.begin(
        verb,
        agent,
        path,
        session_id=header_of(was).id,
        group=group,
        undoes=undoes,
        before={"path": was},
        plan={
            "kind": "moves",
            "moves": [list(move) for move in moves],
            "inode": os.lstat(was).st_ino,
            "new_folders": missing_folders(to for _, to in moves),
        },
    )
    made = Moves(change.id)
    with recovering(context, change, made):
        move_all(moves, made)
    notes = record_done(context, change, {"path": path}, None, made)
    # `rmdir` fails, and the archive folder stays, if other sessions are in it.
    with suppress(OSError):
        if os.path.basename(os.path.dirname(was)) == ARCHIVE_FOLDER:
            os.rmdir(os.path.dirname(was))
    return Archived(done=verb, path=path, undo_id=change.id, notes=notes, was=was)
