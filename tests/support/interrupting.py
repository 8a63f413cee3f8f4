"""Helpers for tests that interrupt the program at many moments, counted from its first line."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator

PATIENCE_SECONDS = 30.0
MOMENTS = 6
"""Interrupted runs of each kind in the usual suite; `make stress` makes many more."""
MANY_MOMENTS = 300

# An audit hook writes a byte to a pipe just before the first line of the package runs. Until the hook's next event,
# microseconds later, signals wait, so that they never interrupt the hook itself.
HELD = """
import signal, os, sys
pipe, held = int(sys.argv[1]), False
def tell(event, arguments):
    global held
    if held:
        held = False
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    elif event == "exec" and arguments[0].co_filename.endswith("sessionbrowse/__init__.py"):
        held = True
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        os.write(pipe, b".")
sys.addaudithook(tell)
sys.argv = ["sessionbrowse", *sys.argv[2:]]
from sessionbrowse.cli import main
sys.exit(main())
"""
"""A program that writes a byte to a pipe, whose descriptor is its first argument, when our first line runs."""


def wait_for_byte(pipe: int) -> float:
    """Wait until the program writes to the pipe; return that moment."""
    assert select.select([pipe], [], [], PATIENCE_SECONDS)[0], "the first line was not reached"
    os.read(pipe, 1)
    return time.perf_counter()


def interrupt_after(delay: float, process_id: int, begun: float, number: int = signal.SIGINT) -> None:
    """Send a signal at a moment, in seconds after `begun`."""
    time.sleep(max(0.0, begun + delay - time.perf_counter()))
    os.kill(process_id, number)


def moments(count: int, seconds: float) -> Iterator[float]:
    """Yield moments that divide a time into equal parts."""
    return (seconds * number / count for number in range(count))
