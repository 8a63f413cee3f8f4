"""Fork a session: copy all of it, or the path up to an entry, to a new session file. The source is not changed."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.errors import NotASession, RefusedWrite, WriteFailed
from sessionbrowse.format import ids
from sessionbrowse.format.json_value import json_line
from sessionbrowse.format.title_slot import slot_line
from sessionbrowse.model.fork import has_answer, path_lines, title_source, whole_lines
from sessionbrowse.model.session.session import ROOT, Session, find_name
from sessionbrowse.services.change.checkout import CheckoutPoint, place_of
from sessionbrowse.services.list.locate import find_entry
from sessionbrowse.services.transaction.change import ChangeResult, Origin, changing, record_done, recovering
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.directories import given_here
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.read.session_file import open_session, refuse_damaged
from sessionbrowse.store.write import copies
from sessionbrowse.store.write.journal import Change, Fingerprint
from sessionbrowse.store.write.whole_files import create_file, temporary_beside
from sessionbrowse.store.write.write_checks import is_path, refuse_only_read, refuse_outside, shown_name, taken_here
from sessionbrowse.text import clean, iso_ms

Json = Any
RandomBytes = Callable[[int], bytes]


class Forked(ChangeResult, frozen=True, kw_only=True):
    """The result of a fork: a new session in the file `path`.

    `at` is the last copied entry, None if all entries or none were copied. `text` is the user message at the chosen
    entry, to be edited and sent again.
    """

    source: str
    id: str
    cwd: str
    at: str | None
    text: str | None


def fork(
    source: str,
    agent: str | None = None,
    place: Place | None = None,
    *,
    at: str | None = None,
    cwd: str | None = None,
    session_dir: str | None = None,
    context: ChangeContext | None = None,
    group: str | None = None,
    random_bytes: RandomBytes = os.urandom,
) -> Forked:
    """Fork a session: copy all its branches, or with `at` only the path up to that entry.

    If `at` names a user message, the fork ends before that message, and its text is returned. `cwd` is the directory of
    the new session (None: the directory of the source); the new file is written to the folder in which the agent keeps
    sessions of that directory. `place` is the agent's session directory in which the source was found; `session_dir` is
    a folder that the user chose for the new file.

    Raises:
        NotASession: the source cannot be read, or is not a session.
        RefusedWrite: the session's agent could not continue the fork. NoSuchEntry, AmbiguousReference: the entry is
        not found.
        WriteFailed: an I/O error occurred; there is no new file.
    """
    context = context or ChangeContext.real()
    taken = taken_here(source, cwd)
    place = None if taken else place
    session = opened_source(source, agent)
    cut = None if at is None else cut_at(session, find_entry(session, at))
    if session.agent in ("atomic", "indusagi"):
        refuse_without_answer(session, cut)
    directory = given_here(cwd, context.around.cwd) if cwd is not None else session.cwd
    folder = session_dir or folder_for(session, directory, cwd is not None, place, context.around)
    now = iso_ms(context.now_ms())
    session_id = new_session_id(session.agent, int(context.now_ms()), random_bytes)
    path = os.path.join(folder, ids.file_name(now, session_id))
    new_entry_id = partial(ids.entry_id, random_bytes=random_bytes)

    def write(temporary: str) -> Fingerprint:
        make_folder(folder, os.path.dirname(session.path))
        header = new_header(session, session_id, now, directory, whole=cut is None)
        return write_fork(session, path, header, cut, now, new_entry_id, temporary=temporary)

    with changing(context):
        change, notes = create_session(
            path, session.agent, session_id, {"source": session.path}, write, context, Origin(verb="fork", group=group)
        )
    return Forked(
        done="fork",
        path=path,
        undo_id=change.id,
        notes=(*taken, *notes),
        source=session.path,
        id=session_id,
        cwd=directory,
        at=session.ids[cut.index] if cut is not None and cut.index != ROOT else None,
        text=cut.text if cut is not None else None,
    )


def create_session(
    path: str,
    agent: str,
    session_id: str,
    after: dict[str, Json],
    write: Callable[[str], Fingerprint],
    context: ChangeContext,
    origin: Origin,
) -> tuple[Change, tuple[str, ...]]:
    """Make a new session file as a change that can be undone; return its journal record and notes for the user.

    `write` gets a path beside the new file; it writes there, renames it to `path`, and returns the new file's
    fingerprint. `after` says in the journal what was made, at least the path `source` of the session it was made from.
    """
    temporary = temporary_beside(path)
    plan = {
        "kind": "create",
        "source": after["source"],
        "temporary": temporary,
        "folder": artifacts_of(path),
        "new_folders": copies.missing_folders([path]),
        "after": after,
    }
    change = context.journal.begin(origin.verb, agent, path, session_id=session_id, group=origin.group, plan=plan)
    with recovering(context, change):
        made = write(temporary)
    return change, record_done(context, change, after, made)


def opened_source(path: str, agent: str | None) -> Session:
    """Read the session to fork.

    Raises:
        NotASession: the session's agent would not open it. RefusedWrite: it has a format that sessionbrowse only reads.
    """
    session = open_session(path, agent)
    name = shown_name(session.path)
    refuse_only_read(session.path)
    if session.is_transcript:
        raise RefusedWrite(f"{name} is a transcript of the newer indusagi, which sessionbrowse only reads.")
    if session.refusal is not None:
        refuse_damaged(session, NotASession)
    return session


def cut_at(session: Session, index: int) -> CheckoutPoint:
    """Return the point where a fork at an entry ends: the entry itself, or for a user message its parent entry."""
    kind = session.envelopes[index]
    return place_of(session, index) if (kind.type, kind.role) == ("message", "user") else CheckoutPoint(index, None)


def name_at(session: Session, index: int) -> str | None:
    """Return the name of a fork at an entry: as in pi, the name that the session had at this entry.

    pi 0.87.1 copies the path to the entry, with the `session_info` entries on it; omp copies the title.
    """
    kept = [session.envelopes[each] for each in session.branch(cut_at(session, index).index)]
    return find_name(session.rules, kept, session.title_slot, session.header)


def refuse_without_answer(session: Session, cut: CheckoutPoint | None) -> None:
    """Raise `RefusedWrite` for a fork without an assistant message, whose file atomic or indusagi would corrupt.

    When the model first answers in such a session, atomic 0.9.15 appends all entries to the file a second time, and
    indusagi 0.12 never writes the entries before that answer.
    """
    kept = list(range(len(session.ids))) if cut is None else session.branch(cut.index)
    if not has_answer(session, kept):
        raise RefusedWrite(
            f"The fork would have no assistant message, and {session.agent} damages the file of such a session when "
            "the session is continued. Fork at a later entry."
        )


def folder_for(session: Session, cwd: str, is_given: bool, place: Place | None, around: Surroundings) -> str:
    """Return the folder for the new file of a fork: where the session's agent lists sessions of the directory `cwd`."""
    here = os.path.dirname(session.path)
    agent = AGENTS[session.agent]
    if place is None:
        if not is_given:
            return here
        root = next(found.root for found in agent.places(around) if found.kind == "projects")
        return os.path.join(root, agent.folder_of(cwd, around))
    if place.kind in ("flat", "registry"):
        return place.root if place.kind == "flat" else here
    root = place.root if place.kind == "projects" else os.path.dirname(place.root)
    if place.kind == "archive":
        root = os.path.join(os.path.dirname(root), "sessions")
    if not is_given and os.path.dirname(here) == root:
        return here
    return folder_in(root, session.agent, cwd, around)


