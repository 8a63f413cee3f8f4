"""The interface of an agent program: its session directories, the files of a session, the command to resume one.

Each agent program has its own module with an `Agent` value. Home, environment, current directory and disk are
parameters, passed as `Surroundings`. The files that agents and extensions keep beside a session (its companions) are
found by their names, as agents do. The agent of a session file is found by its directory and by marks at its beginning.
This module opens no session file.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from sessionbrowse.agents.change_plans import RenamePlan, line_name, name_entry
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES, ONLY, VERBATIM_STRATEGY, Rules

SESSION_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst")
"""Suffixes of the names that session files may have."""
_PROJECTS = "sessions"
_NOTHING = "(?!)"
_MADE_BY_AGENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_.+")
# Extensions of pi keep, for example, `STEM.meta.json`, `STEM-task-state.json`, `STEM.memory.md`, `STEM.jsonl.exit` and
# the folder `STEM.jsonl.artifacts`. An export such as `STEM.html` or `STEM.md` was made by the user and stays.
_BY_EXTENSION = re.compile(r"\.jsonl\..+|[._-].+\.(?:json|md)", re.DOTALL)


def stem_of(name: str) -> str:
    """Return the name or path of a session file without the suffix of session files."""
    for suffix in (".jsonl.gz", ".jsonl.zst", ".jsonl", ".ndjson"):
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def own_folder(path: str) -> str | None:
    """Return the path that a session's folder has, whether it exists or not; None if it would be a project's folder.

    In a directory `sessions` every folder is a project's, even one with the name of a session file beside it.
    """
    folder, name = os.path.split(path)
    stem = stem_of(name)
    is_session = stem not in ("", name)
    is_free = os.path.basename(folder) != _PROJECTS or _MADE_BY_AGENT.fullmatch(stem)
    return os.path.join(folder, stem) if is_session and is_free else None


def companion_names(path: str, names: Sequence[str], further: str) -> list[str]:
    """Return the names of a session's companions among `names`, the sorted names in the session file's folder.

    `further` is a regular expression for names that only the session's agent uses. A folder with the stem of the
    session's name, in which agents and extensions keep the sessions of subagents, belongs to the session. Files whose
    names begin with this stem belong to it only if an agent made the session's name (a time and an id). If the user
    chose the name, such files may be the user's own.
    """
    name = os.path.basename(path)
    stem = stem_of(name)
    if stem == name or not stem:
        return []
    alike = list(_beginning_with(stem, names))
    sessions = [one for one in alike if one.endswith(SESSION_SUFFIXES)]
    if next((one for one in sessions if stem_of(one) == stem), name) != name:
        return []  # Several session files have this stem; the companions belong to the first of them.
    others = tuple(longer for one in sessions if (longer := stem_of(one)) != stem)
    own = [one for one in alike if one not in sessions and not (others and one.startswith(others))]
    is_made = _MADE_BY_AGENT.fullmatch(stem) is not None
    agents = re.compile(further or _NOTHING)
    return [
        one
        for one in (*_beginning_with(f".{stem}", names), *own)
        if (one == stem and own_folder(path))
        or agents.fullmatch(one)
        or (is_made and one.startswith(stem) and _BY_EXTENSION.fullmatch(one, len(stem)))
    ]


def _beginning_with(start: str, names: Sequence[str]) -> Iterator[str]:
    for number in range(bisect_left(names, start), len(names)):
        if not names[number].startswith(start):
            return
        yield names[number]


PlaceKind = Literal["projects", "folder", "flat", "registry", "archive", "dates", "retired"]
"""The layout of a directory in which an agent keeps sessions.

