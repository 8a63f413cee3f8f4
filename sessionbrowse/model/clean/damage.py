"""Find the damage in a session file: its kind and position, the agent's reaction, and the possible remedies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct, structs

from sessionbrowse.format.codec import ENTRY_TYPES, MESSAGE_TYPES, PLAIN_TYPES
from sessionbrowse.format.json_value import Json, json_object
from sessionbrowse.format.title_slot import SLOT_BYTES, has_slot_size, later_slot
from sessionbrowse.model.clean.odd_fields import Effect, OddField, odd_fields
from sessionbrowse.model.context.message import records_left_out
from sessionbrowse.model.foreign.translated import MISSING_PARENT, UNKNOWN
from sessionbrowse.model.listing.directories import listed, why_not_here
from sessionbrowse.model.listing.summary import original_name
from sessionbrowse.model.session.parents import ROOT
from sessionbrowse.model.session.session import Session, left_behind
from sessionbrowse.text import plural


class DamageKind(Struct, frozen=True):
    """A kind of damage: the agent's reaction as a phrase (`agent_does`), and the remedies (`can_do`).

    Remedies are "repair", "checkout", "relocate" and "delete"; `can_do` is empty if there is none.
    """

    agent_does: str
    can_do: tuple[str, ...] = ("repair",)


KINDS: dict[str, DamageKind] = {
    "torn-line": DamageKind("skips the unfinished line"),
    "fused-lines": DamageKind("skips the line, or reads only its first entry"),
    "malformed-line": DamageKind("skips the line"),
    "byte-order-mark": DamageKind("refuses the file, or ignores the byte order mark"),
    "carriage-returns": DamageKind("refuses the file"),
    "invalid-utf-8": DamageKind("reads a replacement character for each invalid byte sequence"),
    "odd-record": DamageKind("skips the line, or fails on it"),
    "second-header": DamageKind("ignores the second header, or keeps it as an entry"),
    "stray-title-slot": DamageKind("keeps the title slot as an entry without id, or cannot open the file"),
    "title-slot-size": DamageKind("writes over the session header when the name changes"),
    "stale-title": DamageKind("shows an old name of the session"),
    "no-header": DamageKind("refuses the file"),
    "no-session": DamageKind("has no session in the file (Claude Code, Codex)", ()),
    "empty-file": DamageKind("writes a new session into the empty file", ("delete",)),
    "bad-header": DamageKind("refuses the file"),
    "no-id": DamageKind("cannot reach the entry; a last entry without id makes the context empty"),
    "no-parent": DamageKind("begins a new tree at the entry"),
    "missing-parent": DamageKind("begins a new tree at the entry; earlier messages are not in the context"),
    "future-parent": DamageKind("links the entry to its parent as usual", ()),
    "parent-loop": DamageKind("hangs, or cuts the path at the loop of parents"),
    "repeated-id": DamageKind("uses only the later entry with the id"),
    "odd-entry": DamageKind("stops with an error, hangs, leaves the session out of its list, or ignores the field"),
    "unknown-label-target": DamageKind("ignores the label", ()),
    "call-without-result": DamageKind("makes up a tool result, or drops the tool call", ()),
    "result-without-call": DamageKind("sends the tool result, which a provider may refuse", ()),
    "result-apart": DamageKind("sends the message between tool call and result, which a provider may refuse"),
    "hidden-messages": DamageKind("resumes the session without the newest messages", ("checkout",)),
    "bad-first-kept": DamageKind("keeps no entries from before the compaction", ()),
    "id-differs-from-name": DamageKind("uses the session id in the header, not the one in the file name", ()),
    "conflict-copy": DamageKind("lists the copy as a session of its own", ()),
    "newer-format": DamageKind("may use what is only kept and shown here", ()),
    "missing-directory": DamageKind("asks for another working directory, or stops", ("relocate",)),
    "not-listed": DamageKind("leaves the file out of the list of sessions"),
}
"""All kinds of damage by name, as `doctor` prints them."""
NO_DAMAGE = frozenset({"missing-directory", "conflict-copy", "newer-format"})
"""Kinds that are reported together with damage although the file itself is not damaged."""

_REASONS = (
    ("unfinished last line", "torn-line"),
    ("torn: ", "torn-line"),
    ("two records fused", "fused-lines"),
    ("starts with a byte order mark", "byte-order-mark"),
    ("carriage returns", "carriage-returns"),
    ("bytes that are not UTF-8", "invalid-utf-8"),
    ("skipped: ", "odd-record"),
    ("a second session header", "second-header"),
    ("a title slot where", "stray-title-slot"),
    ("the file is empty", "empty-file"),
    ("no session header", "no-header"),
    ("no session of ", "no-session"),
    ("the entry has no id", "no-id"),
    ("the entry names no parent", "no-parent"),
    ("the entry is its own parent", "parent-loop"),
    ("its parents form a loop", "parent-loop"),
    ("a second entry with the id", "repeated-id"),
    ("a label for the entry", "unknown-label-target"),
    ("holds NUL bytes", "malformed-line"),
    ("more text after", "malformed-line"),
    ("not JSON", "malformed-line"),
)
"""Maps the beginning of a sentence in `Session.problems` to a kind of damage."""
_MISSING_PARENT = re.compile(r"the parent .* is missing", re.DOTALL)
_NOT_AN_ENTRY = re.compile(r".* where an entry belongs", re.DOTALL)
SESSION_FILE_NAME = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)\.jsonl")
_SPOKEN = frozenset({"user", "assistant", "developer"})
_BETWEEN = frozenset({"user", "developer", "bashExecution"})
_CUT_SHORT = frozenset({"aborted", "error"})


class Damage(Struct, frozen=True, kw_only=True):
    """One mistake in a session file: kind, line (from 1), byte offset, entry id if any, and reason for the user."""

    kind: str
    line: int
    offset: int
    entry_id: str | None
    reason: str
    agent_does: str
    can_do: tuple[str, ...]


def damage_of(session: Session, *, directory_exists: bool | None) -> list[Damage]:
    """Return the damage of a session in file order.

    `directory_exists` is True if the session's working directory exists, None if that was not checked.
    """
    # Of a translation, only lines without an entry have problems, and these are told by their place in the own file.
    by_line = {} if session.rules.only_read else dict(zip(session.lines, range(len(session.ids)), strict=True))
    found: list[Damage] = []
    for problem in session.problems:
        kind, index = _kind_of(problem.reason), by_line.get(problem.line)
        if session.rules.only_read is not None and kind in ("no-id", "no-parent"):
            continue  # Records of Claude Code and Codex need neither: the lines belong to no session of these programs.
        if kind != "odd-entry" or session.is_transcript:
            found.append(_damage(session, kind, index, problem.reason, problem.line, problem.offset))
    if session.rules.only_read is not None:
        # These entries were made by the translation, so they are never damaged. Only its counts show damage, and lines
        # without a record.
        found += _of_records(session)
    else:
        found += _of_fields(session)
        found += _of_newer(session)
        found += _of_links(session)
        found += _of_calls(session)
        found += _of_title(session)
    found += _of_file(session, directory_exists)
    return sorted(found, key=lambda one: (one.offset, one.line))


def _kind_of(reason: str) -> str:
    for beginning, kind in _REASONS:
        if reason.startswith(beginning):
            return kind
    if _MISSING_PARENT.match(reason):
        return "missing-parent"
    return "odd-record" if _NOT_AN_ENTRY.match(reason) else "odd-entry"


def _damage(
    session: Session, kind: str, index: int | None, reason: str, line: int | None = None, offset: int | None = None
) -> Damage:
    if index is not None:
        line, offset = line or session.lines[index], offset if offset is not None else session.offsets[index]
    return Damage(
        kind=kind,
        line=line or 1,
        offset=offset or 0,
        entry_id=None if index is None else session.ids[index],
        reason=reason,
        agent_does=f"{session.agent} {KINDS[kind].agent_does}" if session.rules.only_read is None else _NOT_KNOWN,
        can_do=KINDS[kind].can_do if session.rules.only_read is None else (),
    )


def _of_fields(session: Session) -> Iterator[Damage]:
    """Yield the damage of the header and entries with fields that the agent cannot read, with its worst reaction."""
    for index, value, odd in odd_entries(session):
        worst = min((one.need.effect for one in odd), key=_WORST_FIRST.index)
        reason = "; ".join(list(dict.fromkeys(one.sentence for one in odd))[:_MOST_NAMED])
        found = _damage(session, "odd-entry", index, reason)
        thing = "session" if index is None else "message" if value.get("type") == "message" else "entry"
        does = f"{session.agent} {_DOES[worst].format(thing=thing)}"
        yield structs.replace(found, agent_does=does, can_do=() if worst == "ignored" else found.can_do)


def stopping_damage(session: Session) -> Damage | None:
    """Return the first entry on which the session's agent stops or hangs when it resumes the session; None if none."""
    return next((one for one in _of_fields(session) if one.agent_does.split(" ", 1)[1] in _STOPPING), None)


