"""Examine sessions for damage, and repair one: into a new file, or in place, with the original moved to the trash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec import Struct, structs

from sessionbrowse.errors import RefusedWrite, SessionBrowseError
from sessionbrowse.format import ids
from sessionbrowse.model.clean.damage import NO_DAMAGE, SESSION_FILE_NAME, Damage, damage_of
from sessionbrowse.model.clean.plan import CopyPreview, Removed
from sessionbrowse.model.clean.repairs import Repaired, repaired
from sessionbrowse.model.listing.directories import listed
from sessionbrowse.services.change.fork import RandomBytes, new_session_id
from sessionbrowse.services.clean.clean import Cleaned, Where, create_copy, new_path
from sessionbrowse.services.clean.replace_file import refuse_running, replace_by
from sessionbrowse.services.list.locate import Located, header_of, shown_files
from sessionbrowse.services.transaction.change import Origin, changing
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.find.slow_disks import exists_many
from sessionbrowse.store.own.mirrors import machine_of
from sessionbrowse.store.read.content import file_blocks
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import agent_of_file
from sessionbrowse.store.write.write_checks import Target, refuse_old_version
from sessionbrowse.store.write.writer import OpenedFile, opened
from sessionbrowse.text import clean, iso_ms

Json = Any
_MOST_NAMED = 5


class Examined(Struct, frozen=True, kw_only=True):
    """The damage of one session; `unreadable` is the reason if the file cannot be read at all."""

    path: str
    id: str | None
    agent: str
    damage: tuple[Damage, ...]
    unreadable: str | None = None

    @property
    def is_damaged(self) -> bool:
        """True if the file itself is damaged; kinds in `NO_DAMAGE` do not count."""
        return any(one.kind not in NO_DAMAGE for one in self.damage)

    def document(self) -> dict[str, Json]:
        """Return the JSON document of this session's damage."""
        damage = [structs.asdict(one) for one in self.damage]
        return {"path": self.path, "id": self.id, "agent": self.agent, "damage": damage}


def examine(path: str, agent: str) -> Examined:
    """Read a session and return its damage; for a file that cannot be read, `unreadable` is the reason.

    The damage of a session on another machine is repaired there, so there are no remedies for it.
    """
    try:
        session = open_session(path, agent)
        machine = machine_of(path)
        directory = listed(session.cwd, machine)
        exists = exists_many([directory], fresh=True)[directory] if session.cwd else None
        damage = tuple(damage_of(session, directory_exists=exists))
        if machine is not None:
            damage = tuple([structs.replace(one, can_do=()) for one in damage])
    except SessionBrowseError as error:
        return Examined(path=path, id=None, agent=agent, damage=(), unreadable=error.sentence)
    return Examined(path=path, id=session.id, agent=session.agent, damage=damage)


def every_session(scope: Scope) -> Iterator[Located]:
    """Yield the session files of the roots and agents that `scope` selects, each with its agent.

    Sessions of other machines are examined there, unless their mirror is given as a root.
    """
    for file in shown_files(scope, mirrors=bool(scope.roots)):
        agent = agent_of_file(file.path, file.agent)
        if not scope.agents or agent in scope.agents:
            yield Located(file.path, agent, file.place_of(agent))


def repair(
    target: Target,
    where: Where,
    *,
    dry_run: bool = False,
    force: bool = False,
    context: ChangeContext | None = None,
    group: str | None = None,
    random_bytes: RandomBytes = os.urandom,
) -> Cleaned:
    """Write a repaired copy of a session, with every readable entry, into a new file or in place of the original.

    With `dry_run`, nothing is written.

    Raises:
        RefusedWrite: there is no damage, or none that can be repaired; nothing was changed.
        InUse: a program may have the session open, and `force` is False. WriteFailed: an I/O error occurred.
    """
    context = context or ChangeContext.real()
    with changing(context), opened(target, refused_too=True) as file:
        content = b"".join(file_blocks(file.descriptor, 0, file.found.size))
        made = _repaired(file, content, context, random_bytes)
        preview = CopyPreview(
            removed=Removed(bytes=len(content) - len(made.content)), kept_entries=made.entries, leaf_id=None
        )
        notes = _notes(made)
        if dry_run:
            return Cleaned(done="repair", path=file.path, to=None, preview=preview, notes=notes, dry_run=True)
        if where.to is not None:
            path = new_path(file.session, where, os.path.basename(file.path), context)
            create_copy(file, [made.content], path)
            _refuse_damaged(path, file.session.agent, made)
            return Cleaned(done="repair", path=file.path, to=path, preview=preview, notes=notes)
        refuse_running(file, context, force=force)
        change, more = replace_by(
            file,
            lambda: [made.content],
            context,
            Origin(verb="repair", group=group),
            check=lambda path: _refuse_damaged(path, file.session.agent, made),
        )
        return Cleaned(
            done="repair", path=file.path, to=None, preview=preview, notes=(*notes, *more), undo_id=change.id
        )


def _repaired(file: OpenedFile, content: bytes, context: ChangeContext, random_bytes: RandomBytes) -> Repaired:
    session = file.session
    if session.header is not None:
        refuse_old_version(session)
    if not content.strip():
        raise RefusedWrite(f"{file.name} is empty; there is nothing to repair.")

    def make_header(first_time: str | None) -> dict[str, Json]:
        now = context.now_ms()
        named = SESSION_FILE_NAME.fullmatch(os.path.basename(file.path))
        session_id = named[1] if named is not None else new_session_id(session.agent, int(now), random_bytes)
        return {
            "type": "session",
            "version": 3,
            "id": session_id,
            "timestamp": first_time or iso_ms(now),
            "cwd": _directory_beside(file.path),
        }

    new_id = partial(ids.entry_id, random_bytes=random_bytes)
    made = repaired(content, session.agent, make_header, new_id)
    if made.content == content:
        raise RefusedWrite(f"{file.name} has nothing that can be repaired. Nothing was changed.")
    if made.entries == 0:
        raise RefusedWrite(f"{file.name} has no entry that can be read. Nothing was changed.")
    return made


def _directory_beside(path: str) -> str:
    """Return the working directory of another session in the same folder, "" if no other session has a directory."""
    folder = os.path.dirname(path)
    for name in sorted(os.listdir(folder), reverse=True):
        other = os.path.join(folder, name)
        if name.endswith(".jsonl") and other != path and os.path.isfile(other):
            directory = header_of(other).cwd
            if directory:
                return directory
    return ""


def _refuse_damaged(path: str, agent: str, made: Repaired) -> None:
    """Raise `RefusedWrite` for a repaired copy that the session's agent would not open, or that lacks entries."""
    session = open_session(path, agent)
    left = [one for one in session.problems if "missing" in one.reason or "loop" in one.reason]
    if session.refusal is not None or len(session.ids) != made.entries or left:
        raise RefusedWrite("The repaired copy could not be read completely; the original is unchanged.")


def _notes(made: Repaired) -> tuple[str, ...]:
    notes = []
    if made.left_out_lines:
        notes.append(f"{made.left_out_lines} lines without a readable entry are left out.")
    for old, new in made.new_ids[:_MOST_NAMED]:
        notes.append(f"The id {clean(old)} belonged to several entries; an earlier entry got the id {clean(new)}.")
    if len(made.new_ids) > _MOST_NAMED:
        notes.append(f"{len(made.new_ids) - _MOST_NAMED} more earlier entries have new ids.")
    return tuple(notes)
