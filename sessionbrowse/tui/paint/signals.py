"""End the browser on SIGINT, SIGTERM and SIGHUP at any moment, with the terminal restored and temporary files removed.

A handler never raises: an exception in the middle of an import, or of a C extension, leaves half-made objects behind.
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
    """The steps that end this process when a signal arrives: first a request to leave, if there is one."""

    def __init__(self) -> None:
        self.request: Callable[[int], object] | None = None
        """Asks the running interface to leave; used once, so that a second signal ends a browser that hangs."""
        self._steps: list[Callable[[], object]] = []

    def take_signals(self) -> None:
        """Handle the signals from now on."""
        for number in _NUMBERS:
            signal.signal(number, self._on_signal)

    def before_end(self, step: Callable[[], object]) -> None:
        """Call `step` when a signal ends the process; the last step that was added is called first."""
        self._steps.append(step)

    def end_with(self, sentence: str) -> NoReturn:
        """End the process at once, with the terminal restored and a sentence on it, and with status 1.

        For a system that refuses memory or threads: more work would fail too, and leave threads that hang. A change
        that is cut off is finished or taken back by the next one, as after a kill.
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
            # The event loop may have ended already.
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
"""The one instance, because signal handlers belong to the whole process."""
