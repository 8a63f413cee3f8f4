"""The hidden command `__complete`, which completes a command line; the shells' completion scripts call it.

The last word of the command line is the one to complete. Sessions and entries are read from the index only, and
nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse.cli.parser import AGENT_NAMES, MODULE_OF_COMMAND, is_for_agent, make_parser
from sessionbrowse.config import cache_dir, load_settings
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.store.own.mirrors import states
from sessionbrowse.text import age, clean, truncate

if TYPE_CHECKING:
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.store.index.index import Index


def complete(words: Sequence[str]) -> int:
    """Print completions of a command line's last word, one per line, followed by a tab and a description if any."""

    # A shell writes the lines on the terminal as they are, and takes each as one completion.
    lines = [clean(one.word) + (f"\t{clean(one.meaning)}" if one.meaning else "") for one in candidates(words)]
    sys.stdout.buffer.write(b"".join(os.fsencode(f"{line}\n") for line in lines))
    sys.stdout.flush()
    return 0


FILES, DIRECTORIES = ":files", ":directories"
"""Placeholders printed instead of completions: the completion script replaces them by names of files or directories."""
_MOST = 100
_TITLE_CELLS = 50
_KINDS = {
    **dict.fromkeys(("root", "cwd", "old", "new"), DIRECTORIES),
    **dict.fromkeys(("to", "output", "open_session"), FILES),
    **dict.fromkeys(("ref", "refs", "session"), "sessions"),
    "words": "machines",
    **dict.fromkeys(("entry", "at", "drop", "left", "right", "open_leaf"), "entries"),
}
"""Maps an argument's name to what completes its value: files, sessions, … Other arguments have fixed `choices`."""


class Completion(Struct, frozen=True):
    """A possible completion of the last word, and a short description of the completion."""

    word: str
    meaning: str = ""


class _Typed(Struct):
    """The words before the one to complete, split into options and arguments."""

    parser: argparse.ArgumentParser
    roots: list[str] = []
    agents: list[str] = []
    values: list[str] = []
    """The command's positional arguments: words that are neither options nor values of options."""
    open_option: argparse.Action | None = None
    """The option whose value is the word to complete; None if that word is not the value of an option."""


def candidates(words: Sequence[str]) -> list[Completion]:
    """Return the possible completions of the last word of a command line."""
    joined = _joined(words)
    command = _command(joined[:-1])
    # Before a command is typed, only the global options are parsed: adding commands would import their modules.
    typed = _sorted_out(make_parser(command or "--version"), joined[:-1], command)
    last = joined[-1] if joined else ""
    option, equals, value = last.partition("=")
    if equals and last.startswith("--") and typed.open_option is None:
        action = typed.parser._option_string_actions.get(option)
        found = list(_values(action, typed, value)) if action is not None else []
        # bash splits `--agent=omp` at the equals sign, and replaces only the part after the sign.
        before = "" if "=" in words else f"{option}="
        return [one if one.word.startswith(":") else Completion(before + one.word, one.meaning) for one in found]
    if typed.open_option is not None:
        return list(_values(typed.open_option, typed, last))
    if last.startswith("-"):
        return [
            Completion(name, action.help or "")
            for name, action in typed.parser._option_string_actions.items()
            if name.startswith(last) and (name.startswith("--") or last == name)
        ]
    if command is None:
        return [Completion(name) for name in MODULE_OF_COMMAND if name.startswith(last)]
    positional = [action for action in typed.parser._actions if not action.option_strings]
    number = len(typed.values)
    if positional and (number < len(positional) or positional[-1].nargs in ("+", "*")):
        return list(_values(positional[min(number, len(positional) - 1)], typed, last))
    return []


def _command(words: Sequence[str]) -> str | None:
    """Return the command among the words, None if there is none; values of options before the command are skipped."""
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return word if word in MODULE_OF_COMMAND else None
        is_value = not is_value and word in ("--root", "--agent")
    return None


def _joined(words: Sequence[str]) -> list[str]:
    """Return the words; the parts into which bash splits an option such as `--agent=omp` are joined again."""
    joined: list[str] = []
    for word in words:
        if joined and (word == "=" or joined[-1].endswith("=")) and joined[-1].startswith("--"):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _sorted_out(parser: argparse.ArgumentParser, words: Sequence[str], command: str | None) -> _Typed:
    own = parser
    if command is not None:
        subs = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        own = subs.choices[command]
    typed = _Typed(own)
    waiting: argparse.Action | None = None
    is_before = command is not None
    for word in words:
        if waiting is not None:
            action, waiting, value = waiting, None, word
        elif word.startswith("-") and word != "-":
            name, equals, value = word.partition("=")
            found = own._option_string_actions.get(name) or parser._option_string_actions.get(name)
            if found is None or found.nargs == 0:
                continue
            if not equals:
                waiting = found
                continue
            action = found
        elif is_before and word == command:
            is_before = False
            continue
        else:
            typed.values.append(word)
            continue
        if action.dest == "roots":
            typed.roots.append(value)
        elif action.dest == "agents":
            typed.agents.append(value)
    typed.open_option = waiting
    return typed


