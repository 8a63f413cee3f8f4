"""Read lines as records: the title slot, the header and the entries of a file, and its problems.

The list and an opened session both read through `Reader`.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder

from msgspec import Struct

from sessionbrowse.format.codec import from_json
from sessionbrowse.format.entries import BadLine, Header, TitleSlot
from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.format.javascript import trim
from sessionbrowse.format.javascript_values import to_number
from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.model.session.omp_list_header import LISTED_BYTES, listed_header, text_field
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES, VERBATIM_STRATEGY, Rules

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MARGIN = b" \t\r\n" + BYTE_ORDER_MARK
"""The bytes that a line may contain before and after its record."""
MAX_PROBLEMS = 1000
CARRIAGE_RETURNS = "carriage returns where newlines belong"
"""The problem of lines that no program opens; their entries are shown all the same."""


_NOT_LISTED = (
    "does not list it: there is no session header",
    "does not list it: its first record is no session header",
    "does not list it: its header has no valid id",
)


class Problem(Struct, frozen=True):
    """Something wrong in a file: 1-based line, byte offset of that line, and a sentence for the user."""

    line: int
    offset: int
    reason: str


class Record(Struct, frozen=True, gc=False):
    """One entry line: its 1-based line, byte offset, size in bytes without newline, envelope and the bytes.

    `ordinal` is the number of the record among all that the program parsed, headers included, from 0; compactions of
    version 1 refer to it. `raw` is one record: the first of two fused on a line, the shortened one of a line that is
    too large.
    """

    line: int
    offset: int
    size: int
    ordinal: int
    envelope: Envelope
    raw: bytes


class ReaderProgress(Struct, frozen=True, array_like=True):
    """The state of a `Reader`, stored so that it can continue later. Problems are line, offset, reason."""

    lines: int
    records: int
    problem_count: int
    problems: list[tuple[int, int, str]]
    marks: list[str]
    refusal: str | None
    unlisted: str | None


class Reader:
    """Reads one file from its beginning, block by block; its attributes are complete when all blocks were read."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.header: Header | None = None
        self.header_line: bytes | None = None
        self.slot: TitleSlot | None = None
        self.slot_line: bytes | None = None
        self.transcript_heads: list[Json] = []
        self.is_transcript = False
        self.problems: list[Problem] = []
        self.problem_count = 0
        self.marks: set[str] = set()
        self.generation = 3
        """The format version: 1, 2 or 3. A newer version, one that is no number, and a missing header count as 3."""
        self.bytes_read = 0
        self.torn = False
        self.refusal: str | None = None
        """The reason why the program would not open the file: a sentence without its first word, the program's name."""
        self.unlisted: str | None = None
        """The reason why the program's own list does not show the file, worded like `refusal`."""
        self.listed_header: Header | None = None
        """The header that omp's list takes from a first line that is no sound header, from which omp opens no file."""
        self._start: str | None = None
        self._lines = 0
        self._records = 0
        self._first_record_seen = False
        self._has_skipped = False
        self._has_title = False

    @property
    def version(self) -> Json:
        """The file's own version; 1 when its header has none."""
        return 1 if self.header is None or self.header.version is None else self.header.version

    def read(self, block: LineBlock) -> Iterator[Record]:
        """Yield the entries of the next block."""
        offset = block.offset
        last = len(block.lines) - 1
        for number, raw in enumerate(block.lines):
            self._lines += 1
            size = block.reduced_from or len(raw)
            torn = block.torn and number == last
            self.torn = torn
            if self._start is None and self.rules.agent == "omp":
                self._note_start(raw, offset)
            envelope = read_envelope(raw)
            if isinstance(envelope, Envelope):
                record = self._place(envelope, raw, offset, size)
                if record is not None:
                    yield record
            elif raw and not raw.isspace():
                yield from self._rescued(raw, offset, size, torn)
            offset += size + (0 if torn else 1)
        self.bytes_read = offset

    def _rescued(self, line: bytes, offset: int, size: int, torn: bool) -> Iterator[Record]:
        """Yield the records that can be read from a line that is not JSON, and report the problem."""
        if self._lines == 1 and line.startswith(BYTE_ORDER_MARK):
            line = line[len(BYTE_ORDER_MARK) :]
            self._note_byte_order_mark()
        envelope = read_envelope(line)
        if isinstance(envelope, BadLine) and b"\r" in line.rstrip(b"\r"):
            yield from self._lines_split_at_returns(line, offset + size - len(line), torn)
            return
        record = self._record(line, offset, size, torn)
        if record is not None:
            yield record

    def _note_byte_order_mark(self) -> None:
        self.report(1, 0, "starts with a byte order mark")
        if not self.rules.accepts_byte_order_mark:
            self.refusal = "refuses this file: it starts with a byte order mark"
            # atomic's list reads with a decoder that drops the byte order mark.
            if self.rules.agent != "atomic":
                self.unlisted = "does not list it: it starts with a byte order mark"

    def _lines_split_at_returns(self, line: bytes, offset: int, torn: bool) -> Iterator[Record]:
        """Yield records of lines that end in lone carriage returns; programs list such files but cannot open them."""
        self.report(self._lines, offset, CARRIAGE_RETURNS)
        if self.header is None and self.rules.agent != "omp":
            verb = "would overwrite" if self.rules.overwrites_unreadable else "refuses"
            self.refusal = f"{verb} this file: its lines end in carriage returns"
        for part in line.split(b"\r"):
            if part and not part.isspace():
                record = self._record(part, offset, len(part), torn)
                if record is not None:
                    yield record
            offset += len(part) + 1

    def progress(self) -> ReaderProgress:
        """Return the state so far, without header, slot and transcript heads: a later reader reads those again."""
        problems = [(problem.line, problem.offset, problem.reason) for problem in self.problems]
        return ReaderProgress(
            self._lines, self._records, self.problem_count, problems, sorted(self.marks), self.refusal, self.unlisted
        )

    def resume(self, progress: ReaderProgress) -> None:
        """Continue from `progress`; call it after the lines up to the header were read again."""
        self._lines, self._records = progress.lines, progress.records
        self.problem_count = progress.problem_count
        self.problems = [Problem(*problem) for problem in progress.problems]
        self.marks = set(progress.marks)
        self.refusal, self.unlisted = progress.refusal, progress.unlisted
        self._first_record_seen = True

    @property
    def is_json(self) -> bool:
        """True if at least one line is a JSON value, be it an entry or not."""
        return self._records > 0 or self.is_transcript or self.slot is not None or self._has_skipped

    @property
    def lines_read(self) -> int:
        """Number of lines read, whatever their content."""
        return self._lines

    def skip_ordinary(self, lines: int) -> None:
        """Count lines that follow the header and that other code has decoded instead of this reader."""
        self._lines += lines
        self._records += lines

    def finish(self) -> None:
        """Check the file as a whole; call it after the last block."""
        agent = self.rules.agent
        if self.is_transcript:
            # indusagi ignores all lines above the transcript's first.
            self.refusal = self.unlisted = None
            return
        if self.header is None:
            if self.bytes_read == 0 or (agent == "omp" and self._records == 0 and not self.problems):
                # omp treats a blank file, or a file with only a title slot, as a session that has yet to begin.
                self.refusal = "would write a new session into this empty file"
            elif self.rules.overwrites_unreadable:
                self.refusal = "would overwrite this file: it has no session header"
            else:
                self.refusal = self.refusal or "refuses this file: it has no session header"
            self.unlisted = self.unlisted or _NOT_LISTED[0]
            self.report(1, 0, "the file is empty" if self.bytes_read == 0 else "no session header")
        elif self.header.id is None:
            self.refusal = (
                "would overwrite this file: its header has no id"
                if self.rules.overwrites_unreadable
                else "refuses this file: its header has no valid id"
            )
            if agent == "omp":
                self.unlisted = _NOT_LISTED[2]
        if self._start is not None and self.unlisted in _NOT_LISTED:
            self.listed_header = listed_header(self._start)
            if self.listed_header is not None:
                self.unlisted = None

    def _note_start(self, line: bytes, offset: int) -> None:
        """Keep the first line that is neither blank nor a title slot, as far as omp's list reads it."""
        text = line[: max(0, LISTED_BYTES - offset)].decode("utf-8", "replace").strip()
        if text and (self._has_title or text_field(text, "type") != "title"):
            self._start = text
        self._has_title |= bool(text)

    def report(self, line: int, offset: int, reason: str) -> None:
        """Add a problem; after `MAX_PROBLEMS` of them, further ones are only counted."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(line, offset, reason))

    def _record(self, line: bytes, offset: int, size: int, torn: bool) -> Record | None:
        envelope = read_envelope(line)
        if isinstance(envelope, BadLine):
            fused = first_of_fused(line) if self.rules.keeps_first_of_fused else None
            if fused is None:
                # pi may still be writing the last line, so an unfinished one is not called damaged.
                reason = "unfinished last line" if torn and envelope.reason.startswith("torn") else envelope.reason
                self.report(self._lines, offset, reason)
                return None
            self.report(self._lines, offset, "two records fused on one line; only the first counts")
            line = fused
            envelope = read_envelope(line)
            if isinstance(envelope, BadLine):
                return None
        return self._place(envelope, line, offset, size)

    def _skips(self, line: bytes) -> bool:
        """Tell whether the line is a value that is false in JavaScript: pi drops such lines, omp fails on null."""
        value = line.strip()
        return value == b"null" or (self.rules.agent != "omp" and value in (b"false", b"0", b'""', b"-0"))

    def _note_null(self, end: int) -> None:
        self.refusal = "fails on this file: it has a line that is only null"
        if self._is_listed(end):
            self.unlisted = self.refusal

    def _judge(self, envelope: Envelope, end: int) -> None:
        if envelope.fault in self.rules.hidden_by and self._is_listed(end):
            self.unlisted = self.unlisted or f"hides this file from its list: {envelope.problem}"
        if envelope.fault in self.rules.refused_for:
            self.refusal = self.refusal or f"fails on this file: {envelope.problem}"

    def _is_listed(self, end: int) -> bool:
        """Tell whether the program's list reads the file up to a line that ends at this offset."""
        return self.rules.listed_head_bytes is None or end <= self.rules.listed_head_bytes

    def _place(self, envelope: Envelope, line: bytes, offset: int, size: int) -> Record | None:
        if not line.isascii() and not is_utf8(line):
            self.report(self._lines, offset, "bytes that are not UTF-8")
        kind = envelope.type
        if kind == "" and envelope.problem is not None and self._skips(line):
            self._has_skipped = True
            self.report(self._lines, offset, f"skipped: {envelope.problem}")
            if self.rules.null_line_refused:
                self._note_null(offset + size)
            return None
        first = not self._first_record_seen
        self._first_record_seen = True
        ordinal = self._records
        if (first or self.is_transcript) and not self._belongs_to_transcript(envelope, line, offset):
            return None
        if kind == "title" and first and self._take_slot(line, offset):
            self._first_record_seen = False
            return None
        self._records += 1
        if kind == "session":
            if self.header is None:
                self._take_header(line, offset, first)
                return None
            if not self.rules.later_headers_are_entries:
                self.report(self._lines, offset, "a second session header; the first one counts")
                return None
            self.report(self._lines, offset, "a second session header, which omp keeps as an entry")
        elif first and not self.is_transcript:
            self._refuse_start(kind, line)
        if envelope.problem is not None:
            self.report(self._lines, offset, envelope.problem)
        if envelope.fault is not None:
            self._judge(envelope, offset + size)
        if self.generation >= 2 and kind != "session" and not self.is_transcript:
            if kind == "title":
                self.report(self._lines, offset, "a title slot where an entry belongs")
            elif envelope.id is None:
                self.report(self._lines, offset, "the entry has no id")
            if not envelope.parent_given:
                self.report(self._lines, offset, "the entry names no parent")
        if kind in OMP_ONLY_TYPES:
            self.marks.add("omp")
        elif kind in ATOMIC_ONLY_TYPES or (kind == "compaction" and envelope.text == VERBATIM_STRATEGY):
            self.marks.add("atomic")
        return Record(self._lines, offset, size, ordinal, envelope, line)

    def _belongs_to_transcript(self, envelope: Envelope, line: bytes, offset: int) -> bool:
        """Tell whether a line is an entry of a transcript; its head lines and lines of other schemas are not."""
        if envelope.schema is None:
            if self.is_transcript:
                self.report(self._lines, offset, "not of the transcript's schema: indusagi ignores it")
            return not self.is_transcript
        self.is_transcript = True
        if envelope.type == "head":
            self.transcript_heads.append(loads(line))
        return envelope.type != "head"

    def _take_slot(self, line: bytes, offset: int) -> bool:
        slot = from_json(loads(line))
        if self.slot is not None or not isinstance(slot, TitleSlot):
            return False
        self.slot, self.slot_line = slot, line
        self.marks.add("omp")
        verb = "would overwrite" if self.rules.overwrites_unreadable else "refuses"
        if not self.rules.reads_title_slot:
            self.refusal = f"{verb} this file: its first line is omp's title slot"
            self.unlisted = "does not list it: its first line is omp's title slot"
        elif self._lines != 1:
            self._refuse_slot(offset, "its title slot is not the first line")
        elif not _is_valid(slot):
            self._refuse_slot(offset, "its title slot is not valid")
        return True

    def _refuse_slot(self, offset: int, reason: str) -> None:
        self.refusal = f"refuses this file: {reason}"
        self.report(self._lines, offset, reason.removeprefix("its "))

    def _take_header(self, line: bytes, offset: int, first: bool) -> None:
        header = from_json(loads(line))
        assert isinstance(header, Header)
        self.header, self.header_line = header, line
        self.generation = _generation(self.version)
        if not first:
            self.report(self._lines, offset, "the session header is not the first record")
        if header.id is None:
            self.report(self._lines, offset, "the session header has no valid id")
        if header.cwd is None:
            self.report(self._lines, offset, "the session header names no directory")
            if self.rules.refuses_odd_cwd and "cwd" in header.extra:
                self.refusal = "fails on this file: the directory in its header is no text"
        if header.title_source is not None or header.additional_directories is not None:
            self.marks.add("omp")
        if is_workflow_stage(header):
            self.marks.add("atomic")

    def _refuse_start(self, kind: str, line: bytes) -> None:
        verb = "would overwrite" if self.rules.overwrites_unreadable else "refuses"
        if kind == "" and b'"kind":"header"' in line and b'"v":4' in line:
            self.refusal = f"{verb} this file: it is of pi-agent-core's version 4"
        else:
            self.refusal = f"{verb} this file: its first record is no session header"
        self.unlisted = _NOT_LISTED[1]


def is_workflow_stage(header: Header) -> bool:
    """Tell whether atomic hides the session: its header is marked as internal and has the three names of a workflow."""
    if header.internal is not True or header.workflow is None:
        return False
    names = [header.workflow.get(key) for key in ("runId", "stageId", "stageName")]
    return all(isinstance(name, str) and trim(name) for name in names)


def _is_valid(slot: TitleSlot) -> bool:
    """Tell whether omp's loader accepts the title slot; its list accepts every first line of this type."""
    has_texts = None not in (slot.title, slot.updated_at, slot.pad)
    return slot.v == 1 and has_texts and slot.source in (None, "auto", "user") and "source" not in slot.extra


def _generation(version: Json) -> int:
    number = to_number(version)
    return 1 if number < 2 else 2 if number < 3 else 3


def is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def first_of_fused(line: bytes) -> bytes | None:
    """Return the first of two records on one line, None if it is not a record."""
    try:
        text = line.decode("utf-8", "replace")
        _, end = JSONDecoder().raw_decode(text)
    except (JSONDecodeError, RecursionError):
        return None
    first = text[:end].encode("utf-8", "replace")
    try:
        loads(first)
    except BadJson:
        return None
    return first