"projects": one folder per project. "folder": the sessions of one project. "flat": the sessions of all projects, without
folders. "registry": small files, each with the path of a session that is stored elsewhere. "archive": packed
sessions, one folder per project. "dates": the sessions of all projects, in folders by date. "retired": archived
sessions of all projects, without folders.
"""

MAX_SETTINGS_BYTES = 4 * 1024 * 1024


class Place(Struct, frozen=True):
    """A directory in which an agent keeps sessions, and the reason why it is scanned.

    `is_store` is False for a directory that the user named and that no agent is known to use; `agent` is then a guess.
    `env` holds the environment variables that make the agent use this directory, empty for its default directory.
    `agent_dir` is the directory of the agent's settings and login, `blobs` the directory of omp's images. `machine` is
    the name of the machine whose sessions the directory mirrors; None for a directory of this machine.
    """

    agent: str
    root: str
    kind: PlaceKind
    source: str
    env: dict[str, str] = {}
    agent_dir: str | None = None
    blobs: str | None = None
    is_store: bool = True
    machine: str | None = None


class Disk(Struct, frozen=True):
    """The functions with which the search for session directories reads the disk. None of the functions raises."""

    read: Callable[[str], bytes | None]
    is_directory: Callable[[str], bool]
    names: Callable[[str], list[str]]


class Surroundings(Struct, frozen=True):
    """The surroundings of an agent program: home, environment, current directory, disk.

    `projects` are directories of projects; settings files in these projects may name further session directories.
    """

    home: str
    environ: Mapping[str, str]
    cwd: str
    platform: str = "linux"
    tmpdir: str = "/tmp"
    projects: tuple[str, ...] = ()
    disk: Disk = field(default_factory=lambda: Disk(read_small_file, os.path.isdir, names_in))

    @classmethod
    def real(cls) -> Surroundings:
        """Return the surroundings of the running sessionbrowse process."""
        home = os.path.expanduser("~")
        environ = dict(os.environ)
        try:
            cwd = os.getcwd()
        except FileNotFoundError:
            cwd = environ.get("PWD") or home
        # Node's os.tmpdir() reads TMPDIR, TMP and TEMP in this order, and omp names project folders after the result.
        tmpdir = environ.get("TMPDIR") or environ.get("TMP") or environ.get("TEMP") or "/tmp"
        return cls(home=home, environ=environ, cwd=cwd, platform=sys.platform, tmpdir=tmpdir.rstrip("/") or "/")


class RuntimeDirectories(Struct, frozen=True):
    """Absolute paths of directories, even missing ones, in which running agent programs write files about themselves.

    The directories in `runs` contain a file `*/clients/*.json` for each process. Those in `terminals` contain a file
    for each terminal; this file tells which session was last opened in the terminal. Those in `processes` contain a
    file `PID.json` for each process, with the id of its session.
    """

    runs: tuple[str, ...] = ()
    terminals: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()


class Agent(Struct, frozen=True):
    """One agent program: its names, and its rules as functions.

    `own_names` are names of directories in which the program keeps its data (`.pi`, `pi`). `project_settings` are the
    paths of its settings files below a project's directory. `install` is a command that installs the program.
    `process_names` and `packages` identify the program's processes; a process with an argument that begins with
    `worker_prefix` is a helper of the program, which has no session. `tested_versions` are the versions with which
    sessionbrowse was tested, the newest first.

    `further_companions` returns a regular expression for the names of files that only this program keeps beside the
    session file with the given name.

    `clean_name` turns a name typed by the user into one that the program writes. `rename` returns the plan to write a
    new name into a session file ("" clears the name); its second argument is True if the file begins with omp's title
    slot. `rename` raises `RefusedWrite` for a name that the program cannot store. `bears_appends` is True if the
    program can still save a session after another program appended a line to the session's file; if it is False, a
    session that changed just now counts as in use.

    `resume` returns the arguments that resume the session in a file. `kept_from_it` are environment variables that the
    program must not inherit.
    """

    name: str
    glyph: str
    command: tuple[str, ...]
    install: str
    own_names: tuple[str, ...]
    places: Callable[[Surroundings], list[Place]]
    rules: Rules
    folder_of: Callable[[str, Surroundings], str]
    owns_folder_form: Callable[[str], bool]
    tested_versions: tuple[str, ...]
    further_companions: Callable[[str], str] = lambda _: ""
    project_settings: tuple[str, ...] = ()
    process_names: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    worker_prefix: str | None = None
    runtime_directories: Callable[[Surroundings], RuntimeDirectories] = lambda _: RuntimeDirectories()
    clean_name: Callable[[str], str] = line_name
    rename: Callable[[str, bool], RenamePlan] = lambda name, _: name_entry(name)
    bears_appends: bool = True
    # All versions of pi, omp, atomic and indusagi accept this; omp up to 11.2 does not accept `--resume PATH`.
    resume: Callable[[str], tuple[str, ...]] = lambda path: ("--session", path)
    kept_from_it: tuple[str, ...] = ()

    def resume_argv(self, path: str, command: Sequence[str] | None = None) -> tuple[str, ...]:
        """Return the command that resumes the session in the file `path`, an absolute path."""
        return (*(command or self.command[:1]), *self.resume(path))

    def companions(self, path: str, listing: Callable[[str], list[str]] | None = None) -> list[str]:
        """Return the paths of the files and folders that agents and extensions keep beside a session file.

        `listing` returns the sorted names in a directory; the default reads the disk each time.
        """
        folder = os.path.dirname(path)
        names = (listing or names_in)(folder)
        found = companion_names(path, names, self.further_companions(os.path.basename(path)))
        return [os.path.join(folder, name) for name in found]


# ---- disk --------------------------------------------------------------------------------------------------


def read_small_file(path: str) -> bytes | None:
    """Return the bytes of a settings file, or None if the file is missing or cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(MAX_SETTINGS_BYTES)
    except (OSError, ValueError):
        return None


