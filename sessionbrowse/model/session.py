"""One session: its entries as envelopes, its tree, leaf, labels, name and problems.

Entries are addressed by their index in file order, because ids may be missing or double; parents are indexes too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter

import msgspec
from msgspec import Struct

from sessionbrowse.format.codec import BadJson, decode_line, loads
from sessionbrowse.format.entries import (
    BadLine,
    Compaction,
    CustomRoleMessage,
    Entry,
    EntryBase,
    Header,
    Json,
    MessageEntry,
    TitleSlot,
    UnknownEntry,
)
from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.format.javascript import trim
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.model.reading import Problem, Reader, first_of_fused
from sessionbrowse.model.rules import Rules
from sessionbrowse.text import parse_time

ROOT = -1
ReadBytes = Callable[[int, int], bytes]
"""Reads `size` bytes at `offset` of the session's file."""


class LabelMark(Struct, frozen=True, gc=False):
    """The label of an entry: its text, the time and the index of the label entry that set it."""

    text: str
    time: str | float | None
    set_by: int


class Session:
    """A session as one program reads it. Complete when made; a grown file is opened again."""

    def __init__(self, reader: Reader, path: str, read_bytes: ReadBytes) -> None:
        self.rules: Rules = reader.rules
        self.path = path
        self.header: Header | None = reader.header
        self.header_line = reader.header_line
        self.title_slot: TitleSlot | None = reader.slot
        self.title_slot_line = reader.slot_line
        self.is_transcript = reader.is_transcript
        self.version: Json = reader.version
        self.refusal = reader.refusal
        self.unlisted = reader.unlisted
        self.torn = reader.torn
        self.size = reader.bytes_read
        self.marks = frozenset(reader.marks)
        self.envelopes: list[Envelope] = []
        self.lines: list[int] = []
        self.offsets: list[int] = []
        self.sizes: list[int] = []
        self.parents: list[int] = []
        self.index_by_id: dict[str, int] = {}
        self.labels: dict[int, LabelMark] = {}
        self.leaf: int | None = None
        self.leaf_id: str | None = None
        self.name: str | None = None
        self.problems: tuple[Problem, ...] = ()
        self._read_bytes = read_bytes
        self._generation = reader.generation
        self._children: list[list[int]] | None = None
        self._roots: list[int] = []
        self._ordinals: list[int] = []
        self._transcript_head: Json = reader.transcript_heads[-1] if reader.transcript_heads else None

    @property
    def agent(self) -> str:
        """The program that owns the file: pi, omp, atomic or indusagi."""
        return self.rules.agent

    @property
    def id(self) -> str | None:
        """The session's id: the header's, or for a transcript the head's or the file's stem."""
        if self.header is not None:
            return self.header.id
        if self.is_transcript:
            head = self._transcript_head
            named = head.get("sessionId") if isinstance(head, dict) else None
            return named if isinstance(named, str) else self.path.rpartition("/")[2].rpartition(".")[0]
        return None

    @property
    def cwd(self) -> str:
        """The directory of the header, "" where there is none (transcripts store none)."""
        return self.header.cwd or "" if self.header is not None else ""

    @property
    def roots(self) -> list[int]:
        """The entries without a parent in this file, in file order."""
        self._link_children()
        return self._roots

    def children(self, index: int) -> list[int]:
        """The entries whose parent is this one, by time, file order where times are equal."""
        self._link_children()
        assert self._children is not None
        return self._children[index]

    def branch(self, index: int | None) -> list[int]:
        """The path from a root to the entry, both included; empty for None."""
        path: list[int] = []
        current = ROOT if index is None else index
        while current != ROOT:
            path.append(current)
            current = self.parents[current]
        path.reverse()
        return path

    def active_branch(self) -> list[int]:
        """The path to the leaf; empty where the leaf has no id, for there the programs have none."""
        return self.branch(self.leaf) if self.leaf_id else []

    def raw(self, index: int) -> bytes:
        """The bytes of the entry's line, without newline, read from the file now."""
        return self._read_bytes(self.offsets[index], self.sizes[index])

    def entry(self, index: int) -> Entry:
        """The whole entry, decoded from the file now; v1 and v2 entries in migrated form.

        A line that changed under us and is no entry any more comes back as an `UnknownEntry` without contents.
        """
        entry = decode_line(self._record(index))
        if isinstance(entry, BadLine | Header | TitleSlot):
            return UnknownEntry(type=self.envelopes[index].type, id=self.envelopes[index].id)
        if self._generation >= 3:
            return entry
        return self._migrated(entry, index)

    def fields(self, index: int) -> dict[str, Json]:
        """The entry's JSON object as it stands in the file now, not migrated; empty where there is none."""
        try:
            value = loads(self._record(index))
        except BadJson:
            return {}
        return value if isinstance(value, dict) else {}

    def find(self, reference: str) -> list[int]:
        """The entries meant by an id, a unique beginning of one, or an exact label; several if it is not unique."""
        exact = self.index_by_id.get(reference)
        if exact is not None:
            return [exact]
        labelled = [index for index, mark in self.labels.items() if mark.text == reference]
        if labelled:
            return labelled
        if not reference:
            return []
        return [index for entry_id, index in self.index_by_id.items() if entry_id.startswith(reference)]

    # ---- made by `build_session` ---------------------------------------------------------------------------

    def _record(self, index: int) -> bytes:
        """The bytes of the one record that the entry was read from."""
        line = self.raw(index).strip(b" \t\r\n\xef\xbb\xbf")
        if self.rules.keeps_first_of_fused and isinstance(read_envelope(line), BadLine):
            return first_of_fused(line) or line
        return line

    def _migrated(self, entry: Entry, index: int) -> Entry:
        envelope = self.envelopes[index]
        changed: dict[str, Json] = {}
        if self._generation == 1 and isinstance(entry, EntryBase):
            parent = self.parents[index]
            changed["id"] = envelope.id
            changed["parent_id"] = None if parent == ROOT else self.envelopes[parent].id
            if isinstance(entry, Compaction) and entry.first_kept_entry_index is not None:
                changed["first_kept_entry_id"] = self._id_at_ordinal(entry.first_kept_entry_index)
                changed["first_kept_entry_index"] = None
        if isinstance(entry, MessageEntry) and isinstance(entry.message, CustomRoleMessage) and not changed:
            return entry
        return msgspec.structs.replace(entry, **changed) if changed else entry

    def _id_at_ordinal(self, ordinal: int) -> str | None:
        try:
            return self.envelopes[self._ordinals.index(ordinal)].id
        except ValueError:
            return None

    def _link_children(self) -> None:
        if self._children is not None:
            return
        children: list[list[int]] = [[] for _ in self.parents]
        roots: list[int] = []
        for index, parent in enumerate(self.parents):
            (roots if parent == ROOT else children[parent]).append(index)
        for siblings in children:
            if len(siblings) > 1:
                times = [(_milliseconds(self.envelopes[index].timestamp), index) for index in siblings]
                # JavaScript sorts dates that are none in an order nobody defines: those stay where they are.
                if all(time is not None for time, _ in times):
                    siblings[:] = [index for _, index in sorted(times, key=itemgetter(0))]  # type: ignore[arg-type]
        self._children, self._roots = children, roots


