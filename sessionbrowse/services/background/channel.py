"""Messages between two processes of this program: msgpack frames over a private socket pair.

A channel has no address, so no other process can connect. When a process dies, its channels are closed.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

Received = TypeVar("Received")

KILL_SECONDS = 1.0
"""Maximum time that `Channel.kill` waits for the end of a killed program."""
_PLAIN, _WITH_SURROGATES = b"\0", b"\1"
"""First byte of a message's frame: `_WITH_SURROGATES` if one of its texts contains a lone surrogate (see `encode`)."""


class Channel(Generic[Received]):
    """One end of a message channel between two processes; `kill` ends the other process if this process started it.

    Messages are msgspec structs, tagged if there are several types; `receives` is the union of the types of incoming
    messages. Several threads may send; only one may receive.
    """

    def __init__(
        self,
        descriptor: int,
        receives: Any,
        program: subprocess.Popen[bytes] | None = None,
        *,
        leads_group: bool = True,
    ) -> None:
        self._connection = Connection(descriptor)
        self._decoder: msgspec.msgpack.Decoder[Received] = msgspec.msgpack.Decoder(receives)
        self._receives = receives
        self._sending = threading.Lock()
        self._program = program
        self._leads_group = leads_group
        self.process_id = program.pid if program is not None else 0
        """Process id of the program at the other end if this process started it, else 0."""
        self.is_over = False
        """True once the other end of the channel is closed and no more messages can arrive."""
        self.is_killed = False
        """True once `kill` has closed the channel."""

    def send(self, message: object) -> bool:
        """Send a message (any thread may call this); return False if the other end is closed."""
        frame = encode(message)
        try:
            with self._sending:
                self._connection.send_bytes(frame)
        except OSError:
            return False
        return True

    def receive(self, seconds: float | None = None) -> Received | None:
        """Return the next message; None after `seconds` without one, or if the other end is closed (sets `is_over`)."""
        try:
            if seconds is not None and not self._connection.poll(seconds):
                return None
            frame = self._connection.recv_bytes()
        except (EOFError, OSError):
            self.is_over = True
            return None
        return decode(frame, self._decoder, self._receives)

    def listen(self, take: Callable[[Received], object], ended: Callable[[], object]) -> None:
        """Start a thread that passes every message to `take`, and calls `ended` once the other end is closed."""

        def work() -> None:
            while (message := self.receive()) is not None:
                take(message)
            ended()

        threading.Thread(target=work, name="sessionbrowse-channel", daemon=True).start()

    def kill(self) -> None:
        """Close the channel at both ends, and kill the program at the other end with its child processes."""
        self.is_killed = True
        # Closing the socket would not wake a thread that is receiving; shutting the socket down does.
        with suppress(OSError), socket.socket(fileno=os.dup(self._connection.fileno())) as both_ways:
            both_ways.shutdown(socket.SHUT_RDWR)
        _STARTED.discard(self)
        if self._program is not None and self._program.returncode is None:
            with suppress(OSError):
                (os.killpg if self._leads_group else os.kill)(self.process_id, signal.SIGKILL)
            # A process that waits for a dead disk does not end before the disk answers.
            with suppress(subprocess.TimeoutExpired):
                self._program.wait(KILL_SECONDS)
        self.process_id = 0


_STARTED: set[Channel[Any]] = set()
"""The channels to the programs that this process started and has not killed."""


def kill_programs() -> None:
    """Kill all programs that this process started; a program that is stopped or hangs would outlive this process."""
    for channel in list(_STARTED):
        channel.kill()


def start_program(module: str, *arguments: str, receives: Any, leads_group: bool = True) -> Channel[Any]:
    """Start `python -m module DESCRIPTOR ARGUMENTS…` and return the channel to the new process.

    The program calls `inherited` to open its end of the channel. With `leads_group` the program gets a process
    group of its own, which keys such as Ctrl+C do not interrupt; otherwise the program belongs to the group of this
    process and is killed with that group.

    Raises:
        OSError: the process cannot be started.
    """
    ours, theirs = socket.socketpair()
    # The program must import the same package as this process, and no modules from the current directory.
    package = str(Path(__file__).resolve().parents[3])
    search_path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    with theirs:
        try:
            program = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=os.environ | {"PYTHONPATH": search_path},
                start_new_session=leads_group,
            )
        except BaseException:
            ours.close()
            raise
    # A thread waits for the end of the program, so that a program that ends by itself does not stay as a zombie.
    with suppress(RuntimeError):
        threading.Thread(target=program.wait, name="sessionbrowse-wait", daemon=True).start()
    channel: Channel[Any] = Channel(ours.detach(), receives, program, leads_group=leads_group)
    _STARTED.add(channel)
    return channel


def inherited(arguments: Sequence[str], receives: Any) -> Channel[Any]:
    """Return the channel to the process that started this program; `arguments` are `sys.argv[1:]`."""
    return Channel(int(arguments[0]), receives)


def encode(message: object) -> bytes:
    """Return a message as the bytes of a frame.

    File names that are not UTF-8 contain lone surrogates, which msgpack refuses. In a message with such a name, every
    text is replaced by its UTF-8 bytes read as Latin-1, which `decode` turns back; other messages are not changed.
    """
    try:
        return _PLAIN + msgspec.msgpack.encode(message)
    except UnicodeEncodeError:
        return _WITH_SURROGATES + msgspec.msgpack.encode(
            _map_texts(_as_latin_1, msgspec.to_builtins(message, builtin_types=(bytes,)))
        )


def decode(frame: bytes, decoder: msgspec.msgpack.Decoder[Received], receives: Any) -> Received:
    """Return the message that a frame contains."""
    if frame[:1] == _PLAIN:
        return decoder.decode(memoryview(frame)[1:])
    values = _map_texts(_from_latin_1, msgspec.msgpack.decode(memoryview(frame)[1:]))
    message: Received = msgspec.convert(values, receives)
    return message


def _as_latin_1(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def _from_latin_1(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "surrogatepass")


def _map_texts(change: Callable[[str], str], value: Any) -> Any:
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [_map_texts(change, each) for each in value]
        case dict():
            return {_map_texts(change, key): _map_texts(change, each) for key, each in value.items()}
        case _:
            return value
