"""The envelopes of a session: facts about its entries without contents, mostly read from the file on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.format.entries import BadLine
from sessionbrowse.format.envelope import Envelope, read_envelope
from sessionbrowse.model.session.columns import Columns
from sessionbrowse.model.session.records import MARGIN, first_of_fused

MAX_KEPT = 4096
"""Maximum number of cached envelopes; the cache saves reading the file again when the user moves the cursor."""
MAX_RUN_BYTES = 1024 * 1024

ReadBytes = Callable[[int, int], bytes]
"""A function that reads bytes of the session's file; its arguments are the offset and the size."""


class Envelopes(Sequence[Envelope]):
    """All envelopes of a session in file order: facts about each entry, without its contents.

    Access to an envelope may read the file, unlike `Session.ids` and `Session.kind`. If the file was deleted or
    changed since the session was opened, an envelope has only the facts that `Columns` keeps in memory.
    """

    def __init__(self, columns: Columns, read_bytes: ReadBytes) -> None:
        self._columns = columns
        self._read_bytes = read_bytes
        self._read: dict[int, Envelope] = {}

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, index: int) -> Envelope: ...
    @overload
    def __getitem__(self, index: slice) -> list[Envelope]: ...
    def __getitem__(self, index: int | slice) -> Envelope | list[Envelope]:
        columns = self._columns
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(columns)))]
        if index < 0:
            index += len(columns)
        known = columns.kept.get(index) or self._read.get(index)
        if known is None:
            if not 0 <= index < len(columns):
                raise IndexError(index)
            try:
                raw = self._read_bytes(columns.offsets[index], columns.sizes[index])
            except SessionBrowseError:
                raw = b""
            known = self._decoded(index, raw)
            if len(self._read) >= MAX_KEPT:
                self._read.clear()
            self._read[index] = known
        return known

    def __iter__(self) -> Iterator[Envelope]:
        for _, envelope in self.many(range(len(self))):
            yield envelope

    def many(self, indexes: Sequence[int]) -> Iterator[tuple[int, Envelope]]:
        """Yield the index and envelope of each entry in `indexes`, which must be ascending.

        Entries that are close together in the file are read at once.
        """
        kept = self._columns.kept
        for run in runs(indexes, self._columns):
            start, block = self._columns.offsets[run[0]], b""
            if any(index not in kept for index in run):
                end = self._columns.offsets[run[-1]] + self._columns.sizes[run[-1]]
                try:
                    block = self._read_bytes(start, end - start)
                except SessionBrowseError:
                    block = b""
            for index in run:
                at = self._columns.offsets[index] - start
                yield index, kept.get(index) or self._decoded(index, block[at : at + self._columns.sizes[index]])

    def _decoded(self, index: int, raw: bytes) -> Envelope:
        columns = self._columns
        line = raw.strip(MARGIN)
        envelope = read_envelope(line)
        if isinstance(envelope, BadLine):
            envelope = read_envelope(first_of_fused(line) or b"")
        if isinstance(envelope, Envelope) and envelope.id == columns.ids[index]:
            return envelope
        kind = columns.kind(index)
        facts = {name: getattr(kind, name) for name in kind.__struct_fields__}
        return Envelope(**facts, id=columns.ids[index], parent_id=columns.parent_ids[index])


def runs(indexes: Sequence[int], columns: Columns) -> Iterator[list[int]]:
    """Split ascending indexes of entries into groups that each span at most `MAX_RUN_BYTES` of the file."""
    run: list[int] = []
    for index in indexes:
        if run and columns.offsets[index] + columns.sizes[index] - columns.offsets[run[0]] > MAX_RUN_BYTES:
            yield run
            run = []
        run.append(index)
    if run:
        yield run
