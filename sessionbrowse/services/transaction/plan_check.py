"""Check that a journal record names only session files, files that belong to them, and files in a trash.

The journal may have been edited or damaged, and recovery and undo move and remove the files that it names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

from sessionbrowse.agents.base import SESSION_SUFFIXES, stem_of
from sessionbrowse.services.transaction.trash_directories import items_of
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.trash import Trashed

SHAPE_ERRORS = (msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Exceptions raised by code that reads a journal record with missing fields or wrong types."""

_NEW_SESSION = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_.+\.jsonl")
_HIDDEN = (".tmp", ".new", ".old", ".gone")
_TRASHED_IN = ("files", ".Trash")


def is_damaged(change: Change, deleted: Change | None = None) -> bool:
    """Return True if a journal record is malformed, or names a path that no change may touch.

    `deleted` is the deletion that a restore undoes; its paths are checked too.
    """
    try:
        return not all(map(_is_contained, [change] if deleted is None else [change, deleted]))
    except SHAPE_ERRORS:
        return True


def _is_contained(change: Change) -> bool:
    """Return True if each path in a record is a session file, belongs to one, or is its copy in a trash."""
    plan, path = change.plan, change.path
    items = items_of(change)
    named = [*plan.get("items", ()), *(plan[key] for key in ("packed", "unpacked") if plan.get(key) is not None)]
    items += [msgspec.convert({"item": None, "info": None, **one}, Trashed) for one in named]
    if "gone" in plan:
        items.append(Trashed(original=path, item=plan["gone"][0], info=plan["gone"][1], inode=0, size=0))
    pairs = [*plan.get("moves", ()), *((one, other) for one, other, *_ in plan.get("files", ()))]
    # The path of a relocation is the project's new directory, which is only shown.
    files = [*([] if plan.get("kind") == "relocate" else [path]), *(one.original for one in items)]
    files += [each for pair in pairs for each in pair]
    folders = [each for one, other in plan.get("folders", ()) for each in (one, other)]
    sessions = [each for each in files if each.endswith(SESSION_SUFFIXES)]
    new_folders, temporary, folder = plan.get("new_folders", ()), plan.get("temporary"), plan.get("folder")
    trash = [plan["trash"]] if "gone" not in plan and "trash" in plan else []
    is_new = plan.get("kind") != "create" or _NEW_SESSION.fullmatch(os.path.basename(path)) is not None
    # A packed session that is in no trash is not named, so only the names of the folders that go to it are known.
    beside = {each for each in files if each in sessions or _is_companion(each, sessions)}
    beside |= {other for one, other in pairs if one in beside and os.path.basename(one) == os.path.basename(other)}
    return (
        is_new
        and beside.issuperset(files)
        and all(map(_is_path, [*files, *folders, *new_folders, *trash]))
        and all(each in map(os.path.dirname, sessions) or _is_companion(each, sessions) for each in folders)
        and all(any(each.startswith(f"{made}/") for each in [*files, *folders]) for made in new_folders)
        and all(map(_is_in_trash, items))
        and (not temporary or _is_hidden_beside(temporary, path))
        and (not folder or folder == stem_of(path))
    )


def _is_path(path: str) -> bool:
    return os.path.isabs(path) and "\0" not in path and os.path.normpath(path) == path


def _is_companion(path: str, sessions: Iterable[str]) -> bool:
    """Return True if a file or folder is beside a session file and its name begins with the session file's name."""
    folder, name = os.path.split(path)
    stems = {os.path.basename(stem_of(each)) for each in sessions if os.path.dirname(each) == folder}
    return name.lstrip(".").startswith(tuple(stems))


def _is_hidden_beside(path: str, session: str) -> bool:
    """Return True if a path has the form of a hidden temporary file in a session's folder."""
    folder, name = os.path.split(path)
    return _is_path(path) and name.startswith(".") and name.endswith(_HIDDEN) and folder == os.path.dirname(session)


def _is_in_trash(one: Trashed) -> bool:
    """Return True if the path of a deleted file is in a trash, or is not known."""
    if one.item is None:
        return one.info is None
    folder = os.path.dirname(one.item)
    info = os.path.join(os.path.dirname(folder), "info", os.path.basename(one.item) + ".trashinfo")
    return _is_path(one.item) and os.path.basename(folder) in _TRASHED_IN and one.info in (None, info)
