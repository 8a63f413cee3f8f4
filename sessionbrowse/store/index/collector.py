"""Collect the entries, the summary and the texts of one session file for the index."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import msgspec

from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.ordinary_line import decode_ordinary, decode_with_tools
from sessionbrowse.model.listing.bulk_lines import ANSWER, OTHER, RESULT, DecodedLines, of_kind
from sessionbrowse.model.listing.summary import SummaryProgress
from sessionbrowse.model.listing.summary_builder import SummaryBuilder
from sessionbrowse.model.search.entry_text import may_have_text, message_text, strings_in, tool_text
from sessionbrowse.model.session.columns import Columns
from sessionbrowse.model.session.records import Reader, ReaderProgress, Record
from sessionbrowse.model.usage.request import FileRequests
from sessionbrowse.model.usage.request_reader import RequestReader

TakeText = Callable[[int, str, str], None]
"""Callback for an entry's number, message text and tool text (of tool calls and results); each text may be empty."""


class Collector(SummaryBuilder):
    """A summary builder that also collects the file's entries and passes the text of each entry to a callback."""

    def __init__(self, reader: Reader, take_text: TakeText, *, tools: bool) -> None:
        super().__init__(reader)
        self.columns = Columns()
        """The entries collected from the file; if `resume` has continued an earlier reading, only the new entries."""
        self.end = 0
        """Byte offset of the end of the last complete line (with a newline) that was read."""
        self.resumable: tuple[ReaderProgress, SummaryProgress] | None = None
        """State of line reader and summary at the offset `end`; None if a later reading cannot resume from there."""
        self.decode = decode_with_tools if tools else decode_ordinary
        self.requests = RequestReader()
        self._take_text = take_text
        self._tools = tools
        self._closed = False

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Collect the entries of lines that end with a newline; `offset` is the byte offset of the first line."""
        super().add_lines(lines, offset)
        self.end = self._reader.bytes_read

    def add_block(self, block: LineBlock) -> None:
        """Collect the entries of lines that must be parsed completely, such as very long lines.

        If the file's last line has no newline, its entry is not collected: it may still be incomplete. It only counts
        for the summary and the model requests.
        """
        if block.torn:
            self.close()
        super().add_block(block)
        if not self._closed:
            self.end = self._reader.bytes_read

    def close(self) -> None:
        """Save the reading state at the end of the last complete line; an unfinished line may follow."""
        if self._closed:
            return
        self._closed = True
        reader = self._reader
        if reader.header is not None and not reader.is_transcript and reader.generation >= 2:
            self.resumable = reader.progress(), self.progress()

    def add_ordinary(self, block: DecodedLines, offset: int) -> None:
        """Collect the entries of ordinary lines, which `decode` has decoded, and pass their texts to the callback."""
        index = self.entries_read
        super().add_ordinary(block, offset)
        lines, kinds = block.lines, block.kinds
        self.requests.add_ordinary(index, block.entries, kinds, ANSWER, OTHER)
        others: dict[int, Envelope] = {}
        for number in of_kind(range(len(kinds)), kinds, OTHER):
            envelope = read_envelope(lines[number])
            # `self.decode` has already decoded this line without an error, so the line is an entry.
            assert isinstance(envelope, Envelope)
            others[number] = envelope
        sizes = array("q", [size - 1 for size in map(len, lines)])
        starts = array("q", accumulate(map(len, lines[:-1]), initial=offset))
        first_line = self._reader.lines_read - len(lines) + 1
        self.columns.add_ordinary(block.entries, sizes, first_line, starts, others)
        self._hand_on(block.messages, kinds, index)

    def add(self, record: Record) -> None:
        """Collect an entry whose line was parsed completely, and pass its text to the callback."""
        index = self.entries_read
        super().add(record)
        self.requests.add(index, record.envelope, record.raw)
        if self._closed:
            return
        self.columns.add(record.envelope, record.line, record.offset, record.size)
        if not may_have_text(record.envelope.type, record.raw):
            return
        try:
            value: Json = loads(record.raw)
        except BadJson:
            # A damaged line can contain two entries, of which omp keeps the first. That entry is indexed without its
            # text, because the line cannot be parsed as one JSON value.
            return
        said = message_text(value)
        tools = tool_text(value) if self._tools else ""
        if said or tools:
            self._take_text(index, said, tools)

    def usage(self, leaf: int | None = None) -> FileRequests:
        """Return the model requests of the file once it is read; if `leaf` is None, the last entry is the leaf."""
        return self.requests.finish(self.tree, leaf)

    def _hand_on(self, messages: list[Any], kinds: bytes, index: int) -> None:
        take_text, tools = self._take_text, self._tools
        for message, kind in zip(messages, kinds, strict=True):
            if kind == RESULT:
                if tools:
                    take_text(index, "", _joined([message.toolName, _text_of(message.content)]))
            elif kind != OTHER:
                said = _text_of(message.content)
                called = _calls_of(message.content) if tools and kind == ANSWER else ""
                if said or called:
                    take_text(index, said, called)
            index += 1


def _text_of(content: Any) -> str:
    if content.__class__ is str:
        return content
    return "\n".join([block.text for block in content if block.type == "text" and block.text])


def _calls_of(content: Any) -> str:
    if isinstance(content, str):
        return ""
    calls = [block for block in content if block.type == "toolCall"]
    return _joined([text for call in calls for text in (call.name, _arguments(call.arguments))])


def _arguments(raw: msgspec.Raw) -> str:
    try:
        return strings_in(loads(bytes(raw)))
    except BadJson:
        return ""


def _joined(texts: list[str | None]) -> str:
    return "\n".join([text for text in texts if text])
