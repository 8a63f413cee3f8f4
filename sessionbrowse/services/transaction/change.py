"""The steps that every change of a session shares: locking, the check for writers, the journal; changes in bulk.

A change is first recorded in the journal as pending, then made, then recorded as made. If it is interrupted in between,
the next change finds it pending, checks the file, and completes the record.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from sessionbrowse.agents import AGENTS
from sessionbrowse.agents.change_plans import AppendLine
from sessionbrowse.errors import ChangedMeanwhile, InUse, SameFile, SessionBrowseError, WriteFailed
from sessionbrowse.services.list.locate import Located, looks_like_path
from sessionbrowse.services.transaction.change_context import Cancelled, ChangeContext, Progress
from sessionbrowse.services.transaction.recover import recover_all, recover_change, remove_old_versions
from sessionbrowse.store.own.mirrors import machine_of, machines_dir, read_state
from sessionbrowse.store.own.state_directory import only_one
from sessionbrowse.store.write import writer
from sessionbrowse.store.write.in_use import RECENT_MS, FileUsage, file_usage, has_exited
from sessionbrowse.store.write.journal import Change, Fingerprint
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.write_checks import Target, shown_name
from sessionbrowse.store.write.writer import OpenedFile
from sessionbrowse.text import clean

Json = Any
T = TypeVar("T")
_TRIES = 3

OMP_STOPS_SAVING = (
    "When another program adds to a session that omp has open, omp stops saving for good: later messages would be lost."
)


class ChangeResult(Struct, frozen=True, kw_only=True):
    """The result of a change: its command (`done`), the changed file, the id for undo, notes for the user.

    `undo_id` is None if nothing had to be changed.
    """

    done: str
    path: str
    undo_id: str | None = None
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Json]:
        """Return the JSON object that describes the change for scripts."""
        document: dict[str, Json] = msgspec.to_builtins(self)
        return document


class Origin(Struct, frozen=True, kw_only=True):
    """The origin of a change: its command (`verb`), its group, and the id of the change that it undoes (`undoes`).

    All changes of a group are undone together.
    """

    verb: str
    group: str | None = None
    undoes: str | None = None


def target_of(located: Located, reference: str) -> Target:
    """Return the session file to change, and the directory in which it must be (none if the user typed the path)."""
    if looks_like_path(reference) or located.place is None:
        return Target(located.path, located.agent)
    if located.place.kind == "registry":
        # A registry (omp's folder `custom-session-files`) has only the path of the session file. So the file must be in
        # the folder that this path names.
        return Target(located.path, located.agent, (os.path.dirname(located.path),))
    return Target(located.path, located.agent, (located.place.root,))


@contextmanager
def changing(context: ChangeContext) -> Iterator[None]:
    """Hold the lock for changes inside the `with` block; first recover changes that were interrupted.

    Raises:
        WriteFailed: an I/O error that the change itself does not handle.
    """
    with only_one(context.state):
        recover_all(context)
        try:
            yield
        except OSError as error:
            # The journal still has this change as pending, so the next change recovers it.
            name = f" at {clean(os.fsdecode(error.filename))}" if error.filename else ""
            raise WriteFailed(
                f"The disk failed{name} ({error.strerror or error}); check the disk before you go on."
            ) from error


def recover_interrupted(context: ChangeContext) -> list[Change]:
    """Recover interrupted changes; return their journal records after that, [] if another process holds the lock."""
    ids = [change.id for change in context.journal.pending()]
    if ids or context.journal.kept():
        with suppress(SessionBrowseError), changing(context):
            changes = context.journal.changes()
            return [changes[one] for one in ids]
    return []


def retried(attempt: Callable[[], T]) -> T:
    """Call `attempt` and return its result; repeat the call if the file changed while it was read."""
    for _ in range(_TRIES - 1):
        with suppress(ChangedMeanwhile):
            return attempt()
    return attempt()


# ---- who may be writing ------------------------------------------------------------------------------------


def usage_of(file: OpenedFile, context: ChangeContext) -> FileUsage:
    """Return the signs that a program may be writing this file; sessionbrowse's own changes do not count."""
    session = file.session
    return _usage(file.path, session.agent, session.cwd, context, file.found)


def usage_at(path: str, agent: str, cwd: str, context: ChangeContext) -> FileUsage:
    """Return the signs that a program may be writing the session at a path; see `usage_of`."""
    found: Fingerprint | None = None
    with suppress(OSError):
        found = Fingerprint.of(os.stat(path))
    return _usage(path, agent, cwd, context, found)


