"""One session: its entries as envelopes, its tree, leaf, labels, name and problems.

An entry is identified by its index in file order, because ids may be missing or repeated; parents are indexes, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter, lt

import msgspec
from msgspec import Struct

from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import BadLine, Compaction, Entry, Header, TitleSlot, UnknownEntry
from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.json_value import BadJson, Json, loads, trim
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.model.session.parents import ROOT as ROOT
from sessionbrowse.model.session.parents import is_chain_of, is_left_behind, is_move, loops
from sessionbrowse.model.session.records import MARGIN, Problem, Reader, first_of_fused
from sessionbrowse.model.session.rules import Rules
from sessionbrowse.text import time_ms

ReadBytes = Callable[[int, int], bytes]
"""A function that reads bytes of the session's file; its arguments are the offset and the size."""
MAX_RUN_BYTES = 1024 * 1024
"""Maximum size of the part of a file that is read at once for several entries."""


class LabelMark(Struct, frozen=True, gc=False):
    """The label of an entry: the text of the label, and the time and index of the label entry that set it."""

    text: str
    time: str | float | None
    set_by: int


class Links(Struct, frozen=True, gc=False):
    """The entries without a parent (`roots`), and the children of each entry, by its index (`children`)."""

    roots: list[int]
    children: list[list[int]]


