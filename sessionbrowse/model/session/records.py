"""Read the lines of a session file: title slot, header and entries; and collect the file's problems.

The session list and an opened session both use `Reader`. A record is the JSON value of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder

from msgspec import Struct

from sessionbrowse.format.codec import from_json
from sessionbrowse.format.entries import BadLine, Header, TitleSlot
from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.format.json_value import BadJson, Json, loads, to_number, trim
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.title_slot import is_slot
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, OMP_ONLY_TYPES, ONLY, VERBATIM_STRATEGY, Rules

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MARGIN = b" \t\r\n" + BYTE_ORDER_MARK
"""The bytes that are stripped from both ends of a line before its JSON value is read: blanks and byte order marks."""
MAX_PROBLEMS = 1000
CARRIAGE_RETURNS = "carriage returns end the lines in place of newlines"
"""The text of the problem in files with carriage returns as line ends: no agent program opens such files.

sessionbrowse shows the entries of these files nevertheless.
"""


_NOT_LISTED = (
    "does not list this file: there is no session header",
    "does not list this file: its first record is no session header",
    "does not list this file: its header has no valid id",
)


class Problem(Struct, frozen=True):
    """A mistake in a session file: the 1-based line, the byte offset of the line, and a sentence for the user."""

    line: int
    offset: int
    reason: str


class Record(Struct, frozen=True, gc=False):
    """One entry of a file: its 1-based line, byte offset, size in bytes without newline, envelope, and JSON bytes.

    `ordinal` is the 0-based position of the entry among those lines of the file that the agent program keeps, headers
    included; compactions of format version 1 refer to it. `raw` is a single JSON value: only the first one if a line
    has two, and shortened if the line is too large.
    """

    line: int
    offset: int
    size: int
    ordinal: int
    envelope: Envelope
    raw: bytes


class ReaderState(Struct, frozen=True, array_like=True):
    """The state of a `Reader`, from which a later reader can resume after the file has grown.

    `problems` are tuples of line, offset and reason.
    """

    lines: int
    records: int
    problem_count: int
    problems: list[tuple[int, int, str]]
    marks: list[str]
    refusal: str | None
    unlisted: str | None


class Reader:
    """Reads one session file from its beginning; each call of `read` takes the next lines.

    The attributes, such as header and problems, are complete after the last line and a call of `finish`.
    """

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
        """The format version of the file: 1, 2 or 3; also 3 for newer or invalid versions and without a header."""
        self.bytes_read = 0
        self.torn = False
        self.refusal: str | None = None
        """Why the agent program cannot open the file: a sentence without the program's name ("refuses this file …")."""
        self.unlisted: str | None = None
        """Why the agent program's session list omits the file: a sentence without the program's name."""
        self.listed_header: Header | None = None
        """The header that omp's session list reads from a broken first line; omp cannot open such a file."""
        self._start: str | None = None
        self._lines = 0
        self._records = 0
        self._first_record_seen = False
        self._has_skipped = False
        self._has_title = False

    @property
    def version(self) -> Json:
        """The version in the file's header; 1 if the header or its version is missing."""
        return 1 if self.header is None or self.header.version is None else self.header.version

    def read(self, block: LineBlock) -> Iterator[Record]:
        """Read `block`, the next lines of the file, and yield the entries in these lines."""
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
                if block.reduced_from:
                    self.report(self._lines, offset, f"a line of {size:,} bytes, of which only the beginning is read")
                record = self._place(envelope, raw, offset, size)
                if record is not None:
                    yield record
            elif raw and not raw.isspace():
                yield from self._rescued(raw, offset, size, torn)
            offset += size + (0 if torn else 1)
        self.bytes_read = offset

    def _rescued(self, line: bytes, offset: int, size: int, torn: bool) -> Iterator[Record]:
        """Yield the entries that can be recovered from a line that is not JSON, and report the problem."""
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
            # atomic's session list shows such a file, because its decoder drops the byte order mark.
            if self.rules.agent != "atomic":
                self.unlisted = "does not list this file: it starts with a byte order mark"

    def _lines_split_at_returns(self, line: bytes, offset: int, torn: bool) -> Iterator[Record]:
        """Yield the entries of a text whose lines end in carriage returns without newlines, and report the problem.

        The agent programs list such files, but cannot open them.
        """
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

    def state(self) -> ReaderState:
        """Return the state of the reader, so that a later reader can `resume` from it.

        The state excludes the header, the title slot, and a transcript's lines of kind "head": the later reader must
        read these lines again.
        """
        problems = [(problem.line, problem.offset, problem.reason) for problem in self.problems]
        return ReaderState(
            self._lines, self._records, self.problem_count, problems, sorted(self.marks), self.refusal, self.unlisted
        )

    def resume(self, state: ReaderState) -> None:
        """Restore the state of an earlier reader; call this after reading the lines up to the header again."""
        self._lines, self._records = state.lines, state.records
        self.problem_count = state.problem_count
        self.problems = [Problem(*problem) for problem in state.problems]
        self.marks = set(state.marks)
        self.refusal, self.unlisted = state.refusal, state.unlisted
        self._first_record_seen = True

    @property
    def is_json(self) -> bool:
        """True if at least one line of the file is a JSON value, even if it is not an entry."""
        return self._records > 0 or self.is_transcript or self.slot is not None or self._has_skipped

    def skip_ordinary(self, lines: int) -> None:
        """Count the next `lines` lines of the file as read; the caller has decoded them with `decode_ordinary`."""
        self._lines += lines
        self._records += lines

    def finish(self) -> None:
        """Check the file for problems such as a missing header; call this after the last line was read."""
        agent = self.rules.agent
        if self.is_transcript:
            # indusagi ignores lines before the first valid line of a transcript, so a damaged first line is no error.
            self.refusal = self.unlisted = None
            return
        if self.header is None:
            if self.bytes_read == 0 or (agent == "omp" and self._records == 0 and not self.problems):
                # omp treats a blank file, or a file with only a title slot, as a new session without entries.
                self.refusal = "would write a new session into this empty file"
            elif self.rules.overwrites_unreadable:
                self.refusal = "would overwrite this file: it has no session header"
            else:
                self.refusal = self.refusal or "refuses this file: it has no session header"
            self.unlisted = self.unlisted or _NOT_LISTED[0]
            other = self.rules.only_read
            missing = "session header" if other is None else f"session of {other}: no line is a record of one"
            self.report(1, 0, "the file is empty" if self.bytes_read == 0 else f"no {missing}")
            if other is not None:
                # Its files have no header, and which of them it lists is not published.
                self.refusal = self.unlisted = None
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
        """Store the first line that is neither blank nor a title slot, cut where omp's session list stops reading."""
        text = line[: max(0, LISTED_BYTES - offset)].decode("utf-8", "replace").strip()
        if text and (self._has_title or text_field(text, "type") != "title"):
            self._start = text
        self._has_title |= bool(text)

    def report(self, line: int, offset: int, reason: str) -> None:
        """Add a problem to `problems`; beyond `MAX_PROBLEMS`, problems are only counted."""
        self.problem_count += 1
        line, offset = self._own_place(line, offset)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(line, offset, reason))

    def _own_place(self, line: int, offset: int) -> tuple[int, int]:
        """Return the place of a line in the session's own file, if the line that was read is of a translation."""
        places = (self.header.places if self.header is not None and self.rules.only_read else None) or []
        at = len(places) - 1 if self.torn else line - 2  # The lines without a record follow the header.
        return (places[at][0], places[at][1]) if 0 <= at < len(places) else (line, offset)

    def _record(self, line: bytes, offset: int, size: int, torn: bool) -> Record | None:
        envelope = read_envelope(line)
        if isinstance(envelope, BadLine):
            fused = first_of_fused(line) if self.rules.keeps_first_of_fused else None
            if fused is None:
                # pi may still be writing the last line, so an unfinished last line is not reported as damage.
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
        """Return True if the line is a JSON value such as null or 0, which pi skips because it is false in JavaScript.

        omp fails to open a file with a line that is null, and keeps the other values as entries.
        """
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
        """Return True if the agent program's session list reads the line that ends at the offset `end`."""
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
        """Return False for a transcript's lines that are no entries: lines of kind "head" and lines of other formats.

        Detects the transcript format and stores lines of kind "head". In files of other formats the result is True.
        """
        if envelope.schema is None:
            if self.is_transcript:
                self.report(self._lines, offset, "the line does not belong to the transcript: indusagi ignores it")
            return not self.is_transcript
        self.is_transcript = True
        if envelope.type == "head":
            self.transcript_heads.append(loads(line))
        return envelope.type != "head"

    def _take_slot(self, line: bytes, offset: int) -> bool:
        value = loads(line)
        slot = from_json(value)
        if self.slot is not None or not isinstance(slot, TitleSlot):
            return False
        self.slot, self.slot_line = slot, line
        self.marks |= {"omp", f"{ONLY}omp"}
        verb = "would overwrite" if self.rules.overwrites_unreadable else "refuses"
        if not self.rules.reads_title_slot:
            self.refusal = f"{verb} this file: its first line is omp's title slot"
            self.unlisted = "does not list this file: its first line is omp's title slot"
        elif self._lines != 1:
            self._refuse_slot(offset, "its title slot is not the first line")
        elif not is_slot(value):
            self._refuse_slot(offset, "its title slot is not valid")
        return True

    def _refuse_slot(self, offset: int, reason: str) -> None:
        self.refusal = f"refuses this file: {reason}"
        self.report(self._lines, offset, reason.removeprefix("its "))

    def _take_header(self, line: bytes, offset: int, first: bool) -> None:
        header = from_json(loads(line))
        assert isinstance(header, Header)
        self.header, self.header_line = header, line
        self.generation = generation_of(self.version)
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
            self.refusal = f"{verb} this file: it has pi-agent-core's format version 4"
        else:
            self.refusal = f"{verb} this file: its first record is no session header"
        self.unlisted = _NOT_LISTED[1]


