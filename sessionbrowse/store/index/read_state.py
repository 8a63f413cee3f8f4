"""The state after reading a file into the index, from which reading resumes when the file has grown."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import SummaryProgress
from sessionbrowse.model.session.records import ReaderProgress


class State(Struct, frozen=True, array_like=True):
    """State at `end`, the offset after the last complete line; `last` is the offset of the last entry's line."""

    end: int
    last: int
    head_hash: bytes
    tail_hash: bytes
    reader: ReaderProgress
    summary: SummaryProgress