def build_session(blocks: Iterable[LineBlock], rules: Rules, path: str, read_bytes: ReadBytes) -> Session:
    """Read a file's lines into a session. Never raises on foreign bytes; what is wrong is in `problems`."""
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
    session.envelopes, session.lines, session.offsets, session.sizes = envelopes, lines, offsets, sizes
    if reader.generation < 3:
        _migrate(session, ordinals)
    _link(session, reader)
    _find_leaf(session, reader)
    _find_labels(session, reader)
    session.name = find_name(session.rules, session.envelopes, session.title_slot, session.header)
    session.problems = tuple(sorted(reader.problems, key=lambda problem: (problem.offset, problem.line)))
    return session


def find_name(rules: Rules, envelopes: Iterable[Envelope], slot: TitleSlot | None, header: Header | None) -> str | None:
    """Return the session's display name by the program's own rule, None where there is none.

    pi, atomic: the last `session_info` in file order over all branches, blank clears. indusagi: the last that is not
    empty. omp: the slot, whose empty title wins over the header's; the header's title where there is no slot.
    """
    if rules.name == "title_slot":
        if slot is not None:
            return slot.title or None
        return (header.title or None) if header is not None else None
    name: str | None = None
    for envelope in envelopes:
        if envelope.type == "session_info":
            name = next_name(rules, name, envelope)
    return name


def next_name(rules: Rules, name: str | None, info: Envelope) -> str | None:
    """Return the name after one more `session_info` entry."""
    if rules.name == "session_info_filled":
        return info.text or name
    return trim(info.text or "") or None


def migrated_id(session_id: str | None, ordinal: int, taken: set[str] | dict[str, int]) -> str:
    """Return the id given in memory to a v1 entry: 8 hex digits, the same at every call for the same file."""
    salt = 0
    while True:
        digest = hashlib.sha1(f"{session_id}\0{ordinal}\0{salt}".encode("utf-8", "replace"), usedforsecurity=False)
        made = digest.hexdigest()[:8]
        if made not in taken:
            return made
        salt += 1


