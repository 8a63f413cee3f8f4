"""A look at another machine: copy its new and changed session files over ssh into the mirror here.

One ssh connection asks for the agents' directories, the list of files, the changed files, and which working directories
exist, in this order. Nothing is installed or written on the other machine.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sessionbrowse.agents import Place, Surroundings
from sessionbrowse.config import MachineSettings
from sessionbrowse.errors import NotFound
from sessionbrowse.services.machines import script
from sessionbrowse.services.machines.conversation import SILENCE_S, Conversation, Ended, Stopped
from sessionbrowse.services.machines.mirror_files import Incoming, MirrorFiles
from sessionbrowse.services.machines.results import LookResult
from sessionbrowse.services.machines.rows import (
    MOST_PATH,
    ODD_NAME,
    RemoteRow,
    parse_rows,
    sum_of_rows,
    without_clashes,
)
from sessionbrowse.services.machines.surroundings import ask_surroundings, folders
from sessionbrowse.store.find.roots import root_places
from sessionbrowse.store.own.mirrors import MirrorState, place_at, read_state, remote_path, same_machine, write_state
from sessionbrowse.store.system.files import CLOEXEC, take_lock
from sessionbrowse.text import clean

if TYPE_CHECKING:
    from sessionbrowse.services.transaction.change_context import Cancelled, Progress

RECENT_S = 2.0
"""A file that changed so shortly before a look may change again within the same second, with the same times."""
DAY_MS = 24 * 60 * 60 * 1000
_SAVE_S = 5.0
_MOST_ROWS = 128 * 1024 * 1024
_SLACK = 64 * 1024 * 1024
_AFTER_JUMP = re.compile("UNKNOWN port|^kex_exchange_identification")
_CLOCK = re.compile("[0-9]{1,10}")
UNREADABLE = "files that cannot be read over there"
NOT_WRITTEN = "files that cannot be written here"
_ASLEEP = ("timed out", "timeout, server", "no route to host", "host is down", "network is unreachable")


def look(
    machine: MachineSettings,
    *,
    top: str | None = None,
    progress: Progress = lambda done, total, path: None,
    cancelled: Cancelled = lambda: False,
    recent_s: float = RECENT_S,
    silence_s: float = SILENCE_S,
) -> LookResult:
    """Update the mirror of a machine; the result has the numbers of files, or the reason why the look failed.

    Files that came before a failure stay, and the next look continues from there. `top` is the directory of all
    mirrors. `progress` is called after each received file, with its path on the other machine.
    """
    files = MirrorFiles(machine.name, top)
    with only_look(files.directory) as is_only:
        if not is_only:
            return LookResult(name=machine.name, error=f"Another look at {machine.name} is running.")
        one = _Look(machine, files, top, progress, recent_s)
        try:
            conversation = Conversation(machine.host, cancelled=cancelled, silence_s=silence_s)
        except OSError as error:
            reason = error.strerror or str(error)
            return one.ended(f"The program ssh cannot be started ({reason}). Install OpenSSH.")
        return one.run(conversation)


class _Look:
    """A running look at a machine."""

    def __init__(
        self, machine: MachineSettings, files: MirrorFiles, top: str | None, progress: Progress, recent_s: float
    ) -> None:
        self._machine, self._files, self._top = machine, files, top
        self._progress, self._recent_s = progress, recent_s
        state = read_state(machine.name, top)
        is_same = state is not None and state.host == machine.host
        self._state = state if state is not None and is_same else MirrorState(name=machine.name, host=machine.host)
        self._noted = files.read_noted()
        self._saved = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._done = self._total = 0

    def run(self, conversation: Conversation) -> LookResult:
        """Do the look; if it fails, `error` of the result is a sentence that says why."""
        error: str | None = None
        is_stopped = is_asleep = False
        try:
            self._converse(conversation)
        except Stopped:
            is_stopped = True
        except Ended as failure:
            error = str(failure)
        except OSError as failure:
            reason = failure.strerror or str(failure)
            error = f"The mirror of {self._machine.name} cannot be written ({reason}); the next look goes on."
        finally:
            status = conversation.close()
        if error == "":
            error, is_asleep = self._why(conversation, status)
        return self.ended(error, conversation.sent, conversation.received, asleep=is_asleep, stopped=is_stopped)

    def ended(
        self, error: str | None, sent: int = 0, received: int = 0, *, asleep: bool = False, stopped: bool = False
    ) -> LookResult:
        """Save the rows of the files and the state of the machine, and return the result."""
        rows, state = self._noted.rows, self._state
        result = LookResult(
            name=self._machine.name,
            files=len(rows),
            **self._counts,
            left_out=+self._left_out,
            sent=sent,
            received=received,
            error=error,
            asleep=asleep,
            stopped=stopped,
            seen=state.seen,
            same_as=same_machine(state, self._top),
        )
        if error is None and not stopped:
            state = replace(state, seen=_now(), rooted=tuple(self._rooted()))
        with suppress(OSError):
            self._files.note(self._noted)
            sizes = sum([row.size for row in rows.values()])
            write_state(replace(state, files=len(rows), size=sizes, error=error), self._top)
        return result

    def _converse(self, conversation: Conversation) -> None:
        clock, _, form = conversation.begin(script.BEGIN).partition(" ")
        if not _CLOCK.fullmatch(clock) or form not in ("1", "2", "3"):
            raise Ended(f"The programs find, stat and date on {self._machine.name} are not of a known form.")
        seen = int(clock)
        if not 0 <= _now() - self._state.asked < DAY_MS:
            self._state = ask_surroundings(conversation, self._state)
        self._state = replace(self._state, clock_offset=seen * 1000 - _now())
        self._fetch(conversation, self._rows(conversation, seen))
        self._noted.seen = seen
        self._ask_directories(conversation)

    def _rows(self, conversation: Conversation, seen: int) -> dict[str, RemoteRow]:
        """Return the present rows of all files there, and remove files from the mirror that are gone there.

        A row has the inode, size, times and path of a file. If the checksum of a directory's rows is the known one,
        none of its rows are requested. Otherwise the rows changed since the last look are requested; if the checksum
        still differs, all rows.
        """
        noted, recent_s = self._noted, self._recent_s
        wanted = folders(self._state.places, self._machine.roots, self._state.home)
        told: list[str] = []
        for piece in script.in_pieces([folder.sum() for folder in wanted]):
            told += conversation.ask("\n".join(piece), _MOST_ROWS).decode("ascii", "replace").split("\n")[: len(piece)]
        found: dict[str, RemoteRow] = {}
        failed: list[str] = []
        for folder, sum_there in zip(wanted, told, strict=False):
            known = {path: row for path, row in noted.rows.items() if folder.holds(path)}
            own = {path: replace(row, seen=seen) if row.is_recent(recent_s) else row for path, row in known.items()}
            if known and sum_there != sum_of_rows(folder, own):
                newer = folder.newer_rows(noted.seen - max(0.0, recent_s))
                answer, _ = next(conversation.answers([newer], _MOST_ROWS))
                own.update(parse_rows(folder, answer, seen, Counter()))
            if sum_there != sum_of_rows(folder, own):
                answer, ended = next(conversation.answers([folder.rows()], _MOST_ROWS))
                own = parse_rows(folder, answer, seen, self._left_out)
                status, _, odd = ended.partition(" ")
                self._left_out[ODD_NAME] += int(odd) if re.fullmatch("[0-9]{1,9}", odd) else 0
                if status != "0":
                    failed.append(folder.root + "/")
            found.update(own)
        rows = without_clashes(found, self._left_out, tells_case=self._files.tells_case)
        self._remove(rows, tuple(failed))
        return rows

    def _remove(self, rows: dict[str, RemoteRow], failed: tuple[str, ...]) -> None:
        """Remove files that are gone on the other machine, except below directories that could not be read there."""
        for path in list(self._files.all()):
            if path not in rows and not path.startswith(failed):
                self._files.remove(path)
                self._counts["gone"] += 1
        self._noted.rows = {path: row for path, row in self._noted.rows.items() if path in rows}

    def _fetch(self, conversation: Conversation, rows: dict[str, RemoteRow]) -> None:
        """Fetch the new content of files whose rows changed, newest files first."""
        noted = self._noted.rows
        sizes = {path: self._files.size(path) for path in rows}
        changed = [
            path
            for path, row in rows.items()
            if path not in noted
            or sizes[path] is None
            or noted[path].text != row.text
            or noted[path].is_recent(self._recent_s)
        ]
        changed.sort(key=lambda path: rows[path].mtime_ns, reverse=True)
        needed = sum(max(0, rows[path].size - (sizes[path] or 0)) for path in changed)
        free = shutil.disk_usage(self._files.directory).free
        if needed and needed + _SLACK > free:
            raise OSError(errno.ENOSPC, f"{needed:,} bytes would come, and {free:,} are free")
        self._total = len(changed)
        ends = conversation.frames(
            self._commands(changed, sizes), lambda chunk: file.take(chunk), lambda: 2 * rows[path].size + _SLACK
        )
        for path in changed:
            file = Incoming(self._files, path, rows[path], sizes[path])
            try:
                if file.finish(next(ends)):
                    self._note(path, rows[path], file, sizes[path])
                elif file.kind != "-":
                    self._left_out[NOT_WRITTEN if file.is_refused else UNREADABLE] += 1
            finally:
                file.abandon()
            self._done += 1
            self._progress(self._done, self._total, path)
            if time.monotonic() - self._saved > _SAVE_S:
                self._files.note(self._noted)
                self._saved = time.monotonic()

    def _commands(self, changed: Iterable[str], sizes: dict[str, int | None]) -> Iterator[str]:
        for path in changed:
            size = sizes[path]
            words: tuple[object, ...] = ()
            if size is not None:
                head, rest = self._files.sums(path, size)
                words = (min(size, script.HEAD), f"'{head}'", max(0, size - script.HEAD), f"'{rest}'", size + 1)
            yield " ".join(map(str, ("f", quote(path), *words)))

    def _note(self, path: str, row: RemoteRow, file: Incoming, size: int | None) -> None:
        self._noted.rows[path] = replace(row, cwd=self._files.directory_of(path))
        if size is None:
            self._counts["new"] += 1
        elif file.kind == "w":
            self._counts["replaced"] += 1
        elif file.written or file.kind == "h":
            self._counts["grown"] += 1

    def _ask_directories(self, conversation: Conversation) -> None:
        """Ask which working directories exist there; this comes last, because a dead network mount never answers."""
        named = dict.fromkeys(row.cwd for row in self._noted.rows.values())
        wanted = [path for path in named if path.startswith("/") and "\0" not in path and len(path) <= MOST_PATH]
        told = {path: self._state.directories[path] for path in wanted if path in self._state.directories}
        commands = ["d " + " ".join(names) for names in script.in_pieces(map(quote, wanted))]
        states = bytearray()
        with suppress(Ended):
            for answer, _ in conversation.answers(commands, len(wanted)):
                states += answer
        told.update(zip(wanted, [state == ord("0") for state in states], strict=False))
        self._state = replace(self._state, directories=told)

    def _rooted(self) -> list[Place]:
        """Return the places in the user's roots, recognised by the files that were fetched from there."""
        found: list[Place] = []
        around = Surroundings(home=self._state.home, environ={}, cwd=self._state.home or "/")
        for folder in folders((), self._machine.roots, self._state.home):
            with suppress(NotFound):
                found += root_places(self._files.path(folder.root), around)
        return [place_at(place, remote_path) for place in found]

    def _why(self, conversation: Conversation, status: int) -> tuple[str, bool]:
        """Return a sentence why the connection ended early, and True if the machine does not answer."""
        name, words = self._machine.name, [clean(line.strip()) for line in conversation.last_words()]
        # If a jump host refused, ssh prints the reason first, and then lines that only say that it failed.
        words = [line for line in words if not _AFTER_JUMP.search(line)] or words
        if conversation.has_begun:
            went = f"broke off after {self._done} of {self._total} files" if self._total else "broke off"
            return f"The look at {name} {went}; the next look goes on.", False
        if status == 255 and words and any(part in words[-1].lower() for part in _ASLEEP):
            return f"{name} did not answer.", True
        if status == 255 and words:
            told = words[-2:] if words[-1].startswith("Host key verification failed") else words[-1:]
            return f"{' '.join(told)} (try `ssh {clean(self._machine.host)}` once by hand)", False
        noise = [clean(line) for line in conversation.noise.decode("utf-8", "replace").splitlines() if line.strip()]
        if status == 1 and noise:
            return f"{name} answered: {noise[0][:200]}", False
        return f"{name}'s login shell did not start `sh`.", False


def _now() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def only_look(directory: str) -> Iterator[bool]:
    """Hold the lock of a mirror, so that no look writes there; yield False if a running look holds the lock."""
    descriptor = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CREAT | CLOEXEC, 0o600)
    try:
        yield take_lock(descriptor)
    finally:
        os.close(descriptor)
