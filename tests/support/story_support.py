"""Helpers for stories: a home with sessions of some weeks, a stand-in for the agent, the browser in a terminal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.terminal import COLUMNS, ROWS, Terminal

PROJECT_ROOT = Path(__file__).resolve().parents[2]

SIZES = [(60, 20), (80, 24), (200, 50)]
"""Columns and rows of the terminals in which a story is told."""


class StoryHome:
    """A person's home directory: projects, pi's sessions of them, and agents that only write down how they ran."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.programs = home / "bin"
        self.programs.mkdir(parents=True)
        self._made = 0

    def project(self, name: str) -> Path:
        """Make a project's directory."""
        directory = self.home / "dev" / name
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def session(
        self, project: Path, texts: Sequence[str], *, days_ago: float = 0, more: Sequence[dict[str, Any]] = ()
    ) -> Path:
        """Write a session of pi: questions and answers by turns, ids `e01`, `e02`, …; then `more` entries."""
        self._made += 1
        begun = datetime.now(UTC) - timedelta(days=days_ago, minutes=5)
        session_id = f"019bee00-0000-7000-8000-{self._made:012d}"
        lines: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": session_id, "timestamp": _iso(begun), "cwd": str(project)}
        ]
        parent: str | None = None
        for number, text in enumerate(texts, start=1):
            moment = begun + timedelta(seconds=number)
            lines.append(message(f"e{number:02d}", parent, text, moment, answers=number % 2 == 0))
            parent = f"e{number:02d}"
        lines += more
        folder = self.sessions_of(project)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_iso(begun).replace(':', '-').replace('.', '-')}_{session_id}.jsonl"
        path.write_text("".join([json.dumps(line, ensure_ascii=False) + "\n" for line in lines]))
        os.utime(path, (begun.timestamp(), begun.timestamp()))
        return path

    def sessions_of(self, project: Path) -> Path:
        """Return pi's folder for the sessions of a project."""
        return self.home / ".pi/agent/sessions" / f"--{str(project).strip('/').replace('/', '-')}--"

    def agent(self, name: str, script: str) -> None:
        """Put a program of an agent's name on the path."""
        program = self.programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment of a program that the person starts."""
        return {
            "PATH": f"{self.programs}:{os.defpath}",
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONPATH": str(PROJECT_ROOT),
            # Under `make coverage` the programs are measured too.
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
            **more,
        }

    def browser(
        self, *arguments: str, cwd: Path | None = None, rows: int = ROWS, columns: int = COLUMNS, **more: str
    ) -> Terminal:
        """Start the browser in a terminal."""
        command = [sys.executable, "-m", "sessionbrowse", *arguments]
        return Terminal(command, self.env(**more), cwd or self.home, rows=rows, columns=columns)


def message(entry_id: str, parent: str | None, text: str, moment: datetime, *, answers: bool = False) -> dict[str, Any]:
    """Return a message entry as pi writes it."""
    body: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": text}]}
    if answers:
        body = {
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "usage": {
                "input": 10,
                "output": 5,
                "cacheRead": 0,
                "cacheWrite": 0,
                "totalTokens": 15,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.01},
            },
            "stopReason": "stop",
        }
    body["timestamp"] = int(moment.timestamp() * 1000)
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": _iso(moment), "message": body}


def entries(path: Path) -> list[dict[str, Any]]:
    """Return a session file's entries, the header left out."""
    return [json.loads(line) for line in path.read_text().splitlines()][1:]


def quit_browser(browser: Terminal) -> None:
    """Leave with the key; fail if that is no clean end."""
    browser.press("q")
    browser.wait_end()
    assert browser.process.returncode == 0, browser.screen.text()


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
