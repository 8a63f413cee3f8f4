"""What a list knows of a session without holding it: one pass over its records, nothing kept but the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec import Struct

from sessionbrowse.format.big_line import reduce_line
from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.format.entries import Json
from sessionbrowse.format.envelope import Envelope, whole
from sessionbrowse.format.javascript import trim
from sessionbrowse.format.lines import MAX_LISTED_LINE_BYTES, LineBlock
from sessionbrowse.format.listing_line import REFUSALS, ListedToolResult, ListedUser, decode_listed
from sessionbrowse.model.left_behind import is_left_behind, is_move
from sessionbrowse.model.reading import Reader, Record, is_workflow_stage
from sessionbrowse.model.session import next_name
from sessionbrowse.model.usage import counted
from sessionbrowse.text import parse_time

KEPT_FIRST_CHARACTERS = 500
"""How much of a first message is remembered outside its file."""
MAX_FIRST_MESSAGE_BYTES = 64 * 1024
# omp's list sees no more of a file, but for its end.
OMP_LISTED_HEAD_BYTES = 4096
_SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9")


class Summary(Struct, frozen=True, kw_only=True):
    """The facts of one session for a list; times are milliseconds since 1970, None where unknown.

    `modified`, `message_count`, `first_message`, `name` and `hidden` follow the program's own list. `left_behind`: the
    program resumes without the newest message.
    """

    agent: str
    path: str
    id: str | None = None
    cwd: str = ""
    name: str | None = None
    created: float | None = None
    modified: float | None = None
    message_count: int = 0
    first_message: str | None = None
    first_message_cut: bool = False
    parent_session: str | None = None
    parent_path: str | None = None
    bytes: int = 0
    hidden: bool = False
    archived: bool = False
    entry_count: int = 0
    branch_count: int = 1
    label_count: int = 0
    tokens: int = 0
    cost: float = 0.0
    model: str | None = None
    problem: str | None = None
    problem_count: int = 0
    mtime_ns: int = 0
    is_transcript: bool = False
    left_behind: bool = False

    @property
    def title(self) -> str:
        """What a row shows: the name, else the first message, else nothing. Not sanitised."""
        return self.name or self.first_message or ""


class SummaryProgress(Struct, frozen=True, array_like=True):
    """A summariser's sums, to go on another day; first messages may be cut."""

    messages: int
    name: str | None
    first: str | None
    first_of_others: str | None
    first_at: tuple[int, int] | None
    active_ms: float | None
    tokens: int
    cost: float
    short_summary: str | None


class Observer(Protocol):
    """Somebody who wants every entry while a file is summarised, ordinary messages decoded by `decode`."""

    user_kind: type
    result_kind: type

    def decode(self, line: memoryview) -> Any:
        """Decode an ordinary message line into what has the fields of a `ListedLine`; raise `REFUSALS` otherwise."""

    def ordinary(self, entry: Any, line: int, offset: int, size: int) -> None:
        """Take an ordinary message: its 1-based line, byte offset and size."""

    def record(self, record: Record) -> None:
        """Take any other entry."""


