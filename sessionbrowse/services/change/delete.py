"""Delete a session: move it to the trash with all files that belong to it, so that one restore brings all files back.

The session file is moved last: if the move fails halfway, the session is still there, and the other files are moved
back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from sessionbrowse.agents import AGENTS, Agent
from sessionbrowse.agents.base import own_folder
from sessionbrowse.errors import LostForGood, RefusedWrite, WriteFailed
from sessionbrowse.model.listing.summary import Summary, original_name
from sessionbrowse.services.list.locate import header_of
from sessionbrowse.services.transaction.change import (
    ChangeResult,
    changing,
    is_taken,
    record_done,
    recovering,
    refuse_taken,
    usage_at,
)
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.trash_directories import (
    deleted_at,
    items_of,
    own_name,
    own_trash,
    put_in_systems,
)
from sessionbrowse.store.find.discover import agent_of_path
from sessionbrowse.store.read.files_of_session import further_files, without_further_files
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.copies import files_below
from sessionbrowse.store.write.in_use import FileUsage, strongest
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.trash import NoTrash, Trashed
from sessionbrowse.store.write.write_checks import Target, shown_name, writable_path
from sessionbrowse.text import clean, plural

Into = Literal["trash", "own", "nowhere"]
"""The target of deleted files: the system's trash, sessionbrowse's own trash, or nowhere (no file is kept)."""

ToTrash = Callable[[str], None]
T = TypeVar("T")


class Deleted(ChangeResult, frozen=True, kw_only=True):
    """The result of a deletion: the deleted paths, the session file first, and where the files went (`into`).

    `undo_id` restores the session; it is None after a permanent deletion.
    """

    paths: tuple[str, ...]
    into: Into


class DeletePlan(Struct, frozen=True, kw_only=True):
    """The files that a deletion would remove: the session file and the files that belong to it.

    `files` is the number of files among and in the `companions`, `size` the size of all files in bytes; `children` are
    the session's forks, which are not deleted. `copies` are the companions that a program for synchronising made.
    """

    path: str
    agent: str
    companions: tuple[str, ...]
    files: int
    size: int
    used: FileUsage
    children: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def copies_told(self) -> tuple[str, ...]:
        """A sentence that names the conflict copies of the session that are deleted with it; empty without any."""
        if not self.copies:
            return ()
        names = ", ".join([clean(os.path.basename(path)) for path in self.copies])
        return (f"With {plural(len(self.copies), 'conflict copy', 'conflict copies')} of it: {names}.",)

    @property
    def is_taken(self) -> bool:
        """True if the session may be open in its agent, so that only `force` deletes it."""
        return is_taken(self.used, self.agent)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files that a deletion would remove, the session file first."""
        return (self.path, *self.companions)


def plan_delete(
    target: Target, context: ChangeContext, summaries: Iterable[Summary] = (), together: Sequence[Target] = ()
) -> DeletePlan:
    """Return the files that a deletion would remove, and the forks among `summaries` that stay; nothing is changed.

    `together` are the sessions that are deleted with this one, in the order of `outermost`.

    Raises:
        RefusedWrite: the path is not a regular file, or is a link to a file outside the session directories, or a
        session of another file continues this one.
        NotASession: the session does not exist.
    """
    path = writable_path(target, only_moved=True)
    agent = agent_of(path, target)

    def is_going(other: str) -> bool:
        return any(os.path.realpath(one.path) == os.path.realpath(other) for one in together)

    session_files = (path, *further_files(path, agent.name, is_going))
    beside = [found for one in session_files for found in agent.companions(one) if not is_lock(found)]
    companions = tuple(dict.fromkeys((*beside, *session_files[1:])))
    header = header_of(path)
    used = strongest([usage_at(one, agent.name, header.cwd or "", context) for one in session_files])
    wanted = {path, target.path, header.id}
    below = tuple(os.path.join(found, "") for found in companions)
    children = tuple(
        one.path
        for one in summaries
        if one.parent_session in wanted
        and one.path != path
        and not one.path.startswith(below)
        and not is_going(one.path)
    )
    size = sum(_bytes_below(found) for found in (path, *companions))
    return DeletePlan(
        path=path,
        agent=agent.name,
        companions=companions,
        files=files_in(companions),
        size=size,
        used=used,
        children=children,
        copies=tuple(one for one in session_files[1:] if original_name(os.path.basename(one), header.id) is not None),
    )


