"""Replace a session file by a clean copy, keep the original in the trash, and undo the replacement.

The original is copied into the trash first. Then the clean copy takes the file's name in one step (see `rewrite_file`),
and lines that another program writes meanwhile are added to it. An undo gives the file the bytes of the trashed
original.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import CannotUndo, InUse, LostForGood, RefusedWrite
from sessionbrowse.services.transaction.change import (
    ChangeResult,
    Origin,
    begin,
    is_taken,
    record_done,
    recovering,
    usage_of,
)
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.trash_directories import deleted_at, homes, items_of, own_name, own_trash
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.write import trash
from sessionbrowse.store.write.journal import Change, Fingerprint
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.store.write.whole_files import rewrite_file, temporary_beside
from sessionbrowse.store.write.write_checks import Target, shown_name
from sessionbrowse.store.write.writer import OpenedFile, opened
from sessionbrowse.text import clean

Json = Any
Pieces = Callable[[], Iterable[bytes]]


def refuse_running(file: OpenedFile, context: ChangeContext, *, force: bool) -> None:
    """Raise `InUse` if an agent may have the session open, and would append below entries that are removed."""
    used = usage_of(file, context)
    agent = file.session.agent
    if is_taken(used, agent) and not force:
        wait = "" if AGENTS[agent].bears_appends else ". Then wait ten minutes"
        raise InUse(
            f"{file.name} may be in use: {'; '.join(used.reasons)}. {agent} would append below entries that the "
            f"new version may lack. Quit {agent} first{wait}."
        )


def replace_by(
    file: OpenedFile, pieces: Pieces, context: ChangeContext, origin: Origin, *, check: Callable[[str], None]
) -> tuple[Change, tuple[str, ...]]:
    """Replace an open session file; return the journal's `Change`, and notes for the user.

    The caller must hold the lock for changes.

    `pieces` yields the new content; it is called twice and must yield the same bytes. `check` gets the path of the new
    version, and raises `RefusedWrite` if the new version is not as planned.

    Raises:
        RefusedWrite: the file changed since it was read, or no trash accepts the original; nothing was changed.
        WriteFailed: an I/O error occurred; the message says what the file contains now.
    """
    digest, new_size = digest_of(pieces())
    temporary = temporary_beside(file.path)
    failure: NoTrash | None = None
    for directory in _directories(context):
        plan = _plan(file, temporary, new_size, digest) | {"trash": directory}
        change = begin(file, context, origin, before={}, plan=plan)
        item, info = trash.paths_in(directory, own_name(change, change.path))
        try:
            with recovering(context, change):
                kept = trash.put_copy(file.path, file.descriptor, item, info, deleted_at(context))
                left = _exchange(file, pieces, temporary, digest, context, check)
        except NoTrash as error:
            failure = error
            continue
        after = {"items": [msgspec.to_builtins(kept)]}
        return change, record_done(context, change, after, left)
    assert failure is not None
    raise failure


def take_back(change: Change, context: ChangeContext, force: bool) -> ChangeResult:
    """Undo a replacement: give the file the bytes of its trashed original. The caller must hold the lock for changes.

    Raises:
        CannotUndo: the file changed since the replacement; the message says where the original is.
        LostForGood: the original is gone from the trash.
    """
    kept = items_of(change)[-1]
    name = shown_name(change.path)
    if kept.item is None or not os.path.lexists(kept.item):
        raise LostForGood(
            f"The original of {name} is no longer in the trash; another program restored or deleted it.",
            "the originals of the replaced sessions are no longer in the trash.",
        )
    if not trash.is_item(kept, kept.item):
        raise CannotUndo(f"The file in the trash is no longer the original of {name}.")
    where = f"Its original is {clean(kept.item)}."
    item = kept.item
    if not os.path.lexists(change.path):
        raise CannotUndo(f"{name} no longer exists. {where}")
    with opened(Target(change.path, change.agent), refused_too=True) as file:
        if digest_of(file_blocks(file.descriptor)) != (change.plan["digest"], change.plan["new_size"]):
            raise CannotUndo(f"{name} has new content, which an undo would lose. {where}")
        refuse_running(file, context, force=force)

        def pieces() -> Iterator[bytes]:
            with closing(open_regular(item)) as descriptor:
                yield from file_blocks(descriptor)

        digest, new_size = digest_of(pieces())
        temporary = temporary_beside(file.path)
        plan = _plan(file, temporary, new_size, digest) | {"gone": [kept.item, kept.info]}
        origin = Origin(verb="undo", undoes=change.id)
        new = begin(file, context, origin, before={}, plan=plan)
        with recovering(context, new):
            left = _exchange(file, pieces, temporary, digest, context, lambda _: None)
    if left is not None:
        with suppress(OSError):  # The copy then stays in the trash.
            trash.drop_copy(change.path, kept.item, kept.info or "")
    notes = record_done(context, new, {"path": change.path}, left)
    return ChangeResult(done="undo", path=change.path, undo_id=new.id, notes=notes)


def _exchange(
    file: OpenedFile, pieces: Pieces, temporary: str, digest: str, context: ChangeContext, check: Callable[[str], None]
) -> Fingerprint | None:
    def verify(path: str) -> None:
        with closing(open_regular(path)) as descriptor:
            if digest_of(file_blocks(descriptor))[0] != digest:
                raise RefusedWrite(f"The new version of {file.name} was stored incorrectly. Nothing was changed.")
        check(path)

    under_lock = not AGENTS[file.session.agent].bears_appends
    return rewrite_file(file, pieces(), temporary, context.journal.keep, under_lock=under_lock, check=verify)


def _plan(file: OpenedFile, temporary: str, new_size: int, digest: str) -> dict[str, Json]:
    return {
        "kind": "replace",
        "temporary": temporary,
        "size": file.found.size,
        "inode": file.found.inode,
        "new_size": new_size,
        "digest": digest,
    }


def _directories(context: ChangeContext) -> list[str]:
    """Return the trash directories to try: the system's (not on macOS and Windows), then sessionbrowse's own."""
    own = own_trash(context)
    is_freedesktop = sys.platform not in ("darwin", "win32")
    return list(dict.fromkeys([homes(context)[0], own] if is_freedesktop else [own]))


def digest_of(pieces: Iterable[bytes]) -> tuple[str, int]:
    """Return the SHA-256 digest of a file's content, given in pieces, and its size in bytes."""
    hasher, size = hashlib.sha256(), 0
    for piece in pieces:
        hasher.update(piece)
        size += len(piece)
    return hasher.hexdigest(), size
