"""The process beside the browser that reads the disk for it: started, listened to, asked, and ended here.

It is forked before the interface's library is imported, which takes longer than reading the index; elsewhere than on
Linux it is a program of its own. It knows nothing of the interface and never touches the terminal.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sessionbrowse.services.background.events import News

PIPE_BYTES = 1 << 20
_LENGTH = 8
_START = "from sessionbrowse.services.background.companion import serve; serve(0, 1)"


class Companion:
    """A running companion. One thread at a time listens to it."""

    is_over = False
    """Whether it says nothing more to who listens."""
    _ended = False

    def __init__(self, process: int, news: int, asking: int) -> None:
        self.process = process
        self._news = news
        self._asking = asking

    def first(self, seconds: float) -> News | None:
        """Return the first news if it is there within some time. Only before `listen`."""
        ready, _, _ = select.select([self._news], [], [], seconds)
        return self._next() if ready else None

    def listen(self, receive: Callable[[News], object]) -> None:
        """Hand over all further news from a thread of its own; the last is why, if the companion ends by itself."""

        def work() -> None:
            from sessionbrowse.services.background.events import Failed

            last: News | None = None
            while (news := self._next()) is not None:
                last = news
                receive(news)
            self.is_over = True
            if not self._ended and not isinstance(last, Failed):
                receive(Failed("What reads the sessions was ended: changes are no longer seen."))

        threading.Thread(target=work, name="sessionbrowse-news", daemon=True).start()

    def ask(self, what: str, value: str | bool | dict[str, Any] | None = None) -> None:
        """Ask for something (see `sessionbrowse.services.background.disk_monitor.Live`)."""
        if not self._ended:
            with suppress(OSError):
                _write(self._asking, marshal.dumps((what, value)))

    def end(self) -> None:
        """End the companion and all it started, at once; what it writes bears that."""
        if self._ended:
            return
        self._ended = True
        with suppress(OSError):
            os.close(self._asking)
        if self.process:
            with suppress(OSError):
                os.killpg(self.process, signal.SIGKILL)
            with suppress(OSError):
                os.kill(self.process, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(self.process, 0)

    def _next(self) -> News | None:
        from sessionbrowse.services.background.events import decode

        content = _read(self._news)
        return decode(content) if content is not None else None


def start(request: Mapping[str, Any]) -> Companion | None:
    """Start a companion for a request of plain values (see `Live`); None where no process can be started."""
    if not hasattr(os, "killpg"):
        # Windows: pipes cannot be waited for with a limit there.
        return None
    try:
        if sys.platform == "linux" and threading.active_count() == 1:
            return _fork(request)
        return spawn(request)
    except OSError:
        return None


def _fork(request: Mapping[str, Any]) -> Companion:
    news, telling = os.pipe()
    asked, asking = os.pipe()
    process = os.fork()
    if process:
        os.close(telling)
        os.close(asked)
        return Companion(process, news, asking)
    try:
        os.close(news)
        os.close(asking)
        _let_go()
        # The browser starts without; who lives as long as it does cannot.
        gc.enable()
        _serve(request, asked, telling)
    finally:
        os._exit(1)


def spawn(request: Mapping[str, Any]) -> Companion:
    """Start a companion as a program of its own."""
    import subprocess

    process = subprocess.Popen(
        [sys.executable, "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    companion = Companion(process.pid, os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
    process.stdin.close()
    process.stdout.close()
    companion.ask("begin", dict(request))
    return companion


def serve(asked: int, telling: int) -> None:
    """Be the companion of the process at the other ends of two descriptors."""
    first = _read(asked)
    if first is not None:
        _serve(marshal.loads(first)[1], asked, telling)


def _let_go() -> None:
    """Leave the terminal to the browser: its signals are not ours, and nothing of ours appears on it."""
    os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def _serve(request: Mapping[str, Any], asked: int, telling: int) -> None:
    from sessionbrowse.services.background.disk_monitor import Live, Request
    from sessionbrowse.services.background.events import Failed, encode

    with suppress(OSError, AttributeError, ImportError):
        import fcntl

        fcntl.fcntl(telling, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def tell(news: News) -> None:
        try:
            _write(telling, encode(news))
        except OSError:
            _end_all()

    live = Live(Request(**request), tell)

    def hear() -> None:
        while (content := _read(asked)) is not None:
            live.ask(*marshal.loads(content))
        # The browser is gone.
        _end_all()

    threading.Thread(target=hear, name="sessionbrowse-asked", daemon=True).start()
    try:
        live.run()
    except Exception as error:
        tell(Failed(f"Reading the sessions stopped: {error!r}"))


def _end_all() -> None:
    with suppress(OSError):
        if os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _write(descriptor: int, content: bytes) -> None:
    left = memoryview(len(content).to_bytes(_LENGTH, "little") + content)
    while left:
        left = left[os.write(descriptor, left) :]


def _read(descriptor: int) -> bytes | None:
    """Return what `_write` wrote; None at the end."""
    length = _exactly(descriptor, _LENGTH)
    return _exactly(descriptor, int.from_bytes(length, "little")) if length is not None else None


def _exactly(descriptor: int, size: int) -> bytes | None:
    pieces: list[bytes] = []
    while size:
        try:
            piece = os.read(descriptor, min(size, PIPE_BYTES))
        except OSError:
            return None
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
