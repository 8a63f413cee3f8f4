"""The part of `SessionManager` that lists and finds sessions, by the rules of the programs' own lists; it only reads.

Unlike the programs' own `list` and `continueRecent`, it creates and moves no folders.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct

from sessionbrowse.agents import Surroundings
from sessionbrowse.agents.base import names_in, read_small_file
from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import BadLine, Header, TitleSlot
from sessionbrowse.manager.environment import Environment, agent_named, default_session_dir, resolved, sessions_root
from sessionbrowse.model.session.records import is_workflow_stage
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.text import truncate

SUFFIX = ".jsonl"
HEADER_SCAN_BYTES = 1024 * 1024
"""Number of bytes at the start of a file that pi searches for the header on `--continue` (pi 0.87 and newer)."""
INDUSAGI_HEADER_BYTES = 512
"""indusagi continues a session only if its header line ends within this number of bytes (0.12.15)."""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A session as `list` and `list_all` return it. Times are in milliseconds since 1970; None if a time is not valid.

    `first_message` is None where pi shows `(no messages)`; `all_messages_text` joins the texts of user and assistant
    messages with spaces. `internal` is True for atomic's workflow stages.
    """

    path: str
    id: str | None
    cwd: str
    name: str | None
    parent_session_path: str | None
    created: float | None
    modified: float | None
    message_count: int
    first_message: str | None
    all_messages_text: str
    size: int
    internal: bool = False

    def __repr__(self) -> str:
        # A printed list of sessions would have megabytes without a limit.
        fields = [f"{name}={truncate(repr(getattr(self, name)), 120)}" for name in self.__struct_fields__]
        return f"SessionInfo({', '.join(fields)})"


class Progress(Struct, frozen=True, kw_only=True):
    """Progress of reading a list: number of files read, number of all files, and the session in the file read last.

    `session` is None if the list omits the file.
    """

    loaded: int
    total: int
    session: SessionInfo | None


def iterate(paths: Sequence[str], agent: str) -> Iterator[Progress]:
    """Read session files one by one, in the given order, and yield the progress after each file."""
    for number, path in enumerate(paths, 1):
        yield Progress(loaded=number, total=len(paths), session=_read(path, agent))


def _read(path: str, agent: str) -> SessionInfo | None:
    texts: list[str] = []
    summary = summarise_path(path, lambda _: agent, texts=texts)
    if summary is None or summary.problem is not None or summary.is_transcript:
        return None
    return SessionInfo(
        path=summary.path,
        id=summary.id,
        cwd=summary.own_cwd,
        name=summary.name,
        parent_session_path=summary.parent_session,
        created=summary.created,
        modified=summary.modified,
        message_count=summary.message_count,
        first_message=summary.first_message,
        all_messages_text=" ".join(texts),
        size=summary.bytes,
        # omp hides empty sessions only in its picker, not in its `list`.
        internal=summary.hidden and agent == "atomic",
    )


def directory_of(
    cwd: str, session_dir: str | os.PathLike[str] | None, agent: str, around: Surroundings
) -> tuple[str, bool]:
    """Return the folder that contains a project's sessions, and True if other projects share the folder.

    In a shared folder, the working directory in a session's header is the session's project.
    """
    own = default_session_dir(cwd, agent, around)
    if session_dir is None:
        return own, False
    directory = resolved(session_dir, around)
    return directory, directory != own and agent in ("pi", "atomic")


def files_in(directory: str) -> list[str]:
    """Return the session files directly in a folder, newest first by name (names begin with a time)."""
    return [os.path.join(directory, name) for name in reversed(names_in(directory)) if name.endswith(SUFFIX)]


def files_below(agent: str, around: Surroundings) -> list[str]:
    """Return the session files of all projects of an agent, most recently changed first."""
    root = sessions_root(agent, around)
    found = [path for name in names_in(root) for path in files_in(os.path.join(root, name))]
    return sorted(found, key=lambda path: (_mtime_ns(path), os.path.basename(path)), reverse=True)