def odd_entries(session: Session) -> Iterator[tuple[int | None, dict[str, Json], list[OddField]]]:
    """Yield each entry with fields that its agent cannot read, by index and as JSON; the header's index is None."""
    if session.is_transcript:
        return
    is_old = session.version in (None, 1, 2)
    written = json_object(session.header_line or b"") or {}
    header = {"type": "session"} | {name: written[name] for name in _ASKED_OF_HEADER if name in written}
    for index, value in chain([(None, header)], session.fields_of_many(range(len(session.ids)))):
        # In files of version 1 and 2 some fields have other names; agents convert them.
        odd = [one for one in odd_fields(value, session.agent) if not is_old or one.need.effect != "ignored"]
        if odd:
            yield index, value, odd


_ASKED_OF_HEADER = ("id", "additionalDirectories")
"""Header fields checked here; a mistake in any other header field is damage of the kind `bad-header`."""
_MOST_NAMED = 5
_NOT_KNOWN = "what its program does with it is not published"
_THINGS = ("session", "message", "entry")
_WORST_FIRST: tuple[Effect, ...] = ("stops", "hangs", "unlisted", "ignored")
_DOES: dict[Effect, str] = {
    "stops": "stops with an error when it draws this {thing}",
    "hangs": "hangs when it draws the tree with this {thing}",
    "unlisted": "leaves the session out of its list because of this {thing}",
    "ignored": "ignores the field",
}