def folder_in(root: str, agent: str, cwd: str, around: Surroundings) -> str:
    """Return the folder below an agent's directory of sessions for new sessions of the directory `cwd`.

    Raises:
        RefusedWrite: the folder is no valid path, or a link to a place outside of the agent's directory.
    """
    folder = os.path.join(root, AGENTS[agent].folder_of(cwd, around))
    if not is_path(folder):
        raise RefusedWrite("The session's directory is not a valid path; name another directory for the new session.")
    refuse_outside(folder, root)
    return folder


def new_header(session: Session, session_id: str, timestamp: str, cwd: str, *, whole: bool) -> dict[str, Json]:
    """Return the header of a fork; fields with which atomic marks a session of a workflow are not copied.

    In pi, atomic and indusagi the field `parentSession` is the source's path. In omp it is the source's id for a fork
    of the whole session, and the source's path for a fork of one branch; omp's fork also keeps the source's title,
    additional directories and prompt cache key (omp 18.2.3).
    """
    header: dict[str, Json] = {"type": "session", "version": 3, "id": session_id, "timestamp": timestamp, "cwd": cwd}
    if session.agent != "omp":
        return header | {"parentSession": session.path}
    source = session.header
    assert source is not None
    title = {"title": session.name, "titleSource": title_source(session)}
    workspace = [path for path in source.additional_directories or () if path != cwd or not whole]
    if whole:
        cache = source.provider_prompt_cache_key or source.id
        header |= {"parentSession": source.id, "providerPromptCacheKey": cache, **title}
    else:
        header |= {**title, "parentSession": session.path}
    header["additionalDirectories"] = workspace or None
    return {key: value for key, value in header.items() if value is not None}


