"""Recover the journal after a crash: check whether each pending change reached its file, and record the result.

The journal may have been edited or damaged, and recovery and undo move and remove the files that it names. So a record
is used only if it names session files, files that belong to them, and files in a trash.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress

import msgspec
from msgspec import UNSET

from sessionbrowse.agents.base import SESSION_SUFFIXES, stem_of
from sessionbrowse.agents.change_plans import AppendLine
from sessionbrowse.errors import NotASession, RefusedWrite, SessionBrowseError
from sessionbrowse.format.title_slot import SLOT_BYTES
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.transaction.recover_files import FILE_RECOVERERS
from sessionbrowse.services.transaction.trash_directories import items_of, own_name
from sessionbrowse.store.own.state_directory import is_held
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write import old_versions, trash, writer
from sessionbrowse.store.write.copies import remove_empty
from sessionbrowse.store.write.journal import Change, moves_in, now_at
from sessionbrowse.store.write.moves import Moves
from sessionbrowse.store.write.old_versions import OldVersion, is_hidden_name
from sessionbrowse.store.write.trash import Trashed, drop_second_name
from sessionbrowse.store.write.whole_files import second_name
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean

DAMAGED_RECORD = "the record of this change in the journal is damaged"


def recover_all(context: ChangeContext) -> None:
    """Complete or roll back interrupted changes, and remove old versions of files that earlier changes had to keep.

    A change keeps the old version of a file that it replaced, under a hidden name, while a program has it open. The
    caller must hold the lock for changes.

    Raises:
        RefusedWrite: journal records are damaged; they are marked as failed, and the next change ignores them.
    """
    pending = context.journal.pending()
    for change in pending:
        recover_change(context, change)
    for old in context.journal.kept():
        heir = now_at(context.journal, old.heir)
        if is_hidden_name(old.hidden) and old_versions.remove(msgspec.structs.replace(old, heir=heir), 0.0):
            context.journal.removed(old)
            _remove_folder_of(old, context)
    changes = context.journal.changes()
    odd = [change for change in pending if changes[change.id].reason == DAMAGED_RECORD]
    if odd:
        raise RefusedWrite(
            f"The journal {clean(context.journal.path)} has a damaged record of an interrupted {clean(odd[0].verb)} "
            f"({clean(odd[0].path)}). The record is ignored from now on; nothing was changed. Check the session, "
            "then try again."
        )


def _remove_folder_of(old: OldVersion, context: ChangeContext) -> None:
    """Remove the empty folder in which an old version was, if a change that was rolled back had made this folder."""
    for change in context.journal.changes().values():
        if change.state == "failed" and not is_damaged(change):
            with suppress(OSError):
                made = change.plan.get("new_folders", ())
                remove_empty([folder for folder in made if old.hidden.startswith(f"{folder}/")])


def remove_old_versions(context: ChangeContext, moves: Moves | None) -> bool:
    """Remove the old versions of the files that a change replaced or moved; they are listed in `moves`.

    An old version that a program may have open stays under its hidden name, and the journal records it. Return False if
    the journal could not record it.
    """
    recorded = [context.journal.keep(old) for old in moves.remove_old_versions()] if moves is not None else []
    return all(recorded)


def recover_change(
    context: ChangeContext, change: Change, reason: str = "the change was interrupted before the file was changed"
) -> None:
    """Check whether a pending change reached its file, and record the result in the journal.

    If the file cannot be read now, or an I/O error prevents the rollback, the change stays pending. A change whose
    record is damaged is recorded as failed.
    """
    recover = RECOVERERS.get(str(change.plan.get("kind")))
    if recover is None:
        return
    undone = context.journal.changes().get(change.undoes or "")
    if is_damaged(change, undone):
        context.journal.failed(change, DAMAGED_RECORD)
        return
    moves = Moves(change.id)
    try:
        reached = recover(context, change, moves)
    except (OSError, SessionBrowseError) as error:
        is_refused = isinstance(error, OSError) and not isinstance(error, FileNotFoundError)
        if is_refused or (os.path.lexists(change.path) and not isinstance(error, NotASession)):
            return
        reached = False
    except SHAPE_ERRORS:
        context.journal.failed(change, DAMAGED_RECORD)
        return
    if not remove_old_versions(context, moves):
        return
    rolled_back = undone if reached else change
    try:
        if rolled_back is not None and not is_damaged(rolled_back):
            remove_empty(rolled_back.plan.get("new_folders", ()))
    except OSError:
        return
    if reached:
        context.journal.done(change, change.plan.get("after"))
    else:
        context.journal.failed(change, reason)


def _recover_append(context: ChangeContext, change: Change, _: Moves) -> bool:
    session = open_session(change.path, change.agent)
    index = session.index_by_id.get(change.plan["entry_id"])
    if index is None:
        return False
    plan = msgspec.convert(change.plan["line"], AppendLine)
    is_last = index == len(session.ids) - 1
    if is_last and plan.parent_id is UNSET and session.parents[index] != index - 1 and session.agent != "omp":
        # Another program appended just before our entry. Its entries would not be on the active branch, so our entry is
        # appended again below them.
        plan = msgspec.structs.replace(plan, parent_id=session.ids[index - 1])
        with writer.opened(Target(change.path, change.agent)) as file:
            made = writer.unused_id(file.tail.ids, context.new_id)
            writer.append_line(file, plan, made, now_ms=context.now_ms)
    return True


def _recover_slot(_: ChangeContext, change: Change, __: Moves) -> bool:
    old, new = (change.plan[key].encode("latin-1") for key in ("old", "new"))
    with open(change.path, "rb") as file:
        first = file.read(SLOT_BYTES)
    if first in (old, new):
        return bool(first == new)
    if any(first == new[:at] + old[at:] for at in range(SLOT_BYTES)):
        # No agent can open a session whose title slot was written only in part, so the old slot is restored.
        writer.mend_slot(change.path, first, old)
    return False


def _recover_insert(_: ChangeContext, change: Change, moves: Moves) -> bool:
    with open(change.path, "rb") as file:
        reached = bool(file.read(SLOT_BYTES) == change.plan["new"].encode("latin-1"))
    old, temporary = int(change.plan["size"]), change.plan["temporary"]
    new = old + int(change.plan.get("grows", SLOT_BYTES))
    for hidden in (temporary, second_name(temporary)):
        # If the session file was replaced, the file with the hidden name is its old version, to which another program
        # may have added lines.
        if not drop_second_name(change.path, hidden) and os.path.lexists(hidden):
            sizes = (old, new) if reached else (new, old)
            moves.old_versions.append(OldVersion(hidden, change.path, *sizes))
    return reached


def _recover_replace(_: ChangeContext, change: Change, moves: Moves) -> bool:
    plan, path = change.plan, change.path
    old, new = int(plan["size"]), int(plan["new_size"])
    # The new version has another inode than the old one. The content alone does not tell them apart: if the change only
    # removed the last entries, both begin with the same bytes.
    reached = os.lstat(path).st_ino != plan["inode"] and _begins_with(path, new, str(plan["digest"]))
    temporary = str(plan["temporary"])
    for hidden in (temporary, second_name(temporary)):
        # If the session file was replaced, the file with the hidden name is its old version. Otherwise it is the new
        # version, which may be incomplete.
        if not drop_second_name(path, hidden) and os.path.lexists(hidden):
            moves.old_versions.append(OldVersion(hidden, path, *((old, new) if reached else (new, old))))
    if "gone" in plan:
        if reached:
            trash.drop_copy(path, *plan["gone"])
        return reached
    item, info = trash.paths_in(str(plan["trash"]), own_name(change, path))
    if not reached:
        trash.drop_copy(path, item, info)
        return False
    if os.path.lexists(item):
        plan["after"] = {"items": [msgspec.to_builtins(trash.found_copy(path, item, info))]}
    return True


def _begins_with(path: str, size: int, digest: str) -> bool:
    hasher = hashlib.sha256()
    with closing(open_regular(path)) as descriptor:
        if os.fstat(descriptor).st_size < size:
            return False
        for block in file_blocks(descriptor, 0, size):
            hasher.update(block)
    return hasher.hexdigest() == digest


Look = Callable[[ChangeContext, Change, Moves], bool]

RECOVERERS: dict[str, Look] = {
    "append": _recover_append,
    "slot": _recover_slot,
    "insert": _recover_insert,
    "replace": _recover_replace,
    **FILE_RECOVERERS,
}
"""For each kind of change (`kind` in the journal), the function that returns True if the change reached its file."""


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


# ---- the check of records ----------------------------------------------------------------------------------

SHAPE_ERRORS = (msgspec.ValidationError, KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Exceptions that occur when a journal record with missing fields or wrong types is read."""

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
    # The path of a relocation is the project's new directory; it is only displayed, so it is not checked.
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
