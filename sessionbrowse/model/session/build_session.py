"""Build a session from the lines of its file: find parents, leaf, labels and name by the rules of its agent program."""

from __future__ import annotations

from collections.abc import Iterable
from operator import lt

import msgspec

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.json_value import Json
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.model.session.parents import ROOT, loops
from sessionbrowse.model.session.records import Reader
from sessionbrowse.model.session.rules import Rules
from sessionbrowse.model.session.session import LabelMark, ReadBytes, Session, find_name, migrated_id


def build_session(blocks: Iterable[LineBlock], rules: Rules, path: str, read_bytes: ReadBytes) -> Session:
    """Return the session in a file, given as blocks of lines. Never raises for bad content: see `Session.problems`."""
    reader = Reader(rules)
    envelopes: list[Envelope] = []
    lines: list[int] = []
    offsets: list[int] = []
    sizes: list[int] = []
    ordinals: list[int] = []
    for block in blocks:
        for record in reader.read(block):
            envelopes.append(record.envelope)
            lines.append(record.line)
            offsets.append(record.offset)
            sizes.append(record.size)
            ordinals.append(record.ordinal)
    reader.finish()
    session = Session(reader, path, read_bytes)
    session.lines, session.offsets, session.sizes = lines, offsets, sizes
    if reader.generation < 3:
        session._ordinals = ordinals
        envelopes = list(map(Migration(reader).migrated, envelopes, ordinals))
    session.envelopes, session.ids = envelopes, [envelope.id for envelope in envelopes]
    _link(session, reader)
    _find_leaf(session, reader)
    _find_labels(session, reader)
    session.name = find_name(session.rules, envelopes, session.title_slot, session.header)
    session.problem_count = reader.problem_count
    session.problems = tuple(sorted(reader.problems, key=lambda problem: (problem.offset, problem.line)))
    return session


class Migration:
    """Converts a file's entries from format version 1 or 2 to version 3, in memory, one after another.

    Entries of version 1 get ids and parents; the role `hookMessage` becomes `custom`.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._taken: set[str] = set()
        self._previous: str | None = None

    def migrated(self, envelope: Envelope, ordinal: int) -> Envelope:
        """Return the file's next entry, converted to version 3; `ordinal` is its `Record.ordinal`."""
        changes: dict[str, Json] = {}
        if self._reader.generation == 1:
            header = self._reader.header
            made = migrated_id(header.id if header is not None else None, ordinal, self._taken)
            self._taken.add(made)
            changes = {"id": made, "parent_id": self._previous, "id_value": None}
            self._previous = made
        if envelope.role == "hookMessage":
            changes["role"] = "custom"
        return msgspec.structs.replace(envelope, **changes) if changes else envelope


def _link(session: Session, reader: Reader) -> None:
    """Set the parent index of every entry. An entry with a missing parent, and one entry of each loop, become roots."""
    ids, parent_ids = session.ids, [envelope.parent_id for envelope in session.envelopes]
    index_by_id = session.index_by_id
    doubles = _doubles(session, reader, ids) if len(index_by_id) < len(ids) else {}
    find = index_by_id.get
    parents = session.parents
    parents += [ROOT if parent_id is None else find(parent_id, ROOT) for parent_id in parent_ids]
    for index, parent in enumerate(parents):
        if parent < index and parent != ROOT:
            continue
        parent_id = parent_ids[index]
        if parent_id is not None and parent_id == ids[index]:
            reader.report(session.lines[index], session.offsets[index], "the entry is its own parent")
            parents[index] = ROOT
        elif parent_id is not None and parent == ROOT:
            reason = f"the parent {parent_id or '(empty)'} is missing"
            reader.report(session.lines[index], session.offsets[index], reason)
    if all(map(lt, parents, range(len(parents)))):
        # Every parent is before its child in the file, so the parents form no loops.
        return
    for members in loops(parents):
        index = min(members)
        # A repeated id may cause the loop. The nearest earlier entry with the parent's id, if any, becomes the parent.
        doubles_before = [i for i in doubles.get(parent_ids[index] or "", []) if i < index]
        parents[index] = doubles_before[-1] if doubles_before else ROOT
        reader.report(session.lines[index], session.offsets[index], "its parents form a loop, which is cut here")
    for members in loops(parents):
        parents[min(members)] = ROOT


def _doubles(session: Session, reader: Reader, ids: list[str | None]) -> dict[str, list[int]]:
    """Return the indexes of the entries with each id; report each repeated id as a problem of the file."""
    places: dict[str, list[int]] = {}
    for index, entry_id in enumerate(ids):
        if entry_id is None:
            continue
        places.setdefault(entry_id, []).append(index)
        if len(places[entry_id]) > 1:
            reader.report(session.lines[index], session.offsets[index], f"a second entry with the id {entry_id}")
    return places


def _find_leaf(session: Session, reader: Reader) -> None:
    if not session.envelopes:
        return
    session.leaf = len(session.envelopes) - 1
    if session.is_transcript:
        _find_transcript_leaf(session, reader)
    if session.leaf is not None:
        session.leaf_id = session.ids[session.leaf] or None
        id_value = session.envelopes[session.leaf].id_value
        session.leaf_is_null = id_value == "null"
        session._leaf_is_true = session.leaf_id is not None if id_value is None else id_value == "true"


def _find_transcript_leaf(session: Session, reader: Reader) -> None:
    """Set the leaf of a transcript as indusagi 2 does.

    The leaf is stored in the file's last line of kind "head". If the file has no such line, the leaf is the deepest
    entry; of several deepest entries, the leaf is the entry with the greatest id.
    """
    head = session._transcript_head
    if isinstance(head, dict) and "leaf" in head:
        named = head["leaf"]
        session.leaf = session.index_by_id.get(named) if isinstance(named, str) else None
        last = len(session.envelopes) - 1
        if session.leaf != last:
            reason = 'a line of kind "head" sets another leaf than the last entry: indusagi resumes at that leaf'
            reader.report(session.lines[last], session.offsets[last], reason)
        return
    depths = [0] * len(session.parents)
    for index in range(len(depths)):
        walk = []
        current = index
        while current != ROOT and depths[current] == 0:
            walk.append(current)
            current = session.parents[current]
        depth = 0 if current == ROOT else depths[current]
        for reached in reversed(walk):
            depth += 1
            depths[reached] = depth
    usable = [index for index in range(len(depths)) if session.envelopes[index].problem is None] or range(len(depths))
    session.leaf = max(usable, key=lambda index: (depths[index], session.envelopes[index].id or ""))


def _find_labels(session: Session, reader: Reader) -> None:
    """Set the labels of entries: the last label entry in the file that refers to an entry decides the entry's label.

    Label entries count on any branch. An empty label clears the entry's label.
    """
    by_target: dict[str, LabelMark] = {}
    for index, envelope in enumerate(session.envelopes):
        if envelope.type != "label" or envelope.target_id is None:
            continue
        if envelope.text:
            by_target[envelope.target_id] = LabelMark(envelope.text, envelope.timestamp, index)
        else:
            by_target.pop(envelope.target_id, None)
    for target_id, mark in by_target.items():
        target = session.index_by_id.get(target_id)
        if target is None:
            at = mark.set_by
            reason = f"a label for the entry {target_id}, which is not in the file"
            reader.report(session.lines[at], session.offsets[at], reason)
            continue
        session.labels[target] = mark
