"""The commands that open the interface: `demo`, `pick`, and no command at all.

Without saved first rows the disk monitor is started before the interface is imported, so that both happen at once.
"""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sessionbrowse.config import Settings, load_settings

if TYPE_CHECKING:
    import argparse


def browse(roots: Sequence[str] = (), agents: Sequence[str] = ()) -> int:
    """Open the interface on the sessions of these roots and agents, or on all sessions; ends the process."""
    if not _has_terminal():
        return 1
    loaded = load_settings()
    _leave(_open_interface(roots, agents, loaded.settings, loaded.problems))


def run_browse(arguments: argparse.Namespace) -> int:
    """Open the interface, as no command does."""
    return browse(arguments.roots or (), arguments.agents or ())


def run_pick(arguments: argparse.Namespace) -> int:
    """Carry out `pick`: draw the interface on stderr, then print the path of the chosen session on stdout."""
    if not _has_terminal():
        return 1
    loaded = load_settings()
    picked: list[str] = []
    status = _open_interface(
        arguments.roots or [], arguments.agents or [], loaded.settings, loaded.problems, pick=picked.append
    )
    for path in picked:
        sys.stdout.buffer.write(os.fsencode(path) + b"\n")
    _leave(status)


def run_demo(arguments: argparse.Namespace) -> int:
    """Carry out `demo`: open the interface on a made-up store, which is deleted afterwards."""
    if not _has_terminal():
        return 1
    import tempfile

    from sessionbrowse.demo import make_demo

    loaded = load_settings()
    with tempfile.TemporaryDirectory(prefix="sessionbrowse-demo-") as directory:
        root = make_demo(Path(directory))
        return _open_interface([str(root)], [], loaded.settings, loaded.problems, demo=str(root))


def _has_terminal() -> bool:
    if sys.stdin.isatty() and sys.stderr.isatty():
        return True
    print("sessionbrowse: the terminal interface needs a terminal; --help names the commands.", file=sys.stderr)
    return False


def _open_interface(
    roots: Sequence[str],
    agents: Sequence[str],
    settings: Settings,
    problems: tuple[str, ...],
    *,
    demo: str | None = None,
    pick: Callable[[str], None] | None = None,
) -> int:
    from sessionbrowse.services.background.first_rows import saved_first_rows
    from sessionbrowse.tui.data.options import BrowseOptions

    if isinstance(sys.stderr, io.TextIOWrapper):
        # Terminals read UTF-8; with the encoding of a C locale frames would be drawn as \u2500.
        sys.stderr.reconfigure(encoding="utf-8")
    home = os.path.join(demo, "home", "dev") if demo is not None else os.path.expanduser("~")
    options = BrowseOptions(
        roots=roots, agents=agents, settings=settings, problems=problems, home=home, demo=demo, pick=pick
    )
    request = options.request()
    first_rows = saved_first_rows(request)
    monitor = None
    if first_rows is None:
        from sessionbrowse.services.background.programs import start_monitor

        monitor = start_monitor(request)
    gc.disable()
    try:
        from sessionbrowse.tui.app import run

        # A closed terminal or a kill must not leave a demo store behind. The interface handles these signals itself
        # once it runs.
        for name in ("SIGHUP", "SIGTERM"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _end)
        return run(options, monitor, first_rows)
    finally:
        if monitor is not None:
            monitor.kill()


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _leave(status: int) -> NoReturn:
    """End the process without clean-up: the terminal is restored, and all output is written."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


COMMANDS = {None: run_browse, "demo": run_demo, "pick": run_pick}
