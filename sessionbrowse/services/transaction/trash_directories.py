"""The trash directories of the system, and our own."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import msgspec

from sessionbrowse.config import data_dir
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.trash import NoTrash, Trashed


def items_of(change: Change) -> list[Trashed]:
    """Return the trashed items of a deletion: first the files that belong to the session, last the session."""
    return [msgspec.convert(item, Trashed) for item in change.after.get("items", ())]


def own_trash(context: ChangeContext) -> str:
    """Return our own trash folder, which has the form of the system's."""
    return str(data_dir(context.around.environ, Path(context.around.home)) / "trash")


def own_name(change: Change, path: str) -> str:
    """Return the name of a deletion's item in our own trash folder."""
    return f"{change.id}-{os.path.basename(path)}"


def homes(context: ChangeContext) -> tuple[str, ...]:
    """Return the trash directories in which a deleted session may lie."""
    named = context.around.environ.get("XDG_DATA_HOME", "")
    data_home = named if os.path.isabs(named) else os.path.join(context.around.home, ".local", "share")
    return (*trash.homes_of(data_home), own_trash(context))


def put_aside(path: str, change: Change, context: ChangeContext) -> Trashed:
    """Move a file that can be made again to the system's trash, or else to our own.

    Raises:
        RefusedWrite: neither takes it; nothing was changed.
        WriteFailed: the sentence says what is where.
    """
    try:
        return trash.put(path, homes(context))
    except NoTrash:
        return trash.put_in_own(path, own_trash(context), name=own_name(change, path), deleted_at=deleted_at(context))


def deleted_at(context: ChangeContext) -> str:
    """Return the current time in the form of a `.trashinfo`: local, without a zone."""
    return datetime.fromtimestamp(context.now_ms() / 1000).strftime("%Y-%m-%dT%H:%M:%S")
