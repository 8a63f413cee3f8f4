"""Checks before a change: the file is regular, lies in the directory where it was found, and its agent can read it."""

from __future__ import annotations

import os
import stat

from msgspec import Struct

from sessionbrowse.errors import NotASession, OnlyRead, RefusedWrite
from sessionbrowse.model.session.records import generation_of
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.model.session.session import Session
from sessionbrowse.store.own.mirrors import machine_holding
from sessionbrowse.store.read.content import closing, open_regular, program_of
from sessionbrowse.store.read.session_file import refuse_damaged
from sessionbrowse.text import clean


class Target(Struct, frozen=True):
    """A session file to change, and the directories in which it must be after symbolic links are resolved.

    `roots` are the directories in which the file was found. If the user typed the path, `roots` is empty, and the
    file's own directory is used instead.
    """

    path: str
    agent: str | None = None
    roots: tuple[str, ...] = ()


def writable_path(target: Target, *, only_moved: bool = False) -> str:
    """Return the real path of a file that may be changed.

    A session of Claude Code or Codex may only be moved to the trash or copied; then `only_moved` is True.

    Raises:
        RefusedWrite: a link leads out of the directories in which the file must be, the path is not a regular file, or
            the file is the copy of one on another machine, which only a look changes.
        NotASession: there is no such file.
    """
    path = os.path.abspath(target.path)
    roots = target.roots or (os.path.dirname(path),)
    real = os.path.realpath(path)
    machine = machine_holding(path)
    if machine is not None:
        raise RefusedWrite(f"{shown_name(path)} lies on {machine}; open it there. Nothing was changed.")
    try:
        mode = os.lstat(real).st_mode
    except OSError as error:
        raise NotASession(f"{clean(path)} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise RefusedWrite(f"{clean(path)} is not a regular file; nothing was changed.")
    if not any(_is_below(real, os.path.realpath(root)) for root in roots):
        raise RefusedWrite(
            f"{clean(path)} leads to {clean(real)} by a symbolic link, outside the directory in which it was "
            "found; nothing was changed. To change that file, give its own path."
        )
    if not only_moved:
        refuse_only_read(real)
    return real


def refuse_new_on_machine(path: str) -> None:
    """Raise `RefusedWrite` for the path of a new file or folder that would lie in the mirror of another machine."""
    machine = machine_holding(os.path.abspath(path))
    if machine is not None:
        raise RefusedWrite(
            f"{clean(os.path.dirname(path))} is where copies of the sessions on {machine} are kept; "
            "choose another directory. Nothing was changed."
        )


def taken_here(path: str, cwd: str | None) -> tuple[str, ...]:
    """Return notes for the user about making a new session in `cwd` from the one at `path`, which may be in a mirror.

    Raises:
        RefusedWrite: the session is on another machine, and `cwd` is None: a directory of this machine is needed.
    """
    machine = machine_holding(path)
    if machine is not None and cwd is None:
        raise RefusedWrite(f"{shown_name(path)} lies on {machine}; give a directory of this machine to go on here.")
    return () if machine is None else (f"The work tree does not come along: its files are on {machine}.",)


def refuse_only_read(path: str) -> None:
    """Raise `OnlyRead` for a session of Claude Code or Codex, whose files are never written.

    Raises:
        NotASession: the file cannot be read.
    """
    with closing(open_regular(path)) as descriptor:
        program = program_of(descriptor)
    if program is not None:
        refuse_only_read_agent(program, shown_name(path))


def refuse_only_read_agent(agent: str, session: str = "This") -> None:
    """Raise `OnlyRead` for a session of Claude Code or Codex; `session` names it."""
    program = RULES[agent].only_read
    if program is not None:
        raise OnlyRead(
            f"{session} is a session of {program}, which sessionbrowse only reads: continue it in pi, omp or atomic."
        )


def is_path(text: str) -> bool:
    """Return True if a text can be a path: it contains no NUL and no half of a surrogate pair."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def refuse_outside(folder: str, root: str) -> None:
    """Raise `RefusedWrite` if the folder for a new file is outside the directory `root`, because of a symbolic link."""
    real = os.path.realpath(folder)
    if not _is_below(f"{real}/", os.path.realpath(root)):
        raise RefusedWrite(f"{clean(folder)} links to {clean(real)}, outside {clean(root)}. Nothing was changed.")


def refuse_unwritable(session: Session, *, refused_too: bool = False) -> None:
    """Raise `RefusedWrite` for a file that its agent would not open, or whose format sessionbrowse only reads.

    If `refused_too` is True, a damaged file that its agent would not open is allowed, so that it can be repaired.
    """
    name = shown_name(session.path)
    if session.is_transcript or session.path.endswith(".ndjson"):
        raise RefusedWrite(f"{name} is a transcript of the newer indusagi, which sessionbrowse only reads.")
    if session.path.endswith(".gz"):
        raise RefusedWrite(f"{name} is compressed in the archive; unarchive it first.")
    if session.refusal is not None and not refused_too:
        refuse_damaged(session, RefusedWrite)


def refuse_old_version(session: Session) -> None:
    """Raise `RefusedWrite` for format versions 1 and 2, whose entries lack ids or have other type names."""
    if generation_of(session.version) < 3:
        raise RefusedWrite(
            f"{shown_name(session.path)} has the old format version {session.version} and cannot be changed. "
            f"Open it once with {session.agent}, which converts it, then try again."
        )


def shown_name(path: str) -> str:
    """Return a file's name without control characters, so that it is safe to print."""
    return clean(os.path.basename(path))


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")
