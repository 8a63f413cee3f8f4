"""Fictional sessions of all six agents, with which users can try sessionbrowse without risk.

The folder `store` contains the session files as their agents would have written them at `_WRITTEN_MS`, with these
differences. A stored file has a short name and is in `AGENT/PROJECT`; the written file is named after the time and id
in its header. `{demo}` is a placeholder for the folder to which the demo is written. `{PROJECT}` in a path is a
placeholder for the folder in which the agent keeps the project's sessions. Files that belong to a session (those of
subagents, backups) begin with the session's short name, and get the session's new name instead.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from sessionbrowse.agents import AGENTS, Surroundings
from sessionbrowse.format.ids import file_name
from sessionbrowse.format.json_value import json_line
from sessionbrowse.text import iso_ms, parse_time

__all__ = ["make_demo"]

_STORE = Path(__file__).parent / "store"
_WRITTEN_MS = 1_795_270_000_000
"""The time of the stored sessions, 2026-11-21T14:06:40Z."""

_TIME = re.compile(rb'(\d{4}-\d\d-\d\d)T(\d\d)([:-])(\d\d)[:-](\d\d)([.-])(\d{3})Z|(?<="timestamp":)\d{13}')
_PATH = re.compile(rb'\{demo\}(?:/(\w+)/agent/sessions/\{([\w-]+)\})?([^"\\\s]*)')
_HEADER = re.compile(rb'(?:"type":"session(?:_meta)?".*?"id"|"sessionId"):"([^"]+)".*?"timestamp":"([^"]+)"')
"""The id and time of a session: in the header of pi's family and Codex, in each record of Claude Code."""


def make_demo(target: Path, now_ms: int | None = None) -> Path:
    """Write the demo's projects and sessions into the new or empty folder `target`, and return the folder's path.

    All times are relative to `now_ms` (default: the current time). For the same `target` and `now_ms` the files are
    identical.
    """
    target = target.absolute()
    now_ms = round(time.time() * 1000) if now_ms is None else now_ms
    sessions: dict[str, tuple[str, int]] = {}
    for path in sorted(_STORE.rglob("*"), key=lambda path: (len(path.parts), path)):
        if path.is_dir():
            continue
        content, last_ms = _shifted(_PATH.sub(lambda found: _path(target, found), path.read_bytes()), now_ms)
        agent, project, *rest = path.relative_to(_STORE).parts
        if agent == "home":
            written = target / path.relative_to(_STORE)
        else:
            name, _, more = rest[0].partition(".")
            if more == "jsonl" and (header := _HEADER.search(content)):
                sessions[name] = _stem(agent, header[1].decode(), header[2].decode()), last_ms
            stem, ended_ms = sessions.get(name, (name, now_ms))
            rest[0] = stem + ("." if more else "") + _shifted(more.encode(), now_ms)[0].decode()
            written = _directory(target, agent, project, stem).joinpath(*rest)
            last_ms = last_ms or ended_ms
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_bytes(content)
        os.utime(written, ns=((last_ms or now_ms) * 1_000_000,) * 2)
    return target


def _stem(agent: str, session_id: str, timestamp: str) -> str:
    """Return the name, without suffix, that an agent gives to the file of a session."""
    match agent:
        case "claude":
            return session_id
        case "codex":
            return f"rollout-{timestamp[:19].replace(':', '-')}-{session_id}"
        case _:
            return file_name(timestamp, session_id).removesuffix(".jsonl")


def _directory(target: Path, agent: str, project: str, stem: str) -> Path:
    """Return the directory in which an agent keeps a session of a project; `stem` is the name of its file."""
    match agent:
        case "claude":
            return target.joinpath("claude", "projects", _folder(target, agent, project))
        case "codex":
            return target.joinpath("codex", "sessions", *stem.removeprefix("rollout-")[:10].split("-"))
        case _:
            return target.joinpath(agent, "agent", "sessions", _folder(target, agent, project))


def _folder(target: Path, agent: str, project: str) -> str:
    """Return the name of the folder in which an agent keeps a project's sessions."""
    home = target / "home" / "dev"
    return AGENTS[agent].folder_of(str(home / project), Surroundings(home=str(home), environ={}, cwd=str(target)))


def _path(target: Path, found: re.Match[bytes]) -> bytes:
    """Return the JSON-escaped path that replaces a placeholder."""
    agent, project, rest = (part.decode() if part else "" for part in found.groups())
    path = _directory(target, agent, project, "") if project else target
    return json_line(str(path) + rest.replace("/", os.sep)).strip()[1:-1]


def _shifted(content: bytes, now_ms: int) -> tuple[bytes, int]:
    """Shift all times in a file's content, so that `_WRITTEN_MS` becomes `now_ms`; also return the latest one, or 0."""
    last_ms = 0

    def shifted(found: re.Match[bytes]) -> bytes:
        nonlocal last_ms
        day, hour, colon, minute, second, point, thousandth = found.groups()
        if not day:
            return b"%d" % (int(found[0]) + now_ms - _WRITTEN_MS)
        stored_ms = parse_time(f"{day.decode()}T{(hour + b':' + minute + b':' + second + b'.' + thousandth).decode()}Z")
        assert stored_ms is not None
        moved_ms = int(stored_ms) + now_ms - _WRITTEN_MS
        if colon == b":":  # Times in file names have hyphens.
            last_ms = max(last_ms, moved_ms)
        date, _, clock = iso_ms(moved_ms).encode().partition(b"T")
        return date + b"T" + clock.replace(b":", colon).replace(b".", point)

    return _TIME.sub(shifted, content), last_ms
