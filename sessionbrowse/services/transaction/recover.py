"""Recover the journal after a crash: check whether each pending change reached its file; record the answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec import UNSET

from sessionbrowse.agents.change_plans import AppendLine
from sessionbrowse.errors import NotASession, SessionBrowseError
from sessionbrowse.format.title_slot import SLOT_BYTES
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.recover_files import FILE_LOOKS
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write import writer
from sessionbrowse.store.write.admission import Target
from sessionbrowse.store.write.journal import Change


def recover_change(
    context: ChangeContext, change: Change, reason: str = "it was interrupted before it reached the file"
) -> None:
    """Check if a pending change reached its file, and record the answer in the journal.

    If the file cannot be read now, the change stays pending.
    """
    look = LOOKS.get(str(change.plan.get("kind")))
    if look is None:
        return
    try:
        reached = look(context, change)
    except (OSError, SessionBrowseError) as error:
        if os.path.lexists(change.path) and not isinstance(error, NotASession):
            return
        reached = False
    if reached:
        context.journal.done(change, change.plan.get("after"))
    else:
        context.journal.failed(change, reason)


def _append_reached(context: ChangeContext, change: Change) -> bool:
    session = open_session(change.path, change.agent)
    index = session.index_by_id.get(change.plan["entry_id"])
    if index is None:
        return False
    plan = msgspec.convert(change.plan["line"], AppendLine)
    is_last = index == len(session.ids) - 1
    if is_last and plan.parent_id is UNSET and session.parents[index] != index - 1 and session.agent != "omp":
        # Another program appended just before us; our entry must hang below its messages to keep them on the branch.
        plan = msgspec.structs.replace(plan, parent_id=session.ids[index - 1])
        with writer.opened(Target(change.path, change.agent)) as file:
            made = writer.unused_id(file.tail.ids, context.new_id)
            writer.append_line(file, plan, made, now_ms=context.now_ms)
    return True


def _slot_reached(_: ChangeContext, change: Change) -> bool:
    old, new = (change.plan[key].encode("latin-1") for key in ("old", "new"))
    with open(change.path, "rb") as file:
        first = file.read(SLOT_BYTES)
    if first in (old, new):
        return bool(first == new)
    if any(first == new[:at] + old[at:] for at in range(SLOT_BYTES)):
        # With a half-written slot no program could open the file.
        writer.mend_slot(change.path, first, old)
    return False


def _insert_reached(_: ChangeContext, change: Change) -> bool:
    with open(change.path, "rb") as file:
        reached = bool(file.read(SLOT_BYTES) == change.plan["new"].encode("latin-1"))
    temporary = change.plan["temporary"]
    with suppress(FileNotFoundError):
        # After the swap the old version has the temporary name. Another program may just have added lines to it.
        if not reached or os.stat(temporary).st_size == change.plan["size"]:
            os.unlink(temporary)
    return reached


Look = Callable[[ChangeContext, Change], bool]

LOOKS: dict[str, Look] = {
    "append": _append_reached,
    "slot": _slot_reached,
    "insert": _insert_reached,
    **FILE_LOOKS,
}
"""For each `kind` of plan, the function that checks whether the change reached its file."""
