"""Find out where the agents on another machine keep sessions: its home directory, variables, and directories."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.agents.base import MAX_SETTINGS_BYTES, SESSION_SUFFIXES, Disk, absolute, expand_home
from sessionbrowse.services.machines import script
from sessionbrowse.services.machines.conversation import Conversation, Ended
from sessionbrowse.services.machines.rows import is_safe
from sessionbrowse.services.machines.script import Folder
from sessionbrowse.store.find.roots import own_places
from sessionbrowse.store.own.mirrors import MirrorState

MOST_PROJECTS = 1000
_DEPTHS = {"projects": 8, "folder": 7, "flat": 4, "dates": 5, "retired": 1}
"""Depth of the search by kind of place. omp's archives and registries are left out: they name files anywhere."""
_ROOT_DEPTH = 9
_SUFFIXES: Mapping[str, tuple[str, ...]] = {"indusagi": (".jsonl", ".ndjson"), "codex": (".jsonl", ".jsonl.zst")}
_MOST_ROUNDS = 20
_MOST_TEXT = 1024 * 1024


def ask_surroundings(conversation: Conversation, state: MirrorState) -> MirrorState:
    """Ask for the variables of a login shell, then search the agents' places by asking about that machine's disk.

    Settings in the known working directories on that machine may name further places.
    """
    answer = conversation.ask(script.SURROUNDINGS, _MOST_TEXT).decode("utf-8", "surrogateescape")
    system, shell, node, *lines = (answer + "\n\n").split("\n")
    environ = dict(line.split("=", 1) for line in lines if "=" in line)
    home = environ.get("HOME", "")
    if home != "/" and not is_safe(home):
        raise Ended
    projects = [path for path, is_there in state.directories.items() if is_there]
    places: list[Place] = []
    disk = _Disk()
    around = Surroundings(
        home=home,
        environ=environ,
        cwd=home,
        platform="darwin" if system == "Darwin" else "linux",
        tmpdir=environ.get("TMPDIR", "/tmp"),
        projects=tuple(projects[:MOST_PROJECTS]),
        disk=Disk(
            read=lambda path: disk.answer("file", path),
            is_directory=lambda path: bool(disk.answer("directory", path)),
            names=lambda path: (disk.answer("names", path) or b"").decode("utf-8", "replace").split("\n"),
        ),
    )
    for _ in range(_MOST_ROUNDS):
        places = own_places(around, AGENTS)
        if not disk.unknown:
            break
        disk.ask(conversation)
    kept = tuple([place for place in places if place.kind in _DEPTHS and is_safe(place.root)])
    # Two ssh aliases may lead to the same machine. Its host name and the inode of the home directory show that.
    name, inode, *_ = (*node.split(" "), "")
    identity = f"{name[:255]} {inode} {home}" if inode.isdigit() else ""
    return replace(state, shell=shell, home=home, identity=identity, places=kept, asked=time.time_ns() // 1_000_000)


def folders(places: Iterable[Place], roots: Iterable[str], home: str) -> list[Folder]:
    """Return the directories to search on the other machine: the user's roots and the agents' places, each once."""
    named = [absolute(expand_home(root, home), home) for root in roots]
    found = [Folder(root, _ROOT_DEPTH, SESSION_SUFFIXES) for root in named if is_safe(root)]
    for place in places:
        suffixes = _SUFFIXES.get(place.agent, (".jsonl",))
        found.append(Folder(place.root, _DEPTHS[place.kind], suffixes, place.kind == "flat"))
    return list(dict.fromkeys(found))


class _Disk:
    """Known answers about the other machine's disk, and questions that must still be sent."""

    def __init__(self) -> None:
        self.unknown: dict[tuple[str, str], None] = {}
        self._answers: dict[tuple[str, str], bytes] = {}

    def answer(self, kind: str, path: str) -> bytes | None:
        if not is_safe(path):
            return None
        if (kind, path) not in self._answers:
            self.unknown[kind, path] = None
        return self._answers.get((kind, path)) or None

    def ask(self, conversation: Conversation) -> None:
        questions, self.unknown = list(self.unknown), {}
        commands = [script.question(*question) for question in questions]
        told = conversation.answers(commands, MAX_SETTINGS_BYTES + _MOST_TEXT)
        self._answers.update(zip(questions, [answer for answer, _ in told], strict=True))
