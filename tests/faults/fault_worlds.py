"""The verbs that make, move and delete whole files, each with the store it needs, for the tests of faults."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from sessionbrowse import SessionManager
from sessionbrowse.agents import Surroundings
from sessionbrowse.manager.environment import Environment
from sessionbrowse.services.change.archive import archive, unarchive
from sessionbrowse.services.change.delete import Into, delete
from sessionbrowse.services.change.fork import fork
from sessionbrowse.services.change.relocate import relocate
from sessionbrowse.services.change.restore import restore
from sessionbrowse.services.clean.clean import Where, branches_plan, clean_session, shrink_plan
from sessionbrowse.services.clean.doctor import repair
from sessionbrowse.services.transaction.trash_directories import own_trash
from sessionbrowse.services.undo import undo
from sessionbrowse.store.find.roots import Scope
from tests.support.change_helpers import CONVERSATION, LONG_AGO_NS, NOW_MS, Store, header, line, target, user

Looks = dict[str, tuple[bytes, int]]
OLD, NEW = "/projects/webshop", "/srv/shop"
IN_PLACE = Where()
WORKFLOW = {"runId": "r", "stageId": "s", "stageName": "n"}
ANSWER = {"role": "assistant", "content": [], "provider": "p", "model": "m", "stopReason": "stop", "timestamp": 2}
QUESTION = {"role": "user", "content": "hello", "timestamp": 1}


class Verb(Struct, frozen=True, kw_only=True):
    """What a verb needs before it (the answer is the session in question), and the verb."""

    prepare: Callable[[World], Path]
    act: Callable[[World], object]
    can_be_undone: bool = True
    is_noted: bool = True


class World:
    """One store with all that a verb may touch, a trash of its own, and ids that come out the same each time."""

    def __init__(self, folder: Path, verb: Verb, data_home: Path) -> None:
        for former in (folder, data_home):
            shutil.rmtree(former, ignore_errors=True)
        # A disk that is mounted below the folder stays, and its mount point with it.
        folder.mkdir(exist_ok=True)
        data_home.mkdir(parents=True, exist_ok=True)
        self.data_home = data_home
        self.store = Store(folder)
        self.store.environ = {"XDG_DATA_HOME": str(data_home), "XDG_STATE_HOME": str(self.store.state.parent)}
        self._verb = verb
        self._chance = 0
        self.manager: SessionManager | None = None
        self.path = verb.prepare(self)

    def act(self) -> None:
        """Run the verb."""
        self._verb.act(self)

    def random_bytes(self, count: int) -> bytes:
        """Return bytes that count up."""
        self._chance += 1
        return self._chance.to_bytes(count, "big")

    @property
    def environment(self) -> Environment:
        """What a session manager needs."""
        around = Surroundings(home=str(self.store.home), environ=self.store.environ, cwd=str(self.store.folder))
        return Environment(
            around=around, now_ms=lambda: NOW_MS, random_bytes=self.random_bytes, proc=str(self.store.proc)
        )

    @property
    def scope(self) -> Scope:
        """The places of all agents."""
        around = Surroundings(home=str(self.store.home), environ=self.store.environ, cwd=str(self.store.folder))
        return Scope(around=around)

    def session(self, agent: str = "pi", name: str = "a.jsonl", **head: Any) -> Path:
        """Write a session that says its own name, with its folder where it is omp's."""
        entries = [*CONVERSATION, user("00000009", "00000008", f"only in {agent} {name}")]
        path = self.store.session(agent, entries, head=[header(**head)], name=name, slot="old title")
        if agent == "omp":
            folder = path.parent / path.stem
            (folder / "Scout").mkdir(parents=True)
            self._write(folder / "1.bash.log", f"output of {name}")
            self._write(folder / "Scout" / "Deep.jsonl", f"deep of {name}")
            self._write(path.parent / f"{path.name}.0123456789abcdef.bak", f"older {name}")
        return path

    def delegating(self) -> Path:
        """Write a session of pi beside which an extension keeps a subagent's session and a file of its own."""
        path = self.session(name="2026-08-13T08-00-00-000Z_a.jsonl")
        child = path.with_suffix("") / "run1" / "run-0" / "session.jsonl"
        child.parent.mkdir(parents=True)
        head, last = header(id="child", parentSession=str(path)), user("00000009", "00000008", "only in the child")
        self._write(child, b"".join(map(line, [head, *CONVERSATION, last])).decode())
        self._write(path.parent / f"{path.stem}.meta.json", "only in the sidecar")
        return path

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))

    def looks(self) -> Looks:
        """Return every file of the store, trash aside: content, and its time where that is an old one."""
        return looks_of(self.store.home)

    def folders(self) -> set[str]:
        """Return the folders of the store."""
        return {here for here, _, _ in os.walk(self.store.home)}

    def trashed(self) -> Looks:
        """Return every file in a trash."""
        return looks_of(self.data_home) | looks_of(Path(own_trash(self.store.context)))

    def vanish(self) -> None:
        """Let another program remove the session."""
        self.path.unlink(missing_ok=True)

    def replace(self) -> None:
        """Let another program put another session in its place, or where it was."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        other = self.store.folder / "other"
        other.write_bytes(THEIRS)
        os.rename(other, self.path)


THEIRS = b"".join(line(value) for value in [header(id="theirs"), user("000000aa", None, "only in theirs")])


def looks_of(folder: Path) -> Looks:
    """Return every file below a folder, as `World.looks`."""
    found: Looks = {}
    for here, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(here, name)
            mtime_ns = os.lstat(path).st_mtime_ns
            # Only a time of old must be kept; what a test writes now has any.
            content = re.sub(rb"(?<=\nDeletionDate=).*", b"", Path(path).read_bytes())
            found[os.path.relpath(path, folder)] = (
                content,
                mtime_ns if abs(mtime_ns - LONG_AGO_NS) < 10_000_000 else 0,
            )
    return found


def kept(looks: Looks) -> set[bytes]:
    """Return what must not get lost of files: the conversations, whatever their headers say, and other contents."""
    return {content[max(content.find(b'"first question"'), 0) :] for content, _ in looks.values()}


def _deleted(into: Into) -> Verb:
    return Verb(
        prepare=lambda world: world.session("omp"),
        act=lambda world: delete(target(world.path), into=into, context=world.store.context),
        can_be_undone=into != "nowhere",
    )


def following(first: Callable[[World], object], verb: Callable[[World], object], agent: str = "pi") -> Verb:
    """A verb that follows another one."""

    def prepare(world: World) -> Path:
        path = world.path = world.session(agent)
        first(world)
        return path

    return Verb(prepare=prepare, act=verb, can_be_undone=False)


def _archived(agent: str) -> Callable[[World], Path]:
    def prepare(world: World) -> Path:
        return Path(archive(target(world.session(agent)), context=world.store.context).path)

    return prepare


def _archived_with_companions(world: World) -> Path:
    return Path(archive(target(world.delegating()), context=world.store.context).path)


def _relocated_with_companions(world: World) -> Path:
    path = world.delegating()
    _relocate(world)
    return Path(str(path).replace("--projects-webshop--", "--srv-shop--"))


def _deleted_with_companions(world: World) -> Path:
    path = world.delegating()
    delete(target(path), context=world.store.context)
    return path


def _packed(world: World) -> Path:
    path = world.session("omp")
    folder = path.parents[2] / "archive" / "sessions" / path.parent.name
    folder.mkdir(parents=True)
    packed = folder / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    os.utime(packed, ns=(LONG_AGO_NS, LONG_AGO_NS))
    shutil.move(path.with_suffix(""), folder / path.stem)
    path.unlink()
    next(path.parent.glob("*.bak")).unlink()
    return packed


def _project(world: World) -> Path:
    """A project with a parent, a child elsewhere, a session below, and one of omp with its folder."""
    path = world.session("pi")
    child = world.session("pi", "child.jsonl", cwd="/other", parentSession=str(path))
    (child.parent.parent / "--other--").mkdir()
    os.rename(child, child.parent.parent / "--other--" / child.name)
    world.session("pi", "below.jsonl", cwd=f"{OLD}/api")
    world.session("omp", "b.jsonl")
    return path


def _relocate(world: World) -> object:
    return relocate(OLD, NEW, world.scope, context=world.store.context)


def _fork(world: World) -> object:
    return fork(str(world.path), context=world.store.context, random_bytes=world.random_bytes)


def _undo(world: World) -> object:
    return undo(context=world.store.context)


def _prune(world: World, where: Where = IN_PLACE) -> object:
    agent = "omp" if ".omp" in str(world.path) else "pi"
    return clean_session(
        target(world.path, agent),
        "prune",
        branches_plan(["00000009"]),
        where,
        context=world.store.context,
        random_bytes=world.random_bytes,
    )


def _prune_copy(world: World) -> object:
    return _prune(world, Where(to=str(world.path.parent), new_id=True))


def _shrink(world: World) -> object:
    plan = shrink_plan(results_over=0)
    return clean_session(target(world.path, "pi"), "shrink", plan, Where(), context=world.store.context)


def _torn(world: World) -> Path:
    path = world.session()
    path.write_bytes(path.read_bytes() + b'{"type":"mess')
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return path


def _undo_relocate() -> Verb:
    def prepare(world: World) -> Path:
        path = _project(world)
        _relocate(world)
        return Path(str(path).replace("--projects-webshop--", "--srv-shop--"))

    return Verb(prepare=prepare, act=_undo, can_be_undone=False)


def _undo_unpack() -> Verb:
    def prepare(world: World) -> Path:
        return Path(unarchive(target(_packed(world)), context=world.store.context).path)

    return Verb(prepare=prepare, act=_undo, can_be_undone=False)


def _managed(agent: str, act: Callable[[SessionManager], object]) -> Verb:
    """A verb of `SessionManager` on a session that it has open."""

    def prepare(world: World) -> Path:
        path = world.session(agent)
        world.manager = SessionManager.open(path, environment=world.environment, force=True)
        return path

    def run(world: World) -> object:
        assert world.manager is not None
        return act(world.manager)

    return Verb(prepare=prepare, act=run, can_be_undone=False, is_noted=False)


def _begun(world: World) -> Path:
    path = world.session()
    world.manager = SessionManager.create("/projects/new", path.parent, environment=world.environment)
    return path


def _first_message(world: World) -> object:
    assert world.manager is not None
    return world.manager.append_message(QUESTION)


FILE_VERBS: dict[str, Verb] = {
    "fork pi": Verb(prepare=lambda world: world.session(), act=_fork),
    "fork pi at": Verb(
        prepare=lambda world: world.session(),
        act=lambda world: fork(
            str(world.path), at="00000006", context=world.store.context, random_bytes=world.random_bytes
        ),
    ),
    "fork omp": Verb(prepare=lambda world: world.session("omp"), act=_fork),
    "delete pi": Verb(
        prepare=lambda world: world.session(), act=lambda world: delete(target(world.path), context=world.store.context)
    ),
    "delete omp": _deleted("trash"),
    "delete omp, own trash": _deleted("own"),
    "delete omp for good": _deleted("nowhere"),
    "restore omp": following(
        lambda world: delete(target(world.path), context=world.store.context),
        lambda world: restore(context=world.store.context),
        "omp",
    ),
    "archive pi": Verb(
        prepare=lambda world: world.session(),
        act=lambda world: archive(target(world.path), context=world.store.context),
    ),
    "archive omp": Verb(
        prepare=lambda world: world.session("omp"),
        act=lambda world: archive(target(world.path), context=world.store.context),
    ),
    "unarchive omp": Verb(
        prepare=_archived("omp"), act=lambda world: unarchive(target(world.path), context=world.store.context)
    ),
    "unpack omp": Verb(prepare=_packed, act=lambda world: unarchive(target(world.path), context=world.store.context)),
    "relocate": Verb(prepare=_project, act=_relocate),
    "delete pi and companions": Verb(
        prepare=World.delegating, act=lambda world: delete(target(world.path), context=world.store.context)
    ),
    "restore pi and companions": Verb(
        prepare=_deleted_with_companions,
        act=lambda world: restore(context=world.store.context),
        can_be_undone=False,
    ),
    "archive pi and companions": Verb(
        prepare=World.delegating, act=lambda world: archive(target(world.path), context=world.store.context)
    ),
    "unarchive pi and companions": Verb(
        prepare=_archived_with_companions,
        act=lambda world: unarchive(target(world.path), context=world.store.context),
    ),
    "undo archive pi and companions": Verb(prepare=_archived_with_companions, act=_undo, can_be_undone=False),
    "relocate pi and companions": Verb(prepare=World.delegating, act=_relocate),
    "undo relocate pi and companions": Verb(prepare=_relocated_with_companions, act=_undo, can_be_undone=False),
    "prune pi": Verb(prepare=lambda world: world.session(), act=_prune),
    "prune omp": Verb(prepare=lambda world: world.session("omp"), act=_prune),
    "prune pi, new session": Verb(prepare=lambda world: world.session(), act=_prune_copy),
    "prune omp, new session": Verb(prepare=lambda world: world.session("omp"), act=_prune_copy),
    "shrink pi": Verb(prepare=lambda world: world.session(), act=_shrink),
    "repair pi": Verb(
        prepare=_torn,
        act=lambda world: repair(
            target(world.path, "pi"), Where(), context=world.store.context, random_bytes=world.random_bytes
        ),
    ),
    "undo prune": following(_prune, _undo),
    "undo prune, new session": following(_prune_copy, _undo),
    "undo fork": following(_fork, _undo),
    "undo delete": following(lambda world: delete(target(world.path), context=world.store.context), _undo),
    "undo archive": Verb(prepare=_archived("omp"), act=_undo, can_be_undone=False),
    "undo unpack": _undo_unpack(),
    "undo relocate": _undo_relocate(),
    "manager begins pi": Verb(prepare=_begun, act=_first_message, can_be_undone=False, is_noted=False),
    "manager forks pi": _managed("pi", lambda manager: manager.create_branched_session("00000006")),
    "manager forks omp": _managed("omp", lambda manager: manager.fork()),
    "manager moves omp": _managed("omp", lambda manager: manager.move_to("/srv/shop")),
    "manager marks atomic": _managed("atomic", lambda manager: manager.mark_session_internal(WORKFLOW)),
    "manager appends pi": _managed("pi", lambda manager: manager.append_message(ANSWER)),
    "manager appends omp": _managed("omp", lambda manager: manager.append_message(ANSWER)),
    "manager names omp": _managed("omp", lambda manager: manager.set_session_name("new", "user")),
}
"""Every verb that is not one line in a file: see `test_faults` for those."""
