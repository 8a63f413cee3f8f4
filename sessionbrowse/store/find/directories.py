"""Compare working directories with symbolic links resolved; a time limit keeps a dead disk from blocking a list."""

from __future__ import annotations

import os
from collections.abc import Iterable

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.directories import (
    machine_in,
    normal_form,
    one_spelling,
    other_system,
    part_below,
    why_not_here,
)
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, real_many
from sessionbrowse.text import clean


def resolved(directories: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, str]:
    """Map each directory to its path with symbolic links resolved, or only normalised if the disk does not answer.

    Only absolute paths of this system are resolved; others would be joined to the current directory.
    """
    wanted = list(directories)
    answers = real_many(wanted, timeout_s)
    return {each: answers.get(each) or normal_form(each) for each in wanted}


def same_spelling(directories: Iterable[str]) -> dict[str, str]:
    """Map each directory to one spelling: the same for all given paths that lead to the same directory."""
    wanted = list(directories)
    return one_spelling(wanted, resolved(wanted))


def project_texts(directories: Iterable[str]) -> dict[str, str]:
    """Map each directory to the text in which the `project:` filter searches: its spellings and its resolved path."""
    spelled = same_spelling(directories)
    texts: dict[str, dict[str, None]] = {}
    for directory, path in resolved(spelled).items():
        texts.setdefault(spelled[directory], {path: None})[directory] = None
    return {each: "\n".join([f"{path.rstrip('/')}/" for path in texts[one]]) for each, one in spelled.items()}


def given(text: str, here: str) -> str:
    """Return the absolute path of a directory that the user typed; a path of another system or machine is unchanged."""
    if other_system(text) or _given_there(text):
        return text
    return os.path.abspath(os.path.join(here, os.path.expanduser(text)))


def refuse_other_machine(text: str) -> None:
    """Raise `RefusedWrite` for a directory on another machine, whose sessions are changed only there."""
    if (there := _given_there(text)) is not None:
        raise RefusedWrite(
            f"{clean(there[1])} lies on {there[0]}; its sessions are changed there. Nothing was changed."
        )


def given_here(text: str, here: str) -> str:
    """Return the absolute path of a directory that the user typed and that must be on this machine.

    Raises:
        RefusedWrite: it is a path of another system or machine.
    """
    if other_system(text) or _given_there(text):
        raise RefusedWrite(f"The directory {clean(text)} {why_not_here(text)}. Nothing was changed.")
    return given(text, here)


def _given_there(text: str) -> tuple[str, str] | None:
    """Split `mini:/home/me` into machine and directory; None for a directory here, whose name may contain `:` too."""
    there = machine_in(text)
    return there if there is not None and there[1][:1] in ("", "/") else None


def spellings_of(text: str, here: str) -> tuple[str, ...]:
    """Return the paths that a typed directory can mean: the text itself, its absolute path, its resolved path."""
    path = given(text, here)
    own = (text,) if text.strip("./") else ()
    return tuple(dict.fromkeys((*own, path, resolved([path])[path])))


def within(directories: Iterable[str], wanted: Iterable[str], *, below: bool = False) -> frozenset[str]:
    """Return the `directories` that are the directory `wanted`, or with `below` also those inside it.

    `wanted` has all spellings of the directory (see `spellings_of`).
    """
    tops, found = tuple(wanted), set()
    for directory, path in resolved(directories).items():
        part = part_below((directory, path), tops)
        if part == () or (below and part is not None):
            found.add(directory)
    return frozenset(found)