def is_workflow_stage(header: Header) -> bool:
    """Return True if atomic hides the session, because its header marks it as an internal stage of a workflow."""
    if header.internal is not True or header.workflow is None:
        return False
    names = [header.workflow.get(key) for key in ("runId", "stageId", "stageName")]
    return all(isinstance(name, str) and trim(name) for name in names)


def generation_of(version: Json) -> int:
    """Return a format version as 1, 2 or 3. Newer and invalid versions count as 3, as in the agent programs."""
    number = to_number(version)
    return 1 if number < 2 else 2 if number < 3 else 3


def is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def first_of_fused(line: bytes) -> bytes | None:
    """Return the first JSON value of a line with several values, e.g. two fused entries; None if it is not valid."""
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


LISTED_BYTES = 4096
"""Number of bytes that omp's session list reads at the beginning of a file."""

_TEXT = re.compile(r'[ \t\n\r]*"((?:[^"\\]|\\.)*)', re.DOTALL)


def listed_header(line: str) -> Header | None:
    """Return the header that omp 18.2.3 shows in its session list for a broken first line.

    Return None if omp does not list the file.
    """
    header_id = text_field(line, "id")
    if text_field(line, "type") != "session" or not header_id:
        return None
    return Header(
        id=header_id,
        cwd=text_field(line, "cwd"),
        title=text_field(line, "title"),
        parent_session=text_field(line, "parentSession"),
        timestamp=text_field(line, "timestamp"),
    )


