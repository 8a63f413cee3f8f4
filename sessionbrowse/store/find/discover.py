"""Find the session files in places (directories in which agents keep sessions), each file once, and their agents.

Files that the agent itself would not list are marked. `placed` and `link_parents` add to summaries what follows from
paths. Only directories are read; no session file is opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from sessionbrowse.agents import AGENTS, Marks, Place, attribute
from sessionbrowse.agents.base import SESSION_SUFFIXES, names_in, stem_of
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, exists_many, read_many, stat_many
from sessionbrowse.store.own.mirrors import machine_of
from sessionbrowse.store.system.files import DIRECTORY, OPENS_DIRECTORIES

SUFFIX = ".jsonl"
TRANSCRIPT_SUFFIX = ".ndjson"
PACKED_SUFFIX = ".jsonl.gz"
"""Suffix of sessions that `omp gc --archive` has compressed."""
COMPRESSED_SUFFIX = ".jsonl.zst"
ARCHIVE_FOLDER = "archive"
"""Name of the folder, in a project's folder, for archived sessions; agents do not list the sessions in it."""

# atomic writes event logs and tool output to files and folders with these names, which are no sessions.
NO_SESSION_FOLDERS = frozenset(
    {"subagent-artifacts", "tool-results"}
    # Programs for synchronising keep old versions and unfinished files in these folders.
    | {".stversions", ".stfolder", ".sync", ".dropbox.cache", ".tmp.drivedownload", ".tmp.driveupload", "@eaDir"}
)
# Claude Code keeps the journal of a workflow among the sessions of its subagents.
NO_SESSION_FILES = frozenset({"run-history.jsonl", "journal.jsonl"})

_NOT_REGULAR = "the path is not a regular file"

Version: TypeAlias = tuple[int, int, int, int]
"""Inode, size in bytes, and the times of the last change of a file's content and attributes in ns."""


def is_known_version(status: os.stat_result, versions: set[Version]) -> bool:
    """Return True if this version of a file was found before, by another mount, and remember it.

    No program can set the time of the last change of a file's attributes, so only one file has equal times and inode.
    """
    version = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    is_known = version in versions
    versions.add(version)
    return is_known


