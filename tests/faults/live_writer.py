"""A program that appends to a session as pi does, in a process of its own, and says afterwards which lines it wrote."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import time

from msgspec import Struct

from tests.support.change_helpers import line, user

LINES = 6
LIMIT_S = 20.0
"""The time after which a writer that nobody lets begin, or end, is given up."""
FIRST_OPEN_S = 0.005
"""The time that a verb waits for the writer's first open, so that this falls between two of its calls."""
LONGEST_HOLD_S = 0.003
"""The time that pi was seen to need between opening a file and writing to it, at most."""
FIRST_ID = 0xC0000000


class Written(Struct, frozen=True):
    """One line that the writer wrote, and if the file had the session's header when it was opened for that."""

    session_id: str
    id: str
    had_header: bool


class Writer:
    """A writer of one session, which opens the file by name for each line and knows its own lines only.

    One in six keeps the file open between its lines, as omp does. It waits until `begin`, which any process may call.
    """

    def __init__(self, path: str, session_id: str, seed: int) -> None:
        self.session_id = session_id
        self._path, self._seed = path, seed
        self._begun, self._begin = os.pipe()
        self._opened, opened = os.pipe()
        self._report, report = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(LIMIT_S))
            status = 1
            try:
                select.select([self._begun], [], [], LIMIT_S)
                written = self._write(opened)
                os.write(report, json.dumps(written).encode())
                status = 0
            finally:
                os._exit(status)
        for descriptor in (opened, report):
            os.close(descriptor)

    def begin(self) -> None:
        """Let the writer begin, and wait a moment until it has opened the file for the first time."""
        os.write(self._begin, b"!")
        select.select([self._opened], [], [], FIRST_OPEN_S)

    def end(self) -> list[Written]:
        """Wait until the writer has written all its lines, and return them."""
        content = b""
        while select.select([self._report], [], [], LIMIT_S)[0] and (more := os.read(self._report, 65536)):
            content += more
        for descriptor in (self._begun, self._begin, self._opened, self._report):
            os.close(descriptor)
        status = os.waitpid(self._process, 0)[1]
        assert status == 0, f"the writer of {self._path} ended with {status}"
        return [Written(self.session_id, entry_id, had_header) for entry_id, had_header in json.loads(content)]

    def _write(self, opened: int) -> list[tuple[str, bool]]:
        chooser = random.Random(self._seed)
        written: list[tuple[str, bool]] = []
        held = self._open() if chooser.random() < 1 / 6 else None
        parent = "00000009"
        for number in range(LINES):
            entry_id = f"{FIRST_ID + number:08x}"
            descriptor = held if held is not None else self._open()
            os.write(opened, b"!")
            if descriptor is not None:
                head = os.pread(descriptor, 4096, 0)
                if chooser.random() < 1 / 3:
                    time.sleep(chooser.uniform(0, LONGEST_HOLD_S))
                os.write(descriptor, line(user(entry_id, parent, f"written live {entry_id}")))
                written.append((entry_id, f'"id":"{self.session_id}"'.encode() in head))
                parent = entry_id
                if held is None:
                    os.close(descriptor)
            time.sleep(chooser.uniform(0, LONGEST_HOLD_S / 2))
        return written

    def _open(self) -> int | None:
        """Open the file as pi does, by name, which makes it where it is gone; None if its folder is gone too."""
        try:
            return os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except FileNotFoundError:
            return None