def text_field(line: str, name: str) -> str | None:
    """Return the string after the first occurrence of a JSON key in a broken line, even if the string is cut off.

    Return None if the key is missing or its value is no string.
    """
    key = line.find(f'"{name}"')
    colon = line.find(":", key + len(name) + 2) if key >= 0 else -1
    found = _TEXT.match(line, colon + 1) if colon >= 0 else None
    if found is None:
        return None
    try:
        return str(loads(f'"{found[1]}"'.encode("utf-8", "surrogatepass")))
    except BadJson:
        plain = found[1].replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t")
        return plain.replace('\\"', '"').replace("\\\\", "\\")


CONVERSION_KEY = "sessionbrowse"
"""The key in headers and entries under which a conversion stores its own data, such as the source session."""


def origin_of(header: Header) -> dict[str, Json] | None:
    """Return the `agent`, `id` and `path` of the session from which a conversion made this one; None for others."""
    mark = header.extra.get(CONVERSION_KEY)
    origin = mark.get("origin") if isinstance(mark, dict) else None
    return origin if isinstance(origin, dict) else None


def parent_of(header: Header) -> str | None:
    """Return the path or id of the parent session that a header names; None if it names none.

    For a converted session without a parent, this is the path of the session from which it was converted.
    """
    path = (origin_of(header) or {}).get("path")
    return header.parent_session or (path if isinstance(path, str) else None)