class Session:
    """A session as its agent program reads it.

    The object never changes; to see later changes of the file, the session must be opened again.
    """

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
        self.is_json = reader.is_json
        """True if at least one line of the file is JSON, even if it is no entry."""
        self.size = reader.bytes_read
        self.marks = frozenset(reader.marks)
        self.envelopes: list[Envelope] = []
        """The envelopes of all entries, in file order; the lists `ids`, `lines`, `offsets` and `sizes` go with it."""
        self.ids: list[str | None] = []
        """The ids of all entries; None for an entry without id."""
        self.lines: list[int] = []
        """The 1-based line numbers of all entries."""
        self.offsets: list[int] = []
        """The byte offsets at which the lines of all entries begin."""
        self.sizes: list[int] = []
        """The sizes in bytes of the lines of all entries, without newlines."""
        self.parents: list[int] = []
        self.labels: dict[int, LabelMark] = {}
        self.leaf: int | None = None
        self.leaf_id: str | None = None
        self.leaf_is_null = False
        """True if the last entry's id is null, not merely missing: the agent program then sends no context."""
        self.name: str | None = None
        self.problems: tuple[Problem, ...] = ()
        self.problem_count = 0
        """The number of all problems in the file; `problems` has only the first thousand."""
        self._leaf_is_true = False
        self._read_bytes = read_bytes
        self._generation = reader.generation
        self._links: Links | None = None
        self._ordinals: list[int] = []
        self._transcript_head: Json = reader.transcript_heads[-1] if reader.transcript_heads else None

    @property
    def agent(self) -> str:
        """The program that owns the file: pi, omp, atomic or indusagi."""
        return self.rules.agent

    @property
    def id(self) -> str | None:
        """The session's id: the id in the header, or for a transcript of indusagi the file's name without suffix."""
        if self.is_transcript:
            return self.path.rpartition("/")[2].rpartition(".")[0]
        return self.header.id if self.header is not None else None

    @property
    def cwd(self) -> str:
        """The working directory in the header; "" if it is missing, as in transcripts of indusagi."""
        return self.header.cwd or "" if self.header is not None else ""

    @cached_property
    def index_by_id(self) -> dict[str, int]:
        """Maps the id of each entry to its index; an id that occurs twice is mapped to the last entry with the id."""
        return {entry_id: index for index, entry_id in enumerate(self.ids) if entry_id is not None}

    @cached_property
    def is_chain(self) -> bool:
        """True if the parent of every entry is the entry before it, so the session has no branches."""
        return is_chain_of(self.parents)

    @property
    def roots(self) -> list[int]:
        """The indexes of the entries without a parent in the file, in file order."""
        return self._linked().roots

    def children(self, index: int) -> list[int]:
        """Return the indexes of the children of the entry at `index`, by time; in file order if times are invalid."""
        return self._linked().children[index]

    def branch(self, index: int | None) -> list[int]:
        """Return the entry indexes on the path from a root to the entry `index`, both included; empty for None."""
        if index is not None and self.is_chain:
            return list(range(index + 1))
        path: list[int] = []
        current = ROOT if index is None else index
        while current != ROOT:
            path.append(current)
            current = self.parents[current]
        path.reverse()
        return path

    def active_branch(self) -> list[int]:
        """Return the indexes of the entries on the path to the leaf.

        The result is empty if the last entry has no id: the agent programs store the leaf by its id, so there is no
        leaf.
        """
        return self.branch(self.leaf) if self._leaf_is_true else []

    def raw(self, index: int) -> bytes:
        """Read the line of the entry at `index` from the file, without newline; cut off if the file has become shorter.

        Raises:
            Unreadable: the file is gone or cannot be read.
        """
        return self._read_bytes(self.offsets[index], self.sizes[index])

    def entry(self, index: int) -> Entry:
        """Read the entry at `index` from the file and decode it in full; version 1 and 2 are converted to version 3.

        The result is an `UnknownEntry` for a line that is no entry, such as a second header, and for a line that
        changed since the session was opened.

        Raises:
            Unreadable: the file is gone or cannot be read.
        """
        line = self.raw(index).strip(MARGIN)
        entry = decode_line(line)
        if isinstance(entry, BadLine) and self.rules.keeps_first_of_fused:
            entry = decode_line(first_of_fused(line) or line)
        if isinstance(entry, BadLine | Header | TitleSlot):
            envelope = self.envelopes[index]
            return UnknownEntry(
                type=envelope.type,
                id=envelope.id,
                parent_id=envelope.parent_id,
                timestamp=envelope.timestamp if isinstance(envelope.timestamp, str) else None,
                raw=self._fields(line) or None,
            )
        if self._generation >= 3:
            return entry
        return self._migrated(entry, index)

    def fields(self, index: int) -> dict[str, Json]:
        """Read the JSON object of the entry at `index` from the file, unconverted; empty if the line has no object."""
        return self._fields(self.raw(index))

    def fields_of_many(self, indexes: Iterable[int]) -> Iterator[tuple[int, dict[str, Json]]]:
        """Yield the index and JSON object of each given entry, in file order.

        Entries that are close together in the file are read at once.
        """
        for run, block in self.blocks_of(sorted(indexes)):
            start = self.offsets[run[0]]
            for index in run:
                at = self.offsets[index] - start
                # A line that is too large is the only one in `block` and shortened; the slice is then all of `block`.
                yield index, self._fields(block[at : at + self.sizes[index]])

    def blocks_of(self, indexes: Sequence[int]) -> Iterator[tuple[list[int], bytes]]:
        """Yield groups of entries that are close together in the file, each with the bytes of its lines.

        Raises:
            Unreadable: the file is gone or cannot be read.
        """
        run: list[int] = []
        for index in [*indexes, None]:
            if run and (
                index is None or self.offsets[index] + self.sizes[index] - self.offsets[run[0]] > MAX_RUN_BYTES
            ):
                start, last = self.offsets[run[0]], run[-1]
                yield run, self._read_bytes(start, self.offsets[last] + self.sizes[last] - start)
                run = []
            if index is not None:
                run.append(index)

    def find(self, reference: str) -> list[int]:
        """Return the indexes of the entries that a text from the user means: an id, a label, or the beginning of an id.

        Labels are compared only if no entry has this id, and beginnings of ids only if no entry has this label either.
        """
        exact = self.index_by_id.get(reference)
        if exact is not None:
            return [exact]
        labelled = [index for index, mark in self.labels.items() if mark.text == reference]
        if labelled:
            return labelled
        if not reference:
            return []
        return [index for entry_id, index in self.index_by_id.items() if entry_id.startswith(reference)]

    def _fields(self, raw: bytes) -> dict[str, Json]:
        line = raw.strip(MARGIN)
        try:
            value = loads(line)
        except BadJson:
            first = first_of_fused(line) if self.rules.keeps_first_of_fused else None
            value = None if first is None else loads(first)
        return value if isinstance(value, dict) else {}

    def _migrated(self, entry: Entry, index: int) -> Entry:
        if self._generation > 1:
            return entry
        parent = self.parents[index]
        named = {"id": self.envelopes[index].id, "parent_id": None if parent == ROOT else self.envelopes[parent].id}
        if isinstance(entry, Compaction) and entry.first_kept_entry_index is not None:
            first_kept = self._id_at_ordinal(entry.first_kept_entry_index)
            return msgspec.structs.replace(entry, **named, first_kept_entry_id=first_kept, first_kept_entry_index=None)
        return msgspec.structs.replace(entry, **named)

    def _id_at_ordinal(self, ordinal: int) -> str | None:
        index = bisect_left(self._ordinals, ordinal)
        return self.envelopes[index].id if self._ordinals[index : index + 1] == [ordinal] else None

    def _linked(self) -> Links:
        links = self._links
        if links is not None:
            return links
        children: list[list[int]] = [[] for _ in self.parents]
        roots: list[int] = []
        for index, parent in enumerate(self.parents):
            (roots if parent == ROOT else children[parent]).append(index)
        for siblings in children:
            if len(siblings) > 1:
                times = [(time_ms(self.envelopes[index].timestamp), index) for index in siblings]
                # JavaScript's order of invalid dates is not defined, so siblings with an invalid date stay in file
                # order.
                if all(time is not None for time, _ in times):
                    siblings[:] = [index for _, index in sorted(times, key=itemgetter(0))]
        # Several threads may use a session. One assignment sets roots and children, so no thread sees only the roots.
        links = self._links = Links(roots, children)
        return links


