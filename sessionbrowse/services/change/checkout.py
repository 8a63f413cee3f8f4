"""Check out an entry, so that the agent resumes the session there, in the same file.

A custom entry is appended below the checked out entry, or, for a user message, below its parent.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.agents.change_plans import checkout_entry
from sessionbrowse.errors import NeedsRepair, UnsafeEntry
from sessionbrowse.format.entries import Content, CustomMessage, MessageEntry, TextBlock, UserMessage
from sessionbrowse.model.session.parents import CHECKOUT_TYPE
from sessionbrowse.model.session.session import ROOT, Session
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

_UNFINISHED = frozenset({"aborted", "error"})
_NEW_TURN = frozenset({"compaction", "branch_summary", "reset_boundary"})


class CheckedOut(ChangeResult, frozen=True, kw_only=True):
    """The result of a check out: the requested entry (`entry_id`), and the entry at which the agent resumes (`at`).

    `at` is None if the agent resumes before the first entry. `leaf_id` is the id of the new leaf: the appended
    entry, or the old leaf if nothing had to be changed. `text` is the text of a checked out user message, to be edited
    and sent again.
    """

    entry_id: str | None
    at: str | None
    leaf_id: str | None
    text: str | None = None


class CheckoutPoint(Struct, frozen=True):
    """The point at which an agent resumes: the index of an entry, and the text of a user message to send again."""

    index: int
    text: str | None


def checkout(
    target: Target, entry: str, *, force: bool = False, context: ChangeContext | None = None, group: str | None = None
) -> CheckedOut:
    """Make the agent resume at an entry, which is named by an id, the beginning of an id, or an exact label.

    As in pi's tree view (`/tree`), checking out a user message (in pi, atomic and indusagi also a custom message)
    resumes at its parent. The text of the message is returned, to be edited and sent again.

    Raises:
        UnsafeEntry: the entry is between a tool call and its result, where no agent can continue; the error names the
        nearest entry that can be checked out.
        InUse: a program may have the session open, and `force` is False.
        RefusedWrite: the file may not be changed.
        NoSuchEntry, AmbiguousReference: the entry is not found.
        WriteFailed: an I/O error occurred; the message says what the file contains now.
    """
    context = context or ChangeContext.real()

    def attempt() -> CheckedOut:
        with changing(context), opened(target) as file:
            refuse_old_version(file.session)
            index = find_entry(file.session, entry)
            place = place_of(file.session, index)
            refuse_unsafe(file.session, index, place)
            origin = Origin(verb="checkout", group=group)
            return write_checkout(file, file.session.ids[index], place, context, origin, force=force)

    return retried(attempt)


def write_checkout(
    file: OpenedFile,
    wanted_id: str | None,
    place: CheckoutPoint,
    context: ChangeContext,
    origin: Origin,
    *,
    force: bool,
) -> CheckedOut:
    """Append the entry that makes the agent resume at the point `place`."""
    session = file.session
    at = session.ids[place.index] if place.index != ROOT else None
    if place.index != ROOT and not at:
        raise NeedsRepair("This entry has no id, so no entry can be added below it. Repair the session first.")
    result = CheckedOut(
        done=origin.verb, path=file.path, entry_id=wanted_id, at=at, leaf_id=session.leaf_id, text=place.text
    )
    if place.index == standing_at(session):
        return replace(result, notes=(f"{session.agent} resumes here already.",))
    notes = consent_to_append(file, usage_of(file, context), "the check out", asks=True, force=force)
    change, appended = append(
        file,
        checkout_entry(wanted_id, at),
        context,
        origin,
        before={"leaf_id": session.leaf_id, "nameless": file.tail.last_is_nameless},
        after={"at": at},
    )
    return replace(result, undo_id=change.id, notes=notes + appended.notes, leaf_id=appended.entry_id)


def standing_at(session: Session) -> int | None:
    """Return the index of the entry where the agent resumes: the leaf, or its parent if a check out made the leaf."""
    leaf = session.leaf
    while leaf is not None and leaf != ROOT and session.envelopes[leaf].custom_type == CHECKOUT_TYPE:
        leaf = session.parents[leaf]
    return leaf


def place_of(session: Session, index: int) -> CheckoutPoint:
    """Return where an agent resumes after a check out of an entry: at the entry; for a user message, at its parent."""
    kind = session.envelopes[index]
    is_prompt = kind.type == "message" and kind.role == "user"
    if not is_prompt and (kind.type != "custom_message" or session.agent == "omp"):
        return CheckoutPoint(index, None)
    entry = session.entry(index)
    content: Content = None
    if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
        content = entry.message.content
    elif isinstance(entry, CustomMessage):
        content = entry.content
    return CheckoutPoint(session.parents[index], _text(content))


def refuse_unsafe(session: Session, index: int, place: CheckoutPoint) -> None:
    """Raise `UnsafeEntry` for an entry between a tool call and its result."""
    if not _has_open_calls(session, place.index):
        return
    nearest = nearest_safe(session, place.index)
    nearest_id = session.ids[nearest] if nearest is not None else None
    offer = f" The nearest entry that can be checked out is {nearest_id}." if nearest_id else ""
    here = session.ids[index] or "(no id)"
    raise UnsafeEntry(
        f"Entry {here} is between a tool call and its result, where no model can continue.{offer}", nearest_id
    )


def safe_place(session: Session, index: int) -> int | None:
    """Return the entry `index` if it can be checked out, else the nearest entry that can; None if no entry can."""
    return nearest_safe(session, index) if _has_open_calls(session, place_of(session, index).index) else index


def nearest_safe(session: Session, index: int) -> int | None:
    """Return the nearest entry, below or above an entry, at which every tool call has its result; None if not found."""
    below = _first_safe_below(session, index)
    above, steps = session.parents[index], 1
    while above != ROOT and _has_open_calls(session, place_of(session, above).index):
        above, steps = session.parents[above], steps + 1
    if below is not None and (above == ROOT or below[1] <= steps):
        return below[0]
    return above if above != ROOT else None


def _first_safe_below(session: Session, index: int) -> tuple[int, int] | None:
    active = set(session.active_branch())
    steps = 0
    while children := session.children(index):
        index = next((child for child in children if child in active), children[-1])
        steps += 1
        if not _has_open_calls(session, place_of(session, index).index):
            return index, steps
    return None


def _has_open_calls(session: Session, index: int) -> bool:
    """Return True if the last assistant message on the path to an entry called a tool without a result on this path."""
    answered: set[str] = set()
    while index != ROOT:
        envelope = session.envelopes[index]
        if envelope.type in _NEW_TURN or envelope.role == "user":
            return False
        if envelope.role == "assistant" and envelope.type == "message":
            return envelope.stop_reason not in _UNFINISHED and not answered.issuperset(envelope.tool_calls)
        if envelope.tool_call_id is not None:
            answered.add(envelope.tool_call_id)
        index = session.parents[index]
    return False


def _text(content: Content) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.text or "" for block in content or () if isinstance(block, TextBlock))
