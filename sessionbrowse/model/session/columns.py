"""A session's entries as columns: one list for each fact that all entries need. Other facts are read when needed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from sessionbrowse.format.envelope import Envelope, is_more_than_dots
from sessionbrowse.format.javascript import trim

Time = str | float | None
"""A timestamp as written in the file: ISO 8601, rarely milliseconds."""


class Kind(Struct, frozen=True, gc=False, array_like=True):
    """The facts that many entries of a session share; the fields are those of `Envelope`."""

    type: str = ""
    role: str = ""
    custom_type: str = ""
    provider: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    has_text: bool = False
    has_words: bool = False


class Kinds:
    """The distinct kinds of a session's entries; the code of an entry is the position of its kind."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self.all: list[Kind] = list(kinds)
        self._codes = {kind: code for code, kind in enumerate(self.all)}

    def code(self, kind: Kind) -> int:
        """Return the code of a kind; a new kind gets a new code."""
        known = self._codes.get(kind)
        if known is None:
            known = self._codes[kind] = len(self.all)
            self.all.append(kind)
        return known


class _Heard(dict[str, int]):
    """Maps a role to the code in `Kinds` of its messages; not for answers, whose kinds differ in more than the role."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    def __missing__(self, role: str) -> int:
        code = self[role] = self._kinds.code(Kind("message", role))
        return code


class Columns:
    """Consecutive entries in file order. `lines` are 1-based; `offsets` and `sizes` are bytes of the file.

    `kept` has, by index, the envelopes of entries that are no ordinary messages. `times` has all timestamps or none;
    `some_times` has those that are known without reading the file. `calls` are the ids of tool calls.
    """

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self.ids: list[str | None] = []
        self.parent_ids: list[str | None] = []
        self.kinds = Kinds(kinds)
        self.codes: array[int] = array("I")
        self.lines: array[int] = array("q")
        self.offsets: array[int] = array("q")
        self.sizes: array[int] = array("q")
        self.kept: dict[int, Envelope] = {}
        self.times: list[Time] = []
        self.some_times: dict[int, Time] = {}
        self.calls: list[str] = []
        self._calls_repeat: bool | None = None
        self._has_calls = False
        self._heard = _Heard(self.kinds)
        self._answers: dict[tuple[str | None, str | None, str | None, bool, bool], int] = {}

    def __len__(self) -> int:
        return len(self.sizes)

    def add(self, envelope: Envelope, line: int, offset: int, size: int) -> None:
        """Add one entry, given as its envelope (see `Envelope`) with its position in the file."""
        self.kept[len(self.sizes)] = envelope
        self.ids.append(envelope.id)
        self.parent_ids.append(envelope.parent_id)
        self.codes.append(self.kinds.code(kind_of(envelope)))
        self.lines.append(line)
        self.offsets.append(offset)
        self.sizes.append(size)
        self.times.append(envelope.timestamp)
        self.calls += envelope.tool_calls

    def add_ordinary(
        self,
        entries: Sequence[Any],
        sizes: array[int],
        line: int,
        offsets: array[int],
        others: Mapping[int, Envelope],
    ) -> None:
        """Add consecutive ordinary messages, decoded by `ordinary_line`.

        `sizes` and `offsets` are those of the entries' lines; `line` is the number of the first line in the file. An
        entry among them that is no ordinary message has a placeholder in `entries`, and its envelope in `others`, which
        maps positions in `entries`, ascending, to envelopes.
        """
        first = len(self.sizes)
        self.ids += [entry.id for entry in entries]
        self.parent_ids += [entry.parentId for entry in entries]
        self.times += [entry.timestamp for entry in entries]
        self.offsets.extend(offsets)
        self.sizes.extend(sizes)
        self.lines.extend(array("q", list(range(line, line + len(sizes)))))
        begin = 0
        for number, envelope in others.items():
            self._add_codes(entries[begin:number])
            self._add_other(first + number, envelope)
            begin = number + 1
        self._add_codes(entries[begin:] if begin else entries)

    def known_times(self, shift: int = 0) -> Iterator[tuple[int, Time]]:
        """Yield the timestamps that are known without reading the file, each with its entry's index plus `shift`."""
        known = enumerate(self.times) if self.times else self.some_times.items()
        return ((index + shift, time) for index, time in known)

    @property
    def has_calls(self) -> bool:
        """True if an entry has tool calls."""
        return self._has_calls or bool(self.calls)

    @property
    def calls_repeat(self) -> bool:
        """True if the id of a tool call occurs, or may occur, more than once in the file."""
        if self._calls_repeat is None:
            self._calls_repeat = len(set(self.calls)) < len(self.calls)
        return self._calls_repeat

    def kind(self, index: int) -> Kind:
        """Return the kind of an entry."""
        return self.kinds.all[self.codes[index]]

    def _add_codes(self, entries: Sequence[Any]) -> None:
        codes, heard, answer = self.codes, self._heard, self._answer
        for entry in entries:
            message = entry.message
            role = message.role
            codes.append(answer(message) if role == "assistant" else heard[role])

    def _add_other(self, index: int, envelope: Envelope) -> None:
        self.kept[index] = envelope
        self.ids[index], self.parent_ids[index] = envelope.id, envelope.parent_id
        self.times[index] = envelope.timestamp
        self.codes.append(self.kinds.code(kind_of(envelope)))
        self.calls += envelope.tool_calls

    def _answer(self, message: Any) -> int:
        """Return the code of an answer's kind, and record the ids of its tool calls."""
        content = message.content
        has_text = has_words = False
        if isinstance(content, str):
            has_text, has_words = trim(content) != "", is_more_than_dots(content)
        else:
            for block in content:
                if block.type == "text":
                    text = block.text
                    if text and not has_words:
                        # Most texts begin with a letter, and so are neither blank nor dots.
                        is_plain = text[0].isalnum()
                        has_text = has_text or is_plain or trim(text) != ""
                        has_words = is_plain or is_more_than_dots(text)
                elif block.type == "toolCall" and block.id is not None:
                    self.calls.append(block.id)
        key = (message.provider, message.model, message.stopReason, has_text, has_words)
        code = self._answers.get(key)
        if code is None:
            kind = Kind("message", "assistant", "", message.provider, message.model, message.stopReason, *key[3:])
            code = self._answers[key] = self.kinds.code(kind)
        return code


