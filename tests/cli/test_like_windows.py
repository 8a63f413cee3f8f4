"""The command line where Python lacks all that Windows lacks: what is read is read, what is refused is a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sessionbrowse.cli.parser import AGENT_NAMES
from sessionbrowse.demo import make_demo
from tests.support.session_files import snapshot

MISSING_FUNCTIONS = """
pread pwrite O_NONBLOCK O_NOFOLLOW O_CLOEXEC O_DIRECTORY getuid geteuid fork fchown chown lchown fstatvfs statvfs
getxattr setxattr removexattr mkfifo killpg setsid posix_fadvise sched_getaffinity
"""
LIKE_WINDOWS = f"""
import os, subprocess, sys, types
for name in {MISSING_FUNCTIONS.split()!r}:
    if hasattr(os, name):
        delattr(os, name)
os.supports_fd = os.supports_dir_fd = frozenset()
for name in ("fcntl", "termios", "pwd", "grp", "resource"):
    sys.modules[name] = None
sys.modules["msvcrt"] = types.SimpleNamespace(locking=lambda *_: None, LK_NBLCK=2, LK_UNLCK=0)
from sessionbrowse.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return make_demo(tmp_path / "demo")


def run(demo: Path, *words: str) -> str:
    roots = [word for agent in AGENT_NAMES for word in ("--root", str(demo / agent))]
    home = demo.parent / "home"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", LIKE_WINDOWS, *words, *(roots if words != ("undo",) else [])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(home)},
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_everything_can_be_read(demo: Path) -> None:
    before = snapshot(demo)
    found = {
        "list": "Refactor auth module",
        "projects": "webshop",
        "labels": "jwt-works",
        "index": "sessions",
        "search jwt": "Refactor auth module",
        "list jwt": "Refactor auth module",
        "show Offline\tsync": "leaf",
        "tree latest": "user:",
        "context latest": "tokens",
        "stats": "total",
        "doctor": "damage in",
        "export latest --format markdown": "##",
    }
    for command, text in found.items():
        assert text in run(demo, *[word.replace("\t", " ") for word in command.split(" ")]), command
    assert snapshot(demo) == before


@pytest.mark.slow
def test_names_and_labels_are_written_and_taken_back(demo: Path) -> None:
    run(demo, "rename", "Offline sync", "Offline, at last")
    assert "Offline, at last" in run(demo, "list")
    run(demo, "undo")
    assert "Offline, at last" not in run(demo, "list")
