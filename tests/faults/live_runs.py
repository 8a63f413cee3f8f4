"""One run of a verb on whole files: a writer that begins at a random moment, one fault, and what is found then."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import select
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.services.undo import undo
from sessionbrowse.store.read import archive as places
from tests.faults.fault_injection import Action, ended_by, failing_disk, fails_with, in_child
from tests.faults.fault_table import BROKEN
from tests.faults.fault_worlds import Verb
from tests.faults.live_worlds import OWNER, LiveWorld, failing, id_in, session_id_of, unpacked
from tests.faults.live_writer import Writer, Written

ACTIONS: dict[str, Action] = {
    "SIGKILL": ended_by(signal.SIGKILL),
    "SIGHUP": ended_by(signal.SIGHUP),
    "SIGTERM": ended_by(signal.SIGTERM),
    "EIO": fails_with(errno.EIO),
    "ENOSPC": fails_with(errno.ENOSPC),
    "EXDEV": fails_with(errno.EXDEV),
}
"""The fault at one call that changes the disk."""
NO_FAULT = "nothing"
"""The name of no fault at all; such a run sees what is listed at every call."""
MOST_LATER_CALLS = 3
"""The writer begins at one of the calls up to the fault, or this many later, which may be in the recovery."""
SIGNALS = frozenset({signal.SIGKILL, signal.SIGHUP, signal.SIGTERM})
CHANGES_NAMES = frozenset({"rename", "replace", "link", "unlink", "rmdir", "exchange", "rename_to_free", "ftruncate"})
"""The calls after which a session may be unlisted that was listed before."""


class Run(Struct, frozen=True, kw_only=True):
    """One run, by which it can be made again: its fault is at the `at`-th call that changes the disk."""

    verb: str
    disks: str
    seam: str
    action: str
    at: int

    @property
    def seed(self) -> str:
        """The seed of all that is random in the run."""
        return "/".join(map(str, msgspec.structs.astuple(self)))


class Findings:
    """What a run broke, in sentences: lines lost, lines displaced, sessions unlisted, and all else."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self.displaced: list[str] = []
        self.unlisted: list[str] = []
        self.other: list[str] = []

    @property
    def counts(self) -> list[int]:
        """The numbers of what was broken, in the order of `BROKEN`; at several moments, the same counts once."""
        return [len({sentence.split()[0] for sentence in found}) for found in self._kinds.values()]

    @property
    def sentences(self) -> list[str]:
        """All of them."""
        return [f"{kind}: {sentence}" for kind, found in self._kinds.items() for sentence in found]

    @property
    def _kinds(self) -> dict[str, list[str]]:
        return dict(zip(BROKEN, (self.lost, self.displaced, self.unlisted, self.other), strict=True))


