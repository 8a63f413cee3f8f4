"""A session's entries as columns: one list for each fact that all entries have in memory, such as the id.

All other facts about an entry are read from the file on demand.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from sessionbrowse.format.envelope import Envelope, is_more_than_dots
from sessionbrowse.format.javascript import trim

Time = str | float | None
"""An entry's timestamp as written in the file: ISO 8601, rarely milliseconds since 1970; None if missing."""


class Kind(Struct, frozen=True, gc=False, array_like=True):
    """A combination of facts, such as type, role and model, that many entries of a session have in common.

    The fields mean the same as the fields of `Envelope` with these names.
    """

    type: str = ""
    role: str = ""
    custom_type: str = ""
    provider: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    has_text: bool = False
    has_words: bool = False


class Kinds:
    """A session's distinct kinds of entries (see `Kind`); the code of a kind is its position in `all`."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self.all: list[Kind] = list(kinds)
        self._codes = {kind: code for code, kind in enumerate(self.all)}

    def code(self, kind: Kind) -> int:
        """Return the number that stands for a kind of entries; a new kind gets a new number."""
        known = self._codes.get(kind)
        if known is None:
            known = self._codes[kind] = len(self.all)
            self.all.append(kind)
        return known


class _Heard(dict[str, int]):
    """Maps the role of a message to the code of the message's kind; not for answers, whose kinds differ by model."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    def __missing__(self, role: str) -> int:
        code = self[role] = self._kinds.code(Kind("message", role))
        return code


class Columns:
    """Consecutive entries of a file as columns: each list has one item per entry, in file order.

    `lines` are 1-based line numbers; `offsets` and `sizes` are in bytes. `kept` maps the index of every entry that is
    not an ordinary message to an `Envelope` with the entry's facts. `times` are the timestamps of all entries, `calls`
    the ids of all tool calls.
    """

    def __init__(self) -> None:
        self.ids: list[str | None] = []
        self.parent_ids: list[str | None] = []
        self.kinds = Kinds()
        self.codes: array[int] = array("I")
        self.lines: array[int] = array("q")
        self.offsets: array[int] = array("q")
        self.sizes: array[int] = array("q")
        self.kept: dict[int, Envelope] = {}
        self.times: list[Time] = []
        self.calls: list[str] = []
        self._heard = _Heard(self.kinds)
        self._answers: dict[tuple[str | None, str | None, str | None, bool, bool], int] = {}

    def __len__(self) -> int:
        return len(self.sizes)

    def add(self, envelope: Envelope, line: int, offset: int, size: int) -> None:
        """Add one entry at the end of the columns: its envelope, and its line's number, byte offset and size."""
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
        """Add consecutive entries at the end of the columns; nearly all of them are `OrdinaryMessage` objects.

        `sizes` and `offsets` are those of the entries' lines in bytes; `line` is the first line's number. For each
        entry that is no ordinary message, `others` maps the entry's position in `entries` to its `Envelope`; the
        positions are ascending.
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

    @cached_property
    def calls_repeat(self) -> bool:
        """True if two tool calls of the file have the same id; add all entries first."""
        return len(set(self.calls)) < len(self.calls)

    def kind(self, index: int) -> Kind:
        """Return the kind of the entry at `index`: type, role, model and other facts shared by many entries."""
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
        """Return the code of the kind of a model's answer, and add the ids of the answer's tool calls to `calls`."""
        content = message.content
        has_text = has_words = False
        if isinstance(content, str):
            has_text, has_words = trim(content) != "", is_more_than_dots(content)
        else:
            for block in content:
                if block.type == "text":
                    text = block.text
                    if text and not has_words:
                        # Most texts begin with a letter or digit. These are neither blank nor only dots, so the slower
                        # checks are not needed.
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
    """Return those facts of an envelope that many entries share, such as type, role and model, as a `Kind`."""
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


def columns_of(
    envelopes: Iterable[Envelope], lines: Sequence[int], offsets: Sequence[int], sizes: Sequence[int]
) -> Columns:
    """Return columns made from the envelopes of all entries, and the numbers, offsets and sizes of their lines."""
    columns = Columns()
    for envelope, line, offset, size in zip(envelopes, lines, offsets, sizes, strict=True):
        columns.add(envelope, line, offset, size)
    return columns
