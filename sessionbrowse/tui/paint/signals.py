"""End the browser on any signal that ends programs: restore the terminal and remove temporary files first.

Unlike Python's default handler for SIGINT, the handler here never raises an exception: in the middle of an import or of
a C extension, an exception would leave incomplete objects.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

_USUAL = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end the browser even if the program that started it has ignored them."""
_OTHERS = ("SIGQUIT", "SIGABRT", "SIGALRM", "SIGPROF", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGXCPU")
_OF_LINUX = ("SIGIO", "SIGPWR", "SIGSTKFLT", "SIGSYS", "SIGTRAP")
"""Signals that end programs on Linux; other systems do not have them, or ignore SIGIO."""


class ExitHandler:
    """Ends this process when a signal arrives: it asks the running interface to quit, else runs the clean-up steps."""

    def __init__(self) -> None:
        self.request: Callable[[int], object] | None = None
        """Asks the interface to quit. Only the first signal calls this function; a second signal ends the process."""
        self._steps: list[Callable[[], object]] = []
        self._taken: list[int] = []

    def take_signals(self) -> None:
        """Install the handler for the signals that end programs, except those of faults such as SIGSEGV."""
        for name in _USUAL:
            self._take(getattr(signal, name, None))
        for number in _rest_of_signals():
            if signal.getsignal(number) == signal.SIG_DFL:
                self._take(number)

    def before_end(self, step: Callable[[], object]) -> None:
        """Add a clean-up step to run before a signal ends the process; steps run in reverse order of their addition."""
        self._steps.append(step)

    def _take(self, number: int | None) -> None:
        if number is not None:
            signal.signal(number, self._on_signal)
            self._taken.append(number)

    def _on_signal(self, number: int, _frame: object) -> None:
        request, self.request = self.request, None
        if request is not None:
            # Asyncio raises RuntimeError if the event loop has ended already.
            with suppress(RuntimeError):
                request(number)
                return
        for each in self._taken:
            signal.signal(each, signal.SIG_DFL)
        for step in reversed(self._steps):
            with suppress(Exception):
                step()
        signal.raise_signal(number)


def _rest_of_signals() -> Iterable[int]:
    if sys.platform == "win32":
        return ()
    is_linux = sys.platform == "linux"
    named = [getattr(signal, name) for name in (*_OTHERS, *(_OF_LINUX if is_linux else ()))]
    return (*named, *(range(signal.SIGRTMIN, signal.SIGRTMAX + 1) if is_linux else ()))


EXIT_HANDLER = ExitHandler()
"""The only instance of `ExitHandler`, because signal handlers are set for the whole process."""