def delete(
    target: Target,
    *,
    into: Into = "trash",
    force: bool = False,
    context: ChangeContext | None = None,
    group: str | None = None,
    to_trash: ToTrash = trash.system_trash,
) -> Deleted:
    """Delete a session and the files that belong to it. Files that several sessions share, such as omp's blobs, stay.

    Raises:
        NoTrash: the system's trash cannot take the session; nothing was changed, and `into="own"` may work.
        InUse: a program may have the session open, and `force` is False.
        RefusedWrite, NotASession: the file does not exist, or may not be deleted.
        WriteFailed: an I/O error occurred; the error says where each file is.
    """
    context = context or ChangeContext.real()
    with changing(context):
        plan = plan_delete(target, context)
        refuse_taken(plan.path, plan.agent, plan.used, force=force)
        change = context.journal.begin(
            "delete",
            plan.agent,
            plan.path,
            session_id=header_of(plan.path).id,
            group=group,
            plan={
                "kind": "trash" if into != "nowhere" else "remove",
                "items": [trash.identity(path) for path in (*plan.companions, plan.path)],
            },
        )
        moves = Moves(change.id)
        with recovering(context, change, moves):
            trashed = take_away(plan, into, moves, change, context, to_trash)
        after = {"into": into, "items": [msgspec.to_builtins(item) for item in trashed]}
        notes = plan.copies_told + record_done(context, change, after, None, moves)
    if any(item.item is None for item in trashed):
        notes += ("The trash did not report where it put the session; to restore the session, use your file manager.",)
    return Deleted(
        done="delete",
        path=plan.path,
        undo_id=change.id if into != "nowhere" else None,
        notes=notes,
        paths=plan.paths,
        into=into,
    )


def restorable(context: ChangeContext | None = None) -> list[Change]:
    """Return the deletions whose session can still be restored from a trash, newest first; nothing is changed."""
    context = context or ChangeContext.real()
    changes = [change for change in context.journal.changes().values() if change.verb == "delete"]
    return [change for change in reversed(context.told(changes)) if change.can_be_tried and _is_there(change)]


def agent_of(path: str, target: Target) -> Agent:
    """Return the agent of a session file: `target.agent`, or if that is not set, the agent judged by the path."""
    return AGENTS[target.agent or agent_of_path(path)]


def files_in(companions: Iterable[str]) -> int:
    """Return the number of files among a session's companions, and in the folders among them."""
    return sum(
        sum(1 for _ in files_below(found, links=True)) if os.path.isdir(found) and not os.path.islink(found) else 1
        for found in companions
    )


def outermost(items: Sequence[T], path_of: Callable[[T], str]) -> list[T]:
    """Return the items, leaving out those whose file belongs to another item's session and is deleted with it.

    Sessions whose history another one continues come last.
    """
    folders = {own_folder(path_of(item)) for item in items}
    left = [item for item in items if folders.isdisjoint(map(str, PurePath(path_of(item)).parents))]
    by_path = {path_of(item): item for item in left}
    return [by_path[path] for path in without_further_files(list(by_path))]


def is_lock(path: str) -> bool:
    """Return True if a file that belongs to a session is a lock file, which a running program creates for a moment."""
    return path.endswith((".lock", ".lock.os"))


def take_away(
    plan: DeletePlan, into: Into, moves: Moves, change: Change, context: ChangeContext, to_trash: ToTrash
) -> list[Trashed]:
    """Move all files of a session to a trash, or none of them; return the trashed items, the session file last."""
    gone: list[Trashed] = []
    for path in (*plan.companions, plan.path):
        try:
            if into == "nowhere":
                trash.remove_for_good(path)
            elif into == "own":
                name, now = own_name(change, path), deleted_at(context)
                gone.append(trash.put_in_own(path, own_trash(context), moves, name=name, deleted_at=now))
            else:
                gone.append(put_in_systems(path, change, context, moves, to_trash))
        except (RefusedWrite, WriteFailed) as error:
            left = _bring_back(gone, moves)
            if left:
                raise WriteFailed(f"{error.sentence} {' '.join(left)}") from error
            if isinstance(error, NoTrash) and into == "trash":
                raise NoTrash(f"{error.sentence} Use the trash {clean(own_trash(context))} instead.") from error
            raise
    return gone


def _bring_back(gone: list[Trashed], moves: Moves) -> list[str]:
    sentences = []
    for item in reversed(gone):
        try:
            trash.take_back(item, moves)
        except (RefusedWrite, WriteFailed) as error:
            sentences.append(error.sentence)
    return sentences


def is_only_session_back(change: Change) -> bool:
    """Return True if another program restored a session file, but not all files that belong to it, from the trash."""
    *companions, session = items_of(change)
    if session.item is None or os.path.lexists(session.item) or not trash.is_item(session, session.original):
        return False
    return any(item.item is not None and os.path.lexists(item.item) for item in companions)


def _is_there(change: Change) -> bool:
    items = items_of(change)
    if not items or items[-1].item is None:
        return False
    return os.path.lexists(items[-1].item) or is_only_session_back(change)


def _bytes_below(path: str) -> int:
    total = 0
    with suppress(OSError):
        total = trash.size_of(os.lstat(path))
    for folder, _, names in os.walk(path) if not os.path.islink(path) else ():
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def refuse_gone(change: Change) -> None:
    """Raise `LostForGood` for a session that was deleted permanently."""
    if change.after.get("into") == "nowhere":
        raise LostForGood(
            f"{shown_name(change.path)} was deleted permanently, as requested; it cannot be restored.",
            "the session files were deleted permanently, as requested; they cannot be restored.",
        )
