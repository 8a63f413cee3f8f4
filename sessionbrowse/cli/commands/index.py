"""The command `index`: update, rebuild, describe or delete the index."""

from __future__ import annotations

import argparse
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from sessionbrowse.cli import output
from sessionbrowse.cli.parser import AddCommand, scope_of, settings_in_force
from sessionbrowse.config import cache_dir
from sessionbrowse.errors import Unreadable
from sessionbrowse.services.list.gather import update_index
from sessionbrowse.store.index.index import Index, Status, UpdateProgress, check_index, discard_index, open_index
from sessionbrowse.store.index.schema import IndexBusy, IndexUnavailable, is_damage, is_locked, locked, remove_files
from sessionbrowse.text import clean, plural, size

PROGRESS_SECONDS = 0.5
REBUILD = "`sessionbrowse index --rebuild` creates a new index."
CLEAR_WAIT_S = 10.0
"""Number of seconds for which deleting the index waits for another process that writes it."""


def run_index(arguments: argparse.Namespace) -> int:
    """Run `index`: update, rebuild or delete the index, and print the numbers of indexed sessions and entries."""
    directory = cache_dir()
    if arguments.clear:
        _clear(directory)
        return _tell({"cleared": True}, arguments.json, "The index is deleted.")
    if arguments.status:
        said: list[str] = []
        existing = open_index(directory, said.append)
        if existing is None:
            if said:
                raise Unreadable(said[-1])
            empty = {"path": None, "sessions": 0, "entries": 0, "bytes": 0, "tools": False}
            return _tell(empty, arguments.json, "There is no index.")
        output.note_all(said)
        return _print_status(existing.status(), arguments.json)
    if arguments.rebuild:
        _clear(directory)
    index = open_index(directory, output.note, create=True)
    if index is None:
        raise Unreadable("No index can be created here; lists and searches read the session files instead.")
    settings = settings_in_force()
    scope = scope_of(arguments, settings, hidden=True, archived=True)
    tools = True if arguments.tools or settings.index_tools else None
    shown = _ProgressLine()

    def update(index: Index) -> Status:
        try:
            check_index(index)
            update_index(scope, index, tools=tools, processes=True, skipped=output.warn, progress=shown)
        except IndexBusy:
            # Another process indexes the same files, so this process has nothing to do.
            output.note("Another sessionbrowse is updating the index.")
        return index.status()

    try:
        try:
            status = update(index)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            discard_index(index, error, output.note)
            index.close()
            again = open_index(directory, output.note, create=True)
            if again is None:
                raise
            status = update(again)
    except sqlite3.Error as error:
        if is_locked(error):
            raise Unreadable("The index could not be read (another program has locked it).") from error
        raise Unreadable(f"The index could not be read ({error}). {REBUILD}") from error
    finally:
        shown.clear()
    return _print_status(status, arguments.json)


def _clear(directory: Path) -> None:
    if os.path.isdir(directory):
        try:
            with locked(directory, wait_s=CLEAR_WAIT_S):
                remove_files(directory)
        except IndexBusy:
            raise
        except (IndexUnavailable, OSError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            why = cause.strerror if isinstance(cause, OSError) else str(error)
            raise Unreadable(f"The index {directory} cannot be deleted: {why}.") from error


class _ProgressLine:
    """Shows files read and bytes per second in one line on stderr, at most twice a second, only on a terminal."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._next = self._begin + PROGRESS_SECONDS
        self._shown = False

    def __call__(self, progress: UpdateProgress) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PROGRESS_SECONDS
        self._shown = True
        rate = progress.bytes_done / max(now - self._begin, 0.001)
        line = f"{progress.files_done} of {progress.files} sessions, {size(int(rate))}/s"
        output.progress(line)

    def clear(self) -> None:
        if self._shown:
            output.progress()


def _print_status(status: Status, as_json: bool) -> int:
    document = {
        "path": status.path,
        "sessions": status.sessions,
        "entries": status.entries,
        "bytes": status.bytes,
        "tools": status.has_tools,
    }
    tools = ", including tool calls and results" if status.has_tools else ""
    counts = f"{plural(status.sessions, 'session')}, {plural(status.entries, 'entry', 'entries')}"
    sentence = f"{counts}, {size(status.bytes)}{tools}: {status.path}"
    if as_json:
        output.print_json(document)
    else:
        print(clean(sentence))
    return 0


def _tell(document: dict[str, Any], as_json: bool, sentence: str) -> int:
    if as_json:
        output.print_json(document)
    else:
        output.note(sentence)
    return 0


COMMANDS = {"index": run_index}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if index := add(
        "index",
        "Read all sessions into the index, which makes lists and searches fast; the index can be deleted anytime",
    ):
        how = index.add_mutually_exclusive_group()
        how.add_argument("--rebuild", action="store_true", help="rebuild the index completely")
        how.add_argument("--status", action="store_true", help="print the state of the index")
        how.add_argument("--clear", action="store_true", help="delete the index")
        index.add_argument("--tools", action="store_true", help="make tool calls and results searchable too")
