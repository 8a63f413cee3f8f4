"""The verbs that move whole files, for runs beside a writer: their stores, their disks, and what else may fail."""

from __future__ import annotations

import errno
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from sessionbrowse.agents import Place
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.delete import delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.discover import discover
from sessionbrowse.store.find.roots import find_places
from sessionbrowse.store.write import moves, old_versions
from tests.faults.fault_injection import replaced
from tests.faults.fault_worlds import FILE_VERBS, NEW, Verb, World, following
from tests.support.change_helpers import target

OWNER = 12345
"""The user to whom the sessions belong where the tests run as root."""
PI_TARGET = ".pi/agent/sessions/--srv-shop--"
PI_ARCHIVE = ".pi/agent/sessions/--projects-webshop--/archive"
OMP_ARCHIVE = ".omp/agent/archive"
TRASH = "trash"
SLOWEST_S = 20.0
"""The time that a folder may take to answer on a machine that does much else."""
LEASE_S = 0.2
"""The time that a run waits for programs to close a file; `store/write` itself waits for two seconds."""

_HEADER = re.compile(rb'(?:\{"type":"title"[^\n]*\n)?\{"type":"session".{0,80}?"id":"([^"]+)"')
_IN_TRASH = re.compile(r"/(?:[Tt]rash|\.Trash-\d+)/files/[^.]")


class LiveVerb(Struct, frozen=True):
    """A verb, and the folder that lies on the second disk: below the home, or the trash."""

    verb: Verb
    second_disk: str


class LiveWorld(World):
    """A world in which each session has an id of its own, nobody else may read anything, and the clock is right.

    `seam` fails all the time beside it.
    """

    def __init__(self, folder: Path, verb: Verb, data_home: Path, seam: str) -> None:
        super().__init__(folder, verb, data_home)
        self.store.now_ms = time.time() * 1000
        for place in (self.store.home, data_home):
            for here, _, names in os.walk(place):
                for path in (here, *(os.path.join(here, name) for name in names)):
                    os.chmod(path, 0o700 if path == here else 0o600)
                    if os.geteuid() == 0:
                        os.chown(path, OWNER, OWNER)
                    if seam in RESTLESS and path.endswith(".jsonl") and "/.pi/" in path:
                        os.utime(path)
        self.places: list[Place] = find_places(self.scope.around)

    def session(self, agent: str = "pi", name: str = "a.jsonl", **head: Any) -> Path:
        """Write a session with an id of its own."""
        return super().session(agent, name, **{"id": f"{agent}-{name}", **head})

    def listed(self) -> dict[str, list[str]]:
        """Return the paths at which each session is listed, by its id: in the agents' places, or in a trash."""
        found: dict[str, list[str]] = {}
        files = discover(self.places, include_archived=True, timeout_s=SLOWEST_S)
        for path in (*(file.path for file in files), *self._in_trash()):
            session_id = session_id_of(path)
            if session_id is not None:
                found.setdefault(session_id, []).append(path)
        return found

    def _in_trash(self) -> Iterator[str]:
        for place in (self.data_home, self.store.home):
            for here, folders, names in os.walk(place):
                folders[:] = [name for name in folders if name[0] != "." or name.startswith((".pi", ".omp", ".Trash"))]
                for path in (os.path.join(here, name) for name in names):
                    if _IN_TRASH.search(path) and path.endswith((".jsonl", ".jsonl.gz")):
                        yield path


def session_id_of(path: str) -> str | None:
    """Return the session id in a file's header, None if it has none, or is gone."""
    try:
        return id_in(unpacked(path, Path(path).read_bytes()))
    except OSError:
        return None


def id_in(content: bytes) -> str | None:
    """Return the session id in the header that a content begins with."""
    found = _HEADER.match(content)
    return found[1].decode() if found else None


def unpacked(path: str, content: bytes) -> bytes:
    """Return the content of a file as its program reads it."""
    if ".gz" not in path:
        return content
    try:
        return zlib.decompress(content, zlib.MAX_WBITS | 16)
    except zlib.error:
        return content


# ---- what else may fail ----------------------------------------------------------------------------------------


@contextmanager
def _no_renameat2() -> Iterator[None]:
    """A system or a disk that neither exchanges names nor renames to a free name in one step."""
    with ExitStack() as patches:
        for name in ("exchange", "rename_to_free"):
            patches.enter_context(replaced(moves, name, lambda first, second: False))
        yield


