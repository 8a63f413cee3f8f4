"""`SessionManager`: the class that the session format documents describe, for pi, omp, atomic and indusagi.

Method names are those of pi 1.5.2 in snake_case, or of omp and atomic if only they have the method. All methods are
synchronous. `open`, `list` and `continue_recent` write no file and make no folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from sessionbrowse.errors import NoSuchEntry, NotASession, RefusedWrite
from sessionbrowse.format import ids
from sessionbrowse.format.entries import Header
from sessionbrowse.format.json_value import trim
from sessionbrowse.manager import session_lists
from sessionbrowse.manager.context import (
    ModelChoice,
    ProjectedEntry,
    SessionContext,
    SessionProjection,
    build_context_entries,
    build_session_context,
    build_session_projection,
    get_latest_compaction_entry,
    parse_session_entries,
    session_entry_to_context_messages,
    session_of,
)
from sessionbrowse.manager.environment import Environment, agent_named, default_session_dir, resolved
from sessionbrowse.manager.memory_session import (
    CURRENT_SESSION_VERSION,
    EntryObject,
    MemorySession,
    SessionTreeNode,
    memory_session_of,
)
from sessionbrowse.manager.memory_session import migrate_session_entries as _migrate
from sessionbrowse.manager.moving import SessionMover
from sessionbrowse.manager.session_file import SessionFile, first_lines, lines_of
from sessionbrowse.manager.session_lists import Progress, SessionInfo, SessionLists
from sessionbrowse.model.fork import ReadLine, path_lines
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.change import fork as forking
from sessionbrowse.services.convert.convert import convert
from sessionbrowse.store.find.discover import agent_of_path
from sessionbrowse.store.read.session_file import open_session, refuse_damaged
from sessionbrowse.store.write.write_checks import shown_name
from sessionbrowse.text import iso_ms

__all__ = [
    "CURRENT_SESSION_VERSION",
    "EntryObject",
    "ModelChoice",
    "Progress",
    "ProjectedEntry",
    "SessionContext",
    "SessionInfo",
    "SessionManager",
    "SessionProjection",
    "SessionTreeNode",
    "build_context_entries",
    "build_session_context",
    "build_session_projection",
    "get_latest_compaction_entry",
    "migrate_session_entries",
    "parse_session_entries",
    "session_entry_to_context_messages",
]

Json = Any


class SessionManager(SessionMover, SessionLists):
    """A session: an append-only tree of entries, a leaf (the parent of the next entry), and usually a file.

    Make one with `create`, `open`, `continue_recent`, `fork_from` or `in_memory`. Entries are dicts with the keys of
    the session file. A new session is written to its file when its agent would write it: a pi session with the first
    user or assistant message (pi 0.99), sessions of other agents with the first assistant message. From then on every
    entry is appended to the file as one line. Entries that other programs have appended meanwhile are read before the
    next entry is added.
    """

    def __init__(
        self, memory: MemorySession, file: SessionFile | None, cwd: str, session_dir: str, environment: Environment
    ) -> None:
        self._memory = memory
        self._file = file
        self._cwd = cwd
        self._dir = session_dir
        self._environment = environment
        self._title_updated_at = str(memory.header.get("timestamp", ""))

    def __enter__(self) -> SessionManager:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<SessionManager {self.agent} {self.get_session_id()} {self.get_session_file() or 'in memory'}>"

    def close(self) -> None:
        """Do nothing; the method exists because omp's manager must be closed. No file stays open between calls."""

    # ---- making and opening --------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        cwd: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        id: str | None = None,
        parent_session: str | None = None,
        internal: bool = False,
        workflow: dict[str, str] | None = None,
        environment: Environment | None = None,
    ) -> SessionManager:
        """Start a session in a working directory; the session file is written with the first message.

        Args:
            session_dir: the folder for the session file; None for the agent's own folder for `cwd`. id: the session's
            id of letters, digits, `.`, `_`, `-` (pi 0.76 and atomic accept one); None generates an id. parent_session:
            path of the session that the header names as the parent session. internal, workflow: header fields by which
            atomic marks a stage of a workflow; `workflow` has `runId`, `stageId`, `stageName`.

        Raises:
            RefusedWrite: the id is not valid.
        """
        environment = environment or Environment.real()
        agent_named(agent)
        place = resolved(cwd, environment.around)
        directory = resolved(session_dir, environment.around) if session_dir is not None else None
        directory = directory or default_session_dir(place, agent, environment.around)
        header = _new_header(agent, place, environment, id, parent_session, internal, workflow)
        return cls._beginning(header, agent, directory, environment)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        cwd_override: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        force: bool = False,
        environment: Environment | None = None,
    ) -> SessionManager:
        """Open a session file without writing: it is not repaired or migrated, and no folder is made.

        A missing or empty file becomes a new session at that path, written with its first message.

        Args:
            session_dir: the folder for sessions made from this one; None for the folder of the file. cwd_override: the
            working directory instead of the header's. agent: the program whose session it is; None to detect it from
            the file's path and content. force: append even if a running omp may have the session open; that omp then
            stops saving the session.

        Raises:
            NotASession: the file cannot be read, or its program would not open it.
        """
        environment = environment or Environment.real()
        file_path = resolved(path, environment.around)
        directory = resolved(session_dir, environment.around) if session_dir is not None else os.path.dirname(file_path)
        cwd = resolved(cwd_override, environment.around) if cwd_override is not None else None
        if not os.path.lexists(file_path) or (os.path.isfile(file_path) and os.path.getsize(file_path) == 0):
            name = agent or agent_of_path(file_path)
            agent_named(name)
            header = _new_header(name, cwd or environment.around.cwd, environment, None, None, False, None)
            made = cls._beginning(header, name, directory, environment)
            made._file = SessionFile(file_path, name, environment, exists=False)
            return made
        memory = _loaded(file_path, agent)
        recorded = memory.header.get("cwd")
        if cwd is None and isinstance(recorded, str) and recorded:
            # omp 17.1.5 stays in the current directory if it cannot enter the session's directory.
            usable = memory.rules.agent != "omp" or os.path.isdir(recorded)
            cwd = resolved(recorded, environment.around) if usable else None
        file = SessionFile(file_path, memory.rules.agent, environment, exists=True, force=force)
        file.read()
        return cls(memory, file, cwd or environment.around.cwd, directory, environment)

    @classmethod
    def continue_recent(
        cls,
        cwd: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        force: bool = False,
        environment: Environment | None = None,
    ) -> SessionManager:
        """Open the most recently changed session of a directory, or start a new one if there is none.

        The session is chosen as its agent would choose: the newest modification time among the files with a valid
        header. In a folder shared by several projects, only files with that directory in the header count (pi, atomic).
        omp's own record of each terminal's last session is ignored.
        """
        environment = environment or Environment.real()
        agent_named(agent)
        place = resolved(cwd, environment.around)
        directory, is_shared = session_lists.directory_of(place, session_dir, agent, environment.around)

        def is_wanted(header: Header) -> bool:
            return not is_shared or session_lists.is_of(header.cwd or "", place, environment.around)

        found = session_lists.most_recent(directory, agent, is_wanted, internal=include_internal)
        if found is None:
            return cls.create(place, directory, agent=agent, environment=environment)
        override = None if agent == "omp" else place
        return cls.open(found, directory, override, agent=agent, force=force, environment=environment)

    @classmethod
    def in_memory(
        cls,
        cwd: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        entries: Iterable[EntryObject] | None = None,
        id: str | None = None,
        parent_session: str | None = None,
        environment: Environment | None = None,
    ) -> SessionManager:
        """Start a session without a file, with the given entries if there are any (pi 0.85).

        The entries are copied. If they include a header, entries of version 1 and 2 are migrated to version 3.
        """
        environment = environment or Environment.real()
        rules = agent_named(agent).rules
        place = resolved(cwd, environment.around) if cwd is not None else environment.around.cwd
        objects = [dict(entry) for entry in entries or ()]
        header = next((entry for entry in objects if entry.get("type") == "session"), None)
        if header is None:
            header = _new_header(agent, place, environment, id, parent_session, False, None)
        else:
            _migrate(objects, lambda taken: ids.entry_id(taken, environment.random_bytes))
        memory = MemorySession(rules, header, [entry for entry in objects if entry.get("type") != "session"])
        return cls(memory, None, place, "", environment)

    @classmethod
    def fork_from(
        cls,
        source_path: str | os.PathLike[str],
        target_cwd: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        *,
        id: str | None = None,
        internal: bool = False,
        workflow: dict[str, str] | None = None,
        agent: str | None = None,
        environment: Environment | None = None,
    ) -> SessionManager:
        """Copy the whole history of a session to a new session in another directory, and open the new session.

        Every entry is copied unchanged, with branches, labels, names and ids; a source of version 1 or 2 is migrated.
        The new file is written at once.

        Raises:
            NotASession: the source cannot be read, or is not a session.
            RefusedWrite: the id is not valid, or atomic or indusagi could not continue such a fork.
            WriteFailed: an I/O error occurred; there is no new file.
        """
        environment = environment or Environment.real()
        source = forking.opened_source(resolved(source_path, environment.around), agent)
        if source.agent in ("atomic", "indusagi"):
            forking.refuse_without_answer(source, None)
        cwd = resolved(target_cwd, environment.around)
        directory = resolved(session_dir, environment.around) if session_dir is not None else None
        directory = directory or default_session_dir(cwd, source.agent, environment.around)
        begun = _new_header(source.agent, cwd, environment, id, None, internal, workflow)
        header = forking.new_header(source, begun["id"], begun["timestamp"], cwd, whole=True)
        header |= {mark: begun[mark] for mark in ("internal", "workflow") if mark in begun}
        path = os.path.join(directory, ids.file_name(header["timestamp"], header["id"]))
        forking.make_folder(directory, os.path.dirname(source.path))
        forking.write_fork(source, path, header, None, header["timestamp"], cls._ids(environment))
        return cls.open(path, directory, cwd, agent=source.agent, force=True, environment=environment)

    # ---- this session's file -------------------------------------------------------------------------------

    def new_session(
        self,
        *,
        id: str | None = None,
        parent_session: str | None = None,
        internal: bool = False,
        workflow: dict[str, str] | None = None,
    ) -> str | None:
        """Start a new session in the same directory, and return its path; the file is not written yet.

        The keyword arguments are the fields of the options object that pi's method takes.
        """
        header = _new_header(self.agent, self._cwd, self._environment, id, parent_session, internal, workflow)
        fresh = self._beginning(header, self.agent, self._dir, self._environment)
        self._memory, self._title_updated_at = fresh._memory, fresh._title_updated_at
        if self._file is not None:
            self._file = fresh._file
        return self.get_session_file()

    def set_session_file(self, path: str | os.PathLike[str]) -> None:
        """Switch to another session file.

        Raises:
            NotASession: the file cannot be read, or its program would not open it.
        """
        other = self.open(path, self._dir, self._cwd, agent=self.agent, environment=self._environment)
        self._memory, self._file, self._title_updated_at = other._memory, other._file, other._title_updated_at

    def flush(self) -> None:
        """Write the session to its file now, even without a message (a method of atomic's `SessionManager`).

        Raises:
            WriteFailed: an I/O error occurred; there is no file.
        """
        if self._file is not None and not self._file.exists:
            self._file.create(lines_of(self._memory, self._title_updated_at))

    def create_branched_session(self, leaf_id: str) -> str | None:
        """Make a new session from the path to an entry, switch to it, and return its file path; None without a file.

        Label entries are moved from the path to the end, and their children get the preceding entry as parent (pi
        0.79.2). The file is written when the agent would write it: at once, or with a later message.

        Raises:
            NoSuchEntry: there is no such entry.
            WriteFailed: an I/O error occurred; the manager still has the old session.
        """
        if not self.get_branch(leaf_id):
            raise NoSuchEntry(f"The session has no entry {leaf_id!r}.")
        before = self.get_session_file()
        header = _new_header(self.agent, self._cwd, self._environment, None, before, False, None)
        if self.agent == "omp":
            inherited = {key: self._memory.header.get(key) for key in ("title", "titleSource", "additionalDirectories")}
            parent = header.pop("parentSession", None)
            header |= {"title": inherited["title"], "titleSource": inherited["titleSource"], "parentSession": parent}
            header |= {"additionalDirectories": inherited["additionalDirectories"]}
            header = {key: value for key, value in header.items() if value is not None}
        source, read = self._source()
        path = os.path.join(self._dir, ids.file_name(header["timestamp"], header["id"]))
        kept = b"".join(path_lines(source, source.index_by_id[leaf_id], read, self._ids(self._environment)))
        memory = MemorySession(self._memory.rules, header, parse_session_entries(kept))
        file = (
            SessionFile(path, self.agent, self._environment, exists=False, like=before)
            if self._file is not None
            else None
        )
        if file is not None and (memory.has_conversation() or self.agent == "omp"):
            file.create([*first_lines(memory, header["timestamp"]), kept])
        self._memory, self._file, self._title_updated_at = memory, file, header["timestamp"]
        return file.path if file is not None else None

    # ---- shared --------------------------------------------------------------------------------------------

    @classmethod
    def _beginning(cls, header: EntryObject, agent: str, directory: str, environment: Environment) -> SessionManager:
        path = os.path.join(directory, ids.file_name(header["timestamp"], header["id"]))
        file = SessionFile(path, agent, environment, exists=False)
        return cls(MemorySession(agent_named(agent).rules, header), file, header["cwd"], directory, environment)

    @staticmethod
    def _ids(environment: Environment) -> Callable[[set[str]], str]:
        return lambda taken: ids.entry_id(taken, environment.random_bytes)

    def _source(self) -> tuple[Session, ReadLine]:
        """Return the parsed session, and a function that reads the session's lines (without a file: from memory)."""
        if self._file is None or not self._file.exists:
            return session_of(self._memory.rules, [self._memory.header, *self._memory.entries])
        path = self._file.path
        return open_session(path, self.agent), lambda offset, size: _bytes_at(path, offset, size)


