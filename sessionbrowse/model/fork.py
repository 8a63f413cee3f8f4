"""Generate the lines of a fork from a source session: of all entries, or of the entries on the path to one entry.

Lines are copied byte for byte. Only parent ids, the ids that a compaction names, and keys that differ in format version
3 are replaced. The rules are those of `forkFrom` and `createBranchedSession` in pi 1.5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sessionbrowse.format.entries import BadLine, Compaction
from sessionbrowse.format.envelope import read_envelope
from sessionbrowse.format.json_value import json_line
from sessionbrowse.format.splice import value_of, with_member, without_member
from sessionbrowse.format.title_slot import Source
from sessionbrowse.model.session.records import first_of_fused, generation_of
from sessionbrowse.model.session.session import Session

ReadLine = Callable[[int, int], bytes]
"""A function that reads bytes of the source file, given offset and size; it does not shorten huge lines."""

_MARGIN = b" \t\r\n\xef\xbb\xbf"
_BLANKS = b" \t\r\n"


def whole_lines(session: Session, read: ReadLine) -> Iterator[bytes]:
    """Yield the lines of all entries of a session, each with its newline, in format version 3; skip later headers."""
    generation = generation_of(session.version)
    for index in range(len(session.ids)):
        if session.envelopes[index].type != "session":
            yield _migrated(session, index, _line(session, index, read), generation) + b"\n"


def kept_path(session: Session, index: int) -> list[int]:
    """Return the indexes of the entries on the path to the entry `index`, without label entries, for a fork."""
    return [at for at in session.branch(index) if session.envelopes[at].type != "label"]


def path_lines(session: Session, index: int, read: ReadLine, new_id: Callable[[set[str]], str]) -> Iterator[bytes]:
    """Yield a fork's lines: first the entries on the path to the entry `index`, then a new label entry for each label.

    Label entries on the path are not copied. The child of a label entry gets the entry before the label as its parent
    (pi 0.79.2). If a compaction's first kept entry is a label entry, the entry after the label replaces it (pi 0.85);
    if the last entry that a provider's summary covers is a label entry, the entry before the label replaces it.
    """
    generation = generation_of(session.version)
    after: dict[str | None, str | None] = {}
    before: dict[str | None, str | None] = {}
    skipped: list[str | None] = []
    previous: str | None = None
    for at in session.branch(index):
        envelope = session.envelopes[at]
        if envelope.type == "label":
            skipped.append(envelope.id)
            before[envelope.id] = previous
            continue
        after |= dict.fromkeys(skipped, envelope.id)
        skipped = []
        line = _migrated(session, at, _line(session, at, read), generation)
        if envelope.type == "compaction":
            line = _kept_from(session, at, line, after, before)
        yield _below(line, previous, envelope.parent_id, envelope.parent_given) + b"\n"
        previous = envelope.id
    yield from _labels(session, set(kept_path(session, index)), previous, new_id)


def _labels(
    session: Session, kept: set[int], previous: str | None, new_id: Callable[[set[str]], str]
) -> Iterator[bytes]:
    taken = {session.ids[at] or "" for at in kept}
    for target, mark in session.labels.items():
        if target not in kept:
            continue
        made = new_id(taken)
        taken.add(made)
        label = session.fields(mark.set_by)
        yield json_line(
            {
                "type": "label",
                "id": made,
                "parentId": previous,
                "timestamp": label.get("timestamp"),
                "targetId": session.ids[target],
                "label": label.get("label"),
            }
        )
        previous = made


def _line(session: Session, index: int, read: ReadLine) -> bytes:
    line = read(session.offsets[index], session.sizes[index]).strip(_MARGIN)
    if not session.rules.keeps_first_of_fused or not isinstance(read_envelope(line), BadLine):
        return line
    return first_of_fused(line) or line


def _migrated(session: Session, index: int, line: bytes, generation: int) -> bytes:
    """Convert the line of an entry from format version 1 or 2 to version 3, as programs do when opening a session."""
    if generation == 3 or not line.startswith(b"{"):
        return line
    envelope = session.envelopes[index]
    if generation == 1:
        line = with_member(line, "id", _text(envelope.id))
        line = with_member(line, "parentId", _text(envelope.parent_id))
        if envelope.type == "compaction":
            line = _migrated_compaction(session, index, line)
    if envelope.type == "message":
        message = value_of(line, "message")
        if message is not None and message.startswith(b"{") and value_of(message, "role") == b'"hookMessage"':
            line = with_member(line, "message", with_member(message, "role", b'"custom"'))
    return line


def _migrated_compaction(session: Session, index: int, line: bytes) -> bytes:
    entry = session.entry(index)
    if value_of(line, "firstKeptEntryIndex") is None or not isinstance(entry, Compaction):
        return line
    if entry.first_kept_entry_id is not None:
        line = with_member(line, "firstKeptEntryId", _text(entry.first_kept_entry_id))
    return without_member(line, "firstKeptEntryIndex")


def _kept_from(
    session: Session, index: int, line: bytes, after: dict[str | None, str | None], before: dict[str | None, str | None]
) -> bytes:
    """Replace the ids of label entries in a compaction's line by those of the entries `after` and `before` them."""
    entry = session.entry(index)
    if not isinstance(entry, Compaction):
        return line
    kept, covered = entry.first_kept_entry_id, entry.provider_replay_through_entry_id
    if kept is not None and kept != session.ids[index] and kept in after:
        line = with_member(line, "firstKeptEntryId", _text(after[kept]))
    if covered is not None and before.get(covered) is not None:
        line = with_member(line, "providerReplayThroughEntryId", _text(before[covered]))
    return line


def _below(line: bytes, parent_id: str | None, was: str | None, was_given: bool) -> bytes:
    if was_given and was == parent_id:
        return line
    return with_member(line, "parentId", _text(parent_id))


def _text(value: str | None) -> bytes:
    return json_line(value).strip(_BLANKS)


def has_answer(session: Session, path: list[int]) -> bool:
    """Return True if one of the entries in `path` is an answer of the model."""
    return any(session.envelopes[at].type == "message" and session.envelopes[at].role == "assistant" for at in path)


def title_source(session: Session) -> Source | None:
    """Return who chose the name of an omp session, "user" or "auto"; None if that is unknown or there is no name."""
    source = session.title_slot.source if session.title_slot is not None else None
    if source is None and session.title_slot is None and session.header is not None:
        source = session.header.title_source
    if not session.name:
        return None
    return "auto" if source == "auto" else "user" if source == "user" else None