_STOPPING = {_DOES[effect].format(thing=thing) for effect in ("stops", "hangs") for thing in _THINGS}


def _of_newer(session: Session) -> Iterator[Damage]:
    """Yield the first entry of each type, and the first message of each role, that no known agent writes."""
    seen: set[tuple[str, str]] = set()
    for index in range(len(session.ids)):
        kind = session.envelopes[index]
        name = ("role", kind.role) if kind.type == "message" else ("type", kind.type)
        if name in seen or not name[1]:
            continue
        seen.add(name)
        if name[1] not in (MESSAGE_TYPES if name[0] == "role" else _KNOWN_TYPES):
            newer = f"written by a newer {session.agent} than this version knows, or by an extension"
            yield _damage(session, "newer-format", index, f"the {name[0]} {name[1]} is not known: {newer}")


def _of_records(session: Session) -> Iterator[Damage]:
    """Yield damage in records of Claude Code and Codex: unknown kinds, and links to missing records."""
    for kind, count in records_left_out(session).items():
        _, is_unknown, name = kind.partition(UNKNOWN)
        if is_unknown:
            reason = (
                f"{plural(count, 'record')} of the kind {name}, which is not known: kept, and shown as hidden entries"
            )
            yield _damage(session, "newer-format", None, reason)
        elif kind == MISSING_PARENT:
            reason = f"{plural(count, 'record')} with a parent that is missing: shown below the record before"
            yield _damage(session, "missing-parent", None, reason)


_KNOWN_TYPES = {*ENTRY_TYPES, *PLAIN_TYPES, "session", "title"}


def _of_links(session: Session) -> Iterator[Damage]:
    """Yield damage of links: a parent later in the file, or a first kept entry that is not above its compaction."""
    for index, parent in enumerate(session.parents):
        if parent > index:
            yield _damage(
                session, "future-parent", index, f"the parent entry {session.ids[parent]} comes later in the file"
            )
    for index in range(len(session.ids)):
        if session.envelopes[index].type != "compaction":
            continue
        first = session.fields(index).get("firstKeptEntryId")
        if not isinstance(first, str) or not first or first == session.ids[index]:
            continue
        if session.index_by_id.get(first, ROOT) not in session.branch(index):
            yield _damage(
                session, "bad-first-kept", index, f"the compaction's first kept entry {first} is not on its path"
            )


