"""Make a clean copy of a session, without dropped, shrunk or masked content: a new file, or in place of the original.

An original that is replaced goes to the trash.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, structs

from sessionbrowse.errors import ChangedMeanwhile, RefusedWrite, WriteFailed
from sessionbrowse.format import ids
from sessionbrowse.format.json_value import json_bytes
from sessionbrowse.format.splice import with_member, without_member
from sessionbrowse.model.clean.copy import Copy, clean_copy
from sessionbrowse.model.clean.damage import damage_of
from sessionbrowse.model.clean.drop_branches import abandoned
from sessionbrowse.model.clean.plan import CleanPlan, CopyPreview, Removed
from sessionbrowse.model.session.records import CONVERSION_KEY
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.change.fork import RandomBytes, artifacts_of, copy_artifacts, create_session, new_session_id
from sessionbrowse.services.clean.replace_file import refuse_running, replace_by
from sessionbrowse.services.list.locate import find_entry
from sessionbrowse.services.transaction.change import ChangeResult, Origin, changing
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.find.roots import holders_of
from sessionbrowse.store.read.content import read_exactly
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.whole_files import create_file
from sessionbrowse.store.write.write_checks import Target, is_path, refuse_new_on_machine, refuse_old_version
from sessionbrowse.store.write.writer import OpenedFile, opened
from sessionbrowse.text import clean, iso_ms

Json = Any
MakePlan = Callable[[Session], CleanPlan]
"""A function that returns the `CleanPlan` of a given session: what the clean copy drops or replaces."""


class Cleaned(ChangeResult, frozen=True, kw_only=True):
    """The result of making a clean copy, or of a dry run.

    `to` is the new file, None if the copy replaces the original; `preview` has the differences from the original.
    """

    to: str | None
    preview: CopyPreview
    dry_run: bool = False
    seen: Fingerprint | None = None
    """The fingerprint (inode, size, time) that the original file had when the preview was made."""
    damage: str | None = None
    """A sentence about damage of the original that a repair would mend; None if there is none."""
    masks: tuple[tuple[str, int], ...] = ()
    """The kinds of masked secrets, each with the number of distinct secrets."""

    def document(self) -> dict[str, Json]:
        """Return the result of the clean copy as a JSON document."""
        return {
            "done": None if self.dry_run else self.done,
            "path": self.path,
            "to": self.to,
            **self.preview.document(),
            "masks": [{"kind": kind, "count": count} for kind, count in self.masks],
            "undo_id": self.undo_id,
            "notes": list(self.notes),
        }


class Where(Struct, frozen=True, kw_only=True):
    """The path at which a clean copy is written, and whether the copy gets a new session id.

    `to` is a new file, or a folder in which the copy gets the original's name; if it is None, the copy replaces the
    original. `new_id` gives the copy a new session id, with the original as its parent session.
    """

    to: str | None = None
    new_id: bool = False


def clean_session(
    target: Target,
    verb: str,
    make_plan: MakePlan,
    where: Where,
    *,
    dry_run: bool = False,
    force: bool = False,
    expected: Fingerprint | None = None,
    artifacts: bool = True,
    context: ChangeContext | None = None,
    group: str | None = None,
    random_bytes: RandomBytes = os.urandom,
) -> Cleaned:
    """Make a clean copy of a session; `make_plan` says what the copy drops or replaces.

    `expected` is the fingerprint (inode, size, time) that the file had when a preview was made. With `artifacts`, omp's
    artifacts folder is copied too.

    Raises:
        RefusedWrite: the clean copy cannot be made of this session, or the new file exists already.
        ChangedMeanwhile: the file changed since the preview. InUse: its agent may have it open, and `force` is False.
        WriteFailed: an I/O error occurred; the message says what the file contains now.
    """
    context = context or ChangeContext.real()
    if dry_run:
        with opened(target) as file:
            copy, path, _ = _planned(file, make_plan, where, context, random_bytes)
            return _result(file, verb, copy, path, dry_run=True)
    with changing(context), opened(target) as file:
        if expected is not None and expected != file.found:
            raise ChangedMeanwhile(f"{file.name} changed since the preview; nothing was changed. Preview it again.")
        copy, path, session_id = _planned(file, make_plan, where, context, random_bytes)
        if path is not None:
            pieces = copy.pieces(partial(read_exactly, file.descriptor, file.name))
            if session_id is None:
                create_copy(file, pieces, path, artifacts)
                return _result(file, verb, copy, path)
            write = partial(create_copy, file, pieces, path, artifacts)
            after, origin = {"source": file.path}, Origin(verb=verb, group=group)
            change, notes = create_session(path, file.session.agent, session_id, after, write, context, origin)
            return _result(file, verb, copy, path, undo_id=change.id, notes=notes)
        if copy.preview.changes_nothing:
            return _result(file, verb, copy, None)
        refuse_running(file, context, force=force)
        read = partial(read_exactly, file.descriptor, file.name)
        change, notes = replace_by(
            file,
            lambda: copy.pieces(read),
            context,
            Origin(verb=verb, group=group),
            check=lambda path: refuse_other_than(path, file.session, copy.preview),
        )
        return _result(file, verb, copy, None, undo_id=change.id, notes=notes)


def refuse_other_than(path: str, original: Session, preview: CopyPreview) -> None:
    """Read a finished copy, and raise `RefusedWrite` if its entries, leaf, name or damage differ from the preview."""
    made = open_session(path, original.agent)
    leaf = made.index_by_id.get(preview.leaf_id or "")
    is_right = (
        made.refusal == original.refusal
        and len(made.ids) == preview.kept_entries + preview.added_lines
        and (preview.leaf_id is None or leaf in made.active_branch())
        and made.name == original.name
        and made.problem_count <= original.problem_count
    )
    if not is_right:
        raise RefusedWrite("The finished copy does not match the preview. Nothing was changed.")


def _planned(
    file: OpenedFile, make_plan: MakePlan, where: Where, context: ChangeContext, random_bytes: RandomBytes
) -> tuple[Copy, str | None, str | None]:
    """Return the clean copy, not yet written, its path, and its new id if its agent will list it.

    The path is None if the copy replaces the original. The id is None in that case too, and if the user named the file.
    """
    session = file.session
    refuse_old_version(session)
    plan = make_plan(session)
    path: str | None = None
    session_id: str | None = None
    if where.to is not None:
        header, path, session_id = _header_and_path(session, where, context, random_bytes)
        plan = structs.replace(plan, header=header)
    new_id = partial(ids.entry_id, random_bytes=random_bytes)
    return (
        clean_copy(
            session,
            plan,
            file.found.size,
            partial(read_exactly, file.descriptor, file.name),
            new_id,
            iso_ms(context.now_ms()),
        ),
        path,
        session_id,
    )


def _header_and_path(
    session: Session, where: Where, context: ChangeContext, random_bytes: RandomBytes
) -> tuple[bytes | None, str, str | None]:
    name, header, session_id = os.path.basename(session.path), None, None
    if where.new_id and session.header is not None and session.header_line is not None:
        session_id = new_session_id(session.agent, int(context.now_ms()), random_bytes)
        # Later conversions add their entries to the session that was made, not to copies of it.
        header = without_member(session.header_line, CONVERSION_KEY)
        header = with_member(header, "id", json_bytes(session_id))
        header = with_member(header, "parentSession", json_bytes(session.path))
        name = ids.file_name(session.header.timestamp or iso_ms(context.now_ms()), session_id)
    path = new_path(session, where, name, context)
    is_listed = os.path.basename(path) == name and holders_of(path, context.around)
    return header, path, session_id if is_listed else None


def new_path(session: Session, where: Where, name: str, context: ChangeContext) -> str:
    """Return the path of a copy's new file; if the user named a folder, the file in it is called `name`.

    Raises:
        RefusedWrite: the path is taken or invalid, or an agent would list two sessions with the original's id.
    """
    assert where.to is not None
    if not is_path(where.to):
        raise RefusedWrite("The path given for the copy is not a valid path. Nothing was changed.")
    path = os.path.abspath(os.path.join(context.around.cwd, os.path.expanduser(where.to)))
    if os.path.isdir(path):
        path = os.path.join(path, name)
    refuse_new_on_machine(path)
    if os.path.lexists(path):
        raise RefusedWrite(f"{clean(path)} already exists and is never overwritten. Nothing was changed.")
    other = "Choose another folder." if session.rules.only_read else "Give the copy a new id, or choose another folder."
    if not where.new_id and (
        holders_of(path, context.around) or os.path.dirname(path) == os.path.dirname(session.path)
    ):
        raise RefusedWrite(
            f"The folder {clean(os.path.dirname(path))} cannot hold a copy with the same id: an agent could not tell "
            f"the copy from the original. {other}"
        )
    return path


def create_copy(
    file: OpenedFile, pieces: Iterable[bytes], path: str, artifacts: bool = True, temporary: str | None = None
) -> Fingerprint:
    """Write a copy into a new file, and copy omp's artifacts folder for it; return the new file's fingerprint.

    `temporary` is the path of the file while it is written.

    Raises:
        RefusedWrite: the new file or the new artifacts folder exists already.
        WriteFailed: an I/O error occurred; there is no new file.
    """
    session = file.session
    has_artifacts = artifacts and session.agent == "omp" and os.path.isdir(artifacts_of(session.path))
    if has_artifacts and os.path.lexists(artifacts_of(path)):
        raise RefusedWrite(f"{clean(artifacts_of(path))} already exists and is never overwritten.")
    if has_artifacts:
        copy_artifacts(session, path)
    try:
        return create_file(path, pieces, temporary=temporary, like=file.descriptor, may_be_ours=True)
    except (RefusedWrite, WriteFailed):
        if has_artifacts:
            shutil.rmtree(artifacts_of(path), ignore_errors=True)
        raise


def _result(
    file: OpenedFile,
    verb: str,
    copy: Copy,
    path: str | None,
    *,
    dry_run: bool = False,
    undo_id: str | None = None,
    notes: tuple[str, ...] = (),
) -> Cleaned:
    if copy.preview.removed != Removed() and not dry_run and path is None and undo_id is not None:
        notes += ("The agent may compact once too early: the last assistant message records the old token count.",)
    return Cleaned(
        done=verb,
        path=file.path,
        undo_id=undo_id,
        notes=notes,
        to=path,
        preview=copy.preview,
        dry_run=dry_run,
        seen=file.found,
        damage=_damage(file.session) if dry_run else None,
    )


def _damage(session: Session) -> str | None:
    found = [one for one in damage_of(session, directory_exists=None) if "repair" in one.can_do]
    if not found:
        return None
    places = f"{len(found):,} places, first at" if len(found) > 1 else "one place,"
    return (
        f"The file is damaged in {places} line {found[0].line} ({clean(found[0].reason)}): entries before it may look "
        "abandoned. Repair the session first."
    )


def branches_plan(entries: Sequence[str], *, all_abandoned: bool = False, keep_labelled: bool = False) -> MakePlan:
    """Return a function that plans a clean copy without the given entries and their descendants.

    Each entry is named by an id, the beginning of an id, or a label. `all_abandoned` drops all inactive branches too;
    with `keep_labelled`, inactive branches with a labelled entry stay.
    """

    def make_plan(session: Session) -> CleanPlan:
        drop = {find_entry(session, entry) for entry in entries}
        if all_abandoned:
            drop |= abandoned(session, keep_labelled=keep_labelled)
        return CleanPlan(drop=frozenset(drop))

    if not entries and not all_abandoned:
        raise RefusedWrite("Name the branches to drop. Nothing was changed.")
    return make_plan


def shrink_plan(*, images: bool = False, results_over: int | None = None, thinking: bool = False) -> MakePlan:
    """Return a function that plans a smaller clean copy of a session.

    With `images`, images become short texts. Tool results of more than `results_over` bytes become short texts too;
    None keeps them. With `thinking`, reasoning is dropped, except after the last user message of a branch.
    """
    if not images and not thinking and results_over is None:
        raise RefusedWrite("Say what to shrink: images, tool results above a size, or reasoning. Nothing was changed.")
    plan = CleanPlan(images=images, results_over=results_over, thinking=thinking)
    return lambda session: plan
