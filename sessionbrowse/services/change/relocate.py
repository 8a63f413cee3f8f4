"""Relocate the sessions of a project whose directory was moved or renamed, so that their headers name the new path.

Sessions are chosen by the directory in their header, because several directories can share one session folder. Either
all sessions are moved or none (see `replace_many`). In each file only the header line changes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import AGENTS, Place
from sessionbrowse.agents.base import names_in
from sessionbrowse.errors import CannotUndo, InUse, RefusedWrite
from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import Header
from sessionbrowse.format.json_value import json_bytes
from sessionbrowse.format.splice import with_member
from sessionbrowse.model.listing.directories import joined, listed, part_below
from sessionbrowse.services.change.delete import files_in, is_lock
from sessionbrowse.services.list.locate import header_of, shown_files
from sessionbrowse.services.transaction.change import (
    ChangeResult,
    changing,
    is_taken,
    record_done,
    recover_interrupted,
    recovering,
    usage_at,
)
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.recover import sentence_of
from sessionbrowse.store.find import repositories
from sessionbrowse.store.find.directories import given, given_here, refuse_other_machine, resolved, spellings_of
from sessionbrowse.store.find.discover import FoundFile, agent_of_path
from sessionbrowse.store.find.repositories import Candidate
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.read.summarise import agent_of_file
from sessionbrowse.store.write import replace_many
from sessionbrowse.store.write.copies import missing_folders
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.replace_many import Replacement, through
from sessionbrowse.store.write.write_checks import Target, is_path, refuse_outside, writable_path
from sessionbrowse.text import clean, plural

Json = Any
HEADER_LIMIT = 1024 * 1024
_MOST_NAMED = 5


class Relocation(Struct, frozen=True, kw_only=True):
    """A relocated session: its old and new path, its agent, its old and new working directory."""

    source: str
    target: str
    agent: str
    cwd: str
    new_cwd: str


class Relocated(ChangeResult, frozen=True, kw_only=True):
    """The relocated sessions, and the forks with an updated parent path (`mended`); with `dry_run`, only the plan.

    `files` is the number of files that belong to the sessions and are moved with them.
    """

    sessions: tuple[Relocation, ...]
    files: int = 0
    mended: tuple[str, ...]
    dry_run: bool


class _Session(Struct, frozen=True):
    file: FoundFile
    agent: str
    place: Place | None
    header: Header
    offset: int
    line: bytes


def relocate(
    old: str,
    new: str,
    scope: Scope,
    *,
    dry_run: bool = False,
    force: bool = False,
    context: ChangeContext | None = None,
) -> Relocated:
    """Relocate the sessions of the directory `old`, and of every directory below it, to `new`.

    Forks of a relocated session, in any session directory, get the new path of their parent session. Files that belong
    to a session are moved with it. Modification times are kept.

    Raises:
        RefusedWrite: there are no such sessions, or a session's new path is taken; nothing was changed.
        InUse: one of the sessions may be in use, and `force` is False; nothing was changed.
        WriteFailed: an I/O error occurred; nothing was changed, or the error says where each file is.
    """
    context = context or ChangeContext.real()
    refuse_other_machine(old)
    spellings, here = spellings_of(old, context.around.cwd), context.around.cwd
    old, new = given(old, here), given_here(new, here)
    if old == new:
        raise RefusedWrite("The old and the new directory are the same.")
    # An interrupted earlier relocation must be recovered before this one is planned; a dry run recovers nothing.
    recovered = [] if dry_run else recover_interrupted(context)
    unreadable: list[str] = []
    only_read: list[str] = []
    sessions = list(_sessions(scope, unreadable, only_read))
    moved = _mover(sessions, spellings, new)
    staying = _staying(sum(moved(cwd) is not None for cwd in only_read))
    moving = [session for session in sessions if moved(session.header.cwd or "") is not None]
    finished = next((one for one in recovered if _is_done(one, old, new)), None)
    if not moving and finished is not None:
        return Relocated(
            done="relocate",
            path=new,
            undo_id=finished.id,
            notes=(sentence_of(finished),),
            sessions=(),
            mended=(),
            dry_run=False,
        )
    if not moving:
        reasons = "".join([f" {reason}" for reason in staying])
        more = f" that can be moved.{reasons}" if reasons else "."
        raise RefusedWrite(f"{clean(old)} and the directories below it have no sessions{more} Nothing was changed.")
    plan = _plan(moving, sessions, moved, context)
    touched = [one for one in sessions if one.file.path in plan.touched]
    _refuse_links(touched)
    if not force:
        _refuse_in_use([(one.file.path, one.agent, one.header.cwd or "") for one in touched], context)
    left_out = (*_left_out(unreadable), *staying)
    answer = Relocated(
        done="relocate",
        path=new,
        notes=left_out,
        sessions=plan.relocations,
        files=files_in(source for source, _ in plan.folders),
        mended=plan.mended,
        dry_run=dry_run,
    )
    if dry_run:
        return answer
    with changing(context):
        change_id, notes = replace_and_move(
            plan.replacements, plan.folders, old, new, context, "relocate", moving[0].agent
        )
    return replace(answer, undo_id=change_id, notes=(*left_out, *notes))


def _left_out(unreadable: list[str]) -> tuple[str, ...]:
    if not unreadable:
        return ()
    others = f" and {len(unreadable) - 1} more" if len(unreadable) > 1 else ""
    one = "it stays" if len(unreadable) == 1 else "they stay"
    return (f"{clean(unreadable[0])}{others} cannot be read; {one} unchanged at the old path.",)


def _staying(count: int) -> tuple[str, ...]:
    one = ("stays", "its") if count == 1 else ("stay", "their")
    sentence = "{} of Claude Code or Codex {} at the old path: only {} own program changes them."
    return (sentence.format(plural(count, "session"), *one),) if count else ()


def _is_done(change: Change, old: str, new: str) -> bool:
    made = (change.after.get("old"), change.after.get("new"))
    return change.verb == "relocate" and change.state == "done" and made == (old, new)


def candidates(old: str, directories: Sequence[str], context: ChangeContext | None = None) -> list[Candidate]:
    """Return possible new paths of a missing directory: clones of its repository, else directories of the same name.

    `directories` are the working directories of other sessions. The search reads many directories, so call it in a
    background thread.
    """
    context = context or ChangeContext.real()
    old = given(old, context.around.cwd)
    return repositories.candidates(old, context.state, directories)


def take_back(change: Change, context: ChangeContext, force: bool = False) -> ChangeResult:
    """Undo a relocation: move every session back and restore the header. The caller must hold the lock for changes."""
    moved = [(source, target) for source, target in change.plan["folders"]]
    replacements = [replacement.inverse(moved) for replacement in replace_many.replacements_of(change.plan)]
    for replacement in replacements:
        if not os.path.lexists(replacement.source):
            raise CannotUndo(f"{clean(replacement.source)} no longer exists, so not all sessions can be moved back.")
    if not force:
        found = [one.source for one in replacements]
        _refuse_in_use([(path, agent_of_path(path), header_of(path).cwd or "") for path in found], context)
    folders = [(target, source) for source, target in moved]
    old, new = change.after["new"], change.after["old"]
    _, notes = replace_and_move(replacements, folders, old, new, context, "undo", change.agent, undoes=change.id)
    return ChangeResult(done="undo", path=new, undo_id=change.id, notes=notes)


def moved_directory(spellings: Iterable[str], old: Iterable[str], new: str) -> str | None:
    """Return the new path of a directory when `old` is renamed to `new`; None if it is neither `old` nor below it.

    `spellings` are the directory's paths and `old` the old directory's: as stored, and with symbolic links resolved.
    """
    names = part_below(spellings, old)
    return joined(new, names) if names is not None else None


# ---- planning ----------------------------------------------------------------------------------------------

_Moved: TypeAlias = Callable[[str], str | None]
"""A function that returns the new path of a stored directory, None if the relocation does not change it."""


class _Plan(Struct, frozen=True, kw_only=True):
    replacements: list[Replacement]
    folders: list[tuple[str, str]]
    relocations: tuple[Relocation, ...]
    mended: tuple[str, ...]
    touched: frozenset[str]


def _sessions(scope: Scope, unreadable: list[str], only_read: list[str]) -> Iterator[_Session]:
    """Yield the sessions of the roots and agents that `scope` selects; add unreadable files to `unreadable`.

    The list `only_read` receives the directories of sessions of Claude Code and Codex.
    """
    for file in shown_files(scope):
        if not file.path.endswith((".jsonl", ".jsonl.zst")):
            continue
        try:
            found = _header_line(file.path)
        except OSError:
            unreadable.append(file.path)
            continue
        if found is not None:
            header, offset, line = found
            agent = agent_of_file(file.path, file.agent)
            if not scope.agents or agent in scope.agents:
                yield _Session(file, agent, file.place_of(agent), header, offset, line)
        elif cwd := header_of(file.path).cwd:
            only_read.append(cwd)


def _mover(sessions: Sequence[_Session], old: Sequence[str], new: str) -> _Moved:
    stored = [path for one in sessions for path in (one.header.cwd, *(one.header.additional_directories or ()))]
    links = resolved({listed(path, None) for path in stored if isinstance(path, str)})

    def moved(directory: str) -> str | None:
        spelled = listed(directory, None)
        there = moved_directory((spelled, links.get(spelled, "")), old, new)
        # If the old path is now a link to the new one, sessions that already have the new path also resolve to the old
        # one.
        return there if there != directory else None

    return moved


def _plan(moving: list[_Session], sessions: list[_Session], moved: _Moved, context: ChangeContext) -> _Plan:
    """Plan a relocation: the sessions to move, and the forks whose header names a moved session as parent session."""
    targets: dict[str, str] = {}
    folders: list[tuple[str, str]] = []
    # A folder may hold hundreds of sessions: its names are listed once, not for each session.
    listing = cache(names_in)
    for one in moving:
        if one.file.hidden:
            continue
        path = one.file.path
        targets[path] = _target(one, moved, context)
        here = os.path.dirname(targets[path])
        if os.path.dirname(path) != here:
            own = AGENTS[one.agent].companions(path, listing)
            folders += [(found, os.path.join(here, os.path.basename(found))) for found in own if not is_lock(found)]
    where = {one.file.path: through(targets.get(one.file.path, one.file.path), folders) for one in sessions}
    replacements: list[Replacement] = []
    relocations: list[Relocation] = []
    mended: list[str] = []
    for one in sessions:
        line = _new_line(one, moved, where)
        final = where[one.file.path]
        if line == one.line:
            continue
        # A session in a folder that moves is rewritten at its old path; the folder is moved afterwards.
        target = targets.get(one.file.path, one.file.path)
        replacements.append(Replacement(one.file.path, target, one.offset, one.line, line))
        cwd = moved(one.header.cwd or "")
        if cwd is None:
            mended.append(final)
        else:
            relocations.append(
                Relocation(source=one.file.path, target=final, agent=one.agent, cwd=one.header.cwd or "", new_cwd=cwd)
            )
    return _Plan(
        replacements=replacements,
        folders=folders,
        relocations=tuple(relocations),
        mended=tuple(mended),
        touched=frozenset(replacement.source for replacement in replacements),
    )


def _target(session: _Session, moved: _Moved, context: ChangeContext) -> str:
    """Return a session's path after the relocation.

    The path changes only if the session is in a folder that the agent named after the working directory.
    """
    folder, name = os.path.split(session.file.path)
    cwd = moved(session.header.cwd or "")
    assert cwd is not None
    place = session.place
    if place is None or place.kind not in ("projects", "folder", "archive"):
        return session.file.path
    root = os.path.dirname(place.root) if place.kind == "folder" else place.root
    below = os.path.relpath(folder, root).split(os.sep)
    if below[0] in (".", ".."):
        return session.file.path
    target = os.path.join(root, AGENTS[session.agent].folder_of(cwd, context.around), *below[1:], name)
    if not is_path(target):
        return session.file.path  # The directory in the header may have characters that no path can contain.
    refuse_outside(os.path.dirname(target), root)
    return target


def _new_line(session: _Session, moved: _Moved, where: dict[str, str]) -> bytes:
    """Return a header line with the new directory and the parent session's new path; its other bytes are unchanged."""
    line, header = session.line, session.header
    cwd = moved(header.cwd or "")
    if cwd is not None:
        line = with_member(line, "cwd", json_bytes(cwd))
        further = header.additional_directories
        if further:
            now = [moved(path) or path if isinstance(path, str) else path for path in further]
            line = with_member(line, "additionalDirectories", json_bytes(now)) if now != further else line
    parent = header.parent_session
    if parent is not None and where.get(parent, parent) != parent:
        line = with_member(line, "parentSession", json_bytes(where[parent]))
    return line


