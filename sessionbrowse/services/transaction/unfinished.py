"""Find and describe interrupted changes, for commands that only read; nothing is recovered by this module."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.own.state_directory import is_held
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.whereabouts import moves_in
from sessionbrowse.text import clean

_NOUNS = {"unpack": "unarchive"}


def unfinished(context: ChangeContext, roots: Iterable[str]) -> list[Change]:
    """Return the interrupted changes of files below the given directories; [] while another change is being made."""
    pending = context.journal.pending()
    if not pending or is_held(context.state):
        return []
    real = tuple(os.path.join(os.path.realpath(root), "") for root in roots)
    return [change for change in pending if any(_is_below(path, real) for path in _paths(change))]


def sentence_of(change: Change) -> str:
    """Return a sentence about an interrupted change: that it was completed, rolled back, or is still pending."""
    verb = _NOUNS.get(change.verb, change.verb)
    what = f"The {verb} of {clean(str(change.before.get('path') or change.path))}"
    match change.state:
        case "done":
            return f"{what}, which was interrupted, is complete now."
        case "failed":
            return f"{what}, which was interrupted, is rolled back now."
        case _:
            return f"{what} was interrupted."


def _paths(change: Change) -> Iterable[str]:
    yield change.path
    for pair in moves_in(change):
        yield from pair
    for path, *_ in change.plan.get("files", ()):
        yield path


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)).startswith(roots)