class FileStamp(Struct, frozen=True, gc=False):
    """The identity of one version of a file: a file with an equal stamp has the same content.

    Times are nanoseconds since 1970, `size` is bytes.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    def has_stamp_of(self, other: FileStamp) -> bool:
        """Return True if two stamps have the same path, size, times, inode and device: the file has not changed."""
        return (
            self.size == other.size
            and self.mtime_ns == other.mtime_ns
            and self.ctime_ns == other.ctime_ns
            and self.inode == other.inode
            and self.device == other.device
            and self.path == other.path
        )


def stamp_of(path: str, status: os.stat_result) -> FileStamp:
    """Return the stamp (the version's identity) of the file at `path` from its `os.stat` result."""
    return FileStamp(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)


class FoundFile(FileStamp, frozen=True, gc=False):
    """A session file found in a place (a directory in which an agent keeps sessions).

    `places` are all places in which the file was found; those of pi come first, then omp, atomic and indusagi. `owner`
    is the agent of the file, judged without reading it. `folder` is the name of the file's project folder, "" in a
    directory without project folders. `parent_path` is the session in whose folder a subagent's session was found.
    `problem` is the reason why the agent does not list the file.
    """

    places: tuple[Place, ...]
    owner: str
    folder: str = ""
    parent_path: str | None = None
    hidden: bool = False
    archived: bool = False
    problem: str | None = None

    @property
    def is_out_of_place(self) -> bool:
        """True if the session's summary needs facts from the file's path, such as "archived" (see `placed`)."""
        return self.parent_path is not None or self.hidden or self.archived or self.problem is not None

    def agent(self, marks: Marks | None = None) -> str:
        """Return the session's agent, judged by its places and by the file's `marks` (content of only one agent)."""
        return self.owner if marks is None else _owner(self.places, self.folder, marks)

    def place_of(self, agent: str) -> Place | None:
        """Return the place (session directory) in which an agent would find the file, or None if no place fits."""
        return next((place for place in self.places if place.agent == agent), None)


Dated = TypeVar("Dated", FoundFile, Summary)


class Skipped(Struct, frozen=True):
    """A file or directory that was skipped, and the reason as a sentence."""

    path: str
    reason: str


def discover(
    places: Iterable[Place],
    *,
    include_nested: bool = False,
    include_archived: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
    skipped: Callable[[Skipped], None] = lambda _: None,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[FoundFile]:
    """Yield every session file of the places (session directories) once, folder by folder.

    `include_nested` adds the sessions of subagents, marked as hidden and with their parent; `include_archived` adds
    the archived sessions. A missing place has no files; `skipped` is called for a place that cannot be read.
    """
    walk = _Walk(include_nested, include_archived, cancelled, skipped, timeout_s)
    return chain.from_iterable(walk.places(list(places)))


def newest_first(files: Iterable[Dated]) -> list[Dated]:
    """Sort files, or sessions by their files, by modification time, newest first; of equal time by path, descending."""
    # This is the order of pi's scan. Two sorts are faster than one by pairs of time and path, because the files are
    # almost sorted by path already.
    by_path = sorted(files, key=attrgetter("path"), reverse=True)
    return sorted(by_path, key=attrgetter("mtime_ns"), reverse=True)


def is_session_name(name: str) -> bool:
    """Return True if a file's name has a suffix of session files."""
    return name.endswith(SESSION_SUFFIXES)


def sessions_below(path: str, agent: str, *, archived: bool) -> Iterator[FoundFile]:
    """Yield the sessions of subagents in a session's folder; `agent` and `archived` are those of that session."""
    folder = path.removesuffix(SUFFIX)
    if folder != path and os.path.isdir(folder):
        walk = _Walk(True, True, lambda: False, lambda _: None, TIMEOUT_S)
        places = (Place(agent, folder, "folder", "default"),)
        yield from chain.from_iterable(walk.below(folder, path, places, "", archived=archived))


def owner_by_name(path: str) -> str | None:
    """Return the agent whose name is a folder of the path, as in `.omp/…`, `omp/sessions`, `omp/agent`; else None."""
    parts = path.split(os.sep)
    for index in range(len(parts) - 1, -1, -1):
        part, below = parts[index], parts[index + 1] if index + 1 < len(parts) else ""
        for agent in AGENTS.values():
            if part in agent.own_names and (part.startswith(".") or below in _STORES):
                return agent.name
    return None


def _owner(places: Sequence[Place], folder: str, marks: Marks) -> str:
    return attribute([place.agent for place in places], folder, marks, is_store=all(each.is_store for each in places))


_STORES = frozenset({"agent", "archived_sessions", "projects", "sessions"})
_Directory: TypeAlias = tuple[list[FoundFile], list[tuple[str, bool]]]
"""A directory's session files, and its folders sorted by name: pairs of name, and True if a session has this name."""


class _Walk:
    """One scan of places (session directories); it enters each directory and yields each file at most once."""

    def __init__(
        self,
        include_nested: bool,
        include_archived: bool,
        cancelled: Callable[[], bool],
        skipped: Callable[[Skipped], None],
        timeout_s: float,
    ) -> None:
        self._include_nested = include_nested
        self._include_archived = include_archived
        self._cancelled = cancelled
        self._skipped = skipped
        self._timeout_s = timeout_s
        self._directories: set[tuple[int, int]] = set()
        self._files: set[tuple[int, int]] = set()
        self._groups: dict[tuple[int, int], list[Place]] = {}
        # The stamps of the files found so far, to skip a file that is found again below a second mount point. Needed
        # only if the places are on several devices.
        self._versions: set[Version] | None = None
        self._links: tuple[str, ...] = ()

    def places(self, places: list[Place]) -> Iterator[list[FoundFile]]:
        """Yield the session files of all given places (session directories), as one list for each folder."""
        answers = exists_many((place.root for place in places), self._timeout_s, fresh=True)
        roots: dict[tuple[int, int], str] = {}
        for place in places:
            if answers[place.root] is None:
                self._skip(place.root, _why(None))
            identity = self._identity(place.root) if answers[place.root] else None
            if identity is not None:
                roots.setdefault(identity, telling_path(place.root))
                self._groups.setdefault(identity, []).append(place)
        self._versions = set() if len({device for device, _ in roots}) > 1 else None
        # A directory with sessions may be a project folder in one place, and a place of its own. It counts as a project
        # folder, because places with project folders come first.
        for identity, root in roots.items():
            yield from self._store(root, self._of_kind(identity, "projects"), self._of_kind(identity, "flat"))
        for identity, root in roots.items():
            yield from self._files_in(root, self._of_kind(identity, "folder"), os.path.basename(root))
            yield from self._files_in(root, self._of_kind(identity, "flat"), "")
            yield from self._registered(root, self._of_kind(identity, "registry"))
            yield from self._dated(root, self._of_kind(identity, "dates"))
            if self._include_archived:
                yield from self._packed(root, self._of_kind(identity, "archive"))
                yield self._rollouts(root, self._of_kind(identity, "retired"), archived=True)[0]

    def below(
        self, directory: str, session: str | None, places: tuple[Place, ...], folder: str, *, archived: bool = False
    ) -> Iterator[list[FoundFile]]:
        """Yield the session files at any depth in a session's own folder; `session` is None if its file is missing."""
        waiting = [(directory, session)]
        while waiting and not self._cancelled():
            here, parent = waiting.pop()
            problem = None if parent else "the session to which this subagent belongs is missing"
            files, folders = self._read(
                here, places, folder, (SUFFIX,), hides_dots=True, parent_path=parent, hidden=True, problem=problem
            )
            yield [replace(file, archived=True) for file in files] if archived else files
            for name, has_session in reversed(folders):
                if name not in NO_SESSION_FOLDERS:
                    path = os.path.join(here, name)
                    waiting.append((path, path + SUFFIX if has_session else parent))

    def _store(self, root: str, places: tuple[Place, ...], flat: tuple[Place, ...]) -> Iterator[list[FoundFile]]:
        """Yield the sessions in a root with a folder for each project; with `flat`, also those directly in the root."""
        if not places:
            return
        problem = None if flat else f"{places[0].agent} lists only sessions in the folders below this directory"
        files, folders = self._read(root, flat or places, "", problem=problem)
        # Only newer versions of indusagi write sessions directly in a root.
        takers = tuple(filter(_takes_transcripts, places))
        yield [
            replace(file, places=takers, problem=None) if not flat and file.path.endswith(TRANSCRIPT_SUFFIX) else file
            for file in files
        ]
        has_flat = any(place.kind == "flat" for group in self._groups.values() for place in group)
        for name, has_session in folders:
            if self._cancelled():
                return
            path = os.path.join(root, name)
            if flat and has_session:
                # If sessions may be directly in the root, a folder with a session's name is not a project.
                if self._include_nested:
                    yield from self.below(path, path + SUFFIX, flat, "")
            elif name not in NO_SESSION_FOLDERS:
                also_flat = self._of_kind(self._identity(path), "flat") if has_flat else ()
                yield from self._files_in(path, _in_order(places + also_flat), name)

    def _files_in(self, directory: str, places: tuple[Place, ...], folder: str) -> Iterator[list[FoundFile]]:
        """Yield the sessions directly in a folder, and if requested, subagents' and archived sessions below it.

        If the name `folder` is empty, the directory is not a project folder and may contain unrelated folders, so only
        folders with a session's name are entered.
        """
        if not places:
            return
        files, folders = self._read(directory, places, folder)
        if self._cancelled():
            return
        yield files
        for name, has_session in folders:
            path = os.path.join(directory, name)
            if name in NO_SESSION_FOLDERS:
                continue
            if name == ARCHIVE_FOLDER and not has_session:
                if self._include_archived:
                    yield from self._archived_in(path, places, folder)
            elif self._include_nested and (has_session or folder):
                yield from self.below(path, path + SUFFIX if has_session else None, places, folder)

    def _archived_in(self, directory: str, places: tuple[Place, ...], folder: str) -> Iterator[list[FoundFile]]:
        """Yield the sessions in an archive folder, and if requested, those of their subagents below it."""
        files, folders = self._read(directory, places, folder, (SUFFIX, PACKED_SUFFIX), hides_dots=True, archived=True)
        yield files
        of_stem = {stem_of(os.path.basename(file.path)): file.path for file in reversed(files)}
        for name, _ in folders if self._include_nested else ():
            if name not in NO_SESSION_FOLDERS:
                path = os.path.join(directory, name)
                yield from self.below(path, of_stem.get(name), places, folder, archived=True)

    def _packed(self, root: str, places: tuple[Place, ...]) -> Iterator[list[FoundFile]]:
        """Yield the sessions that `omp gc --archive` compressed."""
        for name, _ in self._read(root, places, "", ())[1] if places else ():
            yield from self._archived_in(os.path.join(root, name), places, name)

    def _dated(self, root: str, places: tuple[Place, ...]) -> Iterator[list[FoundFile]]:
        """Yield the sessions in folders by date, at any depth."""
        waiting = [root] if places else []
        while waiting and not self._cancelled():
            here = waiting.pop()
            files, folders = self._rollouts(here, places)
            yield files
            waiting += [os.path.join(here, name) for name, _ in folders]

    def _rollouts(self, directory: str, places: tuple[Place, ...], *, archived: bool = False) -> _Directory:
        """Return the sessions of Codex in a directory; if one has a plain and a compressed file, only the plain one."""
        if not places:
            return [], []
        suffixes = (SUFFIX, COMPRESSED_SUFFIX)
        files, folders = self._read(directory, places, "", suffixes, hides_dots=True, archived=archived)
        plain = {file.path for file in files if file.path.endswith(SUFFIX)}
        return [file for file in files if file.path.removesuffix(".zst") not in plain or file.path in plain], folders

    def _registered(self, root: str, places: tuple[Place, ...]) -> Iterator[list[FoundFile]]:
        """Yield the session files that omp records in its folder `custom-session-files`; they may have any suffix."""
        if not places:
            return
        markers = [os.path.join(root, name) for name in names_in(root)]
        owner = _owner(places, "", Marks())
        contents = read_many(markers, self._timeout_s)
        paths = [content.decode("utf-8", "surrogateescape").strip() for content in contents.values() if content]
        paths = [path for path in paths if os.path.isabs(path) and "\0" not in path]
        for path, status in stat_many(paths, self._timeout_s).items():
            if status is None:
                self._skip(path, _why(status))
            elif isinstance(status, os.stat_result) and stat.S_ISREG(status.st_mode):
                stamp = stamp_of(telling_path(path), status)
                if (stamp.device, stamp.inode) not in self._files:
                    self._files.add((stamp.device, stamp.inode))
                    yield [FoundFile(**asdict(stamp), places=places, owner=owner)]

    def _read(
        self,
        directory: str,
        places: tuple[Place, ...],
        folder: str,
        suffixes: tuple[str, ...] | None = None,
        *,
        hides_dots: bool | None = None,
        parent_path: str | None = None,
        hidden: bool = False,
        archived: bool = False,
        problem: str | None = None,
    ) -> _Directory:
        """Return the session files and folders of a directory, except files found before.

        The result is empty for a directory that was read before.

        Only names with one of the `suffixes` are sessions; `hides_dots` leaves out names that begin with a dot. By
        default both follow the rules of the agents of the `places`.
        """
        if suffixes is None:
            suffixes = (SUFFIX, TRANSCRIPT_SUFFIX) if any(map(_takes_transcripts, places)) else (SUFFIX,)
            # omp never lists names that begin with a dot; pi checks only the suffix.
            hides_dots = all(place.agent == "omp" for place in places)
        prefix = os.path.join(directory, "")
        owner = _owner(places, folder, Marks())
        statuses, folders = self._listing(directory, suffixes)
        found: list[FoundFile] = []
        seen = self._files
        for name in sorted(statuses):
            status = statuses[name]
            identity = status.st_dev, status.st_ino
            if identity in seen or (hides_dots and name[0] == ".") or name in NO_SESSION_FILES:
                continue
            if name.startswith("._") and is_apple_double(prefix + name):
                continue
            seen.add(identity)
            if self._versions is not None and is_known_version(status, self._versions):
                continue
            # The arguments are positional: for 10,000 files, keywords would take as long as reading the directories.
            file = FoundFile(
                prefix + name,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
                status.st_ino,
                status.st_dev,
                places,
                "indusagi" if name.endswith(TRANSCRIPT_SUFFIX) else owner,
                folder,
                parent_path,
                hidden,
                archived,
                problem,
            )
            found.append(file)
        if self._links:
            found = [self._told(file) if file.path.startswith(self._links) else file for file in found]
        return found, [(name, name + SUFFIX in statuses) for name in sorted(folders)]

    def _listing(self, directory: str, suffixes: tuple[str, ...]) -> tuple[dict[str, os.stat_result], list[str]]:
        """Return a directory's regular files with the given suffixes, and its folders; none if it was read before."""
        files: dict[str, os.stat_result] = {}
        folders: list[str] = []
        links: list[str] = []
        try:
            here = os.open(directory, os.O_RDONLY | DIRECTORY) if OPENS_DIRECTORIES else directory
        except OSError as error:
            self._skip(directory, _why(error))
            return files, folders
        try:
            status = os.stat(here)
            identity = status.st_dev, status.st_ino
            if identity in self._directories:
                return files, folders
            self._directories.add(identity)
            with os.scandir(here) as entries:
                for entry in entries:
                    name = entry.name
                    if name.endswith(suffixes) and entry.is_file(follow_symlinks=False):
                        # The common case comes first: the directory entry has the file type, so no further system call
                        # is needed.
                        try:
                            files[name] = entry.stat(follow_symlinks=False)
                        except OSError as error:
                            self._skip(os.path.join(directory, name), _why(error))
                    elif entry.is_symlink():
                        links.append(os.path.join(directory, name))
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                    elif name.endswith(suffixes):
                        self._skip(os.path.join(directory, name), _NOT_REGULAR)
        except OSError as error:
            self._skip(directory, _why(error))
        finally:
            if isinstance(here, int):
                os.close(here)
        self._links += tuple(links)
        # A link may lead to a mount that never answers, so links are followed with a time limit.
        for path, answer in stat_many(links, self._timeout_s).items() if links else ():
            if isinstance(answer, os.stat_result) and stat.S_ISDIR(answer.st_mode):
                folders.append(os.path.basename(path))
            elif not path.endswith(suffixes):
                continue
            elif isinstance(answer, os.stat_result) and stat.S_ISREG(answer.st_mode):
                files[os.path.basename(path)] = answer
            else:
                self._skip(path, _NOT_REGULAR if isinstance(answer, os.stat_result) else _why(answer))
        return files, folders

    def _told(self, file: FoundFile) -> FoundFile:
        """Return a file behind a link with paths that tell its machine, if the link leads into a mirror."""
        parent = file.parent_path
        return replace(file, path=telling_path(file.path), parent_path=telling_path(parent) if parent else None)

    def _identity(self, directory: str) -> tuple[int, int] | None:
        try:
            status = os.stat(directory)
        except OSError as error:
            self._skip(directory, _why(error))
            return None
        return status.st_dev, status.st_ino

    def _of_kind(self, identity: tuple[int, int] | None, kind: str) -> tuple[Place, ...]:
        found = self._groups.get(identity, []) if identity is not None else []
        return _in_order(place for place in found if place.kind == kind)

    def _skip(self, path: str, reason: str) -> None:
        self._skipped(Skipped(path, reason))


_ORDER = {name: index for index, name in enumerate(AGENTS)}


def _in_order(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(places, key=lambda place: _ORDER[place.agent]))


def _takes_transcripts(place: Place) -> bool:
    return place.agent == "indusagi" or place.source == "--root"


def _why(error: OSError | None) -> str:
    return "the disk did not answer in time" if error is None else error.strerror or str(error)


def telling_path(path: str) -> str:
    """Return a path as it is, or without symbolic links if only then it tells the machine whose mirror holds it."""
    real = os.path.realpath(path)
    return real if real != path and machine_of(path) is None and machine_of(real) is not None else path


_APPLE_DOUBLE = b"\x00\x05\x16\x07"


def is_apple_double(path: str) -> bool:
    """Return True if a file has only the attributes of another file, which macOS keeps on disks without attributes."""
    return (read_many([path])[path] or b"").startswith(_APPLE_DOUBLE)


def agent_of_path(path: str, marks: Marks | None = None, declared: Sequence[str] = ()) -> str:
    """Return the agent of a session file, judged by its path and by `marks` (content that only one agent writes).

    If neither path nor marks determine the agent, the first of pi, omp, atomic, indusagi that is in `declared` (agents
    that the user named) is returned, or pi if `declared` is empty.
    """
    if path.endswith(TRANSCRIPT_SUFFIX) and not (marks and marks.agents):
        return "indusagi"
    owner = owner_by_name(path)
    folder = os.path.basename(os.path.dirname(path))
    in_store = os.path.basename(os.path.dirname(os.path.dirname(path))) == "sessions"
    agents, marks = [owner] if owner else declared, marks or Marks()
    return attribute(agents, folder if in_store else "", marks, is_store=owner is not None)


# ---- facts about sessions that follow from their files' paths ----------------------------------------------


def placed(summary: Summary, file: FoundFile) -> Summary:
    """Return a session's summary with facts from its file's path added: parent session, hidden, archived, problem."""
    if not file.is_out_of_place:
        return summary
    problem = summary.problem or (file.problem and f"{file.problem[:1].lower()}{file.problem[1:]}") or None
    return replace(
        summary,
        parent_path=file.parent_path,
        hidden=summary.hidden or file.hidden,
        archived=file.archived,
        problem=problem,
    )


def link_parents(summaries: Iterable[Summary], among: Iterable[Summary] | None = None) -> list[Summary]:
    """Return the summaries whose parent session was found, with the parent's path added.

    Parents are looked up in `among`, by default in `summaries`. A header contains the path of the parent's file (pi,
    atomic, indusagi, omp) or the parent's id (omp). A parent file that was moved is found by its file name.
    """
    children = list(summaries)
    by_path: set[str] = set()
    by_id: dict[tuple[str, str], str] = {}
    by_name: dict[str, str] = {}
    for session in children if among is None else among:
        by_path.add(session.path)
        if session.id:
            by_id.setdefault((session.agent, session.id), session.path)
        by_name.setdefault(os.path.basename(session.path), session.path)
    linked: list[Summary] = []
    for summary in children:
        named = summary.parent_session
        if not named or summary.parent_path is not None:
            continue
        parent = (
            (named if named in by_path else None)
            or (real if (real := _real_path(named)) in by_path else None)
            or by_id.get((summary.agent, named))
            or (by_name.get(os.path.basename(named)) if "/" in named else None)
        )
        if parent is not None and parent != summary.path:
            linked.append(replace(summary, parent_path=parent))
    return linked


def _real_path(named: str) -> str:
    """Return a path with its links resolved; a text that is not a path, such as a session's id, is unchanged."""
    try:
        return os.path.realpath(named) if "/" in named else named
    except (ValueError, OSError):
        return named
