"""Find out where the agents on another machine keep sessions: its home directory, variables, and directories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from msgspec import Struct

from sessionbrowse.agents import AGENTS, Place, Surroundings
from sessionbrowse.agents.base import MAX_SETTINGS_BYTES, SESSION_SUFFIXES, Disk, absolute, expand_home
from sessionbrowse.services.machines import script
from sessionbrowse.services.machines.conversation import Conversation, Ended
from sessionbrowse.services.machines.rows import is_safe
from sessionbrowse.services.machines.script import Folder
from sessionbrowse.store.find.roots import own_places

MOST_PROJECTS = 1000
_DEPTHS = {"projects": 8, "folder": 7, "flat": 4, "dates": 5, "retired": 1}
"""Depth of the search by kind of place. omp's archives and registries are left out: they name files anywhere."""
_ROOT_DEPTH = 9
_SUFFIXES: Mapping[str, tuple[str, ...]] = {"indusagi": (".jsonl", ".ndjson"), "codex": (".jsonl", ".jsonl.zst")}
_MOST_ROUNDS = 20
_MOST_TEXT = 1024 * 1024


class LoginEnvironment(Struct, frozen=True):
    """The login shell, home directory and agents' places on another machine, and a text that identifies the machine."""

    shell: str
    home: str
    identity: str
    places: tuple[Place, ...]


def ask_environment(conversation: Conversation, projects: Iterable[str]) -> LoginEnvironment:
    """Ask for the variables of a login shell, then search the agents' places by asking about that machine's disk.

    `projects` are working directories on that machine; settings in them may name further places.
    """
    answer = conversation.ask(script.SURROUNDINGS, _MOST_TEXT).decode("utf-8", "surrogateescape")
    system, shell, node, *lines = (answer + "\n\n").split("\n")
    environ = dict(line.split("=", 1) for line in lines if "=" in line)
    home = environ.get("HOME", "")
    if home != "/" and not is_safe(home):
        raise Ended
    places: list[Place] = []
    disk = _Disk()
    around = Surroundings(
        home=home,
        environ=environ,
        cwd=home,
        platform="darwin" if system == "Darwin" else "linux",
        tmpdir=environ.get("TMPDIR", "/tmp"),
        projects=tuple(islice(projects, MOST_PROJECTS)),
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
    kept = [place for place in places if place.kind in _DEPTHS and is_safe(place.root)]
    # Two ssh aliases may lead to the same machine. Its host name and the inode of the home directory show that.
    name, _, inode = node.partition(" ")
    inode = inode.partition(" ")[0]
    return LoginEnvironment(shell, home, f"{name[:255]} {inode} {home}" if inode.isdigit() else "", tuple(kept))


def folders(places: Iterable[Place], roots: Iterable[str], home: str) -> list[Folder]:
    """Return the directories to search on the other machine: the agents' places and the user's roots, each once."""
    found: dict[str, Folder] = {}
    named = [absolute(expand_home(root, home), home) for root in roots]
    wanted = [Folder(root, _ROOT_DEPTH, SESSION_SUFFIXES) for root in named if is_safe(root)]
    for place in places:
        suffixes = _SUFFIXES.get(place.agent, (".jsonl",))
        wanted.append(Folder(place.root, _DEPTHS[place.kind], suffixes, place.kind == "flat"))
    for one in wanted:
        other = found.get(one.root, one)
        both = tuple(dict.fromkeys((*other.suffixes, *one.suffixes)))
        flat = one.is_flat and other.is_flat
        found[one.root] = Folder(one.root, max(one.depth, other.depth), both, flat)
    return list(found.values())


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
