"""The commands that open the interface. What reads the sessions is started before the interface is imported."""

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
    """Open the interface on the sessions of these roots and agents, or on all; it ends the process."""
    if not _has_terminal():
        return 1
    loaded = load_settings()
    _leave(_open_interface(roots, agents, loaded.settings, loaded.problems))


def run_browse(arguments: argparse.Namespace) -> int:
    """No command: the terminal interface."""
    return browse(arguments.roots or (), arguments.agents or ())


def run_pick(arguments: argparse.Namespace) -> int:
    """`pick`: the terminal interface drawn on stderr, the chosen path on stdout."""
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
    """`demo`: a store of its own that is gone afterwards."""
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
    from sessionbrowse.services.background.companion import start
    from sessionbrowse.tui.shell.options import BrowseOptions

    if isinstance(sys.stderr, io.TextIOWrapper):
        # What terminals read, whatever the locale says: frames would be drawn as \u2500 otherwise.
        sys.stderr.reconfigure(encoding="utf-8")
    home = os.path.join(demo, "home", "dev") if demo is not None else os.path.expanduser("~")
    options = BrowseOptions(
        roots=roots, agents=agents, settings=settings, problems=problems, home=home, demo=demo, pick=pick
    )
    companion = start(options.request())
    gc.disable()
    try:
        from sessionbrowse.tui.shell.app import run

        # A terminal that is closed, or a kill, ends the program, but not before a demo store is removed. The interface
        # takes these signals itself once it stands.
        for name in ("SIGHUP", "SIGTERM"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _end)
        return run(options, companion)
    finally:
        if companion is not None:
            companion.end()


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _leave(status: int) -> NoReturn:
    """End the process without taking it apart: the terminal is restored, and nothing else waits to be written."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


COMMANDS = {None: run_browse, "demo": run_demo, "pick": run_pick}
