"""Signs that a program may be writing a session file: open descriptors, running agents, recent changes.

Even without any sign (state "free"), a program may have the session in use: pi, atomic and indusagi open and close the
file for every line that they append, and omp opens the file only at its first append. To mark the sessions in a list,
only the signs that are fast to read are used; before a change, `file_usage` checks more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import BinaryIO, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents import AGENTS, Agent, Surroundings
from sessionbrowse.agents.base import stem_of
from sessionbrowse.format.json_value import json_object
from sessionbrowse.model.listing.directories import is_absolute
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.directories import resolved
from sessionbrowse.store.find.discover import is_session_name
from sessionbrowse.store.system.files import NONBLOCK
from sessionbrowse.store.system.processes import is_alive, lsof_writers

PROC = "/proc"
RECENT_MS = 600_000
"""Time after a file's last change during which an agent may still be answering in the session: ten minutes."""

State = Literal["held", "may-be-in-use", "recent", "free"]
_STATES: Sequence[State] = get_args(State)

_RUNTIMES = re.compile(r"(?:node|nodejs|bun|deno|python[0-9.]*)(?:\.exe)?")
_SCRIPT_SUFFIX = re.compile(r"\.(?:js|mjs|cjs|ts|mts|py)$")
_ACCESS_MODE = 0o3
_LAST_BYTES = 16 * 1024
_TERMINAL_VARIABLE = re.compile(
    "(?:ZELLIJ_PANE_ID|TMUX_PANE|CMUX_SURFACE_ID|KITTY_WINDOW_ID|WEZTERM_PANE|TERM_SESSION_ID|WT_SESSION)=(.+)"
)
"""Variables after which omp names its terminal (such as `tmux-%3`) if its standard input is no terminal (omp 18)."""


class FileUsage(Struct, frozen=True):
    """The signs that a program may be writing a file, as sentences; the strongest sign determines the state.

    held: a program has the file open for writing; may-be-in-use: the session's agent seems to use the
    session, such as by running in its directory; recent: the file changed in the last ten minutes; free: no sign.
    """

    state: State
    reasons: tuple[str, ...] = ()

    @property
    def in_use(self) -> bool:
        """True if a program has the file open or may use it; a recent change alone does not count."""
        return self.state in ("held", "may-be-in-use")


class Process(Struct, frozen=True):
    """One running process; fields that cannot be read are empty. `terminal` is None if its input is no terminal."""

    pid: int
    name: str
    argv: tuple[str, ...]
    cwd: str
    terminal: str | None


def file_usage(
    path: str,
    agent: Agent,
    cwd: str,
    around: Surroundings,
    *,
    now_ms: float,
    proc: str = PROC,
    changed_ms: float | None = None,
    own_pid: int | None = None,
) -> FileUsage:
    """Return the signs that a program may be writing the session at `path`, whose working directory is `cwd`.

    If sessionbrowse changed the file last, `changed_ms` is the time of the last change by another program.
    """
    found: list[tuple[State, str]] = []
    sees_processes = os.path.isdir(proc)
    processes = [process for process in running(proc) if process.pid != (own_pid or os.getpid())]
    names = {process.pid: process.name for process in processes}
    for pid in holders(path, names, proc):
        name = names.get(pid)
        who = f"{name} (process {pid})" if name else f"process {pid}"
        found.append(("held", f"{who} has the file open for writing"))
    agents = [process for process in processes if is_program(process, agent)]
    found += [("may-be-in-use", reason) for reason in _by_process(path, agent, cwd, around, agents)]
    found += [("may-be-in-use", reason) for reason in _by_traces(path, agent, cwd, around, agents, proc)]
    age_ms = now_ms - (_modified_ms(path) if changed_ms is None else changed_ms)
    if age_ms < RECENT_MS:
        # If processes cannot be listed, a recent change is the only sign, so it counts as a sign of use.
        state: State = "recent" if sees_processes else "may-be-in-use"
        found.append((state, f"the session changed {_ago(age_ms)}"))
    return strongest(FileUsage(state, (reason,)) for state, reason in found)


