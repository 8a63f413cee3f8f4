"""The command `pick`, which lets a person choose a session or an entry for another program.

Exit status: 0 the user chose, 1 the user left without choosing, 3 an error occurred (one line on stderr).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sessionbrowse.agents.base import marks_of_head
from sessionbrowse.cli import output
from sessionbrowse.cli.commands.interface import leave, open_interface
from sessionbrowse.cli.parser import AddCommand
from sessionbrowse.cli.references import find
from sessionbrowse.config import load_settings
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.format.json_value import BadJson, loads
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.entry_text import message_text
from sessionbrowse.services.list.locate import Located
from sessionbrowse.store.find.discover import agent_of_path
from sessionbrowse.store.read.content import closing, head_of, open_regular
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.read.summarise import summarise_path
from sessionbrowse.tui.data.options import Caller, Picking

CHOSEN, FAILED = 0, 3


def run_pick(arguments: argparse.Namespace) -> int:
    """Run `pick`: show the interface on the terminal, then print what the user chose on stdout."""
    chosen: list[tuple[Summary, str | None]] = []
    try:
        task = Picking(
            choose=lambda summary, entry_id: chosen.append((summary, entry_id)),
            session=_summary(find(arguments, arguments.session)) if arguments.session is not None else None,
            query=arguments.query,
            here=arguments.here,
            needs_entry=arguments.entry,
            caller=_caller(arguments),
        )
        with own_terminal() as is_there:
            status = _open(arguments, task) if is_there else None
    except (SessionBrowseError, OSError) as error:
        output.note(error.sentence if isinstance(error, SessionBrowseError) else f"{error.strerror or error}.")
        return FAILED
    if status is None:
        output.note("There is no terminal to choose a session in.")
        return FAILED
    for summary, entry_id in chosen:
        if arguments.json:
            output.print_json(choice_document(summary, entry_id))
        else:
            output.print_paths([summary.path], b"\n")
    leave(CHOSEN if chosen else status)


def _open(arguments: argparse.Namespace, task: Picking) -> int:
    loaded = load_settings()
    roots, agents = arguments.roots or [], arguments.agents or []
    return open_interface(roots, agents, loaded.settings, loaded.problems, pick=task)


def choice_document(summary: Summary, entry_id: str | None) -> dict[str, Any]:
    """Return the user's choice as a JSON document; `text` is the text of a chosen user message, else None."""
    return {
        "path": summary.path,
        "id": summary.id,
        "agent": summary.agent,
        "cwd": summary.own_cwd,
        "entry_id": entry_id,
        "text": _user_text(summary, entry_id) if entry_id is not None else None,
    }


def _user_text(summary: Summary, entry_id: str) -> str | None:
    try:
        session = open_session(summary.path, summary.agent)
        index = session.index_by_id.get(entry_id)
        value = loads(session.raw(index)) if index is not None else None
    except (SessionBrowseError, BadJson):
        # The session file was changed or deleted after the user chose the entry, so the message has no text now.
        return None
    message = value.get("message") if isinstance(value, dict) else None
    return message_text(value) if isinstance(message, dict) and message.get("role") == "user" else None


def _summary(located: Located) -> Summary:
    found = summarise_path(located.path, lambda marks: located.agent)
    return found or Summary(path=located.path, agent=located.agent)


def _caller(arguments: argparse.Namespace) -> Caller | None:
    """Return the session that the calling agent has open, None without `--open-session`; the file may not exist yet."""
    if arguments.open_session is None:
        return None
    path = os.path.abspath(arguments.open_session)
    marks = None
    try:
        descriptor = open_regular(path)
    except SessionBrowseError:
        pass
    else:
        with closing(descriptor):
            marks = marks_of_head(head_of(descriptor))
    return Caller(agent_of_path(path, marks, arguments.agents or ()), path, arguments.open_leaf)


COMMANDS = {"pick": run_pick}


def add_arguments(add: AddCommand) -> None:
    """Add the command `pick` and its arguments to the parser."""
    if pick := add(
        "pick",
        "Open the browser to choose a session, and print its path; exit status 0: chosen, 1: left without choosing, "
        "3: failed",
    ):
        pick.add_argument("--session", metavar="REF", help="open the tree of this session first")
        pick.add_argument("--query", default="", metavar="QUERY", help="initial filter; with --entry, initial search")
        pick.add_argument("--here", action="store_true", help="show the sessions of the current directory first")
        pick.add_argument("--entry", action="store_true", help="choose an entry, not a session; opens the search")
        pick.add_argument(
            "--open-session",
            metavar="FILE",
            help="the calling agent has this session open: mark the session, and turn off changes and resuming",
        )
        pick.add_argument("--open-leaf", metavar="ID", help="with --open-session: id of the agent's current entry")


_CONTROLLING_TERMINAL = "/dev/tty"
_STREAMS = {"stdin": (0, "r"), "__stdin__": (0, "r"), "stderr": (2, "w"), "__stderr__": (2, "w")}


@contextmanager
def own_terminal() -> Iterator[bool]:
    """Inside the `with` block, connect stdin and stderr to the controlling terminal unless they are terminals.

    Without a controlling terminal the streams are unchanged. Yield True if both streams are terminals in the block.
    """
    elsewhere = [number for number in (0, 2) if not os.isatty(number)]
    terminal = None
    with suppress(OSError):
        terminal = os.open(_CONTROLLING_TERMINAL, os.O_RDWR) if elsewhere else None
    if terminal is None:
        yield not elsewhere
        return
    sys.stderr.flush()
    before = {number: os.dup(number) for number in elsewhere}
    streams = {name: getattr(sys, name) for name in _STREAMS}
    for number in elsewhere:
        os.dup2(terminal, number)
    os.close(terminal)
    for name, (number, mode) in _STREAMS.items():
        # The stream needs a new object, because a stream object caches properties of its file, such as being seekable.
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - the block of the caller uses it
    try:
        yield True
    finally:
        sys.stderr.flush()
        for number, kept in before.items():
            os.dup2(kept, number)
            os.close(kept)
        for name, stream in streams.items():
            setattr(sys, name, stream)