def names_in(directory: str) -> list[str]:
    """Return the sorted names in a directory; an empty list if the directory cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except (OSError, ValueError):
        return []


# ---- paths as the programs read them -----------------------------------------------------------------------


def absolute(path: str, cwd: str) -> str:
    """Make a path absolute as Node's `path.resolve` does: without resolving symlinks."""
    resolved = os.path.normpath(os.path.join(cwd, path))
    return resolved[1:] if resolved.startswith("//") else resolved


def expand_home(path: str, home: str) -> str:
    """Replace a leading `~` or `~/` by the home directory, but not `~user`, as pi, atomic and indusagi do."""
    if path == "~":
        return home
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def configured_path(value: str, home: str) -> str | None:
    """Return the path in a setting or variable of pi or atomic; `~` and `file://` URLs are converted to plain paths.

    Return None for a URL that names no local path. A relative path is returned unchanged.
    """
    path = expand_home(value, home)
    if not path.startswith("file://"):
        return path
    from urllib.parse import unquote, urlsplit  # Slow to import (3 ms), and few settings are URLs.

    url = urlsplit(path)
    if url.netloc not in ("", "localhost") or re.search(r"%2f", url.path, re.IGNORECASE):
        return None
    return unquote(url.path)


def dashed_folder(path: str) -> str:
    """Return a project's folder name as in pi: drop a leading slash, turn `/ \\ :` into `-`, add `--` on both sides."""
    return "--" + dashes(re.sub(r"^[/\\]", "", path)) + "--"


def dashes(path: str) -> str:
    """Replace slashes, backslashes and colons by `-`, because a folder name may not contain them."""
    return re.sub(r"[/\\:]", "-", path)


def is_dashed_folder(name: str) -> bool:
    """Return True if a folder's name has the form `--…--`, which all four programs give to project folders."""
    return len(name) >= 4 and name.startswith("--") and name.endswith("--")


# ---- settings ----------------------------------------------------------------------------------------------


def read_settings(path: str, disk: Disk) -> dict[str, Any]:
    """Return the object in a JSON settings file; empty if the file is missing or broken, as in pi."""
    content = disk.read(path)
    if content is None:
        return {}
    try:
        settings = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def custom_directories(value: str | None, around: Surroundings) -> Iterator[str]:
    """Yield the absolute directories that a configured session directory, `value`, can mean.

    pi and atomic resolve a relative path against the directory in which they are started, so a relative path yields
    one result for the current directory and one for each known project. An empty value yields nothing.
    """
    path = configured_path(value, around.home) if value else None
    if path is None:
        return
    if os.path.isabs(path):
        yield absolute(path, "/")
        return
    for start in dict.fromkeys((around.cwd, *around.projects)):
        yield absolute(path, start)