def strongest(usages: Iterable[FileUsage]) -> FileUsage:
    """Combine the signs of use of several files of one session; the strongest state counts."""
    found = list(usages)
    states = {one.state for one in found}
    state = next((each for each in _STATES if each in states), _STATES[-1])
    return FileUsage(state, tuple(dict.fromkeys(reason for one in found for reason in one.reasons)))


def has_exited(path: str, own_ids: Callable[[], Collection[str]] = frozenset) -> bool:
    """Return True if a session file ends with the entry `session_exit`, which omp 18 writes when it exits.

    Entries that sessionbrowse appended after it do not count; `own_ids` returns the ids of such entries.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NONBLOCK)) as file:
            own: Collection[str] | None = None
            for line in _last_lines(file):
                value = json_object(line) or {}
                if (value.get("type"), value.get("customType")) == ("custom", "session_exit"):
                    return True
                own = own_ids() if own is None else own
                if str(value.get("id")) not in own:
                    return False
    except OSError:
        pass
    return False


def _last_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, the last one first; blank lines are left out."""
    at = file.seek(0, os.SEEK_END)
    rest = b""
    while at:
        start = max(0, at - max(_LAST_BYTES, len(rest)))
        file.seek(start)
        rest, *lines = (file.read(at - start) + rest).split(b"\n")
        yield from filter(None, reversed(lines))
        at = start
    if rest:
        yield rest


def running(proc: str = PROC) -> Iterator[Process]:
    """Yield the running processes listed in `/proc`."""
    with suppress(OSError):
        for name in os.listdir(proc):
            if name.isdigit():
                here = os.path.join(proc, name)
                yield Process(
                    pid=int(name),
                    name=_read(os.path.join(here, "comm")).strip(),
                    argv=tuple(word for word in _read(os.path.join(here, "cmdline")).split("\0") if word),
                    cwd=_link(os.path.join(here, "cwd")),
                    terminal=_terminal(_link(os.path.join(here, "fd", "0"))),
                )


def environment(pid: int, proc: str = PROC) -> dict[str, str]:
    """Return the environment variables with which a process was started; an empty dict if they cannot be read."""
    variables = _read(os.path.join(proc, str(pid), "environ")).split("\0")
    return {name: value for name, sign, value in [each.partition("=") for each in variables] if sign}


def is_program(process: Process, agent: Agent) -> bool:
    """Return True if a process is the agent, by its title, its command, or the script that Node, Bun or Python runs."""
    if agent.worker_prefix and any(word.startswith(agent.worker_prefix) for word in process.argv[1:]):
        return False
    if process.name in agent.process_names or not process.argv:
        return process.name in agent.process_names
    command = os.path.basename(process.argv[0])
    if command in agent.process_names:
        return True
    if not _RUNTIMES.fullmatch(command):
        return False
    script = next((word for word in process.argv[1:] if not word.startswith("-")), "")
    if _SCRIPT_SUFFIX.sub("", os.path.basename(script)) in agent.process_names:
        return True
    return any(f"/{package}/" in script for package in agent.packages)


def holders(path: str, pids: Iterable[int], proc: str = PROC, former_names: Collection[str] = ()) -> Iterator[int]:
    """Yield the ids of the processes in `pids` that have a file open for writing.

    `former_names` are names by which processes may have opened the file, as `/proc` shows them.
    Without `/proc`, as on macOS, `lsof` is used, which checks all processes.
    """
    if not os.path.isdir(proc):
        yield from lsof_writers(path)
        return
    try:
        wanted = os.stat(path)
    except OSError:
        return
    names = {os.path.basename(path), *former_names}
    for pid in pids:
        folder = os.path.join(proc, str(pid), "fd")
        try:
            numbers = os.listdir(folder)
        except OSError:
            continue
        for number in numbers:
            link = os.path.join(folder, number)
            # Only links in /proc/PID/fd that end in this file's name are followed: others may lead to a hanging disk.
            if os.path.basename(_link(link)) not in names or not _writes(proc, pid, number):
                continue
            with suppress(OSError):
                status = os.stat(link)
                if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
                    yield pid
                    break


