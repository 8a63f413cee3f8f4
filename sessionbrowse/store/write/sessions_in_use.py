"""Find the sessions in a list that running agents use, fast enough for a check every few seconds.

The result is only used to mark sessions in a list: before a file is changed, `in_use.file_usage` checks more. An agent
that runs in a directory is assumed to use the session of this directory that changed last. Only sessions where the
agent keeps them count, so that no session of a backup is marked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from msgspec.structs import replace

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.directories import resolved
from sessionbrowse.store.find.discover import is_session_name
from sessionbrowse.store.write.in_use import PROC, Process, environment, is_program, running


def sessions_in_use(summaries: Iterable[Summary], around: Surroundings, proc: str = PROC) -> set[str]:
    """Return the paths of sessions that running agents have open, were started with, or wrote last in a directory."""
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
