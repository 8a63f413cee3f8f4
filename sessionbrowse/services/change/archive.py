"""Archive a session: its agent no longer lists it; sessionbrowse still lists and searches it, and undo moves it back.

The session and the files that belong to it are moved without any change to their content.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.services.change.delete import agent_of, is_lock
from sessionbrowse.services.change.unpack import unpack
from sessionbrowse.services.list.locate import header_of
from sessionbrowse.services.transaction.change import ChangeResult, changing, noted, recovering, refuse_taken, usage_at
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.move_together import Move, move_all
from sessionbrowse.store.find.discover import ARCHIVE_FOLDER, is_packed
from sessionbrowse.store.read import archive as places
from sessionbrowse.store.write.admission import Target, admitted
from sessionbrowse.store.write.copies import missing_folders
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.text import clean


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
        path = admitted(target)
        agent = agent_of(path, target)
        wanted = places.archived_path(path, agent.name)
        _refuse_link(wanted)
        _refuse_in_use(path, agent.name, context, force)
        return _moved("archive", path, wanted, agent.name, context, group)


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
        path = admitted(target)
        agent = agent_of(path, target).name
        wanted = places.original_path(path)
        _refuse_link(wanted)
        if is_packed(path):
            made = unpack(path, wanted, agent, context, group)
            return Archived(done=made.done, path=made.path, undo_id=made.undo_id, notes=made.notes, was=path)
        _refuse_in_use(path, agent, context, force)
        return _moved("unarchive", path, wanted, agent, context, group)


def take_back(change: Change, context: ChangeContext, force: bool = False) -> Archived:
    """Undo the archiving or unarchiving of a session: move its files back. The caller holds the lock for changes."""
    moves = [(target, source) for source, target in change.plan["moves"]]
    source, target = moves[-1]
    if not os.path.lexists(source):
        raise RefusedWrite(f"{clean(source)} no longer exists.")
    _refuse_in_use(source, change.agent, context, force)
    return _carry_out("undo", moves, change.agent, context, change.group, undoes=change.id, was=source, path=target)


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


def _moved(verb: str, path: str, wanted: str, agent: str, context: ChangeContext, group: str | None) -> Archived:
    return _carry_out(verb, moves_of(path, wanted, agent), agent, context, group, was=path, path=wanted)


def _carry_out(
    verb: str,
    moves: list[Move],
    agent: str,
    context: ChangeContext,
    group: str | None,
    *,
    was: str,
    path: str,
    undoes: str | None = None,
) -> Archived:
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
    notes = noted(context, change, {"path": path}, None, made)
    # `rmdir` removes the archive folder only if no other session is left in it.
    with suppress(OSError):
        if os.path.basename(os.path.dirname(was)) == ARCHIVE_FOLDER:
            os.rmdir(os.path.dirname(was))
    return Archived(done=verb, path=path, undo_id=change.id, notes=notes, was=was)
