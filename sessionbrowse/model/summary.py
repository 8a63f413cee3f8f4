"""What a list knows of a session without holding it: one pass over its records, nothing kept but the answer."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.codec import BadJson, loads
from sessionbrowse.format.entries import Json
from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.javascript import trim
from sessionbrowse.model.reading import Reader, Record, is_workflow_stage
from sessionbrowse.model.session import next_name
from sessionbrowse.model.usage import counted
from sessionbrowse.text import parse_time

MAX_FIRST_MESSAGE_BYTES = 64 * 1024
# omp's list sees no more of a file, but for its end.
OMP_LISTED_HEAD_BYTES = 4096
_SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9")


class Summary(Struct, frozen=True, kw_only=True):
    """The facts of one session for a list; times are milliseconds since 1970, None where unknown.

    `modified`, `message_count`, `first_message`, `name` and `hidden` follow the program's own list.
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

    @property
    def title(self) -> str:
        """What a row shows: the name, else the first message, else nothing. Not sanitised."""
        return self.name or self.first_message or ""


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
        self._ids: dict[str, int] = {}
        self._parents: list[str | None] = []
        self._is_message: bytearray = bytearray()
        self._models: dict[int, tuple[str, bool]] = {}
        self._labels: dict[str, bool] = {}
        self._short_summary: str | None = None

    def add(self, record: Record) -> None:
        """Take the next entry."""
        envelope = record.envelope
        index = self._entries
        self._entries += 1
        is_message = envelope.type == "message"
        self._parents.append(envelope.parent_id if self._reader.generation > 1 else "")
        self._is_message.append(is_message)
        if envelope.id is not None:
            self._ids[envelope.id] = index
        spent = counted(self._rules, envelope)
        if spent is not None:
            self._tokens += spent.tokens
            self._cost += spent.cost
        self._note_model(index, envelope)
        if envelope.type == "label" and envelope.target_id is not None:
            self._labels[envelope.target_id] = bool(envelope.text)
        if self._rules.list_splits_at_separators and any(mark in record.raw for mark in _SEPARATORS):
            # pi's list reads with node's readline, which cuts the line there and cannot parse the pieces.
            return
        if envelope.type == "session_info":
            self._name = next_name(self._rules, self._name, envelope)
        elif is_message:
            self._take_message(envelope, record.raw)
        elif envelope.type == "compaction" and record.offset + record.size <= OMP_LISTED_HEAD_BYTES:
            self._short_summary = _short_summary(record.raw) or self._short_summary

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
            label_count=sum(1 for target, on in self._labels.items() if on and target in self._ids),
            tokens=self._tokens,
            cost=round(self._cost, 10),
            model=self._leaf_model(),
            problem=f"{rules.agent} {problem}" if problem else None,
            problem_count=reader.problem_count,
            mtime_ns=mtime_ns,
            is_transcript=reader.is_transcript,
        )

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
        return -1 if parent is None else self._ids.get(parent, -1)

    def _branches(self) -> int:
        """Count messages without a message below them, at least 1."""
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
