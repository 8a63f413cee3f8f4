"""Build the summary of a session in one pass over its file, without keeping entries in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sessionbrowse.format.codec import from_json
from sessionbrowse.format.entries import TRANSCRIPT_SCHEMA, Header
from sessionbrowse.format.envelope import Envelope
from sessionbrowse.format.json_value import Json, json_object, trim
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.ordinary_line import (
    REFUSALS,
    OrdinaryAnswer,
    OrdinaryCustom,
    OrdinaryModelChange,
    OrdinaryResult,
    OrdinaryUser,
    decode_ordinary,
)
from sessionbrowse.model.listing.bulk_lines import (
    ANSWER,
    OTHER,
    USER,
    DecodedLines,
    add_costs,
    answers_by_model,
    decode_block,
    messages_only,
    newest_message_ms,
    of_kind,
    ordinary_runs,
    tokens_of,
)
from sessionbrowse.model.listing.summary import (
    SessionStatus,
    Sketch,
    Summary,
    SummaryState,
    cut_to_bytes,
    joined_text,
)
from sessionbrowse.model.session.parents import count_branches, is_left_behind, is_move
from sessionbrowse.model.session.records import Reader, Record, is_workflow_stage, parent_of
from sessionbrowse.model.session.session import next_name
from sessionbrowse.model.usage.request import counted, price_of
from sessionbrowse.text import is_time, model_name, parse_time


class Lineage:
    """The tree of one session file: ids, parent ids, and flags for messages, by entry index.

    `models` maps the index of an entry that names a model to a pair: the model, and True if the user chose the model
    explicitly. `moves` are the indexes of entries that an agent writes when the user moves to another branch, such as
    branch summaries.
    """

    def __init__(self) -> None:
        self.ids: list[str | None] = []
        self.parents: list[str | None] = []
        self.is_message = bytearray()
        self.models: dict[int, tuple[str, bool]] = {}
        self.moves: set[int] = set()
        # Format version 1 has no ids: the parent of each entry is the entry before it.
        self.is_linear = False
        self._chain: bool | None = None
        self._index_by_id: dict[str | None, int] | None = None

    def append(self, entry_id: str | None, parent_id: str | None, is_message: bool) -> None:
        """Add the next entry of the file to the tree."""
        self.ids.append(entry_id)
        self.parents.append(parent_id)
        self.is_message.append(is_message)

    def known(self, entry_ids: Collection[str]) -> list[str]:
        """Return those of the given entry ids that exist in the file."""
        return list(filter(self._by_id().__contains__, entry_ids)) if entry_ids else []

    def leaf_model(self, *, explicit_first: bool) -> str | None:
        """Return the model in use at the leaf: the last model named on the path from the root to the leaf.

        With `explicit_first`, the last model that the user chose explicitly is preferred to all other models.
        """
        nearest: str | None = None
        index = len(self.ids) - 1
        for _ in range(len(self.ids)):
            found = self.models.get(index)
            if found is not None:
                if found[1] or not explicit_first:
                    return found[0]
                nearest = nearest or found[0]
            index = self.parent(index)
            if index < 0:
                break
        return nearest

    def branches(self) -> int:
        """Return the number of branches, at least 1; see `count_branches`."""
        return 1 if self.is_chain() else count_branches(self.is_message, self.parent)

    def is_left_behind(self) -> bool:
        """Return True if the last message of the file is not on the branch of the file's last entry.

        Return False if a later checkout or branch summary shows that the user left the message's branch on purpose.
        """
        newest = self.is_message.rfind(1)
        if newest < 0:
            return False
        index = len(self.ids) - 1
        passed: set[str | None] = {None}
        # Usually the parent of an entry after the newest message is the previous entry; this loop follows such parents
        # without looking up ids.
        while index > newest and index not in self.moves:
            passed.add(self.ids[index])
            above = self.ids[index - 1]
            if above in passed or self.parents[index] != above:
                break
            index -= 1
        return index != newest and is_left_behind(newest, index, len(self.ids), self.parent, self.moves.__contains__)

    def is_chain(self) -> bool:
        """Return True if every entry's parent is the previous entry; the result is cached, so add all entries first."""
        if self._chain is None:
            self._chain = self._found_chain()
        return self._chain

    def _found_chain(self) -> bool:
        ids, parents = self.ids, self.parents
        if self.is_linear or parents[:1] != [None] or parents[1:] != ids[:-1]:
            return False
        known = set(ids)
        return len(known) == len(ids) and None not in known

    def parent(self, index: int) -> int:
        """Return the index of the parent of the entry at `index`; -1 if the entry has no parent in the file."""
        if self.is_linear or self.is_chain():
            return index - 1
        parent = self.parents[index]
        return -1 if parent is None else self._by_id().get(parent, -1)

    def _by_id(self) -> dict[str | None, int]:
        if self._index_by_id is None:
            self._index_by_id = dict(zip(self.ids, range(len(self.ids)), strict=True))
            self._index_by_id.pop(None, None)
        return self._index_by_id