def _migrate(session: Session, ordinals: list[int]) -> None:
    """v1 → v2: ids and a linear chain; v2 → v3: role `hookMessage` becomes `custom`. In memory only."""
    taken: set[str] = set()
    migrated: list[Envelope] = []
    previous: str | None = None
    session_id = session.header.id if session.header is not None else None
    for envelope, ordinal in zip(session.envelopes, ordinals, strict=True):
        changes: dict[str, Json] = {}
        if session._generation == 1:
            made = migrated_id(session_id, ordinal, taken)
            taken.add(made)
            changes = {"id": made, "parent_id": previous}
            previous = made
        if envelope.role == "hookMessage":
            changes["role"] = "custom"
        migrated.append(msgspec.structs.replace(envelope, **changes) if changes else envelope)
    session.envelopes = migrated
    session._ordinals = ordinals


def _link(session: Session, reader: Reader) -> None:
    """Find every entry's parent. What the file leaves open is closed so that the result is always a forest."""
    envelopes = session.envelopes
    index_by_id = session.index_by_id
    doubles: dict[str, list[int]] = {}
    for index, envelope in enumerate(envelopes):
        entry_id = envelope.id
        if entry_id is None:
            continue
        earlier = index_by_id.get(entry_id)
        if earlier is not None:
            doubles.setdefault(entry_id, [earlier]).append(index)
            reader.report(session.lines[index], session.offsets[index], f"a second entry with the id {entry_id}")
        index_by_id[entry_id] = index
    parents = session.parents
    for index, envelope in enumerate(envelopes):
        parent_id = envelope.parent_id
        if parent_id is None:
            parents.append(ROOT)
            continue
        if parent_id == envelope.id:
            reader.report(session.lines[index], session.offsets[index], "the entry is its own parent")
            parents.append(ROOT)
            continue
        parent = index_by_id.get(parent_id, ROOT)
        if parent == ROOT:
            reader.report(
                session.lines[index], session.offsets[index], f"the parent {parent_id or '(empty)'} is missing"
            )
        parents.append(parent)
    for members in _cycles(parents):
        index = min(members)
        earlier = [i for i in doubles.get(envelopes[index].parent_id or "", []) if i < index]
        # An id that was written again below its own child: the child means the entry that stood there before it.
        parents[index] = earlier[-1] if earlier else ROOT
        if _is_on_cycle(parents, index):
            parents[index] = ROOT
        reader.report(session.lines[index], session.offsets[index], "its parents form a loop, which is cut here")


def _cycles(parents: list[int]) -> list[list[int]]:
    """Return the loops that parents form, each as the entries on it."""
    state = bytearray(len(parents))  # 0 unseen, 1 on the walk of now, 2 done
    cycles: list[list[int]] = []
    for start in range(len(parents)):
        if state[start]:
            continue
        walk: list[int] = []
        current = start
        while current != ROOT and state[current] == 0:
            state[current] = 1
            walk.append(current)
            current = parents[current]
        if current != ROOT and state[current] == 1:
            cycles.append(walk[walk.index(current) :])
        for index in walk:
            state[index] = 2
    return cycles


def _is_on_cycle(parents: list[int], index: int) -> bool:
    current = parents[index]
    seen: set[int] = set()
    while current != ROOT and current not in seen:
        if current == index:
            return True
        seen.add(current)
        current = parents[current]
    return current != ROOT


def _find_leaf(session: Session, reader: Reader) -> None:
    if not session.envelopes:
        return
    session.leaf = len(session.envelopes) - 1
    if session.is_transcript:
        _find_transcript_leaf(session, reader)
    if session.leaf is not None:
        session.leaf_id = session.envelopes[session.leaf].id or None


def _find_transcript_leaf(session: Session, reader: Reader) -> None:
    """indusagi 2: the last head's leaf; without a head the longest chain, the greater id where two are equal."""
    head = session._transcript_head
    if isinstance(head, dict) and "leaf" in head:
        named = head["leaf"]
        session.leaf = session.index_by_id.get(named) if isinstance(named, str) else None
        last = len(session.envelopes) - 1
        if session.leaf != last:
            reason = "the head line is older than the last entry: indusagi resumes at the head's leaf"
            reader.report(session.lines[last], session.offsets[last], reason)
        return
    depths: list[int] = [0] * len(session.parents)
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
    session.leaf = max(range(len(depths)), key=lambda i: (depths[i], session.envelopes[i].id or ""))


def _find_labels(session: Session, reader: Reader) -> None:
    """The last label entry of a target in file order wins, over all branches; empty or missing clears."""
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


def _milliseconds(timestamp: str | float | None) -> float | None:
    if isinstance(timestamp, str):
        return parse_time(timestamp)
    return timestamp


def labels_in_file_order(session: Session) -> Iterator[tuple[int, LabelMark]]:
    """Yield the labelled entries by their place in the file."""
    yield from sorted(session.labels.items())