def write_fork(
    session: Session,
    path: str,
    header: dict[str, Json],
    cut: CheckoutPoint | None,
    updated_at: str,
    new_id: Callable[[set[str]], str],
    *,
    temporary: str | None = None,
) -> Fingerprint:
    """Write a fork completely or not at all; a fork of a whole omp session gets a copy of the artifacts folder too.

    Return the state of the new file (device, inode, size, time), by which a later change of the file is noticed.

    Raises:
        WriteFailed: an I/O error occurred; no file was made.
    """
    with closing(open_regular(session.path)) as descriptor:
        read = partial(_read, descriptor)

        def pieces() -> Iterator[bytes]:
            if session.agent == "omp":
                yield slot_line(session.name or "", title_source(session), updated_at)
            yield json_line(header)
            if cut is None:
                yield from whole_lines(session, read)
            elif cut.index != ROOT:
                yield from path_lines(session, cut.index, read, new_id)

        if cut is None and session.agent == "omp":
            copy_artifacts(session, path)
        try:
            return create_file(path, pieces(), temporary=temporary, like=descriptor, may_be_ours=True)
        except (RefusedWrite, WriteFailed):
            shutil.rmtree(artifacts_of(path), ignore_errors=True)
            raise


def _read(descriptor: int, offset: int, size: int) -> bytes:
    content = b"".join(file_blocks(descriptor, offset, offset + size))
    if len(content) < size:
        raise WriteFailed("The session got shorter while it was read; there is no new file. Try again.")
    return content


def new_session_id(agent: str, now_ms: int, random_bytes: RandomBytes) -> str:
    return ids.uuid4(random_bytes) if agent == "indusagi" else ids.uuid7(now_ms, random_bytes)


def make_folder(folder: str, like: str) -> None:
    """Make the folder for a new session, and its parent folders, with no wider permissions than the folder `like`.

    Raises:
        WriteFailed: the folder cannot be made.
    """
    try:
        copies.make_folder(folder, like)
    except OSError as error:
        raise WriteFailed(f"{clean(folder)} cannot be made ({error.strerror}); there is no new file.") from error


def artifacts_of(path: str) -> str:
    """Return the folder in which omp keeps a session's artifacts (files to which entries refer by `artifact://`)."""
    return path.removesuffix(".jsonl")


def copy_artifacts(session: Session, path: str, endings: tuple[str, ...] = ()) -> None:
    """Copy a session's artifacts folder, so that `artifact://` references in the new session work (omp 18).

    Files whose names have one of the `endings` are not copied.

    Raises:
        WriteFailed: the copy failed; the incomplete folder is removed.
    """
    source, target = artifacts_of(session.path), artifacts_of(path)
    if os.path.islink(source) or not os.path.isdir(source):
        return
    try:
        shutil.copytree(source, target, symlinks=True, ignore=partial(_left_out, endings))
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise WriteFailed(
            f"The session's artifacts could not be copied ({clean(str(error))[:300]}); there is no new file."
        ) from error


def _left_out(endings: tuple[str, ...], folder: str, names: list[str]) -> set[str]:
    """Return the names to leave out of a copied artifacts folder: by their endings; pipes, sockets and devices."""
    found = {name for name in names if name.endswith(endings)}
    for name in names:
        mode = os.lstat(os.path.join(folder, name)).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
            found.add(name)
    return found