def kind_of(envelope: Envelope) -> Kind:
    """Return the kind of the entry that has this envelope."""
    return Kind(
        envelope.type,
        envelope.role,
        envelope.custom_type,
        envelope.provider,
        envelope.model,
        envelope.stop_reason,
        envelope.has_text,
        envelope.has_words,
    )


def joined(first: Columns, then: Columns) -> Columns:
    """Join the columns of two consecutive parts of a file."""
    if not len(first):
        return then
    columns = Columns(first.kinds.all)
    codes = [columns.kinds.code(kind) for kind in then.kinds.all]
    columns.codes = first.codes + array("I", [codes[code] for code in then.codes])
    columns.ids = first.ids + then.ids
    columns.parent_ids = first.parent_ids + then.parent_ids
    columns.lines, columns.offsets = first.lines + then.lines, first.offsets + then.offsets
    columns.sizes = first.sizes + then.sizes
    before = len(first)
    columns.kept = first.kept | {before + index: envelope for index, envelope in then.kept.items()}
    times = {index: time for part in (first, then) for index, time in part.known_times(0 if part is first else before)}
    columns.some_times = times
    columns._has_calls = first.has_calls or then.has_calls
    columns._calls_repeat = first.calls_repeat or then.calls_repeat or (first.has_calls and then.has_calls)
    return columns


def columns_of(
    envelopes: Iterable[Envelope], lines: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]
) -> Columns:
    """Make columns from the envelopes of all entries and the positions of their lines in the file."""
    columns = Columns()
    for envelope, line, offset, size in zip(envelopes, lines, offsets, sizes, strict=True):
        columns.add(envelope, line, offset, size)
    return columns