def _no_links(code: int) -> Seam:
    """A disk without hard links."""

    def refused(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return lambda: replaced(os, "link", refused)


def _leases(answer: Callable[[int], bool]) -> Seam:
    """Another answer to the question if nobody has a file open."""
    return lambda: replaced(old_versions, "nobody_has_open", lambda descriptor, timeout_s: answer(descriptor))


Seam = Callable[[], AbstractContextManager[None]]

_quick_leases = _leases(partial(old_versions.nobody_has_open, timeout_s=LEASE_S))
_no_leases = _leases(lambda descriptor: False)

SEAMS: dict[str, tuple[Seam, ...]] = {
    "nothing else": (_quick_leases,),
    "no exchange": (_quick_leases, _no_renameat2),
    "no links": (_quick_leases, _no_links(errno.EPERM)),
    "too many links": (_quick_leases, _no_links(errno.EMLINK)),
    "no leases": (_no_leases,),
    "no exchange, no leases": (_no_leases, _no_renameat2),
    "neither exchange nor links": (_quick_leases, _no_renameat2, _no_links(errno.EPERM)),
}
"""What fails all the time, beside the one call that fails or kills."""
RESTLESS = frozenset({"no links", "too many links", "neither exchange nor links"})
"""Where nothing but rest can make a change safe, each session of pi has changed just now."""


@contextmanager
def failing(seam: str) -> Iterator[None]:
    """Let something fail for as long as the block lasts."""
    with ExitStack() as patches:
        for each in SEAMS[seam]:
            patches.enter_context(each())
        yield


# ---- the verbs -------------------------------------------------------------------------------------------------


def _archive(world: World) -> object:
    return archive(target(world.path), context=world.store.context)


def _unarchive(world: World) -> object:
    return unarchive(target(world.path), context=world.store.context)


def _fork_elsewhere(world: World) -> object:
    return fork(str(world.path), cwd=NEW, context=world.store.context, random_bytes=world.random_bytes)


def _delete(world: World) -> object:
    return delete(target(world.path), context=world.store.context)


def _delete_own(world: World) -> object:
    return delete(target(world.path), into="own", context=world.store.context)


def _restore(world: World) -> object:
    return restore(context=world.store.context)


def _undo(world: World) -> object:
    return undo(context=world.store.context)


def _archived(world: World) -> Path:
    return Path(archive(target(world.session()), context=world.store.context).path)


def _unarchived(world: World) -> Path:
    path = _archived(world)
    return Path(unarchive(target(path), context=world.store.context).path)


def _on_pi(act: Callable[[World], object]) -> Verb:
    return Verb(prepare=lambda world: world.session(), act=act)


LIVE_VERBS: dict[str, LiveVerb] = {
    "relocate": LiveVerb(FILE_VERBS["relocate"], PI_TARGET),
    "undo relocate": LiveVerb(FILE_VERBS["undo relocate"], PI_TARGET),
    "archive pi": LiveVerb(_on_pi(_archive), PI_ARCHIVE),
    "archive omp": LiveVerb(FILE_VERBS["archive omp"], OMP_ARCHIVE),
    "undo archive pi": LiveVerb(Verb(prepare=_archived, act=_undo, can_be_undone=False), PI_ARCHIVE),
    "undo archive omp": LiveVerb(FILE_VERBS["undo archive"], OMP_ARCHIVE),
    "unarchive pi": LiveVerb(Verb(prepare=_archived, act=_unarchive), PI_ARCHIVE),
    "unarchive omp": LiveVerb(FILE_VERBS["unarchive omp"], OMP_ARCHIVE),
    "undo unarchive pi": LiveVerb(Verb(prepare=_unarchived, act=_undo, can_be_undone=False), PI_ARCHIVE),
    "unpack omp": LiveVerb(FILE_VERBS["unpack omp"], OMP_ARCHIVE),
    "undo unpack": LiveVerb(FILE_VERBS["undo unpack"], OMP_ARCHIVE),
    "fork pi": LiveVerb(_on_pi(_fork_elsewhere), PI_TARGET),
    "undo fork": LiveVerb(following(_fork_elsewhere, _undo), PI_TARGET),
    "delete pi": LiveVerb(_on_pi(_delete), TRASH),
    "delete pi, own trash": LiveVerb(_on_pi(_delete_own), TRASH),
    "delete omp, own trash": LiveVerb(FILE_VERBS["delete omp, own trash"], TRASH),
    "restore pi": LiveVerb(following(_delete, _restore), TRASH),
    "restore omp, own trash": LiveVerb(following(_delete_own, _restore, "omp"), TRASH),
    "undo delete pi": LiveVerb(following(_delete, _undo), TRASH),
    "undo delete, own trash": LiveVerb(following(_delete_own, _undo, "omp"), TRASH),
}
"""Every verb that moves whole files, and its undo."""