def find_name(rules: Rules, envelopes: Iterable[Envelope], slot: TitleSlot | None, header: Header | None) -> str | None:
    """Return the session's display name by the rule of its agent program; None if it has no name.

    pi and atomic use the last `session_info` entry in the file, on any branch; a blank name clears the name. indusagi
    uses the last `session_info` entry with a name. omp uses the title slot, even an empty one, or the header's title if
    the file has no title slot.
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
    """Return the session's name after a further `session_info` entry, `info`; `name` is the name before it."""
    if rules.name == "session_info_filled":
        return info.text or name
    return trim(info.text or "") or None


def migrated_id(session_id: str | None, ordinal: int, taken: set[str] | dict[str, int]) -> str:
    """Return an id for an entry of format version 1, which has none: 8 hex digits, the same at every reading.

    `ordinal` is the position of the entry's line in the file; ids in `taken` are avoided.
    """
    import hashlib  # Imported here because the import is slow, and only files of version 1 need it.

    salt = 0
    while True:
        digest = hashlib.sha1(f"{session_id}\0{ordinal}\0{salt}".encode("utf-8", "replace"), usedforsecurity=False)
        made = digest.hexdigest()[:8]
        if made not in taken:
            return made
        salt += 1


def left_behind(session: Session) -> int | None:
    """Return the index of a session's newest message if `is_left_behind` is True for it, else None."""
    envelopes, parents = session.envelopes, session.parents
    newest = next((index for index in reversed(range(len(envelopes))) if envelopes[index].type == "message"), ROOT)
    leaf = session.leaf if session.leaf is not None else ROOT

    def is_move_at(index: int) -> bool:
        return is_move(envelopes[index].type, envelopes[index].custom_type)

    return newest if is_left_behind(newest, leaf, len(parents), parents.__getitem__, is_move_at) else None


def messages_left_behind(session: Session, newest: int) -> int:
    """Return the number of messages on the path to `newest` that are not on the path to the leaf."""
    active = set(session.branch(session.leaf))
    path = session.branch(newest)
    return sum(1 for index in path if index not in active and session.envelopes[index].type == "message")


# ---- building a session from the lines of its file, by the rules of its agent ------------------------------------


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
    """Set the parent index of every entry; make an entry whose parent is missing, and one of each loop, a root."""
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