def _usage(path: str, agent: str, cwd: str, context: ChangeContext, found: Fingerprint | None) -> FileUsage:
    machine = machine_of(path)
    if machine is not None:
        # This machine's processes and clock say nothing about a file on another machine, so that machine's clock is
        # used.
        state = read_state(machine, machines_dir(context.around.environ, Path(context.around.home)))
        changed = found is not None and state is not None and state.is_recent(found.mtime_ns / 1_000_000, RECENT_MS)
        reason = f"the session changed less than ten minutes before the last look at {machine}"
        return FileUsage("may-be-in-use", (reason,)) if changed else FileUsage("free")
    changed_ms = 0.0 if found is None else _changed_ms(path, agent, found, context)
    now_ms = context.now_ms()
    return file_usage(path, AGENTS[agent], cwd, context.around, now_ms=now_ms, proc=context.proc, changed_ms=changed_ms)


def is_taken(used: FileUsage, agent: str) -> bool:
    """Return True if a session file must not be moved, because its agent may have it open.

    For omp, a change of the file in the last ten minutes also counts.
    """
    return used.in_use or (used.state == "recent" and not AGENTS[agent].bears_appends)


def refuse_taken(path: str, agent: str, used: FileUsage, *, force: bool) -> None:
    """Raise `InUse` for a session file that must not be moved now, unless `force` is True."""
    if not is_taken(used, agent) or force:
        return
    wait = "" if AGENTS[agent].bears_appends else ". Then wait ten minutes"
    lost = "what came before" if AGENTS[agent].rules.only_read else "a header"
    raise InUse(
        f"{shown_name(path)} may be in use: {'; '.join(used.reasons)}. {agent} would write its next entries "
        f"to the old path, into a file without {lost}. Quit {agent} first{wait}."
    )


def _changed_ms(path: str, agent: str, found: Fingerprint, context: ChangeContext) -> float:
    """Return the time at which another program last changed the file, in milliseconds; 0 if omp has exited since."""
    if not AGENTS[agent].bears_appends and has_exited(path, context.journal.own_entry_ids):
        return 0.0
    own = context.journal.own_change(found)
    if own is not None and own.was_changed_ms is not None:
        return own.was_changed_ms
    if own is not None and own.plan.get("kind") == "create":
        return 0.0
    return found.mtime_ns / 1_000_000


def consent_to_append(file: OpenedFile, used: FileUsage, what: str, *, asks: bool, force: bool) -> tuple[str, ...]:
    """Check that an entry may be appended to a file that may be in use, and return notes for the user.

    omp loses data when another program appends to its open file, so an append is refused at any sign of a writer. The
    other agents ignore the new entry until they open the session again. With `asks` (for a checkout), also refuse while
    such an agent may have the session open, because the agent would go on from another entry.

    Raises:
        InUse: a program may be writing, and `force` is False.
    """
    agent = AGENTS[file.session.agent]
    reasons = "; ".join(used.reasons)
    if not agent.bears_appends:
        if used.state == "free":
            return ()
        if not force:
            raise InUse(f"{file.name} may be in use: {reasons}. {OMP_STOPS_SAVING} Quit omp, and wait ten minutes.")
        return (f"Forced although {reasons}. {OMP_STOPS_SAVING}",)
    if not used.in_use:
        # The file changed recently. The program may run on another machine, where its process cannot be seen from here.
        return (f"Note that {reasons}.",) if asks and used.state == "recent" else ()
    if asks and not force:
        raise InUse(
            f"{file.name} may be in use: {reasons}. {agent.name} would continue from its current entry and ignore "
            f"{what}. Quit {agent.name} first."
        )
    return (f"The session seems to be open: {reasons}. {agent.name} shows {what} when it opens the session again.",)


# ---- making and noting -------------------------------------------------------------------------------------


def append(
    file: OpenedFile,
    plan: AppendLine,
    context: ChangeContext,
    origin: Origin,
    *,
    before: dict[str, Json],
    after: dict[str, Json],
) -> tuple[Change, writer.Appended]:
    """Append an entry, and record the change in the journal: first as pending, then as made.

    The journal gets `before`, the values needed to undo the change, and `after`, the change made, with the entry's id.

    Raises:
        RefusedWrite: the entry must not be appended; nothing was changed.
        WriteFailed: an I/O error occurred; the journal records whether the entry is in the file.
    """
    agent = AGENTS[file.session.agent]
    entry_id = writer.unused_id(file.tail.ids, context.new_id)
    change = begin(
        file,
        context,
        origin,
        before=before,
        plan={
            "kind": "append",
            "entry_id": entry_id,
            "line": msgspec.to_builtins(plan),
            "after": {**after, "entry_id": entry_id},
        },
    )
    with recovering(context, change):
        appended = writer.append_line(
            file, plan, entry_id, now_ms=context.now_ms, new_id=context.new_id, under_lock=not agent.bears_appends
        )
    notes = appended.notes + record_done(context, change, {**after, "entry_id": appended.entry_id}, appended.left)
    return change, msgspec.structs.replace(appended, notes=notes)