def migrate_session_entries(entries: list[EntryObject]) -> None:
    """Migrate the entries of a file, with the header, to version 3 in place; v1 entries get random ids (pi 1.5.2)."""
    _migrate(entries, lambda taken: ids.entry_id(taken, os.urandom))


def _new_header(
    agent: str,
    cwd: str,
    environment: Environment,
    id: str | None,
    parent_session: str | None,
    internal: bool,
    workflow: dict[str, str] | None,
) -> EntryObject:
    for name, value in (("id", id), ("parent_session", parent_session)):
        if not isinstance(value, str | None):
            raise TypeError(f"{name} must be str or None, not {type(value).__name__}")
    if id is not None and not ids.is_session_id(id):
        raise RefusedWrite(
            "A session's id holds letters, digits, '.', '_' and '-' only, and begins and ends with a letter or digit."
        )
    header: EntryObject = {
        "type": "session",
        "version": CURRENT_SESSION_VERSION,
        "id": id if id is not None else environment.session_id(agent),
        "timestamp": iso_ms(environment.now_ms()),
        "cwd": cwd,
    }
    if parent_session is not None:
        header["parentSession"] = parent_session
    # atomic writes `internal` and `workflow` together, and only if `runId`, `stageId` and `stageName` are all set.
    if agent == "atomic" and internal and workflow is not None:
        names = {name: workflow.get(name, "") for name in ("runId", "stageId", "stageName")}
        if all(map(trim, names.values())):
            header |= {"internal": True, "workflow": names}
    return header


def convert_session(
    path: str | os.PathLike[str],
    to: str,
    *,
    agent: str | None = None,
    cwd: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
    environment: Environment | None = None,
) -> EntryObject:
    """Carry a session to the agent `to` (pi, omp, atomic); return what `convert --json` prints: path, id, losses, …

    Raises:
        NotASession: the file is not a session. RefusedWrite: the session cannot be carried to this agent.
        WriteFailed: an I/O error occurred; the message says what was written.
    """
    environment = environment or Environment.real()
    place = str(resolved(cwd, environment.around)) if cwd is not None else None
    source = resolved(path, environment.around)
    return convert(source, to, agent, cwd=place, dry_run=dry_run, context=environment.context).document()


def _loaded(path: str, agent: str | None) -> MemorySession:
    session = open_session(path, agent)
    if session.is_transcript:
        raise NotASession(f"{shown_name(path)} is a transcript of the newer indusagi; it has no session header.")
    if session.refusal is not None:
        refuse_damaged(session, NotASession)
    return memory_session_of(session)


def _bytes_at(path: str, offset: int, size: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read(size)