def _values(action: argparse.Action, typed: _Typed, begun: str) -> Iterator[Completion]:
    """Yield the values of an option or argument that begin with `begun`."""
    kind = _KINDS.get(action.dest) or _KINDS.get(action.dest.removesuffix("s"))
    if action.choices is not None:
        yield from (Completion(str(one)) for one in action.choices if str(one).startswith(begun))
    elif kind in (FILES, DIRECTORIES):
        yield Completion(str(kind))
    elif kind == "sessions":
        if "/" in begun:
            yield Completion(FILES)
        else:
            yield from _sessions(typed, begun)
    elif kind == "machines" and typed.values and typed.values[0] != "add":
        yield from (Completion(state.name, state.host) for state in states() if state.name.startswith(begun))
    elif kind == "entries" and typed.values:
        yield from _entries(typed, typed.values[0], begun)


def _sessions(typed: _Typed, begun: str) -> Iterator[Completion]:
    """Yield `latest` and the session ids that begin with `begun`, newest first; if no id matches, session names."""
    index = _index()
    if index is None:
        return
    try:
        rows = sorted(_rows(index, typed), key=lambda row: row.modified or 0, reverse=True)
        wanted = begun.casefold()
        fitting = [row for row in rows if row.id and row.id.casefold().startswith(wanted)][:_MOST]
        now = time.time() * 1000
        if "latest".startswith(wanted):
            yield Completion("latest", "the newest session")
        count = Counter(row.id for row in fitting)
        for row in [row for row in fitting if count[row.id] == 1]:
            yield from _offered(row.id or "", f"{age(row.modified, now)}  {truncate(clean(row.title), _TITLE_CELLS)}")
        for session_id in [one for one in count if count[one] > 1]:
            yield from _offered(session_id or "", f"{count[session_id]} sessions have this id; give a path")
        if wanted and not fitting:
            for name in dict.fromkeys(row.name for row in rows if row.name and row.name.casefold().startswith(wanted)):
                yield from _offered(name, "name")
    finally:
        index.close()


def _index() -> Index | None:
    from sessionbrowse.store.index.index import Index
    from sessionbrowse.store.index.schema import open_for_reading

    connection = open_for_reading(cache_dir())
    return Index(cache_dir(), connection) if connection is not None else None


def _rows(index: Index, typed: _Typed) -> Iterator[Summary]:
    """Yield the indexed sessions that `--root` and `--agent` select, but no subagents and workflow stages."""
    from sessionbrowse.store.find.roots import Scope, places_of, real_surroundings

    agents = tuple(name for name in typed.agents if name in AGENT_NAMES) or load_settings().settings.show_agents
    try:
        places = places_of(Scope(around=real_surroundings(), roots=tuple(typed.roots), agents=agents))
    except SessionBrowseError:
        return
    below = tuple(f"{place.root}/" for place in places)
    rows = [row.summary for row in index.rows()]
    withheld = _withheld(rows)
    for row in rows:
        is_listed = row.path.startswith(below) and not row.hidden and row.path not in withheld
        if is_listed and (not agents or row.agent in agents):
            yield row


def _withheld(sessions: Sequence[Summary]) -> set[str]:
    """Return the paths of the sessions that the user hides from agents, if an agent completes; else none."""
    if not is_for_agent():
        return set()
    from sessionbrowse.cli.parser import excluded_of

    excluded = excluded_of(load_settings().settings, os.path.expanduser("~"))
    if excluded is None:
        return set()
    return excluded.withheld(sessions, lambda: sessions)


def _entries(typed: _Typed, reference: str, begun: str) -> Iterator[Completion]:
    """Yield the labels and the entry ids of the session `reference` that begin with `begun`."""
    from sessionbrowse.store.read.session_file import open_session

    index = _index()
    if index is None:
        return
    try:
        path = _path_of(index, typed, reference)
        row = index.row_of(path) if path is not None else None
    finally:
        index.close()
    try:
        session = open_session(row.path, row.summary.agent) if row is not None else None
    except SessionBrowseError:
        session = None
    if session is None:
        return
    for number, mark in session.labels.items():
        if mark.text.startswith(begun):
            yield from _offered(mark.text, f"label of {session.ids[number]}")
    for entry_id in [one for one in reversed(session.ids) if one and one.startswith(begun)][:_MOST]:
        yield from _offered(entry_id, "entry")


def _offered(word: str, meaning: str) -> Iterator[Completion]:
    """Yield a word from a session file as a completion, unless a shell or the parser would read another word.

    Left out are words with control or invisible characters, because without these characters the word would name
    nothing, and words that look like an option or a placeholder.
    """
    if word and clean(word) == word and not word.startswith(("-", ":")):
        yield Completion(word, clean(meaning))


def _path_of(index: Index, typed: _Typed, reference: str) -> str | None:
    if "/" in reference or reference.endswith(".jsonl"):
        path = str(Path(reference).expanduser().resolve())
        return None if path in _withheld([row.summary for row in index.rows()]) else path
    rows = sorted(_rows(index, typed), key=lambda row: row.modified or 0, reverse=True)
    if reference == "latest":
        return rows[0].path if rows else None
    wanted = reference.casefold()
    exact = [row.path for row in rows if (row.id or "").casefold() == wanted]
    named = [row.path for row in rows if row.name == reference]
    begun = [row.path for row in rows if (row.id or "").casefold().startswith(wanted)]
    found = exact or named or begun
    return found[0] if len(found) == 1 else None