KEPT_FIRST_CHARACTERS = 500
"""Maximum number of characters of a first message that the index stores; the session file has the rest."""
# omp's session list reads only this many bytes from a file's start. It shows the short summary of a compaction only if
# the compaction is within these bytes.
OMP_LISTED_HEAD_BYTES = 4096
SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9")
"""The UTF-8 bytes of U+2028 and U+2029, which Node.js's `readline` treats as ends of a line."""


class SummaryBuilder:
    """Builds the `Summary` of one session file from its entries; subclasses may override `decode`, `add_ordinary`."""

    decode: Callable[[bytes], Any] = staticmethod(decode_ordinary)
    """Decodes a line in the usual form, quickly; the result has the fields of structs in `format.ordinary_line`."""

    def __init__(self, reader: Reader, *, texts: list[str] | None = None) -> None:
        self._reader = reader
        self._rules = reader.rules
        # If `texts` is a list, the texts of user and assistant messages are added to it; pi's picker searches them.
        self._texts = texts
        self._entries = 0
        self._messages = 0
        self._name: str | None = None
        self._first: str | None = None
        self._first_of_others: str | None = None
        self._active_ms: float | None = None
        self._tokens = 0
        self._cost = 0.0
        self._lineage = Lineage()
        # Maps the id of a labelled entry to its label and the label's time. The last label of an entry counts; an empty
        # label removes it.
        self._labels: dict[str, tuple[str, str]] = {}
        self._short_summary: str | None = None
        self._answered = False
        self._first_at: tuple[int, int] | None = None

    @property
    def tree(self) -> Lineage:
        """The tree (ids and parents) of the entries read so far."""
        return self._lineage

    @property
    def first_at(self) -> tuple[int, int] | None:
        """Offset and size in bytes of the line with the session's first message, None without a message."""
        return self._first_at

    def state(self) -> SummaryState:
        """Return this builder's state for storing; `resume` needs this state, and the entries' ids and parent ids."""
        return SummaryState(
            self._messages,
            self._name,
            self._first[: KEPT_FIRST_CHARACTERS + 1] if self._first else None,
            self._first_of_others[: KEPT_FIRST_CHARACTERS + 1] if self._first_of_others else None,
            self._first_at,
            self._active_ms,
            self._tokens,
            self._cost,
            self._short_summary,
            self._answered,
            dict(self._labels),
            bytes(self._lineage.is_message),
            dict(self._lineage.models),
            set(self._lineage.moves),
        )

    def resume(self, state: SummaryState, ids: list[str | None], parent_ids: list[str | None]) -> None:
        """Restore a stored state, which belongs to the entries with these ids and parent ids.

        A first message that was shortened for storing stays shortened.
        """
        self._entries = len(ids)
        self._messages, self._name = state.messages, state.name
        self._first, self._first_of_others = state.first, state.first_of_others
        self._first_at, self._active_ms = state.first_at, state.active_ms
        self._tokens, self._cost, self._short_summary = state.tokens, state.cost, state.short_summary
        lineage = self._lineage
        lineage.ids, lineage.parents, lineage.is_message = ids, parent_ids, bytearray(state.is_message)
        lineage.models, lineage.moves = state.models, state.moves
        self._answered, self._labels = state.answered, state.labels

    def add(self, record: Record) -> None:
        """Add the next entry of the session file to the summary."""
        envelope = record.envelope
        index = self._entries
        self._entries += 1
        is_message = envelope.type == "message"
        self._lineage.append(envelope.id, envelope.parent_id, is_message)
        spent = counted(self._rules, envelope)
        if spent is not None:
            self._tokens += spent.tokens
            self._cost += price_of(spent.cost)
        self._note_model(index, envelope)
        self._note_mark(index, envelope)
        if self._rules.list_splits_at_separators and any(mark in record.raw for mark in SEPARATORS):
            # pi's list cuts the entry's line at U+2028 and U+2029, as Node's `readline` does, and ignores the pieces.
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

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Add complete lines, each with its newline, to the summary; the first line is at byte `offset` of the file.

        Lines in the usual form are decoded many at a time, which is fast; the `Reader` decodes others one by one.
        """
        begin = 0
        while begin < len(lines) and not self._takes_ordinary_lines():
            offset = self._add_line(lines[begin], offset)
            begin += 1
        if begin:
            lines = lines[begin:]
        block = decode_block(lines, self.decode)
        cut_at_separators = self._rules.list_splits_at_separators
        for begin, end, is_ordinary in ordinary_runs(block, cut_at_separators=cut_at_separators):
            if is_ordinary:
                run = block.part(begin, end)
                self.add_ordinary(run, offset)
                offset += sum(map(len, run.lines))
            else:
                offset = self._add_line(lines[begin], offset)

    def add_ordinary(self, block: DecodedLines, offset: int) -> None:
        """Add decoded lines in the usual form to the summary; the first line is at byte `offset` of the file."""
        if self._first is None and USER in block.kinds:
            self._find_first(block, offset)
        lineage, index, kinds = self._lineage, self._entries, block.kinds
        lineage.ids += [entry.id for entry in block.entries]
        lineage.parents += [entry.parentId for entry in block.entries]
        lineage.is_message += messages_only(kinds)
        for name, numbers in answers_by_model(block).items():
            lineage.models.update(dict.fromkeys([index + number for number in numbers], (name, False)))
        for number in of_kind(range(len(kinds)), kinds, OTHER) if OTHER in kinds else ():
            self._note_other(index + number, block.entries[number])
        self._entries += len(kinds)
        self._messages += len(kinds) - kinds.count(OTHER)
        newest = newest_message_ms(block)
        self._active_ms = max(self._active_ms or 0, newest) or self._active_ms
        used = [answer.usage for answer in of_kind(block.messages, kinds, ANSWER) if answer.usage is not None]
        self._tokens += tokens_of(used)
        # An assistant message without a price adds nothing to the cost of the session.
        self._cost = add_costs(self._cost, [price_of(usage.cost.total) for usage in used if usage.cost is not None])
        self._reader.skip_ordinary(len(kinds))
        self._reader.bytes_read, self._reader.torn = offset + sum(map(len, block.lines)), False

    def add_block(self, block: LineBlock) -> None:
        """Add lines in any form to the summary, such as a very long line; the `Reader` decodes them completely."""
        for record in self._reader.read(block):
            self.add(record)

    def add_sketch(self, sketch: Sketch) -> None:
        """Take header and entries of a session without branches, in place of their lines."""
        header = from_json(sketch.header)
        assert isinstance(header, Header)
        self._reader.header = header
        self._entries, self._messages = sketch.entries, sketch.messages
        self._first, self._active_ms, self._tokens = sketch.first, sketch.active_ms, sketch.tokens
        if sketch.model is not None:
            self._lineage.models[0] = sketch.model, False
        self._lineage.append(None, None, is_message=True)

    def finish(self, path: str, size: int, mtime_ns: int, status: SessionStatus | None) -> Summary:
        """Return the summary of the file at `path`; call `Reader.finish` first."""
        reader, rules, lineage = self._reader, self._rules, self._lineage
        header = reader.listed_header or reader.header
        lineage.is_linear = reader.generation == 1
        mtime_ms = milliseconds_of(mtime_ns, cut=rules.agent == "omp")
        created = _created(header) if header is not None else None
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
        shown, was_cut = cut_to_bytes(first) if first else (None, False)
        problem = reader.unlisted or reader.refusal
        problem = f"{rules.agent} {problem}" if problem else None
        if rules.only_read is not None and header is None:
            problem = f"no session of {rules.only_read}"
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
            parent_session=parent_of(header) if header is not None else None,
            bytes=size,
            hidden=header is not None
            and (
                is_workflow_stage(header)
                if rules.agent == "atomic"
                else header.internal is True
                if rules.only_read
                # omp 18.2.7 hides sessions that have neither a title, a prompt nor an answer.
                else rules.agent == "omp"
                and not (name or trim(first or "") or problem or self._answered)
                and status in (None, "pending")
            ),
            entry_count=self._entries,
            branch_count=lineage.branches(),
            labels=tuple([self._labels[target][0] for target in lineage.known(self._labels)]),
            newest_label=max([time for _, time in self._labels.values()], default=""),
            tokens=self._tokens,
            cost=round(self._cost, 10),
            model=lineage.leaf_model(explicit_first=rules.agent == "omp"),
            problem=problem,
            problem_count=reader.problem_count,
            mtime_ns=mtime_ns,
            is_transcript=reader.is_transcript,
            left_behind=lineage.is_left_behind(),
            status=status,
        )

    def _takes_ordinary_lines(self) -> bool:
        """Return True if the next lines may be decoded in blocks.

        The header must have been read and, for omp, a first message. Blocks are not possible for format version 1, for
        transcripts, and if the texts of messages are collected.
        """
        reader = self._reader
        return (
            self._texts is None
            and (self._first_of_others is not None or self._rules.agent != "omp" or self._first is not None)
            and reader.header is not None
            and reader.generation > 1
            and not reader.is_transcript
        )

    def _find_first(self, block: DecodedLines, offset: int) -> None:
        """Store the text and position of the first user message with text, in a block that begins at byte `offset`."""
        for number in of_kind(range(len(block.kinds)), block.kinds, USER):
            line = block.lines[number]
            text = joined_text(line)
            if text:
                self._first = text
                self._first_at = offset + sum(map(len, block.lines[:number])), len(line) - 1
                return

    def _note_other(self, index: int, entry: Any) -> None:
        """Store the model that a decoded entry names; store the entry's index if it records a checkout."""
        if entry.__class__ is OrdinaryModelChange:
            choice = self._choice(entry.provider, entry.modelId or entry.model, entry.role)
            if choice is not None:
                self._lineage.models[index] = choice
        elif entry.__class__ is OrdinaryCustom and is_move("custom", entry.customType):
            self._lineage.moves.add(index)

    @property
    def entries_read(self) -> int:
        """Number of entries read, including those before a `resume`."""
        return self._entries

    def _add_line(self, line: bytes, offset: int) -> int:
        self.add_block(LineBlock(offset, [line[:-1]]))
        return offset + len(line)

    def _take_message(self, envelope: Envelope, raw: bytes) -> None:
        self._messages += 1
        self._answered = self._answered or envelope.role == "assistant"
        if envelope.role not in ("user", "assistant", "developer") or not envelope.has_content:
            return
        if envelope.role != "developer":
            moment = envelope.message_ms
            if moment is None:
                stamp = envelope.timestamp
                moment = parse_time(stamp) if isinstance(stamp, str) else stamp
            # Times outside the range of JavaScript's dates are ignored. pi ignores them only in entries; if a message
            # has a time outside this range, pi shows a wrong date of the session.
            if moment is not None and is_time(moment):
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

    def _note_model(self, index: int, about: Envelope) -> None:
        model = self._model_of(about)
        if model is not None:
            self._lineage.models[index] = model

    def _model_of(self, about: Envelope) -> tuple[str, bool] | None:
        """Return the model that an entry names, and True if the entry is omp's `model_change`; None without a model."""
        if about.type == "model_change":
            return self._choice(about.provider, about.model, about.role)
        is_answer = about.role == "assistant" and about.type == "message" and about.model
        name = model_name(about.provider, about.model) if is_answer else None
        return (name, False) if name is not None else None

    def _note_mark(self, index: int, envelope: Envelope) -> None:
        if envelope.type == "label" and envelope.target_id is not None:
            if envelope.text:
                self._labels[envelope.target_id] = envelope.text, str(envelope.timestamp or "")
            else:
                self._labels.pop(envelope.target_id, None)
        elif is_move(envelope.type, envelope.custom_type):
            self._lineage.moves.add(index)

    def _choice(self, provider: str | None, model: str | None, role: str | None) -> tuple[str, bool] | None:
        if self._rules.agent == "omp":
            return (model, True) if model and role in (None, "", "default") else None
        name = model_name(provider, model)
        return (name, False) if name is not None else None