def _refuse_links(sessions: list[_Session]) -> None:
    """Raise `RefusedWrite` if a session file is a symbolic link, because files outside the roots are never changed."""
    for one in sessions:
        place = one.place
        root = place.root if place is not None and place.kind != "registry" else os.path.dirname(one.file.path)
        writable_path(Target(one.file.path, one.agent, (root,)))
        if os.path.islink(one.file.path):
            raise RefusedWrite(f"{clean(one.file.path)} is a symbolic link. Nothing was changed.")


def _refuse_in_use(sessions: Iterable[tuple[str, str, str]], context: ChangeContext) -> None:
    """Raise `InUse` if a session may be in use; `sessions` has the path, agent and directory of each session."""
    names = []
    for path, agent, cwd in sessions:
        used = usage_at(path, agent, cwd, context)
        if is_taken(used, agent):
            names.append(f"{clean(os.path.basename(path))} ({'; '.join(used.reasons)})")
    if names:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        raise InUse(f"These sessions seem to be in use: {', '.join(names[:_MOST_NAMED])}{more}. Nothing was changed.")


def _header_line(path: str) -> tuple[Header, int, bytes] | None:
    """Return a file's header, the offset of its line, and the line without newline."""
    with open(path, "rb") as file:
        head = file.read(HEADER_LIMIT)
    offset = 0
    for line in head.split(b"\n"):
        if b'"session"' in line:
            value = decode_line(line.strip(b" \t\r"))
            if isinstance(value, Header) and offset + len(line) < len(head):
                return value, offset, line
        offset += len(line) + 1
    return None