class Summariser:
    """Folds the records of one file into its `Summary`."""

    def __init__(self, reader: Reader, *, texts: list[str] | None = None) -> None:
        self._reader = reader
        self._rules = reader.rules
        # Receives the texts of user and assistant messages in file order: what pi's picker searches.
        self._texts = texts
        self._entries = 0
        self._messages = 0
        self._name: str | None = None
        self._first: str | None = None
        self._first_of_others: str | None = None
        self._active_ms: float | None = None
        self._tokens = 0
        self._cost = 0.0
        self._ids: list[str | None] = []
        self._index_by_id: dict[str | None, int] | None = None
        self._parents: list[str | None] = []
        self._is_message: bytearray = bytearray()
        self._models: dict[int, tuple[str, bool]] = {}
        self._labels: dict[str, bool] = {}
        self._moves: set[int] = set()
        self._short_summary: str | None = None
        self._first_at: tuple[int, int] | None = None
        self._observer: Observer | None = None
        self._decode: Callable[[memoryview], Any] = decode_listed
        self._user_kind: type = ListedUser
        self._result_kind: type = ListedToolResult

    @property
    def first_at(self) -> tuple[int, int] | None:
        """Offset and size of the line that holds the first message, None where there is no such message."""
        return self._first_at

    def progress(self) -> SummaryProgress:
        """Return the sums so far; the entries themselves are the caller's to keep."""
        return SummaryProgress(
            self._messages,
            self._name,
            self._first[: KEPT_FIRST_CHARACTERS + 1] if self._first else None,
            self._first_of_others[: KEPT_FIRST_CHARACTERS + 1] if self._first_of_others else None,
            self._first_at,
            self._active_ms,
            self._tokens,
            self._cost,
            self._short_summary,
        )

    def resume(self, progress: SummaryProgress, envelopes: Sequence[Envelope]) -> None:
        """Go on as the summariser that made `progress` behind these entries would, but for the first message's end."""
        self._entries = len(envelopes)
        self._messages, self._name = progress.messages, progress.name
        self._first, self._first_of_others = progress.first, progress.first_of_others
        self._first_at, self._active_ms = progress.first_at, progress.active_ms
        self._tokens, self._cost, self._short_summary = progress.tokens, progress.cost, progress.short_summary
        self._ids = [envelope.id for envelope in envelopes]
        self._parents = [envelope.parent_id for envelope in envelopes]
        self._is_message = bytearray([envelope.type == "message" for envelope in envelopes])
        for index, envelope in enumerate(envelopes):
            self._note_model(index, envelope)
            self._note_mark(index, envelope)

    def observe(self, observer: Observer) -> None:
        """Show every entry to somebody else too, ordinary messages as that one wants them decoded."""
        self._observer = observer
        self._decode, self._user_kind, self._result_kind = observer.decode, observer.user_kind, observer.result_kind

    def add(self, record: Record) -> None:
        """Take the next entry."""
        envelope = record.envelope
        index = self._entries
        self._entries += 1
        is_message = envelope.type == "message"
        self._parents.append(envelope.parent_id if self._reader.generation > 1 else "")
        self._is_message.append(is_message)
        self._ids.append(envelope.id)
        spent = counted(self._rules, envelope)
        if spent is not None:
            self._tokens += spent.tokens
            self._cost += spent.cost
        self._note_model(index, envelope)
        self._note_mark(index, envelope)
        if self._rules.list_splits_at_separators and any(mark in record.raw for mark in _SEPARATORS):
            # pi's list reads with node's readline, which cuts the line there and cannot parse the pieces.
            return
        if envelope.type == "session_info":
            self._name = next_name(self._rules, self._name, envelope)
        elif is_message:
            before = self._first or self._first_of_others
            self._take_message(envelope, record.raw)
            if (self._first or self._first_of_others) is not before:
                self._first_at = (record.offset, record.size)
        elif envelope.type == "compaction" and record.offset + record.size <= OMP_LISTED_HEAD_BYTES:
            self._short_summary = _short_summary(record.raw) or self._short_summary

    def add_lines(self, buffer: bytearray, view: memoryview, stop: int, offset: int) -> None:
        """Take the lines that fill the first `stop` bytes of a buffer, each with its newline; `view` is of the buffer.

        `offset` is where the first line begins in the file. Ordinary messages are folded in from the little that a
        list needs; every other line goes through the reader as it stands.
        """
        reader = self._reader
        at = 0
        find = buffer.find
        while at < stop and not self._takes_ordinary_lines():
            end = find(b"\n", at, stop)
            self._add_line(view[at:end], offset + at)
            at = end + 1
        decode, user_kind, result_kind = self._decode, self._user_kind, self._result_kind
        observer = self._observer
        splits_at_separators = self._rules.list_splits_at_separators
        keep_id, keep_parent, keep_kind = self._ids.append, self._parents.append, self._is_message.append
        models = self._models
        index = len(self._ids)
        ordinary = 0
        active = self._active_ms or 0
        tokens, cost = self._tokens, self._cost
        provider = model = None
        last = ("", False)
        entry: Any = None
        message: Any = None
        while at < stop:
            end = find(b"\n", at, stop)
            line = view[at:end]
            kind: type | None = None
            if end - at <= MAX_LISTED_LINE_BYTES:
                try:
                    entry = decode(line)
                    text = str(line, "utf-8")
                    message = entry.message
                    kind = message.__class__
                    if (
                        (kind is user_kind and self._first is None)
                        or (kind is result_kind and message.toolName == "task")
                        or (splits_at_separators and len(text) != end - at and ("\u2028" in text or "\u2029" in text))
                    ):
                        kind = None
                except REFUSALS:
                    kind = None
            if kind is None:
                self._take_totals(ordinary, active, tokens, cost)
                self._add_line(line, offset + at)
                ordinary, active, tokens, cost = 0, self._active_ms or 0, self._tokens, self._cost
                index = len(self._ids)
                at = end + 1
                continue
            ordinary += 1
            if observer is not None:
                observer.ordinary(entry, reader.lines_read + ordinary, offset + at, end - at)
            at = end + 1
            keep_id(entry.id)
            keep_parent(entry.parentId)
            keep_kind(1)
            if kind is result_kind:
                usage = message.usage
            else:
                moment = message.timestamp
                if moment is None:
                    moment = parse_time(entry.timestamp)
                if moment is not None and moment > active:
                    active = moment
                if kind is user_kind:
                    index += 1
                    continue
                usage = message.usage
                if message.model:
                    if message.model != model or message.provider != provider:
                        provider, model = message.provider, message.model
                        last = (f"{provider}/{model}", False)
                    models[index] = last
            index += 1
            if usage is not None:
                tokens += whole(usage.input + usage.output + usage.cacheRead + usage.cacheWrite)
                # An answer without a price costs nothing: adding 0 keeps the sum the same to the last bit.
                if usage.cost is not None:
                    cost += usage.cost.total
        self._take_totals(ordinary, active, tokens, cost)
        reader.bytes_read = offset + stop
        reader.torn = False

    def add_block(self, block: LineBlock) -> None:
        """Take lines that need the reader's whole attention."""
        for record in self._reader.read(block):
            self.add(record)
            if self._observer is not None:
                self._observer.record(record)

    def finish(self, path: str, size: int, mtime_ns: int) -> Summary:
        """Return the summary of the file at `path`; call it after the reader's own `finish`."""
        reader, rules, header = self._reader, self._rules, self._reader.header
        mtime_ms = milliseconds_of(mtime_ns)
        created = parse_time(header.timestamp) if header is not None and header.timestamp else None
        if rules.modified_is_mtime or reader.is_transcript or header is None:
            modified: float = mtime_ms
        elif self._active_ms:
            modified = self._active_ms
        else:
            modified = created if created is not None else mtime_ms
        name = self._name
        if rules.name == "title_slot":
            name = _slot_title(reader) or self._short_summary
        elif name is not None:
            name = trim(name) or None
        first = self._first or (self._first_of_others if rules.agent == "omp" else None)
        shown, was_cut = _cut_to_bytes(first) if first else (None, False)
        problem = reader.unlisted or reader.refusal
        identity = header.id if header is not None else None
        if reader.is_transcript:
            identity = path.rpartition("/")[2].rpartition(".")[0]
        return Summary(
            agent=rules.agent,
            path=path,
            id=identity,
            cwd=(header.cwd or "") if header is not None else "",
            name=name,
            created=created,
            modified=modified,
            message_count=self._messages,
            first_message=shown,
            first_message_cut=was_cut,
            parent_session=header.parent_session if header is not None else None,
            bytes=size,
            hidden=rules.agent == "atomic" and header is not None and is_workflow_stage(header),
            entry_count=self._entries,
            branch_count=self._branches(),
            label_count=self._label_count(),
            tokens=self._tokens,
            cost=round(self._cost, 10),
            model=self._leaf_model(),
            problem=f"{rules.agent} {problem}" if problem else None,
            problem_count=reader.problem_count,
            mtime_ns=mtime_ns,
            is_transcript=reader.is_transcript,
            left_behind=self._is_left_behind(),
        )

    def _takes_ordinary_lines(self) -> bool:
        """Tell whether nothing but the message itself decides any more what an ordinary message means."""
        reader = self._reader
        return (
            self._texts is None
            and (self._first_of_others is not None or self._rules.agent != "omp" or self._first is not None)
            and reader.header is not None
            and reader.generation > 1
            and not reader.is_transcript
        )

    def _take_totals(self, ordinary: int, active: float, tokens: int, cost: float) -> None:
        self._reader.skip_ordinary(ordinary)
        self._entries += ordinary
        self._messages += ordinary
        self._tokens, self._cost = tokens, cost
        if active:
            self._active_ms = active

    def _add_line(self, line: memoryview, offset: int) -> None:
        whole = bytes(line)
        is_large = len(whole) > MAX_LISTED_LINE_BYTES
        self.add_block(LineBlock(offset, [reduce_line(whole) if is_large else whole], len(whole) if is_large else 0))

    def _take_message(self, envelope: Envelope, raw: bytes) -> None:
        self._messages += 1
        if envelope.role not in ("user", "assistant", "developer") or not envelope.has_content:
            return
        if envelope.role != "developer":
            moment = envelope.message_ms
            if moment is None:
                stamp = envelope.timestamp
                moment = parse_time(stamp) if isinstance(stamp, str) else stamp
            if moment is not None:
                self._active_ms = max(self._active_ms or 0, moment)
        wanted = (envelope.role == "user" and self._first is None) or (
            self._rules.agent == "omp" and self._first is None and self._first_of_others is None
        )
        if not wanted and (self._texts is None or envelope.role == "developer"):
            return
        text = joined_text(raw)
        if not text:
            return
        if self._texts is not None and envelope.role != "developer":
            self._texts.append(text)
        if envelope.role == "user":
            self._first = self._first or text
        elif self._first_of_others is None:
            self._first_of_others = text

    def _note_model(self, index: int, envelope: Envelope) -> None:
        if envelope.type == "model_change":
            if self._rules.agent == "omp":
                if envelope.model and envelope.role in ("", "default"):
                    self._models[index] = (envelope.model, True)
            elif envelope.model or envelope.provider:
                self._models[index] = (f"{envelope.provider}/{envelope.model}", False)
        elif envelope.role == "assistant" and envelope.type == "message" and envelope.model:
            self._models[index] = (f"{envelope.provider}/{envelope.model}", False)

    def _note_mark(self, index: int, envelope: Envelope) -> None:
        if envelope.type == "label" and envelope.target_id is not None:
            self._labels[envelope.target_id] = bool(envelope.text)
        elif is_move(envelope.type, envelope.custom_type):
            self._moves.add(index)

    def _is_left_behind(self) -> bool:
        """Tell whether the path to the leaf, the last entry, is without the newest message."""
        newest = self._is_message.rfind(1)
        if newest < 0:
            return False
        index = self._entries - 1
        passed: set[str | None] = {None}
        # What stands behind the newest message mostly hangs on the entry before it; else ids have to be looked up.
        while index > newest and index not in self._moves:
            passed.add(self._ids[index])
            above = self._ids[index - 1]
            if above in passed or self._parents[index] != above:
                break
            index -= 1
        return index != newest and is_left_behind(newest, index, self._entries, self._parent, self._moves.__contains__)

    def _leaf_model(self) -> str | None:
        """The model at the leaf: the nearest change or answer above; omp's explicit change outranks answers."""
        nearest: str | None = None
        index = self._entries - 1
        for _ in range(self._entries):
            found = self._models.get(index)
            if found is not None:
                if found[1] or self._rules.agent != "omp":
                    return found[0]
                nearest = nearest or found[0]
            index = self._parent(index)
            if index < 0:
                break
        return nearest

    def _parent(self, index: int) -> int:
        if self._reader.generation == 1:
            return index - 1
        parent = self._parents[index]
        return -1 if parent is None else self._by_id().get(parent, -1)

    def _by_id(self) -> dict[str | None, int]:
        if self._index_by_id is None:
            self._index_by_id = dict(zip(self._ids, range(len(self._ids)), strict=True))
            self._index_by_id.pop(None, None)
        return self._index_by_id

    def _label_count(self) -> int:
        if not self._labels:
            return 0
        by_id = self._by_id()
        return sum(1 for target, on in self._labels.items() if on and target in by_id)

    def _is_chain(self) -> bool:
        """Tell, without looking at each entry, whether every entry hangs on the one before it."""
        ids, parents = self._ids, self._parents
        return (
            self._reader.generation > 1
            and parents[1:] == ids[:-1]
            and parents[:1] == [None]
            and None not in ids
            and len(set(ids)) == len(ids)
        )

    def _branches(self) -> int:
        """Count messages without a message below them, at least 1."""
        if self._is_chain():
            return 1
        above = bytearray(self._entries)
        for start in range(self._entries - 1, -1, -1):
            if not self._is_message[start]:
                continue
            index = self._parent(start)
            # Everything above an entry that is already marked is marked too.
            while index >= 0 and not above[index]:
                above[index] = 1
                index = self._parent(index)
        return max(1, sum(1 for index in range(self._entries) if self._is_message[index] and not above[index]))