def _by_process(path: str, agent: Agent, cwd: str, around: Surroundings, processes: Sequence[Process]) -> Iterator[str]:
    directory = _real(cwd)
    for process in processes:
        if any(_names(word, path) for word in process.argv[1:]):
            yield f"{agent.name} (process {process.pid}) was started with this session"
        elif directory and process.cwd == directory:
            yield f"{agent.name} (process {process.pid}) runs in its directory {cwd}"
    if agent.name == "pi" and _real(around.environ.get("PI_SESSION_FILE", "")) == path:
        yield "pi started sessionbrowse from within the session"


def _names(word: str, path: str) -> bool:
    """Return True if a word of a command line is a file's absolute path, or a relative path that ends in its name."""
    if os.path.basename(word) != os.path.basename(path):
        return False
    return not os.path.isabs(word) or _real(word) == _real(path)


def _by_traces(
    path: str, agent: Agent, cwd: str, around: Surroundings, processes: Sequence[Process], proc: str
) -> Iterator[str]:
    runtime_directories = agent.runtime_directories(around)
    names, read = around.disk.names, around.disk.read
    directory = _real(cwd)
    for runs in runtime_directories.runs:
        for scope in names(runs):
            clients = os.path.join(runs, scope, "clients")
            for name in names(clients):
                client = _client(read(os.path.join(clients, name)))
                if client is not None and directory and client[1] == directory and _is_alive(client[0], proc):
                    yield f"{agent.name} (process {client[0]}) runs in its directory {cwd}"
    parts = {*PurePath(path).parts, stem_of(os.path.basename(path))}
    beside = [str(each.with_name("sessions")) for each in PurePath(path).parents if each.name == "projects"]
    for folder in dict.fromkeys((*runtime_directories.processes, *beside)) if runtime_directories.processes else ():
        for name in names(folder):
            value = json_object(read(os.path.join(folder, name)) or b"") or {}
            pid = value.get("pid")
            if value.get("sessionId") in parts and isinstance(pid, int) and _is_alive(pid, proc):
                yield f"{agent.name} (process {pid}) has the session open"
    for terminals in runtime_directories.terminals:
        for name in names(terminals) if processes else ():
            lines = (read(os.path.join(terminals, name)) or b"").decode("utf-8", "surrogateescape").split("\n")
            if lines[1:2] != [path] and (len(lines) < 2 or _real(lines[1]) != path):
                continue
            # The agent's file that names the last session of a terminal stays after the agent exits, so it counts only
            # while the agent runs in that terminal.
            its = next((process.pid for process in processes if _stands_in(process, name, proc)), None)
            if its is not None:
                yield f"{agent.name} (process {its}) last opened this session in its terminal"


def _stands_in(process: Process, terminal: str, proc: str) -> bool:
    """Return True if a process runs in the terminal that omp names `terminal`, or if that cannot be read."""
    if process.terminal is not None:
        return process.terminal in (terminal, "")
    variables = [f"{name}={value}" for name, value in environment(process.pid, proc).items()]
    values = [found[1] for found in map(_TERMINAL_VARIABLE.fullmatch, variables) if found is not None]
    return any(terminal.endswith(f"-{value}") for value in values)


def _client(content: bytes | None) -> tuple[int, str] | None:
    value = json_object(content or b"") or {}
    pid, directory = value.get("pid"), value.get("projectDir")
    return (pid, _real(directory)) if isinstance(pid, int) and isinstance(directory, str) else None


