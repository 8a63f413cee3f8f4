"""The programs we are compared with: how they are installed, and how each is asked.

A peer that cannot be had is a value with a reason, so that the report names it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from tests.bench.measure import Failed, Run, must, run

PI = "@earendil-works/pi-coding-agent"
PI_VERSION = "0.87.1"
FAST_RESUME = "fast-resume>=2.14,<2.15"
NODE_AT_LEAST = (22, 19)
NODE_MAJOR = "24"
HERE = Path(__file__).resolve().parent
INSTALL_SECONDS = 600


class Peer(Struct, frozen=True):
    """A program, or why there is none. `command` begins its command line."""

    name: str
    version: str = ""
    command: tuple[str, ...] = ()
    missing: str = ""


class Peers(Struct, frozen=True):
    """All peers."""

    pi: Peer
    fast_resume: Peer
    rg: Peer
    cat: Peer
    textual: Peer

    def all(self) -> tuple[Peer, ...]:
        """Return them in the order of the report."""
        return (self.pi, self.fast_resume, self.rg, self.cat, self.textual)


class Missing(Exception):
    """A row cannot be measured because a peer is not there; the message says which and why."""


def find_peers(below: Path) -> Peers:
    """Return the peers; those that come from a registry are installed below a folder at the first time."""
    return Peers(
        pi=_tried(f"pi {PI_VERSION}", lambda: _pi(below)),
        fast_resume=_tried("fast-resume", lambda: _fast_resume(below)),
        rg=_tried("rg", lambda: _system("rg")),
        cat=_tried("cat", lambda: _system("cat")),
        textual=Peer(
            "bare Textual app",
            subprocess.run(
                [sys.executable, "-c", "import importlib.metadata as m; print(m.version('textual'))"],
                capture_output=True,
                text=True,
                timeout=600,
            ).stdout.strip(),
            (sys.executable, str(HERE / "bare_app.py")),
        ),
    )


def need(peer: Peer) -> tuple[str, ...]:
    """Return the peer's command.

    Raises:
        Missing: there is none.
    """
    if peer.missing:
        raise Missing(f"{peer.name} is missing: {peer.missing}")
    return peer.command


def pi_list(peer: Peer, env: Mapping[str, str]) -> tuple[float, float]:
    """Return the seconds that pi's `listAll` takes inside node, and the CPU seconds of node in all."""
    done = must(run([*need(peer), "list"], env))
    return _inside(done), done.cpu


def pi_open(peer: Peer, env: Mapping[str, str], file: Path) -> float:
    """Return the seconds that pi's `open` and `getTree` take inside node."""
    return _inside(must(run([*need(peer), "open", file], env)))


def _inside(done: Run) -> float:
    seconds: float = json.loads(done.stdout)["seconds"]
    return seconds


def _tried(name: str, find: Callable[[], Peer]) -> Peer:
    try:
        return find()
    except (OSError, subprocess.SubprocessError, Failed) as reason:
        return Peer(name, missing=str(reason).strip().splitlines()[-1] if str(reason) else type(reason).__name__)


def _system(name: str) -> Peer:
    program = shutil.which(name)
    if program is None:
        raise Failed(f"{name} is not installed")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=600).stdout
    found = re.search(r"\d+(\.\d+)+", said)
    return Peer(name, found[0] if found else "", (program,))


def _pi(below: Path) -> Peer:
    folder = below / f"pi-{PI_VERSION}"
    package = folder / "node_modules" / PI
    if not (package / "package.json").is_file():
        _npm(folder, "--ignore-scripts", f"{PI}@{PI_VERSION}")
    node = _node(below)
    version = _said([node, "--version"])
    return Peer(
        f"pi {PI_VERSION}", f"{PI_VERSION}, node {version}", (str(node), str(HERE / "ask_pi.mjs"), str(package))
    )


def _node(below: Path) -> Path:
    system = shutil.which("node")
    if system is not None:
        numbers = re.findall(r"\d+", _said([Path(system), "--version"]))
        if tuple(map(int, numbers[:2])) >= NODE_AT_LEAST:
            return Path(system)
    folder = below / f"node{NODE_MAJOR}"
    program = folder / "node_modules" / "node" / "bin" / "node"
    if not program.exists():
        _npm(folder, f"node@{NODE_MAJOR}")
    return program


def _npm(folder: Path, *arguments: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Failed("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    _install(
        [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--no-package-lock", *arguments], folder
    )


def _fast_resume(below: Path) -> Peer:
    folder = below / "fast-resume"
    program = folder / "bin" / "fr"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _install([*pip, FAST_RESUME], folder)
    return Peer("fast-resume", _said([program, "--version"]).removeprefix("fr "), (str(program),))


def _install(command: list[str], cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_SECONDS
    )
    if done.returncode:
        raise Failed(f"it could not be installed: {(done.stderr or done.stdout).strip()[-300:]}")


def _said(command: list[Path | str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ)
    if done.returncode:
        raise Failed((done.stderr or done.stdout).strip())
    return done.stdout.strip()
