"""The other end of the search: starts its process, hands it questions, passes on what it answers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sessionbrowse.services.background.search_messages import Answer, Request, Start, read_message, write_message

SERVER_MODULE = "sessionbrowse.services.background.search_server"

Receive = Callable[[Answer | None], object]
"""Takes answers, from another thread; None when there will be no more."""


class SearchLink(Protocol):
    """Somebody who answers searches."""

    def ask(self, request: Request) -> None:
        """Hand over a request."""

    def close(self) -> None:
        """Want no more answers."""


class SearchProcess:
    """A process that answers searches; it ends when it is closed, or when this process does."""

    def __init__(self, start: Start, receive: Receive) -> None:
        # Found where this process found it, whatever directory it was started in.
        above = str(Path(__file__).resolve().parents[3])
        paths = [above, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", SERVER_MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            # A key that interrupts the interface is none of its business.
            start_new_session=True,
        )
        self._receive = receive
        self._closed = False
        self._write(start)
        threading.Thread(target=self._listen, name="sessionbrowse-answers", daemon=True).start()

    def ask(self, request: Request) -> None:
        """Hand over a request; a process that is gone takes none."""
        self._write(request)

    def close(self) -> None:
        """End the process."""
        self._closed = True
        self._process.kill()

    def _write(self, message: Start | Request) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(OSError, ValueError):
            write_message(stdin, message)

    def _listen(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while not self._closed and (answer := read_message(stdout)) is not None:
            self._receive(answer)  # type: ignore[arg-type]
        self._process.wait()
        if not self._closed:
            self._receive(None)
