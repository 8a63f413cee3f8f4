"""Find a session by path, id, name or the beginning of an id; find an entry by id, beginning of an id, or label."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import Place
from sessionbrowse.agents.base import HEAD_BYTES, SESSION_SUFFIXES
from sessionbrowse.config import cache_dir
from sessionbrowse.errors import AmbiguousReference, NoSuchEntry, NoSuchSession, SessionBrowseError
from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import Header
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.list.withheld import shown_paths
from sessionbrowse.store.find.discover import FoundFile, Skipped, agent_of_path, discover, telling_path
from sessionbrowse.store.find.roots import Scope, places_of, scan_passes
from sessionbrowse.store.own.mirrors import machine_of
from sessionbrowse.store.read.content import closing, open_regular, program_of
from sessionbrowse.store.read.summarise import agent_of_file
from sessionbrowse.store.read.translation import other_header
from sessionbrowse.store.system.files import pread
from sessionbrowse.text import clean

LATEST = "latest"
"""The reference that stands for the newest session of the list."""

# Headers of format version 1 may contain a system prompt, so up to 1 MiB is read to find a header, as in pi 0.87.
_LARGEST_HEAD_BYTES = 1024 * 1024


class Located(Struct, frozen=True):
    """A session that was found: its file, its agent, and the searched directory (place) that contains it, if any."""

    path: str
    agent: str
    place: Place | None = None
    by_beginning: bool = False
    """True if only the beginning of the session's name was given."""


def locate(reference: str, scope: Scope, skipped: Callable[[Skipped], None] = lambda _: None) -> Located:
    """Find a session by path, id, `latest`, exact name, or the beginning of an id or of a name.

    The reference is tried as a path, an id and so on, in this order, until a session matches. `latest` is the newest
    session of the list. A path may be outside the searched directories (places). For a session in a place,
    `Located.place` is that place, because its settings are needed to resume the session. `skipped` is called with each
    directory that cannot be searched.

    Raises:
        NoSuchSession: no session matches, or only sessions of agents that the scope leaves out.
        AmbiguousReference: several sessions match.
        NotASession: the file cannot be read.
    """
    begun: list[str] = []
    found = _locate_shown(reference, scope, skipped, begun)
    return replace(found, by_beginning=True) if found.path in begun else found


def _locate_shown(reference: str, scope: Scope, skipped: Callable[[Skipped], None], begun: list[str]) -> Located:
    """Find a session as `locate` does; if only the beginning of a name matches, add the matching paths to `begun`."""
    if scope.excluded is None:
        return _locate_any(reference, scope, skipped, begun)
    found = None
    try:
        found = _locate_any(reference, scope, skipped, begun)
        left = [found.path]
    except AmbiguousReference as error:
        left = list(error.candidates)
    left = shown_paths(left, scope)
    if not left:
        raise NoSuchSession(f"No session matches {reference!r}.")
    if len(left) > 1:
        raise _ambiguous(reference, left)
    return found or _located(left[0], {}, scope)


def _locate_any(reference: str, scope: Scope, skipped: Callable[[Skipped], None], begun: list[str]) -> Located:
    """Find a session as `_locate_shown` does, but do not hide excluded sessions."""
    try:
        found = _locate(reference, scope, skipped, begun)
    except NoSuchSession:
        if not scope.agents:
            raise
        found = _locate(reference, replace(scope, agents=()), skipped, begun)
    except AmbiguousReference as error:
        every = [_located(path, {}, scope) for path in error.candidates] if scope.agents else []
        wanted = [one for one in every if one.agent in scope.agents]
        if len(wanted) != 1:
            raise
        found = wanted[0]
    if scope.agents and not scope.agents_by_default and found.agent not in scope.agents:
        given = " ".join(f"--agent {name}" for name in scope.agents)
        raise NoSuchSession(f"{clean(found.path)} is a session of {found.agent}, which the option {given} leaves out.")
    return found