def begin(
    file: OpenedFile, context: ChangeContext, origin: Origin, *, before: dict[str, Json], plan: dict[str, Json]
) -> Change:
    """Record in the journal a change that is about to be made to an open file."""
    return context.journal.begin(
        origin.verb,
        file.session.agent,
        file.path,
        session_id=file.session.id,
        group=origin.group,
        undoes=origin.undoes,
        before=before,
        plan=plan,
        was_changed_ms=_changed_ms(file.path, file.session.agent, file.found, context),
    )


@contextmanager
def recovering(context: ChangeContext, change: Change, moves: Moves | None = None) -> Iterator[None]:
    """Make a change in the `with` block; if that fails, record in the journal whether the file was changed."""
    try:
        yield
    except SessionBrowseError as error:
        recover_change(context, change, error.sentence)
        remove_old_versions(context, moves)
        raise
    except OSError as error:
        recover_change(context, change, error.strerror or str(error))
        remove_old_versions(context, moves)
        raise


def record_done(
    context: ChangeContext, change: Change, after: dict[str, Json], left: Fingerprint | None, moves: Moves | None = None
) -> tuple[str, ...]:
    """Record in the journal that a change was made; return a note for the user if that record fails.

    First, the old versions of the files that the change replaced or moved are removed (see `remove_old_versions`).
    """
    if remove_old_versions(context, moves) and context.journal.done(change, after, left):
        return ()
    return ("The change is made, but the journal could not record that; the next change will complete the record.",)


# ---- one kind of change for many items ---------------------------------------------------------------------

Item = TypeVar("Item")
C = TypeVar("C", bound=ChangeResult)


class FailedItem(Struct, Generic[Item], frozen=True):
    """An item whose change failed, and the error; the item is unchanged unless the error says otherwise."""

    item: Item
    error: SessionBrowseError


class Bulk(Struct, Generic[Item, C], frozen=True, kw_only=True):
    """The result of a bulk change: the changes made (`done`), failed items, and items left after a cancellation.

    `undo_id` undoes all changes at once; None if nothing can be undone.
    """

    done: tuple[C, ...]
    failed: tuple[FailedItem[Item], ...]
    left: tuple[Item, ...]
    undo_id: str | None

    @property
    def notes(self) -> tuple[str, ...]:
        """All notes for the user, each sentence once."""
        return tuple(dict.fromkeys(note for one in self.done for note in one.notes))


def in_bulk(
    items: Sequence[Item],
    change: Callable[[Item, ChangeContext, str | None], C],
    *,
    context: ChangeContext | None = None,
    progress: Progress = lambda done, total, name: None,
    cancelled: Cancelled = lambda: False,
    group: str | None = None,
) -> Bulk[Item, C]:
    """Change items one after another; if the change of an item fails, note the error and go on with the next item.

    The error `SameFile` ends the bulk change.

    `progress` is called first and after each item, without a name. `group` adds the changes to the group of an earlier
    change, so that one undo takes all of them back.

    `change` is called with an item, the `ChangeContext`, and the group of the bulk change (None for a single item):
    `in_bulk(targets, lambda target, context, group: archive(target, context=context, group=group))`.
    """
    context = context or ChangeContext.real()
    group = group or (secrets.token_hex(4) if len(items) > 1 else None)
    done: list[C] = []
    failed: list[FailedItem[Item]] = []
    finished = 0
    progress(finished, len(items), "")
    for item in items:
        if cancelled():
            break
        try:
            done.append(change(item, context, group))
        except SessionBrowseError as error:
            failed.append(FailedItem(item, error))
            if isinstance(error, SameFile):
                finished += 1
                break
        finished += 1
        progress(finished, len(items), "")
    undo_ids = [one.undo_id for one in done if one.undo_id is not None]
    return Bulk(
        done=tuple(done),
        failed=tuple(failed),
        left=tuple(items[finished:]),
        undo_id=undo_ids[0] if len(undo_ids) == 1 else group if undo_ids else None,
    )