def _of_calls(session: Session) -> Iterator[Damage]:
    """Yield damage of tool calls: calls without result, results without call, and messages between the two."""
    for index in range(len(session.ids)):
        kind = session.envelopes[index]
        if kind.role == "toolResult":
            call = session.envelopes[index].tool_call_id
            if call is not None and not _is_called(session, index, call):
                yield _damage(session, "result-without-call", index, f"no tool call {call} precedes this tool result")
            elif call is not None and (between := _between(session, index)) is not None:
                yield _damage(
                    session,
                    "result-apart",
                    index,
                    f"{session.ids[between] or 'an entry without id'} is between the tool call {call} and its result",
                )
        elif kind.role == "assistant" and kind.stop_reason == "toolUse" and session.envelopes[index].tool_calls:
            yield from _unanswered(session, index)


def _is_called(session: Session, index: int, call: str) -> bool:
    at = session.parents[index]
    while at != ROOT:
        if session.envelopes[at].role == "assistant" and call in session.envelopes[at].tool_calls:
            return True
        at = session.parents[at]
    return False


def _between(session: Session, index: int) -> int | None:
    """Return the nearest message between a tool result and the assistant message above it, None if there is none."""
    at = session.parents[index]
    while at != ROOT:
        kind = session.envelopes[at]
        if kind.role in ("toolResult", "assistant"):
            return None
        if kind.type == "custom_message" or kind.role in _BETWEEN:
            return at
        at = session.parents[at]
    return None


def _unanswered(session: Session, index: int) -> Iterator[Damage]:
    """Yield damage for each tool call of an assistant message that has no result before the conversation goes on."""
    missing = set(session.envelopes[index].tool_calls)
    went_on = False
    waiting = list(session.children(index))
    while waiting:
        at = waiting.pop()
        kind = session.envelopes[at]
        if kind.role == "toolResult":
            missing.discard(session.envelopes[at].tool_call_id or "")
        elif kind.type == "message" and kind.role in _SPOKEN:
            went_on = went_on or kind.stop_reason not in _CUT_SHORT
            continue
        waiting += session.children(at)
    for call in sorted(missing) if went_on else ():
        yield _damage(session, "call-without-result", index, f"the tool call {call} has no result")


def _of_title(session: Session) -> Iterator[Damage]:
    """Yield damage of omp's title slot, the file's first line: a wrong size, or a name older than `title_change`."""
    if session.title_slot is None or session.title_slot_line is None:
        return
    if session.refusal is None and not has_slot_size(session.title_slot_line):
        size = len(session.title_slot_line.rstrip(b"\r\n")) + 1
        yield _damage(
            session, "title-slot-size", None, f"the title slot has {size:,} bytes, but omp writes {SLOT_BYTES}"
        )
    newest_first = reversed(range(len(session.ids)))
    change = next((index for index in newest_first if session.envelopes[index].type == "title_change"), None)
    if change is None:
        return
    last = session.fields(change)
    if later_slot(session.title_slot, last.get("title"), last.get("source"), last.get("timestamp")) is not None:
        yield _damage(
            session, "stale-title", change, "the title slot in the first line has an older name than this entry sets"
        )


def _of_file(session: Session, directory_exists: bool | None) -> Iterator[Damage]:
    newest = left_behind(session)
    if newest is not None and session.refusal is None:
        message, leaf = session.ids[newest] or "(no id)", session.leaf_id or "(no id)"
        reason = f"the newest message {message} is not on the path to the leaf {leaf}"
        yield _damage(session, "hidden-messages", newest, reason)
    known = {"the file is empty", "no session header"} & {problem.reason for problem in session.problems}
    if session.refusal is not None and not known:
        yield _damage(session, "bad-header", None, f"{session.agent} {session.refusal}")
    elif session.unlisted is not None and not known:
        yield _damage(session, "not-listed", None, f"{session.agent} {session.unlisted}")
    named = SESSION_FILE_NAME.fullmatch(session.path.rpartition("/")[2])
    original = original_name(session.path.rpartition("/")[2], session.id)
    if original is not None:
        yield _damage(session, "conflict-copy", None, f"a program for synchronising made this copy of {original}")
    elif named is not None and session.id is not None and named[1] != session.id and not session.is_transcript:
        yield _damage(session, "id-differs-from-name", None, f"the header has the id {session.id}")
    if directory_exists is False:
        yield _damage(
            session,
            "missing-directory",
            None,
            f"the directory {session.cwd} {why_not_here(listed(session.cwd, None)) or 'does not exist'}",
        )