def _locate(reference: str, scope: Scope, skipped: Callable[[Skipped], None], begun: list[str]) -> Located:
    by_path: dict[str, FoundFile] = {}

    def remembered() -> Iterator[FoundFile]:
        for file in all_files(scope, skipped):
            by_path[file.path] = file
            yield file

    @cache
    def named() -> tuple[list[str], list[str]]:
        return _named(reference, scope)

    def named_so() -> list[str]:
        begun.extend(named()[1])
        return begun

    return _located(find_path(reference, remembered(), lambda: named()[0], named_so), by_path, scope)


def _named(reference: str, scope: Scope) -> tuple[list[str], list[str]]:
    """Return the paths of the sessions with the name `reference`, and of those whose name begins with it, in any case.

    For `latest`, the only path is that of the newest session.
    """
    # Imported here because only names need a list of all sessions; ids are found at the beginning of each file.
    from sessionbrowse.services.list.gather import newest, open_listing

    is_latest = reference == LATEST
    # A name is searched in all sessions, with no limit on the bytes to read even if there is no index.
    where = scope if is_latest else replace(scope, hidden=True, archived=True, most_unread=None)
    with open_listing(where, cache_dir(), skipped=lambda _: None, note=lambda _: None) as listing:
        if is_latest:
            return [session.path for session in newest(listing.unsorted, limit=1)], []
        sessions = listing.sessions
    # A name is typed as it is stored, or as a list or a screen shows it: without control characters, with one blank
    # between its words.
    names = [(session.path, form) for session in sessions for form in _forms(session.name or "")]
    same = dict.fromkeys(path for path, name in names if name == reference)
    begun = dict.fromkeys(path for path, name in names if name.casefold().startswith(reference.casefold()))
    return list(same), list(begun)


def _forms(name: str) -> set[str]:
    shown = clean(name)
    return {name, shown, " ".join(shown.split())}


def _located(path: str, by_path: dict[str, FoundFile], scope: Scope) -> Located:
    """Return the session at a path, with the searched directory (place) that contains it.

    Places of the scope are tried first, then the standard places of all agents.
    """
    file = by_path.get(path) or by_path.get(os.path.realpath(path))
    for where in (scope, replace(scope, roots=(), agents=())):
        if file is None and (where is scope or scope.roots or scope.agents):
            by_path = {found.path: found for found in _files_around(path, where)}
            file = by_path.get(path) or by_path.get(os.path.realpath(path))
    if file is None:
        return Located(path, agent_of_file(path, lambda marks: agent_of_path(path, marks, scope.agents)))
    agent = agent_of_file(path, file.agent)
    return Located(path, agent, file.place_of(agent))


def find_entry(session: Session, reference: str) -> int:
    """Return the position in `session` of the entry that `reference` means: an id, its unique beginning, or a label.

    Raises:
        NoSuchEntry: no entry matches.
        AmbiguousReference: several entries match.
    """
    found = session.find(reference)
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchEntry(f"No entry or label {reference!r} is in {os.path.basename(session.path)}.")
    ids = [session.ids[index] or "(no id)" for index in found]
    more = "Give the id of one." if found[0] in session.labels else "Give more of the id."
    raise AmbiguousReference(f"{reference!r} matches several entries: {', '.join(ids[:10])}. {more}", ids)


