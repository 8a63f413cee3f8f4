"""Open the terminal interface: the command `demo`, and a start without a command.

The disk monitor, a process that reads the session files, is started before the interface is imported, so that reading
and importing run in parallel. But if the previous run of the browser saved the first rows of the session list, the
interface shows these rows, then starts the monitor.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sessionbrowse.config import Settings, load_settings
from sessionbrowse.tui.paint.signals import EXIT_HANDLER

if TYPE_CHECKING:
    import argparse

    from sessionbrowse.cli.parser import AddCommand
    from sessionbrowse.tui.data.options import Picking


def browse(roots: Sequence[str] = (), agents: Sequence[str] = ()) -> int:
    """Open the interface, limited to some roots and agents if any are given, and end the process afterwards."""
    if not _has_terminal():
        return 1
    loaded = load_settings()
    leave(open_interface(roots, agents, loaded.settings, loaded.problems))


def run_browse(arguments: argparse.Namespace) -> int:
    """Open the interface when the command line has no command."""
    return browse(arguments.roots or (), arguments.agents or ())


def run_demo(arguments: argparse.Namespace) -> int:
    """Run `demo`: open the interface on a temporary store of fictional sessions, which is deleted afterwards.

    With `--to` the store is written into that directory and kept, and no interface is opened.

    Raises:
        RefusedWrite: the directory of `--to` is not empty. WriteFailed: the store cannot be written there.
    """
    if arguments.to is not None:
        return _write_demo(Path(arguments.to).absolute())
    if not _has_terminal():
        return 1
    import shutil
    import tempfile

    from sessionbrowse.demo import make_demo

    loaded = load_settings()
    EXIT_HANDLER.take_signals()
    with tempfile.TemporaryDirectory(prefix="sessionbrowse-demo-") as folder:
        EXIT_HANDLER.before_end(lambda: shutil.rmtree(folder, ignore_errors=True))
        root = make_demo(Path(folder))
        return open_interface([str(root)], [], loaded.settings, loaded.problems, demo=str(root))


def _write_demo(target: Path) -> int:
    from sessionbrowse.cli import output
    from sessionbrowse.demo import make_demo
    from sessionbrowse.errors import RefusedWrite, WriteFailed
    from sessionbrowse.store.write.write_checks import is_path
    from sessionbrowse.text import clean, shell_quote

    shown = clean(str(target))
    if not is_path(str(target)):
        raise RefusedWrite(f"{shown} is not a valid path. Nothing was written.")
    try:
        if os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
            raise RefusedWrite(f"{shown} is not an empty directory. Nothing was written.")
        make_demo(target)
    except OSError as error:
        raise WriteFailed(f"The sample sessions cannot be written into {shown} ({error.strerror}).") from error
    output.note(f"sessionbrowse list --root {shell_quote(shown)} lists them.")
    print(shown)
    return 0


def _has_terminal() -> bool:
    if sys.stdin.isatty() and sys.stderr.isatty():
        return True
    print("sessionbrowse: The browser needs a terminal. For scripts: sessionbrowse list --json", file=sys.stderr)
    return False


def open_interface(
    roots: Sequence[str],
    agents: Sequence[str],
    settings: Settings,
    problems: tuple[str, ...],
    *,
    demo: str | None = None,
    pick: Picking | None = None,
) -> int:
    """Open the interface in this terminal, wait until the user leaves it, and return the exit status."""
    EXIT_HANDLER.take_signals()
    from sessionbrowse.services.background.first_rows import saved_first_rows
    from sessionbrowse.tui.data.options import BrowseOptions

    if isinstance(sys.stderr, io.TextIOWrapper):
        # Terminals expect UTF-8; in a C locale Python would write frame lines as the text \u2500.
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
    from sessionbrowse.tui.start import run

    return run(options, monitor, first_rows)


def leave(status: int) -> NoReturn:
    """End the process without the interpreter's clean-up; the terminal is already restored and all output written."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


COMMANDS = {None: run_browse, "demo": run_demo}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    parser = add(
        "demo",
        "Open the browser on sample sessions in a temporary directory; your own sessions are not touched",
        json=False,
        reads=False,
    )
    if parser is not None:
        # Imported here because opening the browser does not need argparse, whose import is slow.
        from sessionbrowse.cli.parser import directory

        parser.add_argument(
            "--to", metavar="DIR", type=directory, help="write sample sessions into DIR (new or empty), open no browser"
        )
