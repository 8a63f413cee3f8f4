"""The command line: data goes to stdout, messages go to stderr. Without a command the terminal interface opens.

Exit status: 0 done, 1 an expected failure (explained in one sentence), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from sessionbrowse.store.system.files import NONBLOCK

if TYPE_CHECKING:
    import argparse


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; an error that a user can cause is printed, not raised.

    Without `argv`, the command is the one given to this process; when it is done, the process ends here, unless it was
    the terminal interface.
    """
    from sessionbrowse.errors import SessionBrowseError

    is_program = argv is None
    if is_program:
        # A command runs briefly and leaves little garbage, least of all while it imports modules, so garbage collection
        # would only cost time. The terminal interface has its own threshold.
        gc.set_threshold(100_000)
    if is_program and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl+C must end this process at once; `cli.process` explains the reason.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    words = sys.argv[1:] if argv is None else argv
    has_output = sys.stdout is not None
    if not has_output or sys.stdin is None or sys.stderr is None:
        from sessionbrowse.cli.process import fill_closed_streams

        fill_closed_streams()
    try:
        if not words:
            return _browse()
        if words[0] == "__complete":
            from sessionbrowse.cli.commands.completion import complete

            return complete(words[1:])
        from sessionbrowse.cli.parser import INTERFACES, parse

        try:
            arguments = parse(words)
        except SystemExit:
            sys.stdout.flush()
            raise
        if not has_output and arguments.command not in (None, "demo"):
            print("sessionbrowse: Standard output is closed, so nothing can be printed.", file=sys.stderr)
            return 3 if arguments.command == "pick" else 1
        is_program &= arguments.command not in INTERFACES
        if _may_be_unfinished():
            from sessionbrowse.cli.unfinished_changes import note_unfinished

            note_unfinished(arguments)
        status = _run_of(arguments.command)(arguments)
        sys.stdout.flush()
    except SystemExit as stopped:
        # argparse exits with status 0 for --help, and with status 2 for wrong usage.
        return stopped.code if isinstance(stopped.code, int) else 2
    except SessionBrowseError as error:
        from sessionbrowse.cli.output import with_hint
        from sessionbrowse.text import clean_lines

        print("sessionbrowse: " + "\n".join(clean_lines(with_hint(error))), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if argv is None:
            from sessionbrowse.cli.process import end_interrupted

            end_interrupted()
        return 130
    except OSError as error:
        is_output = not _is_written()
        if isinstance(error, BrokenPipeError):
            return 0
        from sessionbrowse.text import clean

        reason = clean(error.strerror or str(error))
        if error.filename is not None:
            reason = f"{clean(str(error.filename))} cannot be used ({reason})"
        elif is_output:
            reason = f"Standard output cannot be used ({reason})"
        print(f"sessionbrowse: {reason}.", file=sys.stderr)
        return 1
    except Exception:
        if argv is not None:
            raise
        # A traceback may quote text of a session file, so control characters are removed before it is printed.
        import traceback

        from sessionbrowse.text import clean_lines

        print("\n".join(clean_lines(traceback.format_exc().rstrip("\n"))), file=sys.stderr)
        return 1
    if is_program:
        # A normal shutdown of the interpreter would take a tenth of the run time of `list`.
        sys.stderr.flush()
        os._exit(status)
    return status


def _may_be_unfinished() -> bool:
    """Return True if the journal may contain a change that began but did not end."""
    import re
    import stat

    from sessionbrowse.config import state_dir

    path = os.path.join(state_dir(), "journal.jsonl")
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NONBLOCK)) as file:
            content = file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return False
    open_ids: set[bytes] = set()
    for kind, change_id in re.findall(rb'^\{"record":"(begin|done|failed)","id":"([^"]*)"', content, re.MULTILINE):
        (open_ids.add if kind == b"begin" else open_ids.discard)(change_id)
    return bool(open_ids)


def _is_written() -> bool:
    """Flush standard output; return False if that fails."""
    try:
        sys.stdout.flush()
    except OSError:
        # The program at the other end of the pipe has exited (`| head`), or the disk is full.
        # Python's own flush at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _run_of(command: str | None) -> Callable[[argparse.Namespace], int]:
    """Return the function that runs a command, without importing the modules of other commands."""
    from sessionbrowse.cli.parser import MODULE_OF_COMMAND

    module = MODULE_OF_COMMAND[command] if command else "interface"
    commands: dict[str | None, Callable[[argparse.Namespace], int]]
    commands = import_module(f"sessionbrowse.cli.commands.{module}").COMMANDS
    return commands[command]


def _browse() -> int:
    """Open the terminal interface. This path avoids argparse, whose import is slow."""
    # Imports leave no garbage, but the garbage collector would take a tenth of the start-up time.
    gc.disable()
    from sessionbrowse.cli.commands.interface import browse

    return browse()
