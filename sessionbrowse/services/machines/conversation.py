"""Run pieces of POSIX script on another machine through one ssh connection, and read the answer to each.

ssh runs in a session of its own, without a controlling terminal, so that it cannot ask for a password. Each answer ends
with a line that contains a random text, the mark. The pieces of script are in `script`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from secrets import randbelow, token_hex
from time import monotonic
from typing import IO

from sessionbrowse.services.machines.script import in_pieces

_OPTIONS = ("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=3")
SSH = ("ssh", "-T", *(word for option in _OPTIONS for word in ("-o", option)))
SILENCE_S = 60.0
"""After this number of seconds without a byte the connection is closed; a checksum of gigabytes takes a while."""
MOST_NOISE = 1024 * 1024
"""Maximum number of bytes that the remote shell's start files may print before the first answer."""
_POLL_S = 0.1
_END_S = 2.0
_CHUNK = 256 * 1024
_PIPE = 1024 * 1024
_LAST_WORDS = 8 * 1024


class Ended(Exception):
    """The connection ended before an answer was complete."""


class Stopped(Ended):
    """The user stopped the work on the other machine."""


class Conversation:
    """A shell on another machine that runs pieces of script; `noise` is what it printed before the first answer."""

    def __init__(
        self, host: str, *, cancelled: Callable[[], bool] = lambda: False, silence_s: float = SILENCE_S
    ) -> None:
        """Start ssh.

        Raises:
            OSError: ssh cannot be started.
        """
        self._cancelled, self._silence_s = cancelled, silence_s
        self.sent = self.received = 0
        self.noise = bytearray()
        self.is_silent = self.has_begun = False
        self._words, self._rest = b"", b""
        self._chunks: Queue[bytes] = Queue(16)
        self._is_closed = threading.Event()
        self._ssh = subprocess.Popen(
            [*SSH, "--", host, "exec sh -s"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "SSH_ASKPASS_REQUIRE": "never"},
            start_new_session=True,
        )
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            # With Linux's default of 64 KB for a pipe, the reading thread and ssh would wait for each other all the
            # time.
            fcntl.fcntl(self._ssh.stdout, fcntl.F_SETPIPE_SZ, _PIPE)  # type: ignore[arg-type]
        takers = ((self._ssh.stdout, self._take), (self._ssh.stderr, self._listen))
        self._threads = [threading.Thread(target=_drain, args=both, daemon=True) for both in takers]
        for thread in self._threads:
            thread.start()

    def begin(self, script: str) -> str:
        """Send the first piece of script, whose last command prints the mark and a text; return this text.

        The mark contains the result of an addition, so that a shell that only echoes the script gives no valid answer.
        """
        token, one, other = token_hex(16), randbelow(10**6), randbelow(10**6)
        # If a start file of the shell reads lines from standard input, it gets these empty lines.
        self._send("\n" * 8 + f"m={token}$(({one}+{other}))\n{script}")
        try:
            status = self._frame(f"{token}{one + other}".encode(), self.noise.extend, MOST_NOISE)
            self.has_begun = True
        finally:
            self.noise.extend(self._rest)
        return status

    def ask(self, script: str, most: int) -> bytes:
        """Send a piece of script; return its whole answer, at most `most` bytes."""
        return next(self.answers([script + "\ne"], most))[0]

    def answers(self, commands: Iterable[str], most: int) -> Iterator[tuple[bytes, str]]:
        """Send commands that print the mark at their end; yield each answer with the text that follows its mark."""
        told: list[bytes] = []
        for end in self.frames(commands, told.append, lambda: most):
            yield b"".join(told), end
            told.clear()

    def frames(self, commands: Iterable[str], take: Callable[[bytes], None], most: Callable[[], int]) -> Iterator[str]:
        """Send many commands at once; pass each answer's bytes to `take`, then yield the text that follows its mark.

        Raises:
            Ended: the connection ended, no byte came for too long, or an answer had more than `most` bytes.
        """
        for piece in in_pieces(commands):
            mark = token_hex(16)
            self._send("\n".join((f"m={mark}", *piece, "")))
            for _ in piece:
                yield self._frame(mark.encode(), take, most())

    def close(self) -> int:
        """End the remote shell and ssh; return ssh's exit status."""
        stdin = self._ssh.stdin
        with suppress(OSError):
            stdin.close()  # type: ignore[union-attr]
        self._is_closed.set()
        try:
            # Without a limit, ssh would wait for a machine that no longer answers, or for a long command there.
            return self._ssh.wait(timeout=_POLL_S if self.is_silent or self._cancelled() else _END_S)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(self._ssh.pid, signal.SIGTERM) if hasattr(os, "killpg") else self._ssh.terminate()
        try:
            return self._ssh.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            return self._ssh.wait(timeout=_END_S)

    def last_words(self) -> list[str]:
        """Return the last lines that ssh printed to standard error; call this only after `close`."""
        self._threads[1].join(_POLL_S * 5)  # If ssh left a master connection in the background, it keeps the pipe open.
        return [line for line in self._words.decode("utf-8", "replace").splitlines() if line.strip()]

    def _send(self, script: str) -> None:
        content = script.encode()
        self.sent += len(content)
        # If the other side has ended, the reader still gets its last answers, and then the end.
        with suppress(OSError):
            while content:
                content = content[self._ssh.stdin.write(content) :]  # type: ignore[union-attr]

    def _frame(self, mark: bytes, take: Callable[[bytes], None], most: int) -> str:
        end = b"\n" + mark + b" "
        while True:
            at = self._rest.find(end)
            if safe := max(0, at if at >= 0 else len(self._rest) - len(end) + 1):
                most -= safe
                take(self._rest[:safe])
                self._rest = self._rest[safe:]
            status, is_whole, after = self._rest[len(end) :].partition(b"\n")
            if at >= 0 and is_whole:
                self._rest = after
                return status.decode("utf-8", "replace")
            if most < 0 or len(status) > _LAST_WORDS:
                raise Ended
            self._rest += self._next()

    def _next(self) -> bytes:
        deadline = monotonic() + self._silence_s
        while not self._cancelled():
            with suppress(Empty):
                chunk = self._chunks.get(timeout=_POLL_S)
                self.received += len(chunk)
                if not chunk:
                    raise Ended
                return chunk
            if monotonic() > deadline:
                self.is_silent = True
                raise Ended
        raise Stopped

    def _take(self, chunk: bytes) -> bool:
        while not self._is_closed.is_set():
            with suppress(Full):
                self._chunks.put(chunk, timeout=_POLL_S)
                return True
        return False

    def _listen(self, chunk: bytes) -> bool:
        self._words = (self._words + chunk)[-_LAST_WORDS:]
        return True


def _drain(stream: IO[bytes], take: Callable[[bytes], bool]) -> None:
    """Pass everything in a stream to `take`, at the end b""; close it, so that a program that still writes ends."""
    with stream, suppress(OSError):
        while take(chunk := stream.read(_CHUNK)) and chunk:
            pass
