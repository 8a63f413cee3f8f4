"""From lines to records: which line is the slot, the header, an entry, and what is wrong with the file.

Both the list, which keeps nothing, and a session, which keeps envelopes, read through here.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder

from msgspec import Struct

from sessionbrowse.format.codec import BadJson, from_json, loads
from sessionbrowse.format.entries import BadLine, Header, Json, TitleSlot
from sessionbrowse.format.envelope import CONTENT_NULL, Envelope, read_envelope
from sessionbrowse.format.javascript import trim
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.model.rules import Rules

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_PROBLEMS = 1000
_OMP_ONLY_TYPES = frozenset(
    {
        "service_tier_change",
        "mode_change",
        "reset_boundary",
        "title_change",
        "session_init",
        "ttsr_injection",
        "credential_pin",
        "model_usage",
        "mcp_tool_selection",
    }
)


class Problem(Struct, frozen=True):
    """Something wrong in a file: 1-based line, byte offset of that line, and a sentence for the user."""

    line: int
    offset: int
    reason: str


class Record(Struct, frozen=True, gc=False):
    """One entry line: its 1-based line, byte offset, size in bytes without newline, envelope and the bytes.

    `ordinal` counts the records the program parsed, headers included, from 0: v1 compactions point with it.
    """

    line: int
    offset: int
    size: int
    ordinal: int
    envelope: Envelope
    raw: bytes


class Reader:
    """Reads one file from its beginning, block by block; its attributes are complete when all blocks were read."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.header: Header | None = None
        self.header_line: bytes | None = None
        self.header_offset = 0
        self.slot: TitleSlot | None = None
        self.slot_line: bytes | None = None
        self.transcript_heads: list[Json] = []
        self.is_transcript = False
        self.problems: list[Problem] = []
        self.problem_count = 0
        self.marks: set[str] = set()
        self.bytes_read = 0
        self.torn = False
        self.refusal: str | None = None
        """Why the program itself would not open the file, as the end of a sentence that begins with its name."""
        self.unlisted: str | None = None
        """Why the program's own list does not show the file, likewise."""
        self._lines = 0
        self._records = 0
        self._first_record_seen = False

    @property
    def version(self) -> Json:
        """The file's own version; 1 when its header has none."""
        return 1 if self.header is None or self.header.version is None else self.header.version

    @property
    def generation(self) -> int:
        """The version as the programs compare it: 1, 2, or 3 for everything newer or not a number."""
        if self.is_transcript:
            return 3  # no header, and its nodes bring their ids and parents
        try:
            number = float(self.version)
        except (TypeError, ValueError):
            return 3
        return 1 if number < 2 else 2 if number < 3 else 3

    def read(self, block: LineBlock) -> Iterator[Record]:
        """Yield the entries of the next block."""
        offset = block.offset
        last = len(block.lines) - 1
        for number, raw in enumerate(block.lines):
            self._lines += 1
            size = block.reduced_from or len(raw)
            torn = block.torn and number == last
            self.torn = torn
            line = raw[:-1] if raw.endswith(b"\r") else raw
            if line and not line.isspace():
                if b"\r" in line and isinstance(read_envelope(line), BadLine):
                    yield from self._lines_split_at_returns(line, offset, torn)
                else:
                    record = self._record(line, raw, offset, size, torn)
                    if record is not None:
                        yield record
            offset += size + (0 if torn else 1)
        self.bytes_read = offset

    def _lines_split_at_returns(self, line: bytes, offset: int, torn: bool) -> Iterator[Record]:
        """A file whose lines end in lone carriage returns: the programs' lists read it, their openings do not."""
        self.report(self._lines, offset, "carriage returns where newlines belong")
        if self.header is None and self.rules.agent != "omp":
            verb = "would overwrite" if self.rules.overwrites_unreadable else "refuses"
            self.refusal = f"{verb} this file: its lines end in carriage returns"
        for part in line.split(b"\r"):
            if part and not part.isspace():
                record = self._record(part, part, offset, len(part), torn)
                if record is not None:
                    yield record
            offset += len(part) + 1

    def finish(self) -> None:
        """Judge the file as a whole; call it after the last block."""
        agent = self.rules.agent
        if self.is_transcript:
            return
        if self.header is None:
            if self.bytes_read == 0 or (agent == "omp" and self._records == 0 and not self.problems):
                # omp takes a blank file, or one that holds only a slot, for a session that has yet to begin.
                self.refusal = "would write a new session into this empty file"
            elif self.rules.overwrites_unreadable:
                self.refusal = "would overwrite this file: it has no session header"
            else:
                self.refusal = self.refusal or "refuses this file: it has no session header"
            self.unlisted = self.unlisted or "does not list it: there is no session header"
            self.report(1, 0, "the file is empty" if self.bytes_read == 0 else "no session header")
        elif self.header.id is None:
            self.refusal = (
                "would overwrite this file: its header has no id"
                if self.rules.overwrites_unreadable
                else "refuses this file: its header has no text id"
            )
            if agent == "omp":
                self.unlisted = "does not list it: its header has no text id"

    def report(self, line: int, offset: int, reason: str) -> None:
        """Note a problem; beyond a limit problems are only counted."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(line, offset, reason))

    def _record(self, line: bytes, raw: bytes, offset: int, size: int, torn: bool) -> Record | None:
        if self._lines == 1 and line.startswith(BYTE_ORDER_MARK):
            self.report(1, 0, "starts with a byte order mark")
            line = line[3:]
            if not self.rules.accepts_byte_order_mark:
                self.refusal = "refuses this file: it starts with a byte order mark"
                # atomic's list reads through a decoder that drops the mark (fact sheet, section c).
                if self.rules.agent != "atomic":
                    self.unlisted = "does not list it: it starts with a byte order mark"
        value = read_envelope(line)
        if isinstance(value, BadLine):
            fused = first_of_fused(line) if self.rules.keeps_first_of_fused else None
            if fused is None:
                # pi may still be writing: an unfinished last line is not damage that anybody made.
                reason = "unfinished last line" if torn and value.reason.startswith("torn") else value.reason
                self.report(self._lines, offset, reason)
                return None
            self.report(self._lines, offset, "two records fused on one line; only the first counts")
            line = fused
            value = read_envelope(line)
            if isinstance(value, BadLine):
                return None
        if b"\xef\xbf\xbd" not in line and not _is_utf8(line):
            self.report(self._lines, offset, "bytes that are not UTF-8")
        if value.problem is not None and value.type == "" and value.id is None and self._skips(line):
            self.report(self._lines, offset, f"skipped: {value.problem}")
            return None
        return self._place(value, line, raw, offset, size)

    def _skips(self, line: bytes) -> bool:
        """Tell whether the line is a value that JavaScript takes for false: pi drops those, omp fails on null."""
        falsy = line.strip() in (b"null", b"false", b"0", b'""', b"-0")
        if falsy and line.strip() == b"null" and self.rules.null_line_refused:
            self.refusal = self.unlisted = "fails on this file: it has a line that is only null"
        return falsy and (self.rules.agent != "omp" or line.strip() == b"null")

    def _place(self, envelope: Envelope, line: bytes, raw: bytes, offset: int, size: int) -> Record | None:
        first = not self._first_record_seen
        self._first_record_seen = True
        ordinal = self._records
        kind = envelope.type
        if kind == "head" and _is_transcript_line(line):
            self.is_transcript = True
            self.transcript_heads.append(loads(line))
            return None
        if first and kind == "message" and _is_transcript_line(line):
            self.is_transcript = True
        if kind == "title" and first and self._take_slot(line):
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
            if self.rules.odd_message_hides_file and _hides(envelope.problem):
                self.unlisted = self.unlisted or f"hides this file from its list: {envelope.problem}"
        if self.generation >= 2 and kind != "session":
            if envelope.id is None:
                self.report(self._lines, offset, "the entry has no id")
            if not envelope.parent_given and not self.is_transcript:
                self.report(self._lines, offset, "the entry names no parent")
        if kind in _OMP_ONLY_TYPES:
            self.marks.add("omp")
        elif kind == "session_summary" or (kind == "compaction" and envelope.text == "verbatim-lines"):
            self.marks.add("atomic")
        return Record(self._lines, offset, size, ordinal, envelope, raw)

    def _take_slot(self, line: bytes) -> bool:
        value = loads(line)
        slot = from_json(value)
        if self.slot is not None or not isinstance(slot, TitleSlot):
            return False
        self.slot, self.slot_line = slot, line
        self.marks.add("omp")
        if not self.rules.reads_title_slot:
            self.refusal = "refuses this file: its first line is omp's title slot"
            self.unlisted = "does not list it: its first line is omp's title slot"
        elif self._lines != 1:
            self.refusal = "refuses this file: its title slot is not the first line"
        elif None in (slot.title, slot.updated_at, slot.pad) or slot.source not in (None, "auto", "user"):
            self.refusal = "refuses this file: its title slot is not valid"
        return True

    def _take_header(self, line: bytes, offset: int, first: bool) -> None:
        header = from_json(loads(line))
        assert isinstance(header, Header)
        self.header, self.header_line, self.header_offset = header, line, offset
        if not first:
            self.report(self._lines, offset, "the session header is not the first record")
        if header.id is None:
            self.report(self._lines, offset, "the session header has no text id")
        if header.cwd is None:
            self.report(self._lines, offset, "the session header names no directory")
        if is_workflow_stage(header):
            self.marks.add("atomic")

    def _refuse_start(self, kind: str, line: bytes) -> None:
        verb = "would overwrite" if self.rules.overwrites_unreadable else "refuses"
        if kind == "" and b'"kind":"header"' in line and b'"v":4' in line:
            self.refusal = f"{verb} this file: it is of pi-agent-core's version 4"
        else:
            self.refusal = f"{verb} this file: its first record is no session header"
        self.unlisted = "does not list it: its first record is no session header"


def is_workflow_stage(header: Header) -> bool:
    """Tell whether atomic hides the session: it is internal and all three names of its workflow are filled."""
    if header.internal is not True or header.workflow is None:
        return False
    names = [header.workflow.get(key) for key in ("runId", "stageId", "stageName")]
    return all(isinstance(name, str) and trim(name) for name in names)


def _hides(problem: str) -> bool:
    """Tell whether pi's list fails on such a message and drops the whole file (fact sheet of pi, section c)."""
    return problem in _HIDING


_HIDING = frozenset(
    {
        CONTENT_NULL,
        "the message is missing",
        "the content is a number",
        "the content is a boolean",
        "the content is a object",
        "a content block is null",
        "name is a number",
        "name is a boolean",
        "name is a object",
        "name is a array",
    }
)


def _is_transcript_line(line: bytes) -> bool:
    return b'"indus/transcript@1"' in line


def _is_utf8(line: bytes) -> bool:
    if line.isascii():
        return True
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def first_of_fused(line: bytes) -> bytes | None:
    """Return the first of two records that stand on one line, None if it is no record."""
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