def all_files(scope: Scope, skipped: Callable[[Skipped], None] = lambda _: None) -> Iterator[FoundFile]:
    """Yield every session file of a scope (directories and agents), including subagent and archived sessions.

    Directories that the settings of a project add are searched too.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    found: list[FoundFile] = []

    def headers() -> list[Header]:
        # Sessions of other machines are skipped: a directory of the same path here is another directory.
        return [header_of(file.path) for file in found if not (file.hidden or machine_of(file.path))]

    for _, files in scan_passes(replace(scope, hidden=True, archived=True), headers, skipped=skipped):
        found += files
        yield from files


def shown_files(scope: Scope, *, mirrors: bool = False) -> list[FoundFile]:
    """Return the files of `all_files` on this machine (with `mirrors`, of all machines), without excluded sessions."""
    found = all_files(replace(scope, mirrors=mirrors))
    files = [file for file in found if mirrors or machine_of(file.path) is None]
    shown = set(shown_paths([file.path for file in files], scope))
    return [file for file in files if file.path in shown]


def find_path(
    reference: str, files: Iterable[FoundFile], named: Callable[[], list[str]], named_so: Callable[[], list[str]]
) -> str:
    """Return the path of the session that `reference` means: a path, an id, a name, or the beginning of an id or name.

    Ids are searched in `files`. `named` returns the paths of sessions named `reference`; it is called if no id equals
    the reference. `named_so` returns the paths of sessions whose name begins with `reference`; it is called if nothing
    else matches.

    Raises:
        NoSuchSession: no file matches.
        AmbiguousReference: several files match.
    """
    if looks_like_path(reference):
        path = os.path.abspath(os.path.expanduser(reference))
        try:
            os.stat(path)
        except PermissionError as error:
            raise NoSuchSession(f"{path} cannot be read: {error.strerror}.") from error
        except (OSError, ValueError):
            raise NoSuchSession(f"There is no file {path}.") from None
        return telling_path(path)
    wanted = reference.casefold()
    if not wanted:
        raise NoSuchSession("The session reference is empty: give a path, an id, a name, or the beginning of an id.")
    exact: list[str] = []
    beginning: list[str] = []
    for file in files:
        session_id = header_id(file.path)
        if session_id is None:
            continue
        folded = session_id.casefold()
        if folded == wanted:
            exact.append(file.path)
        elif folded.startswith(wanted):
            beginning.append(file.path)
    found = exact or named() or beginning or named_so()
    # If a session has copies on several machines, its id names the copy on this machine.
    found = [path for path in found if machine_of(path) is None] or found
    if not found:
        raise NoSuchSession(f"No session matches {reference!r}.")
    if len(found) > 1:
        raise _ambiguous(reference, found)
    return found[0]


def _ambiguous(reference: str, paths: list[str]) -> AmbiguousReference:
    """Return the error for a reference that matches several sessions; it tells what distinguishes them."""
    ids = [(header_id(path) or "").casefold() for path in paths]
    wanted = "give more of the id" if all(one.startswith(reference.casefold()) for one in ids) else "give the id"
    if len(set(ids)) == 1:
        wanted = "give the path, as they have the same id"
    elif len(set(ids)) < len(ids):
        wanted += ", or the path where ids are the same"
    return AmbiguousReference(f"{reference!r} matches {len(paths)} sessions; {wanted}", paths)


def looks_like_path(reference: str) -> bool:
    """Return True if a reference is a path: as in the agents, it has a `/` or the suffix of a session file."""
    return "/" in reference or os.sep in reference or reference.endswith(SESSION_SUFFIXES)


def header_id(path: str) -> str | None:
    """Return the id in a session file's header, reading only its beginning; for a `.ndjson` file, the file's name."""
    if path.endswith(".ndjson"):
        return os.path.basename(path)[: -len(".ndjson")]
    return header_of(path).id


def header_of(path: str) -> Header:
    """Return the header of a session file, reading only its beginning; an empty header if it has none."""
    try:
        descriptor = open_regular(path)
    except SessionBrowseError:
        return Header()
    with closing(descriptor), suppress(OSError):
        for size in (HEAD_BYTES, _LARGEST_HEAD_BYTES):
            head = pread(descriptor, size, 0)
            for line in re.split(rb"[\r\n]", head.removeprefix(b"\xef\xbb\xbf")):
                if b'"session"' in line:
                    value = decode_line(line)
                    if isinstance(value, Header):
                        return value
            program = program_of(descriptor)
            if program is not None:
                return other_header(path, program)
            if len(head) < size:
                break
    return Header()


def _files_around(path: str, scope: Scope) -> Iterator[FoundFile]:
    """Yield all session files in those searched directories (places) that contain the given path."""
    here = os.path.realpath(path)
    around = [one for one in places_of(scope) if here.startswith(os.path.realpath(one.root).rstrip("/") + "/")]
    return discover(around, include_nested=True, include_archived=True)
