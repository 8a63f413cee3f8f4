"""Find the sessions that a command's arguments stand for."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sessionbrowse.cli import output
from sessionbrowse.cli.parser import scope_of
from sessionbrowse.errors import AmbiguousReference, RefusedWrite
from sessionbrowse.services.list.locate import LATEST, Located, locate
from sessionbrowse.store.find.discover import Skipped
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.text import age, clean, truncate

if TYPE_CHECKING:
    from sessionbrowse.store.write.write_checks import Target

_MOST_CANDIDATES = 10
_TITLE_CELLS = 40


def find(arguments: argparse.Namespace, reference: str | None = None) -> Located:
    """Return the session given by the argument REF: its file, its agent, and the sessions folder that contains it."""
    given = arguments.ref if reference is None else reference
    return _find(arguments, given, scope_of(arguments), output.warning_once())


def find_each(arguments: argparse.Namespace) -> list[Located]:
    """Return the sessions given by all arguments REF, in the order of the arguments."""
    scope, warn = scope_of(arguments), output.warning_once()
    return [_find(arguments, reference, scope, warn) for reference in arguments.refs]


def find_target(arguments: argparse.Namespace) -> Target:
    """Return the session given by the argument REF, as the target of a change."""
    # Imported here because commands that only read do not need this module.
    from sessionbrowse.services.transaction.change import target_of

    return target_of(find(arguments), arguments.ref)


def find_targets(arguments: argparse.Namespace) -> list[Target]:
    """Return the sessions given by all arguments REF, each once, as targets of a change.

    An unknown REF raises an error before anything is changed.
    """
    from sessionbrowse.services.transaction.change import target_of

    targets = [target_of(*pair) for pair in zip(find_each(arguments), arguments.refs, strict=True)]
    return list({target.path: target for target in targets}.values())


def _find(arguments: argparse.Namespace, reference: str, scope: Scope, skipped: Callable[[Skipped], None]) -> Located:
    removes = arguments.command == "delete" or getattr(arguments, "in_place", False)
    if reference == LATEST and removes and not getattr(arguments, "yes", False):
        raise RefusedWrite("The newest session may be a different session by now: give the session's id, or add --yes.")
    try:
        found = locate(reference, scope, skipped)
    except AmbiguousReference as error:
        raise AmbiguousReference(_choices(error), error.candidates) from error
    if found.by_beginning and removes and not getattr(arguments, "yes", False):
        raise RefusedWrite(
            f"{reference!r} is only the beginning of a name: give the whole name or an id, or add --yes."
        )
    return found


def _choices(error: AmbiguousReference) -> str:
    """Return the sentence of `error`, and one row (id, age, title, path) for each of the first sessions that match."""
    from sessionbrowse.store.find.discover import agent_of_path
    from sessionbrowse.store.read.summarise import summarise_path

    shown = error.candidates[:_MOST_CANDIDATES]
    rows = []
    for path in shown:
        summary = summarise_path(path, partial(agent_of_path, path))
        if summary is not None:
            old = age(summary.modified, time.time() * 1000) if summary.modified is not None else ""
            title = truncate(clean(summary.title), _TITLE_CELLS) or "(no messages)"
            rows.append(f"  {summary.id or '(no id)'}  {old:>4}  {title}  {path}")
    more = [f"  and {len(error.candidates) - len(shown)} more"] if len(error.candidates) > len(shown) else []
    return "\n".join([f"{error.sentence}:", *rows, *more])