def in_order(sessions: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Sort sessions by time, newest first, sessions without a valid time last; the sort is stable (pi 1.5.2)."""
    return sorted(sessions, key=lambda session: session.modified or 0, reverse=True)


def pinned_first(sessions: list[SessionInfo], agent_dir: str | None) -> list[SessionInfo]:
    """Return the given sessions, those pinned with omp's `/pin` first (omp 18.0.1)."""
    content = read_small_file(os.path.join(agent_dir, "session-pins.json")) if agent_dir else None
    try:
        pins = set(msgspec.json.decode(content or b"[]", type=list[str]))
    except msgspec.MsgspecError:
        return sessions
    return sorted(sessions, key=lambda session: session.id not in pins)


def is_of(session_cwd: str, cwd: str, around: Surroundings) -> bool:
    """Return True if a session's working directory is `cwd`; a session without a directory never matches (pi 0.77)."""
    return bool(session_cwd) and resolved(session_cwd, around) == resolved(cwd, around)


def header_of(path: str, limit: int = HEADER_SCAN_BYTES) -> Header | None:
    """Return the header of a file, None if the program would not accept the file as a session.

    Blank and invalid lines before the header are skipped; the first valid object must be the header (pi 0.87).
    """
    try:
        with open(path, "rb") as file:
            head = file.read(limit)
            whole = not file.read(1)
    except OSError:
        return None
    *lines, rest = head.split(b"\n")
    for line in [*lines, rest] if whole else lines:
        value = decode_line(line.strip(b" \t\r\xef\xbb\xbf"))
        if isinstance(value, TitleSlot):
            continue
        if isinstance(value, Header):
            return value if value.id is not None else None
        if not isinstance(value, BadLine):
            return None
    return None


def most_recent(
    directory: str, agent: str, is_wanted: Callable[[Header], bool] = lambda _: True, *, internal: bool = False
) -> str | None:
    """Return the path of the session that `--continue` resumes, None if there is none.

    The session is the most recently changed file with a valid header that `is_wanted` accepts. Workflow stages of
    atomic are skipped unless `internal`, and empty sessions of omp, which its list hides (18.2.7).
    """
    limit = INDUSAGI_HEADER_BYTES if agent == "indusagi" else HEADER_SCAN_BYTES
    for path in sorted(files_in(directory), key=_mtime_ns, reverse=True):
        header = header_of(path, limit)
        if (
            header is not None
            and is_wanted(header)
            and (internal or agent != "atomic" or not is_workflow_stage(header))
            and (agent != "omp" or not _is_hidden(path))
        ):
            return path
    return None


def _is_hidden(path: str) -> bool:
    summary = summarise_path(path, lambda _: "omp")
    return summary is not None and summary.hidden


def _mtime_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


Sessions = list[SessionInfo]
OnProgress = Callable[[Progress], None]
Cancelled = Callable[[], bool]


class SessionLists:
    """The methods of `SessionManager` that list and find sessions by the programs' own rules."""

    @classmethod
    def list(
        cls,
        cwd: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        on_progress: OnProgress | None = None,
        cancelled: Cancelled = lambda: False,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Sessions:
        """Return the sessions of a working directory, newest first, as the program's own list does.

        `on_progress` is called after each file that was read. `cancelled` is called before each file; True stops
        reading, and the sessions read so far are returned.
        """
        environment = environment or Environment.real()
        found = cls.iterate(cwd, session_dir, agent=agent, include_internal=include_internal, environment=environment)
        return _collected(found, on_progress, cancelled, agent, environment)

    @classmethod
    def list_all(
        cls,
        session_dir: str | os.PathLike[str] | OnProgress | None = None,
        on_progress: OnProgress | None = None,
        cancelled: Cancelled = lambda: False,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Sessions:
        """Return the sessions of all working directories, or of the folder `session_dir`, newest first.

        As in pi, `on_progress` may also be the first argument. `on_progress` is called with one `Progress` instead of
        pi's two numbers.
        """
        if callable(session_dir):
            session_dir, on_progress = None, session_dir
        environment = environment or Environment.real()
        found = cls.iterate_all(session_dir, agent=agent, include_internal=include_internal, environment=environment)
        return _collected(found, on_progress, cancelled, agent, environment)

    @classmethod
    def iterate(
        cls,
        cwd: str | os.PathLike[str],
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Iterator[Progress]:
        """Read the same files as `list`, and yield the progress after each; `session` is None for omitted files."""
        environment = environment or Environment.real()
        agent_named(agent)
        place = resolved(cwd, environment.around)
        directory, is_shared = directory_of(place, session_dir, agent, environment.around)
        for progress in iterate(files_in(directory), agent):
            session = progress.session
            if session is not None and is_shared and not is_of(session.cwd, place, environment.around):
                session = None
            yield _without_internal(progress, session, include_internal)

    @classmethod
    def iterate_all(
        cls,
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        include_internal: bool = False,
        environment: Environment | None = None,
    ) -> Iterator[Progress]:
        """Read the same files as `list_all`, newest first, and yield the progress after each."""
        environment = environment or Environment.real()
        agent_named(agent)
        if session_dir is not None:
            paths = files_in(resolved(session_dir, environment.around))
        else:
            paths = files_below(agent, environment.around)
        for progress in iterate(paths, agent):
            yield _without_internal(progress, progress.session, include_internal)

    @classmethod
    def find_by_id(
        cls,
        cwd: str | os.PathLike[str],
        id: str,
        session_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str = "pi",
        environment: Environment | None = None,
    ) -> str | None:
        """Return the path of the session with exactly this id, None if there is none. Only headers are read."""
        environment = environment or Environment.real()
        place = resolved(cwd, environment.around)
        directory, is_shared = directory_of(place, session_dir, agent, environment.around)
        for path in files_in(directory):
            header = header_of(path)
            if header is None or header.id != id:
                continue
            if not is_shared or is_of(header.cwd or "", place, environment.around):
                return path
        return None

    @staticmethod
    def get_default_session_dir(
        cwd: str | os.PathLike[str], *, agent: str = "pi", environment: Environment | None = None
    ) -> str:
        """Return the folder in which a program keeps the sessions of a working directory; the folder may not exist."""
        environment = environment or Environment.real()
        agent_named(agent)
        return default_session_dir(resolved(cwd, environment.around), agent, environment.around)


def _collected(
    found: Iterator[Progress],
    on_progress: OnProgress | None,
    cancelled: Cancelled,
    agent: str,
    environment: Environment,
) -> Sessions:
    sessions: Sessions = []
    while not cancelled() and (progress := next(found, None)) is not None:
        if progress.session is not None:
            sessions.append(progress.session)
        if on_progress is not None:
            on_progress(progress)
    ordered = in_order(sessions)
    if agent != "omp":
        return ordered
    return pinned_first(ordered, os.path.dirname(sessions_root(agent, environment.around)))


def _without_internal(progress: Progress, session: SessionInfo | None, include_internal: bool) -> Progress:
    if session is not None and session.internal and not include_internal:
        session = None
    return msgspec.structs.replace(progress, session=session)