def milliseconds_of(nanoseconds: int, *, cut: bool) -> int:
    """Return a file time in milliseconds like JavaScript's `Stats.mtime`: rounded as in Node, or with `cut` as in Bun.

    Bun, in which omp runs, cuts off the fraction.
    """
    if cut:
        # Bun computes with floating-point numbers, which round a time less than about 0.1 microseconds before the next
        # millisecond up to that millisecond; this expression does the same.
        return int(nanoseconds // 1_000_000_000 * 1000 + nanoseconds % 1_000_000_000 / 1e6)
    return (nanoseconds + 500_000) // 1_000_000


def _created(header: Header) -> float | None:
    """Return the header's time in milliseconds; like JavaScript's `Date`, accept a date text or a number."""
    moment = header.extra.get("timestamp")
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return moment if is_time(moment) else None
    return parse_time(header.timestamp) if header.timestamp else None


def _slot_title(reader: Reader) -> str | None:
    """Return the title that omp's list shows: that of the title slot at the file's start, else that of the header."""
    if reader.slot is not None:
        return reader.slot.title if trim(reader.slot.title or "") else None
    header = reader.listed_header or reader.header
    return header.title or None if header is not None else None


def _short_summary(raw: bytes) -> str | None:
    """Return the short summary in a compaction's line, which omp's list shows for a session without a title."""
    found = (json_object(raw) or {}).get("shortSummary")
    return found if isinstance(found, str) else None


# ---- the status of a session, by its last message ----------------------------------------------------------------

STATUS_BYTES = 32 * 1024
"""Number of bytes at a file's end in which omp looks for the last message."""


def status_at_end(end: bytes) -> SessionStatus | None:
    """Return a session's status, given the last bytes of its file (at most `STATUS_BYTES`); None if unknown.

    The rule is that of omp's session list (18.2.3): the last complete message in the file decides, even on an inactive
    branch. pi, atomic and indusagi show no status in their lists, so omp's rule is used for their sessions too.
    """
    stop = len(end)
    while stop >= 0:
        start = end.rfind(b"\n", 0, stop) + 1
        line = end[start:stop]
        stop = start - 1
        # omp skips lines that do not begin with `{`. The first line may be one: `end`, the last bytes of the file, may
        # begin in the middle of a line.
        if not line.startswith(b"{"):
            continue
        try:
            said = _ordinary(decode_ordinary(line).message)
        except REFUSALS:
            said = _odd(line)
        if said is not None:
            return status_after(*said)
    return None


_Said = tuple[Json, Json, bool]
"""Three facts of a message: its role, its stop reason, and True if it calls tools."""


def _ordinary(message: OrdinaryUser | OrdinaryAnswer | OrdinaryResult | None) -> _Said | None:
    """Return role, stop reason and tool-call flag of a message that `decode_ordinary` decoded."""
    if message is None:
        return None
    blocks = message.content if isinstance(message, OrdinaryAnswer) and isinstance(message.content, list) else []
    return message.role, message.stopReason, "toolCall" in [block.type for block in blocks]


def _odd(line: bytes) -> _Said | None:
    """Return role, stop reason and tool-call flag of the message in any line; None if the line contains no message.

    The role is None if the message is no JSON object.
    """
    entry = json_object(line)
    if entry is None:
        return None
    is_said = entry.get("kind") == "entry" and entry.get("schema") == TRANSCRIPT_SCHEMA
    message = entry.get("message") if is_said or entry.get("type") == "message" else None
    if not isinstance(message, dict):
        # omp tests `if (message)`: in JavaScript an empty list counts as true, but null, 0 and "" count as false.
        return (None, None, False) if message or message == [] else None
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    has_calls = any(isinstance(block, dict) and block.get("type") == "toolCall" for block in blocks)
    return message.get("role"), message.get("stopReason"), has_calls


def status_after(role: Json, stop_reason: Json, has_calls: bool) -> SessionStatus | None:
    """Return the status of a session from its last message: role, stop reason, and True if the message calls tools."""
    if role == "assistant":
        return _AFTER_ANSWER.get(str(stop_reason)) or ("interrupted" if has_calls else "complete")
    return _AFTER_OTHERS.get(str(role))


_AFTER_ANSWER: dict[str, SessionStatus] = {"error": "error", "aborted": "aborted", "length": "interrupted"}
_AFTER_OTHERS: dict[str, SessionStatus] = {"toolResult": "interrupted", "user": "pending"}
