"""Archive a session: out of its program's lists, still read and searched here, and back at any time.

The session and what belongs to it are moved as they are; nothing in them changes.
"""

from __future__ import annotations

import os
from contextlib import suppress

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import InUse, RefusedWrite, SessionBrowseError, WriteFailed
from sessionbrowse.services.bench import Bench
from sessionbrowse.services.changes import Changed, changing, noted
from sessionbrowse.services.delete import agent_of, is_lock
from sessionbrowse.services.find import header_of
from sessionbrowse.services.settle import settle
from sessionbrowse.store import archive as places
from sessionbrowse.store import trash
from sessionbrowse.store.admission import Target, admitted, shown_name
from sessionbrowse.store.discover import ARCHIVE_FOLDER, PACKED_SUFFIX
from sessionbrowse.store.in_use import usage
from sessionbrowse.store.journal import Change
from sessionbrowse.store.session_file import open_regular
from sessionbrowse.store.whole_files import create_file
from sessionbrowse.text import clean

Move = tuple[str, str]
"""From where, and to where."""


class Archived(Changed, frozen=True, kw_only=True):
    """Where the session lies now (`path`), and where it lay."""

    was: str


def archive(target: Target, *, force: bool = False, bench: Bench | None = None, group: str | None = None) -> Archived:
    """Take a session out of its program's lists.

    Raises:
        InUse: a program may have it open, and this is not forced.
        RefusedWrite: it is archived already, or cannot be where it lies, or something of that name is in the way.
        WriteFailed: the disk refused; it is where it was.
    """
    bench = bench or Bench.real()
    with changing(bench):
        path = admitted(target)
        agent = agent_of(path, target)
        wanted = places.archived_path(path, agent.name)
        used = usage(path, agent, header_of(path).cwd or "", bench.around, now_ms=bench.now_ms(), proc=bench.proc)
        if used.in_use and not force:
            raise InUse(
                f"{shown_name(path)} may be in use: {'; '.join(used.reasons)}. {agent.name} would write on where it "
                "lay, into a file that is no session. Quit it first."
            )
        return _moved("archive", path, wanted, agent.name, bench, group)


def unarchive(target: Target, *, bench: Bench | None = None, group: str | None = None) -> Archived:
    """Bring an archived session back into its program's lists; one that omp packed is unpacked.

    Raises:
        RefusedWrite: it is not archived, or something of its name is in the way.
        WriteFailed: the disk refused; it is where it was.
    """
    bench = bench or Bench.real()
    with changing(bench):
        path = admitted(target)
        agent = agent_of(path, target).name
        wanted = places.original_path(path)
        if places.is_packed(path):
            return _unpacked(path, wanted, agent, bench, group)
        return _moved("unarchive", path, wanted, agent, bench, group)


def take_back(change: Change, bench: Bench) -> Archived:
    """Move back what a change moved; hold the lock."""
    moves = [(target, source) for source, target in change.plan["moves"]]
    source, target = moves[-1]
    if not os.path.lexists(source):
        raise RefusedWrite(f"{clean(source)} is not there any more.")
    return _carry_out("undo", moves, change.agent, bench, change.group, undoes=change.id, was=source, path=target)


def move_all(moves: list[Move]) -> None:
    """Move everything, or nothing; the session comes last.

    Raises:
        RefusedWrite: something is in the way; nothing was moved.
        WriteFailed: the disk refused; nothing was moved, or the sentence says what is where.
    """
    for _, target in moves:
        if os.path.lexists(target):
            raise RefusedWrite(f"There is a {clean(target)} already, which is never overwritten. Nothing was changed.")
    done: list[Move] = []
    try:
        for source, target in moves:
            done.append((source, target))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            trash.move(source, target)
    except OSError as error:
        left = bring_back(done)
        told = f" {' '.join(left)}" if left else " Everything is where it was."
        raise WriteFailed(f"{clean(moves[-1][0])} could not be moved ({error.strerror or error}).{told}") from error


def bring_back(moves: list[Move]) -> list[str]:
    """Undo moves, the last first; return a sentence for each that failed."""
    sentences = []
    for source, target in reversed(moves):
        try:
            if trash.drop_second_name(source, target):
                continue
            if os.path.lexists(target) and not os.path.lexists(source):
                os.makedirs(os.path.dirname(source), exist_ok=True)
                trash.move(target, source)
        except OSError as error:
            sentences.append(f"{clean(target)} could not be moved back ({error.strerror or error}).")
    return sentences


def moves_of(path: str, wanted: str, agent: str) -> list[Move]:
    """Return what is moved with a session, the session last."""
    folder = os.path.dirname(wanted)
    own = [str(found) for found in AGENTS[agent].companions(path) if not is_lock(str(found))]
    return [*((found, os.path.join(folder, os.path.basename(found))) for found in own), (path, wanted)]


def _moved(verb: str, path: str, wanted: str, agent: str, bench: Bench, group: str | None) -> Archived:
    return _carry_out(verb, moves_of(path, wanted, agent), agent, bench, group, was=path, path=wanted)


def _carry_out(
    verb: str,
    moves: list[Move],
    agent: str,
    bench: Bench,
    group: str | None,
    *,
    was: str,
    path: str,
    undoes: str | None = None,
) -> Archived:
    change = bench.journal.begin(
        verb,
        agent,
        path,
        session_id=header_of(was).id,
        group=group,
        undoes=undoes,
        before={"path": was},
        plan={"kind": "moves", "moves": [list(move) for move in moves]},
    )
    try:
        move_all(moves)
    except SessionBrowseError as error:
        settle(bench, change, error.sentence)
        raise
    notes = noted(bench, change, {"path": path}, None)
    # The folder stays where other archived sessions lie in it.
    with suppress(OSError):
        if os.path.basename(os.path.dirname(was)) == ARCHIVE_FOLDER:
            os.rmdir(os.path.dirname(was))
    return Archived(done=verb, path=path, undo_id=change.id, notes=notes, was=was)


def _unpacked(path: str, wanted: str, agent: str, bench: Bench, group: str | None) -> Archived:
    """Unpack to where the session lay. The packed file goes to the trash; where there is none, it stays."""
    if os.path.lexists(wanted):
        raise RefusedWrite(f"There is a {clean(wanted)} already, which is never overwritten. Nothing was changed.")
    stem = path.removesuffix(PACKED_SUFFIX)
    folder = [(stem, wanted.removesuffix(".jsonl"))] if os.path.isdir(stem) else []
    descriptor = open_regular(path)
    try:
        mtime_ns = os.fstat(descriptor).st_mtime_ns
    finally:
        os.close(descriptor)
    change = bench.journal.begin(
        "unpack",
        agent,
        wanted,
        group=group,
        before={"path": path},
        plan={"kind": "create", "after": {"path": wanted}},
    )
    try:
        os.makedirs(os.path.dirname(wanted), exist_ok=True)
        move_all(folder)
        left = create_file(wanted, places.unpacked(path), mtime_ns=mtime_ns)
    except (SessionBrowseError, OSError) as error:
        bring_back(folder)
        sentence = error.sentence if isinstance(error, SessionBrowseError) else str(error)
        settle(bench, change, sentence)
        raise WriteFailed(f"{sentence} The packed session is as it was.") from error
    notes = noted(bench, change, {"path": wanted}, left)
    try:
        from sessionbrowse.services.delete import homes

        trash.put(path, homes(bench))
    except (RefusedWrite, WriteFailed):
        notes += (f"The packed file {clean(path)} stays beside it, because no trash takes it.",)
    return Archived(done="unarchive", path=wanted, undo_id=None, notes=notes, was=path)