def joined_text(raw: bytes) -> str:
    """Return a message line's text as the lists join it: text blocks with one blank between."""
    try:
        value = loads(raw)
    except BadJson:
        return ""
    message = value.get("message") if isinstance(value, dict) else None
    content: Json = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return " ".join(text if isinstance(text, str) else "" for text in texts)


def first_message_of(raw: bytes) -> tuple[str | None, bool]:
    """Return a message line's text as far as a list shows it, and whether there is more."""
    text = joined_text(reduce_line(raw) if len(raw) > MAX_LISTED_LINE_BYTES else raw)
    return _cut_to_bytes(text) if text else (None, False)


def milliseconds_of(nanoseconds: int) -> int:
    """Return a file time in milliseconds, rounded as JavaScript's `Stats.mtime` is."""
    return (nanoseconds + 500_000) // 1_000_000


def _slot_title(reader: Reader) -> str | None:
    """omp's list: the slot's title, blank for none; the header's where there is no slot."""
    if reader.slot is not None:
        return reader.slot.title if trim(reader.slot.title or "") else None
    return reader.header.title or None if reader.header is not None else None


def _short_summary(raw: bytes) -> str | None:
    """omp's list shows a compaction's short summary where there is no title."""
    try:
        value = loads(raw)
    except BadJson:
        return None
    found = value.get("shortSummary") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _cut_to_bytes(text: str) -> tuple[str, bool]:
    if len(text) <= MAX_FIRST_MESSAGE_BYTES // 4:
        return text, False
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= MAX_FIRST_MESSAGE_BYTES:
        return text, False
    return encoded[:MAX_FIRST_MESSAGE_BYTES].decode("utf-8", "ignore"), True
