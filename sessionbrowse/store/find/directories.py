"""Working directories compared with links resolved, with a time limit, so that a dead disk blocks no list."""

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
    """Return for each directory its path without links; its normal form if the disk cannot tell or did not answer.

    Only absolute paths of this system are looked up: others are never joined to the current directory.
    """
    wanted = list(directories)
    answers = real_many(wanted, timeout_s)
    return {each: answers.get(each) or normal_form(each) for each in wanted}


def same_spelling(directories: Iterable[str]) -> dict[str, str]:
    """Map each directory to the one spelling that stands for all spellings of it among the given directories."""
    wanted = list(directories)
    return one_spelling(wanted, resolved(wanted))


def project_texts(directories: Iterable[str]) -> dict[str, str]:
    """Map each directory to a text in which a filter by project searches: all its spellings, and without links."""
    spelled = same_spelling(directories)
    texts: dict[str, dict[str, None]] = {}
    for directory, path in resolved(spelled).items():
        texts.setdefault(spelled[directory], {path: None})[directory] = None
    return {each: "\n".join([f"{path.rstrip('/')}/" for path in texts[one]]) for each, one in spelled.items()}


def given(text: str, here: str) -> str:
    """Return a directory that the user gave as an absolute path; one of another system or machine stays as it is."""
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
    """Return the absolute path of a directory that the user gave for sessions of this system.

    Raises:
        RefusedWrite: it is a path of another system or machine.
    """
    if other_system(text) or _given_there(text):
        raise RefusedWrite(f"The directory {clean(text)} {why_not_here(text)}. Nothing was changed.")
    return given(text, here)


def _given_there(text: str) -> tuple[str, str] | None:
    """Split an absolute directory on another machine; the name of a directory here may hold a colon, too."""
    there = machine_in(text)
    return there if there is not None and there[1][:1] in ("", "/") else None


def spellings_of(text: str, here: str) -> tuple[str, ...]:
    """Return what a directory that the user gave can mean: the stored text itself, its absolute path, without links."""
    path = given(text, here)
    own = (text,) if text.strip("./") else ()
    return tuple(dict.fromkeys((*own, path, resolved([path])[path])))


def within(directories: Iterable[str], wanted: Iterable[str], *, below: bool = False) -> frozenset[str]:
    """Return those of the stored directories that are the directory `wanted`, or below it if `below` is True.

    `wanted` has all spellings of the directory (see `spellings_of`).
    """
    tops, found = tuple(wanted), set()
    for directory, path in resolved(directories).items():
        part = part_below((directory, path), tops)
        if part == () or (below and part is not None):
            found.add(directory)
    return frozenset(found)
