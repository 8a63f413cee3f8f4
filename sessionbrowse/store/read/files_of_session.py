"""Find the other files of a session of Claude Code or Codex, by the first lines of the files near it.

Codex can keep one thread in several files, and a file can continue the history in the file of another thread. Older
versions of Claude Code keep the sessions of subagents beside the session, with the session's id in their records only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from io import BytesIO

from msgspec import Struct

from sessionbrowse.agents.base import names_in, stem_of
from sessionbrowse.agents.codex import id_in_name, store_of
from sessionbrowse.errors import RefusedWrite, Unreadable
from sessionbrowse.format.json_value import Json, json_object
from sessionbrowse.model.listing.summary import original_name
from sessionbrowse.store.find.discover import COMPRESSED_SUFFIX
from sessionbrowse.store.read.archive import unpacked
from sessionbrowse.store.read.content import closing, open_regular, program_of, unreadable
from sessionbrowse.text import clean

_SUBAGENT = "agent-"
_MOST_KEPT = 20_000


def further_files(path: str, agent: str, is_going: Callable[[str], bool] = lambda path: False) -> list[str]:
    """Return the other session files that belong to the session in the file `path`, in order.

    `is_going` returns True for the path of a file that is deleted before.

    Raises:
        RefusedWrite: the session in another file continues this one, and would lose its history.
    """
    if agent == "codex":
        return _thread(path, is_going)
    return _subagents(path) if agent == "claude" else []


def without_further_files(paths: Sequence[str]) -> list[str]:
    """Return the paths, leaving out files that belong to the Claude Code or Codex session of an earlier path.

    Sessions whose history another one continues come last, the newest first, so that all can be deleted in this order.
    """
    taken: set[str] = set()
    kept: list[str] = []
    continued: dict[str, str] = {}
    for path in paths if len(paths) > 1 else ():
        if os.path.realpath(path) not in taken:
            kept.append(path)
            try:
                with suppress(Unreadable), closing(open_regular(path)) as descriptor:
                    taken |= set(map(os.path.realpath, further_files(path, program_of(descriptor) or "")))
            except RefusedWrite:
                continued.setdefault(_rollout(kept.pop()).thread, path)
    return [*kept, *sorted(continued.values(), key=os.path.basename, reverse=True)] or list(paths)


def _subagents(path: str) -> list[str]:
    folder, name = os.path.split(path)
    session = stem_of(name)
    if name.startswith(_SUBAGENT):
        return []
    beside = [os.path.join(folder, one) for one in names_in(folder) if one.startswith(_SUBAGENT)]
    return [one for one in beside if one.endswith(".jsonl") and _session_of(one) == session]


def _session_of(path: str) -> Json:
    """Return the session id in a Claude Code transcript, from its first record with such an id."""
    with suppress(Unreadable):
        values = (json_object(line) or {} for line in _lines(path))
        return next((value["sessionId"] for value in values if "uuid" in value and "sessionId" in value), None)
    return None


class _Rollout(Struct, frozen=True):
    """The facts in the first line of a file of Codex; `base` is the thread whose history it continues.

    `unread` is the reason why a file cannot be read.
    """

    path: str
    thread: str
    base: str | None
    is_paginated: bool
    unread: str | None = None


def _thread(path: str, is_going: Callable[[str], bool]) -> list[str]:
    own = _rollout(path)
    if original_name(os.path.basename(path), own.thread) is not None:
        return []  # This is a conflict copy that a sync program made. The thread's own files are not deleted with it.
    all_files = [_rollout(one) for one in _rollouts(path)]
    of_thread = [one for one in all_files if one.thread == own.thread]
    for one in all_files:
        if one.thread != own.thread and one.base == own.thread and not is_going(one.path):
            raise RefusedWrite(
                f"{clean(os.path.basename(path))} holds the history that {clean(os.path.basename(one.path))} "
                "continues. Delete that session first."
            )
    unread = [one.unread for one in all_files if one.unread is not None and one.thread != own.thread]
    if unread and any(one.is_paginated for one in (own, *of_thread)):
        raise RefusedWrite(f"A session may continue the history in {clean(os.path.basename(path))}, but {unread[0]}.")
    return [one.path for one in of_thread if os.path.realpath(one.path) != os.path.realpath(path)]


def _rollout(path: str) -> _Rollout:
    """Return the facts of a file."""
    line, unread = None, None
    try:
        status = os.stat(path)
        line = _first_line(path, status.st_size, status.st_mtime_ns)
        unread = f"{clean(path)} has a damaged first line" if line is None else None
    except OSError as error:
        unread = unreadable(path, error).sentence
    except Unreadable as error:
        unread = error.sentence
    line = line or {}
    payload = line.get("payload", line)
    meta = payload if isinstance(payload, dict) else {}
    base, thread = meta.get("history_base"), meta.get("id")
    named = base.get("thread_id") if isinstance(base, dict) else None
    return _Rollout(
        path,
        thread if isinstance(thread, str) and thread else id_in_name(path) or path,
        named if isinstance(named, str) else None,
        "ordinal" in line or meta.get("history_mode") == "paginated",
        unread,
    )


@lru_cache(_MOST_KEPT)
def _first_line(path: str, size: int, _: int) -> dict[str, Json] | None:
    """Return a file's first line, cached until the file changes, because each deletion needs those of all files."""
    first = next((line for line in _lines(path) if line.strip()), b"")
    # A file without a line continues nothing: the program made it, and was stopped.
    may_be_empty = not size or not path.endswith(COMPRESSED_SUFFIX)
    return {} if may_be_empty and not first else json_object(first)


def _rollouts(path: str) -> Iterator[str]:
    """Yield all files in the Codex store that contains a file; outside a store, the files in the same folder."""
    roots = store_of(path) or (os.path.dirname(path),)
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(folders) if len(roots) > 1 else []
            yield from [os.path.join(folder, name) for name in sorted(names) if stem_of(name) != name]


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a file without a limit of length, because instructions and images can make them long."""
    try:
        if path.endswith(COMPRESSED_SUFFIX):
            yield from BytesIO(b"".join(unpacked(path)))
        else:
            with os.fdopen(open_regular(path), "rb") as file:
                yield from file
    except OSError as error:
        raise unreadable(path, error) from error
