"""Check that a journal record names only session files, files that belong to them, and files in a trash.

The journal may have been edited or damaged, and recovery and undo move and remove the files that it names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from sessionbrowse.agents.companions import SESSION_SUFFIXES, stem_of
from sessionbrowse.services.transaction.trash_directories import items_of
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.trash import Trashed
from sessionbrowse.store.write.whereabouts import moves_in

Json = Any

SHAPE_ERRORS = (msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Exceptions raised by code that reads a journal record with missing fields or wrong types."""

_NEW_SESSION = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_.+\.jsonl")
_HIDDEN = (".tmp", ".new", ".old", ".gone")
_TRASHED_IN = ("files", ".Trash")


def is_damaged(change: Change, deleted: Change | None = None) -> bool:
    """Return True if a journal record is malformed, or names a path that its kind of change may not touch.

    `deleted` is the deletion that a restore undoes; its paths are checked too.
    """
    check = _CHECKS.get(str(change.plan.get("kind")))
    try:
        paths = [*_trashed(change), *(_trashed(deleted) if deleted is not None else ())]
        return not (all(paths) and _may_make_folders(change) and (check is None or check(change)))
    except SHAPE_ERRORS:
        return True


def _is_path(path: str) -> bool:
    return os.path.isabs(path) and "\0" not in path and os.path.normpath(path) == path


def _is_session(path: str) -> bool:
    return _is_path(path) and path.endswith(SESSION_SUFFIXES)


def _is_hidden_beside(path: str, session: str) -> bool:
    """Return True if a path has the form of a hidden temporary file in a session's folder."""
    folder, name = os.path.split(path)
    is_ours = name.startswith(".") and name.endswith(_HIDDEN)
    return _is_path(path) and is_ours and folder == os.path.dirname(session)


def _is_companion(path: str, session: str) -> bool:
    """Return True if a file or folder is beside a session file and its name begins with the session file's name."""
    folder, name = os.path.split(path)
    is_named = name.lstrip(".").startswith(os.path.basename(stem_of(session)))
    return _is_path(path) and is_named and folder == os.path.dirname(session)


def _may_make_folders(change: Change) -> bool:
    """Return True if each folder that a change may have made is above one of the change's files."""
    files = [change.path, *(path for pair in moves_in(change) for path in pair)]
    folders = change.plan.get("new_folders", ())
    return all(_is_path(folder) and any(path.startswith(f"{folder}/") for path in files) for folder in folders)


def _may_append(change: Change) -> bool:
    return _is_session(change.path)


def _may_insert(change: Change) -> bool:
    return _is_session(change.path) and _is_hidden_beside(change.plan["temporary"], change.path)


def _may_replace(change: Change) -> bool:
    plan = change.plan
    gone = (
        Trashed(original=change.path, item=plan["gone"][0], info=plan["gone"][1], inode=0, size=0)
        if "gone" in plan
        else None
    )
    return (
        _is_session(change.path)
        and _is_hidden_beside(plan["temporary"], change.path)
        and (_is_path(plan["trash"]) if gone is None else _is_trashed(gone, change.path))
    )


def _may_create(change: Change) -> bool:
    plan = change.plan
    return (
        _is_session(change.path)
        and _NEW_SESSION.fullmatch(os.path.basename(change.path)) is not None
        and (not plan.get("temporary") or _is_hidden_beside(plan["temporary"], change.path))
        and (not plan.get("folder") or plan["folder"] == stem_of(change.path))
    )


def _may_trash(change: Change) -> bool:
    *others, session = [item["original"] for item in change.plan["items"]]
    return session == change.path and _is_session(session) and all(_is_companion(other, session) for other in others)


def _may_move(change: Change) -> bool:
    *others, (source, target) = change.plan["moves"]
    return _is_session(source) and _is_session(target) and _may_go_along(others, source, target)


def _may_unpack(change: Change) -> bool:
    packed, plan = change.plan["packed"]["original"], change.plan
    return (
        _is_session(packed)
        and _is_session(change.path)
        and _is_hidden_beside(plan["temporary"], change.path)
        and _may_go_along(plan["moves"], packed, change.path)
    )


def _may_pack_again(change: Change) -> bool:
    packed = msgspec.convert(change.plan["packed"], Trashed | None)
    unpacked = change.plan["unpacked"]["original"]
    moves = change.plan["moves"]
    return (
        _is_session(unpacked)
        and all(
            _is_path(each) and os.path.basename(each) == os.path.basename(stem_of(unpacked))
            for move in moves
            for each in move
        )
        and (packed is None or _is_trashed(packed, packed.original))
    )


def _may_go_along(moves: Iterable[Json], source: str, target: str) -> bool:
    return all(
        _is_companion(one, source) and _is_path(other) and os.path.dirname(other) == os.path.dirname(target)
        for one, other in moves
    )


def _may_relocate(change: Change) -> bool:
    files = [(str(one[0]), str(one[1])) for one in change.plan["files"]]
    moved = {each for pair in files for each in pair}
    stems = {*map(stem_of, moved), *map(os.path.dirname, moved)}
    return all(map(_is_session, moved)) and all(
        _is_path(each) and (each in stems or any(_is_companion(each, session) for session in moved))
        for pair in change.plan["folders"]
        for each in pair
    )


def _trashed(change: Change) -> Iterable[bool]:
    """Return for each file that a journal record lists as trashed: True if the recorded paths of the file are valid."""
    items = items_of(change)
    return [_is_trashed(item, items[-1].original) for item in items]


def _is_trashed(item: Trashed, session: str) -> bool:
    if not _is_session(session) or not (item.original == session or _is_companion(item.original, session)):
        return False
    if item.item is None:
        return item.info is None
    folder = os.path.dirname(item.item)
    info = os.path.join(os.path.dirname(folder), "info", os.path.basename(item.item) + ".trashinfo")
    return _is_path(item.item) and os.path.basename(folder) in _TRASHED_IN and item.info in (None, info)


_CHECKS: dict[str, Callable[[Change], bool]] = {
    "append": _may_append,
    "slot": _may_append,
    "insert": _may_insert,
    "create": _may_create,
    "replace": _may_replace,
    "trash": _may_trash,
    "remove": _may_trash,
    "restore": _may_append,
    "moves": _may_move,
    "unpack": _may_unpack,
    "pack again": _may_pack_again,
    "relocate": _may_relocate,
}
