"""Set or clear the label of an entry by appending an entry to the file."""

from __future__ import annotations

from sessionbrowse.agents.change_plans import label_entry, label_text
from sessionbrowse.errors import EmptyText, NeedsRepair
from sessionbrowse.services.change.rename import refuse_too_long
from sessionbrowse.services.list.locate import find_entry
from sessionbrowse.services.transaction.change import (
    ChangeResult,
    Origin,
    append,
    changing,
    consent_to_append,
    retried,
    usage_of,
)
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.write.write_checks import Target, refuse_old_version
from sessionbrowse.store.write.writer import OpenedFile, opened


class Labelled(ChangeResult, frozen=True, kw_only=True):
    """The result of labelling: the entry's id, and its label as the session's agent shows it now (None: no label)."""

    entry_id: str
    label: str | None


def label(
    target: Target,
    entry: str,
    text: str | None,
    *,
    clear: bool = False,
    force: bool = False,
    context: ChangeContext | None = None,
    group: str | None = None,
) -> Labelled:
    """Label the entry named by an id, the beginning of an id, or an exact label; `clear` removes the entry's label.

    Raises:
        RefusedWrite: the label is empty or too long, the entry has no id, or the file may not be changed.
        InUse: the session is omp's and may be in use, and `force` is False.
        NoSuchEntry, AmbiguousReference: the entry is not found.
        WriteFailed: an I/O error occurred; the message says what the file contains now.
    """
    context = context or ChangeContext.real()
    wanted = None if clear else _cleaned(text or "")

    def attempt() -> Labelled:
        with changing(context), opened(target) as file:
            index = find_entry(file.session, entry)
            entry_id = file.session.ids[index]
            if not entry_id:
                raise NeedsRepair("This entry has no id, so it cannot be labelled. Repair the session first.")
            return write_label(file, entry_id, wanted, context, Origin(verb="label", group=group), force=force)

    return retried(attempt)


def write_label(
    file: OpenedFile, entry_id: str, wanted: str | None, context: ChangeContext, origin: Origin, *, force: bool
) -> Labelled:
    """Append to an open file the entry that sets or clears the label of the entry `entry_id`."""
    refuse_old_version(file.session)
    current = label_of(file, entry_id)
    if current == wanted:
        note = "The entry has this label already." if wanted else "The entry has no label."
        return Labelled(done=origin.verb, path=file.path, notes=(note,), entry_id=entry_id, label=current)
    notes = consent_to_append(file, usage_of(file, context), "the label", asks=False, force=force)
    change, appended = append(
        file,
        label_entry(entry_id, wanted),
        context,
        origin,
        before={"entry_id": entry_id, "label": current},
        after={"label": wanted},
    )
    notes += appended.notes
    return Labelled(done=origin.verb, path=file.path, undo_id=change.id, notes=notes, entry_id=entry_id, label=wanted)


def label_of(file: OpenedFile, entry_id: str) -> str | None:
    """Return the text of an entry's label, None if the entry has no label."""
    mark = file.session.labels.get(file.session.index_by_id[entry_id])
    return mark.text if mark is not None else None


def _cleaned(text: str) -> str:
    refuse_too_long(text, "label")
    wanted = label_text(text)
    if not wanted:
        raise EmptyText("The label is empty.")
    return wanted