class LiveRun:
    """One run in its store; `made` carries it out. The writer begins at the call `begins`, or at a random one."""

    def __init__(self, run: Run, verb: Verb, folder: Path, data_home: Path, begins: int | None = None) -> None:
        self.run, self.found = run, Findings()
        self._verb = verb
        self.world = LiveWorld(folder / "world", self._verb, data_home, run.seam)
        self._random = random.Random(run.seed)
        self._sees_from = 1 if run.action == NO_FAULT else run.at + run.action.startswith("SIG")
        self._moved = folder / "world" / "moved by the user"
        self._before = self.world.looks()
        self._known = self.world.listed()
        self._contents_before = self._contents()
        self._times = {
            session_id: os.lstat(path).st_mtime_ns for session_id, paths in self._known.items() for path in paths
        }
        self._begins = begins or self._random.randint(1, run.at + MOST_LATER_CALLS)
        self._path, self._session_id = self._random.choice(self._writable())
        self._changes_before = len(self.world.store.context.journal.changes())

    def made(self) -> Findings:
        """Carry the run out: the verb with its fault, the next change, and the undo; beside the writer."""
        writer = Writer(self._path, self._session_id, self._random.getrandbits(32))
        try:
            with failing(self.run.seam):
                self._act(writer)
                self._see("after the verb")
                writer.begin()
                self._recover("recovery")
        finally:
            written = writer.end()
        with failing(self.run.seam):
            self._recover("second recovery")
            self._check(written, "after recovery")
        with failing("nothing else"):
            self._recover("last recovery")
            self._check_leftovers()
            self._check(written, "after the last recovery")
            if self._verb.can_be_undone:
                self._undo(written)
        return self.found

    def _writable(self) -> list[tuple[str, str]]:
        """The sessions that a program may have open, by path and id: by the path at which it found them."""
        home = str(self.world.store.home)
        found = []
        for session_id, (path, *_) in sorted(self._known.items()):
            if not path.startswith(home):
                path = str(self.world.path)
            if path.endswith(".gz"):
                path = places.original_path(path)
            found.append((path, session_id))
        return found

    # ---- the verb, the next change, the undo -----------------------------------------------------------------

    def _act(self, writer: Writer) -> None:
        """Run the verb in a child that the fault may end; the child reports what it sees at each call."""
        report, told = os.pipe()
        tell = os.write  # the real one: what is patched below counts as a change of the disk
        # What stands before a kill is seen after it, and what stands before that in other runs.
        see = self._at_new_names(lambda sentence: tell(told, f"U{sentence}\n".encode()), "the verb", self._sees_from)

        def before(number: int, call: str) -> None:
            if number == self._begins:
                writer.begin()
            see(number, call)

        def act() -> None:
            try:
                with failing_disk(self.run.at, ACTIONS.get(self.run.action), before):
                    self.world.act()
            except SessionBrowseError:
                pass
            except BaseException as error:
                tell(told, f"O{error!r}\n".encode())

        ended = in_child(act)
        os.close(told)
        while select.select([report], [], [], 0)[0] and (content := os.read(report, 65536)):
            for sentence in content.decode().splitlines():
                (self.found.unlisted if sentence[0] == "U" else self.found.other).append(sentence[1:])
        os.close(report)
        if ended not in (0, *SIGNALS):
            self.found.other.append(f"the verb was ended by signal {ended}")

    def _recover(self, when: str) -> None:
        """Let the next change recover what was cut off."""
        try:
            with self._watched(when), changing(self.world.store.context):
                pass
        except Exception as error:
            self.found.other.append(f"{when}: {error!r}")

    def _undo(self, written: list[Written]) -> None:
        """Undo the change, if it was made; every session is where it was, with what the writer added."""
        changes = list(self.world.store.context.journal.changes().values())[self._changes_before :]
        if not any(change.can_be_tried for change in changes):
            return
        if self._undo_is_refused("undo") is not None:
            # A file that the writer began by name may be in the way, and is never overwritten: the user moves it.
            if os.path.lexists(self._path) and session_id_of(self._path) is None:
                self._moved.mkdir()
                shutil.move(self._path, self._moved)
            why = self._undo_is_refused("second undo")
            if why is not None and "since it was unpacked" not in why:
                self.found.other.append(f"the undo is refused: {why}")
            if why is not None:
                return
        self._recover("recovery after the undo")
        self._check_leftovers()
        self._check(written, "after the undo")
        now = self.world.looks()
        for path, (content, _) in self._before.items():
            if path not in now or not now[path][0].startswith(content):
                self.found.other.append(f"the undo does not bring back {path}")

    def _undo_is_refused(self, when: str) -> str | None:
        try:
            with self._watched(when):
                # omp's are refused for ten minutes otherwise, also if nobody has them open.
                undo(force=True, context=self.world.store.context)
        except SessionBrowseError as error:
            return error.sentence
        except Exception as error:
            self.found.other.append(f"{when}: {error!r}")
        return None

    # ---- what is found ---------------------------------------------------------------------------------------

    @contextmanager
    def _watched(self, when: str) -> Iterator[None]:
        """Look for unlisted sessions at every call that changes the disk."""
        with failing_disk(before=self._at_new_names(self.found.unlisted.append, when)):
            yield
        self._see(f"after {when}")

    def _at_new_names(self, tell: Callable[[str], object], when: str, start: int = 1) -> Callable[[int, str], None]:
        """Return a function to call before each call: it tells the unlisted sessions if the last one changed names."""
        last = ""

        def before(number: int, call: str) -> None:
            nonlocal last
            if number >= start and last in CHANGES_NAMES:
                for sentence in self._unlisted(f"in {when}, before call {number}, {call}"):
                    tell(sentence)
            last = call

        return before

    def _see(self, when: str) -> None:
        self.found.unlisted += self._unlisted(when)

    def _unlisted(self, when: str) -> list[str]:
        listed = self.world.listed()
        return [f"{session_id} {when}" for session_id in self._known if session_id not in listed]

    def _check(self, written: list[Written], when: str) -> None:
        """Every line is in a file; what was in a session, or written to it, is in a listed file of that session."""
        contents = self._contents()
        listed = {
            session_id: [path for path in paths if path in contents]
            for session_id, paths in self.world.listed().items()
        }
        for line in written:
            mark = f'"id":"{line.id}"'.encode()
            homes = listed.get(line.session_id, ())
            if not any(mark in content for content in contents.values()):
                self.found.lost.append(f"{line.id} {when}")
            elif line.had_header and not any(mark in contents[path] for path in homes):
                where = sorted(path for path, content in contents.items() if mark in content)
                self.found.displaced.append(f"{line.id} is in {where} {when}")
            if any(contents[path].count(mark) > 1 for path in homes):
                self.found.other.append(f"{line.id} is there twice {when}")
        self._check_older(contents, listed, when)
        for session_id, paths in listed.items():
            if len(paths) > 1 and session_id in self._known and "pack" not in self.run.verb:
                self.found.other.append(f"{session_id} is listed {len(paths)} times {when}: {paths}")
            for path in paths:
                if not all(map(_is_json, contents[path].split(b"\n"))):
                    self.found.other.append(f"{path} has a torn line {when}")
        self._check_marks(contents, listed, {line.session_id for line in written}, when)

    def _check_older(self, contents: dict[str, bytes], listed: dict[str, list[str]], when: str) -> None:
        """What was there before the verb is there, whatever the header says now."""
        for path, before in self._contents_before.items():
            session_id, body = id_in(before), _body(before)
            if not any(body in content for content in contents.values()):
                self.found.lost.append(f"{path} {when}")
            elif session_id is not None and not any(body in contents[home] for home in listed.get(session_id, ())):
                self.found.displaced.append(f"{path} {when}")

    def _check_marks(
        self, contents: dict[str, bytes], listed: dict[str, list[str]], grown: set[str], when: str
    ) -> None:
        """Nobody else may read anything now either; owner and time of a session are as before."""
        for path in (*contents, *self._folders()):
            mode = os.lstat(path).st_mode
            if mode & 0o077 and not path.endswith(".trashinfo"):
                self.found.other.append(f"the mode of {path} is {mode & 0o777:o} {when}")
        for session_id in self._known:
            for path in listed.get(session_id, ()):
                status = os.lstat(path)
                if os.geteuid() == 0 and status.st_uid != OWNER:
                    self.found.other.append(f"{path} belongs to {status.st_uid} {when}")
                if session_id not in grown and abs(status.st_mtime_ns - self._times[session_id]) > 10_000_000:
                    self.found.other.append(f"the time of {path} is another one {when}")

    def _check_leftovers(self) -> None:
        """Nothing hidden stays when nobody has anything open."""
        for path in self._contents():
            if _HIDDEN.search(path.removeprefix(str(self.world.store.home)).removeprefix(str(self.world.data_home))):
                self.found.other.append(f"{path} is left")

    def _contents(self) -> dict[str, bytes]:
        """Return every file in the store and in a trash, as its program reads it."""
        found = {}
        for place in (self.world.store.home, self.world.data_home, self._moved):
            for here, _, names in os.walk(place):
                for path in (os.path.join(here, name) for name in names):
                    if not path.endswith((".trashinfo", ".lock")):
                        found[path] = unpacked(path, Path(path).read_bytes())
        return found

    def _folders(self) -> Iterator[str]:
        for here, folders, _ in os.walk(self.world.store.home):
            folders[:] = [name for name in folders if not name.startswith(".Trash")]
            yield here


_HIDDEN = re.compile(r"/\.(?!pi/|omp/|Trash-)")


def _body(content: bytes) -> bytes:
    """Return what comes after a session's header, which a verb may change; all of another file."""
    if id_in(content) is None:
        return content
    return content[content.index(b"\n", content.index(b'"type":"session"')) + 1 :]


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw or b"{}")
    except ValueError:
        return False
    return True
