"""End the browser on SIGINT, SIGTERM or SIGHUP: restore the terminal and remove temporary files first.

Unlike Python's default handler for SIGINT, the handler here never raises an exception: in the middle of an import or of
a C extension, an exception would leave incomplete objects.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from os import _exit
from typing import NoReturn

_NUMBERS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ending:
    """Ends this process when a signal arrives: it asks the running interface to quit, else runs the clean-up steps."""

    def __init__(self) -> None:
        self.request: Callable[[int], object] | None = None
        """Asks the interface to quit. Only the first signal calls this function; a second signal ends the process."""
        self._steps: list[Callable[[], object]] = []

    def take_signals(self) -> None:
        """Install the handler for SIGINT, SIGTERM and SIGHUP."""
        for number in _NUMBERS:
            signal.signal(number, self._on_signal)

    def before_end(self, step: Callable[[], object]) -> None:
        """Add a clean-up step to run before a signal ends the process; steps run in reverse order of their addition."""
        self._steps.append(step)

    def end_with(self, sentence: str) -> NoReturn:
        """Run the clean-up steps, print a sentence to the terminal, and end the process at once with status 1.

        This is for a system that refuses memory or threads, where a normal exit would fail or hang. If a change of
        session files is interrupted, the next change completes it or rolls it back, as after a crash.
        """
        message = f"sessionbrowse: {sentence}\r\n".encode()
        terminal = os.dup(2)
        for step in reversed(self._steps):
            with suppress(Exception):
                step()
        os.write(terminal, message)
        _exit(1)

    def _on_signal(self, number: int, _frame: object) -> None:
        request, self.request = self.request, None
        if request is not None:
            # Asyncio raises RuntimeError if the event loop has ended already.
            with suppress(RuntimeError):
                request(number)
                return
        for each in _NUMBERS:
            signal.signal(each, signal.SIG_DFL)
        for step in reversed(self._steps):
            with suppress(Exception):
                step()
        signal.raise_signal(number)


ENDING = Ending()
"""The only instance of `Ending`, because signal handlers are set for the whole process."""