def configured_session_directories(
    around: Surroundings, global_settings: Sequence[str], project_settings: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the session directories that users set with the key `sessionDir` in settings files.

    Each directory comes with a text that tells the user which setting contains the directory.

    The current directory and each known project are checked. `global_settings` are paths, `project_settings` are paths
    below a project. A project's files take precedence over the global ones, and later files over earlier ones. The
    values `null` and "" yield nothing: they mean the default directory.
    """
    base = [read_settings(path, around.disk) for path in global_settings]
    for start in dict.fromkeys((around.cwd, *around.projects)):
        own = [read_settings(os.path.join(start, name), around.disk) for name in project_settings]
        found = [layer["sessionDir"] for layer in (*base, *own) if "sessionDir" in layer]
        if not found or not isinstance(found[-1], str) or not found[-1]:
            continue
        is_own = any("sessionDir" in layer for layer in own)
        here = msgspec.structs.replace(around, cwd=start, projects=())
        for directory in custom_directories(found[-1], here):
            relative = not os.path.isabs(configured_path(found[-1], around.home) or "/")
            yield (directory, f"settings sessionDir of {start}" if is_own or relative else "settings sessionDir")


def places_like_pi(
    agent: str,
    folder: str,
    agent_dirs: tuple[str, ...],
    session_dirs: tuple[str, ...],
    project_settings: tuple[str, ...],
    around: Surroundings,
    *,
    home_variables: tuple[str, ...] = (),
    further_settings: tuple[str, ...] = (),
) -> list[Place]:
    """Return the session directories of pi or its fork atomic: in its agent directory, and by variables and settings.

    `folder`, in the home directory, contains the agent directory unless one of the variables `agent_dirs` names it.
    Then `further_settings`, files in the home directory that count less than the agent's own, are not read. The first
    of several variables that is defined counts, even if it is empty.
    """
    around = msgspec.structs.replace(around, home=home_by(home_variables, around))
    variable, value = _first_defined(around.environ, agent_dirs)
    path = configured_path(value, around.home) if value else None
    agent_dir = os.path.join(around.home, folder, "agent") if path is None else absolute(path, around.cwd)
    source, env = ("default", {}) if path is None else (variable, {variable: agent_dir})
    found = [Place(agent, os.path.join(agent_dir, "sessions"), "projects", source, env, agent_dir)]
    further = further_settings if value is None else ()
    variable, value = _first_defined(around.environ, session_dirs)
    for directory in custom_directories(value, around):
        found.append(Place(agent, directory, "flat", variable, {**env, variable: directory}, agent_dir))
    settings = [*[os.path.join(around.home, each) for each in further], os.path.join(agent_dir, "settings.json")]
    for directory, why in configured_session_directories(around, settings, project_settings):
        found.append(Place(agent, directory, "flat", why, env, agent_dir))
    return distinct(found)


def home_by(variables: tuple[str, ...], around: Surroundings) -> str:
    """Return the value of the first variable that is set and not empty; without one, the home directory."""
    return next(filter(None, map(around.environ.get, variables)), around.home)


def _first_defined(environ: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the name and value of the first variable that is defined; None as value if there is none."""
    name = next((name for name in names if name in environ), names[0])
    return name, environ.get(name)


def places_in_home(
    agent: str, variable: str, folder: str, stores: Mapping[str, PlaceKind], around: Surroundings
) -> list[Place]:
    """Return the directories named in `stores` below an agent's own directory.

    The variable names the agent's directory; without it, it is `folder` in the home directory.
    """
    value = around.environ.get(variable)
    own = absolute(value, around.cwd) if value else os.path.join(around.home, folder)
    source, env = (variable, {variable: own}) if value else ("default", {})
    return [Place(agent, os.path.join(own, name), kind, source, env, own) for name, kind in stores.items()]


def distinct(places: Sequence[Place]) -> list[Place]:
    """Return the session directories without duplicates: only the first of those with equal path, agent and kind."""
    seen: dict[tuple[str, str, str], Place] = {}
    for place in places:
        seen.setdefault((place.agent, place.root, place.kind), place)
    return list(seen.values())


# ---- the agent of a file -----------------------------------------------------------------------------------

HEAD_BYTES = 64 * 1024
OWNER_ORDER = ("pi", "omp", "atomic", "indusagi", "claude", "codex")
"""The agents in the order in which they own the files of a directory that several of them use.

Three programs read `PI_CODING_AGENT_DIR`, so one directory may contain the files of several programs.
"""


class Marks(Struct, frozen=True):
    """The agent programs whose marks a file contains; a mark is content that only one program writes.

    A mark that begins with `ONLY` names the one program that can read the file.
    """

    agents: frozenset[str] = frozenset()

    def agent(self) -> str | None:
        """Return the first of omp, atomic and indusagi whose marks the file has; None if the file has no marks."""
        return next((name for name in ("omp", "atomic", "indusagi") if name in self.agents), None)

    @property
    def only(self) -> str | None:
        """The one agent that can read the file; None if the others can read it, too."""
        return next((mark.removeprefix(ONLY) for mark in self.agents if mark.startswith(ONLY)), None)


def marks_of_program(name: str) -> Marks:
    """Return the marks of a file that only the named program can read."""
    return Marks(frozenset({name, f"{ONLY}{name}"}))


def attribute(place_agents: Sequence[str], folder_name: str, marks: Marks, *, is_store: bool = False) -> str:
    """Return the agent that owns a session file: an agent that uses the file's directory and can read the file.

    `is_store` is True if the agents of `place_agents` are known to use the directory. If only one agent uses the
    directory, it is the owner, even of a file with marks of other programs, unless it cannot read the file. Otherwise
    the owner is judged by the file's marks, then by its folder's name, then by its directory. `folder_name` is the name
    of the project's folder, "" for a file in a directory without project folders.
    """
    if marks.only is not None:
        return marks.only
    owners = [name for name in OWNER_ORDER if name in place_agents]
    if is_store and len(owners) == 1:
        return owners[0]
    marked = marks.agent()
    if marked is not None:
        return marked
    if is_omp_folder(folder_name):
        return "omp"
    return owners[0] if owners else OWNER_ORDER[0]


def is_omp_folder(name: str) -> bool:
    """Return True for a folder name that only omp uses, such as `-` (home), `-PATH` (below home) or `-tmp-PATH`."""
    return (name.startswith("-") and not name.startswith("--")) or bool(_HASHED_FOLDER.fullmatch(name))


# omp 17.2.5 to 17.2.8 put a hash into the names of project folders. Such names remain, because later versions of omp
# rename a folder only when the user works in the project again.
_HASHED_FOLDER = re.compile(r"(?:home|tmp|abs)-.+-[0-9a-f]{64}")


def marks_of_head(head: bytes) -> Marks:
    """Return the marks in the first bytes of a file; a mark is content that only one agent program writes.

    Only the starts of lines are searched, because the text of a message may look like a mark.
    """
    head = head.removeprefix(b"\xef\xbb\xbf")
    types = [
        (found[1].decode("ascii"), at)
        for at in _line_starts(head)
        if not head.startswith(_MESSAGE, at) and (found := _TYPE.match(head, at))
    ]
    names = {name for name, _ in types}
    agents: set[str] = set()
    if types[:1] == [("title", 0)]:
        agents |= {"omp", f"{ONLY}omp"}
    elif names & OMP_ONLY_TYPES:
        agents.add("omp")
    if (
        names & ATOMIC_ONLY_TYPES
        or any(name == "compaction" and _is_verbatim(_line(head, at)) for name, at in types)
        or any(name == "session" and _is_workflow(_line(head, at)) for name, at in types[:2])
    ):
        agents.add("atomic")
    if _TRANSCRIPT.match(head):
        agents |= {"indusagi", f"{ONLY}indusagi"}
    return Marks(frozenset(agents))


_TYPE = re.compile(rb'[ \t\r]*\{[ \t]*"type"[ \t]*:[ \t]*"([a-z_]+)"')
# Most lines are messages. They are skipped, because no message shows which program wrote the file.
_MESSAGE = b'{"type":"message"'
_TRANSCRIPT = re.compile(rb'\s*\{[^\n]{0,200}?"schema"[ \t]*:[ \t]*"indus/transcript@1"')


def _line_starts(head: bytes) -> Iterator[int]:
    # `bytes.find` for a newline is faster than a regular expression with `^`, which tests every byte.
    at = 0
    while True:
        yield at
        at = head.find(b"\n", at) + 1
        if at == 0:
            return


def _is_verbatim(line: bytes) -> bool:
    # The imports of these functions take 5 ms, and few files have such lines.
    from sessionbrowse.format.envelope import Envelope, read_envelope

    entry = read_envelope(line)
    return isinstance(entry, Envelope) and entry.text == VERBATIM_STRATEGY


def _is_workflow(line: bytes) -> bool:
    if b"internal" not in line:
        return False
    from sessionbrowse.format.codec import decode_line
    from sessionbrowse.format.entries import Header
    from sessionbrowse.model.session.records import is_workflow_stage

    header = decode_line(line)
    return isinstance(header, Header) and is_workflow_stage(header)


def _line(head: bytes, at: int) -> bytes:
    end = head.find(b"\n", at)
    return head[at : end if end >= 0 else len(head)]