# ---- doing -------------------------------------------------------------------------------------------------


def replace_and_move(
    replacements: list[Replacement],
    folders: list[tuple[str, str]],
    old: str,
    new: str,
    context: ChangeContext,
    verb: str,
    agent: str,
    *,
    undoes: str | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Replace session files and move folders as one change in the journal; return the change's id, and notes.

    The caller must hold the lock for changes.

    Raises:
        RefusedWrite: a new path is taken, or another program changed a file; nothing was changed.
        WriteFailed: an I/O error occurred; nothing was changed, or the message says where each file is.
    """
    for target in [one.target for one in replacements if one.target != one.source] + [to for _, to in folders]:
        if os.path.lexists(target):
            raise RefusedWrite(f"The path {clean(target)} exists already. Nothing was changed or overwritten.")
    plan = {
        "kind": "relocate",
        "folders": [list(move) for move in folders],
        "files": [one.document() for one in replacements],
        "new_folders": missing_folders([*(one.target for one in replacements), *(to for _, to in folders)]),
        "after": {"old": old, "new": new},
    }
    change = context.journal.begin(verb, agent, new, undoes=undoes, before={"path": old}, plan=plan)
    moves = Moves(change.id)
    with recovering(context, change):
        replace_many.replace_all(replacements, folders, moves)
    notes = record_done(context, change, {"old": old, "new": new}, None, moves)
    for folder in dict.fromkeys(os.path.dirname(one.source) for one in replacements):
        with suppress(OSError):
            os.rmdir(folder)  # `rmdir` removes the old session folder only if it is empty.
    return change.id, notes
