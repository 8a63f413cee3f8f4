"""The state after reading a file into the index, from which reading resumes when the file has grown."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import SummaryProgress
from sessionbrowse.model.session.records import ReaderProgress


class State(Struct, frozen=True, array_like=True):
    """State after reading the complete lines of a file, up to offset `end`; `last` is the offset of the last entry."""

    end: int
    last: int
    head_hash: bytes
    tail_hash: bytes
    reader: ReaderProgress
    summary: SummaryProgress