def _is_alive(pid: int, proc: str) -> bool:
    if os.path.isdir(proc):
        return os.path.isdir(os.path.join(proc, str(pid)))
    return is_alive(pid)


def _writes(proc: str, pid: int, number: str) -> bool:
    """Return True if a process opened a descriptor for writing, or if its mode cannot be read from `/proc`."""
    found = re.search(r"^flags:\s*([0-7]+)", _read(os.path.join(proc, str(pid), "fdinfo", number)), re.MULTILINE)
    return found is None or int(found[1], 8) & _ACCESS_MODE != os.O_RDONLY


def _terminal(device: str) -> str | None:
    """Return a terminal's name as omp uses it for files in its terminal folder: `/dev/pts/3` is `pts-3`."""
    if not device:
        return ""
    return device.removeprefix("/dev/").replace("/", "-") if re.match(r"/dev/(?:pts/|tty|console)", device) else None


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(65536).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _real(path: str) -> str:
    """Return a path with its links resolved; "" for a path that is not absolute here, or invalid."""
    try:
        return os.path.realpath(path) if is_absolute(path) else ""
    except (OSError, ValueError):
        return ""


def _modified_ms(path: str) -> float:
    try:
        return os.stat(path).st_mtime_ns / 1_000_000
    except OSError:
        return 0


def _ago(age_ms: float) -> str:
    if age_ms < 0:
        return "in the future, by this computer's clock"
    seconds = int(age_ms // 1000)
    if seconds < 60:
        return f"{seconds} second{'' if seconds == 1 else 's'} ago"
    minutes = seconds // 60
    return f"{minutes} minute{'' if minutes == 1 else 's'} ago"


# ---- the sessions in a list --------------------------------------------------------------------------------


def sessions_in_use(summaries: Iterable[Summary], around: Surroundings, proc: str = PROC) -> set[str]:
    """Return the paths of sessions that running agents have open, were started with, or seem to be writing."""
    programs = [
        (name, process)
        for process in running(proc)
        for name, agent in AGENTS.items()
        if process.pid != os.getpid() and is_program(process, agent)
    ]
    inside = around.environ.get("PI_SESSION_FILE", "")
    if not programs and not inside:
        return set()
    among = list(summaries)
    real = resolved({summary.cwd for summary in among})
    by_name: dict[str, list[str]] = {}
    there: dict[tuple[str, str], list[Summary]] = {}
    for summary in among:
        by_name.setdefault(os.path.basename(summary.path), []).append(summary.path)
        there.setdefault((summary.agent, real[summary.cwd]), []).append(summary)
    found: set[str] = set()
    for name, process in programs:
        named = _named(process, proc)
        ours = {path for word in named for path in by_name.get(os.path.basename(word), ())}
        if not ours and (near := there.get((name, process.cwd))):
            roots = _roots(name, process, around, proc)
            near = [each for each in near if os.path.realpath(each.path).startswith(roots)]
        found |= ours or ({max(near, key=lambda each: each.mtime_ns).path} if near else set())
    found |= set(by_name.get(os.path.basename(inside), ())) if inside else set()
    return found


def _roots(agent: str, process: Process, around: Surroundings, proc: str) -> tuple[str, ...]:
    """Return the directories in which a running agent keeps its sessions, given its process's environment."""
    environ = environment(process.pid, proc) or around.environ
    places = AGENTS[agent].places(replace(around, environ=environ, home=environ.get("HOME") or around.home))
    return tuple([os.path.join(os.path.realpath(place.root), "") for place in places])


def _named(process: Process, proc: str) -> set[str]:
    """Return the session files that a program's command line names, and those that it has open."""
    words = {word for word in process.argv[1:] if is_session_name(word)}
    folder = os.path.join(proc, str(process.pid), "fd")
    with suppress(OSError):
        for number in os.listdir(folder):
            with suppress(OSError):
                words.add(os.readlink(os.path.join(folder, number)))
    return {word for word in words if is_session_name(word)}
