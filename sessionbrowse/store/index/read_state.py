"""The state after reading a file into the index; reading continues from it when the file has grown."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import SummaryProgress
from sessionbrowse.model.session.records import ReaderProgress


class State(Struct, frozen=True, array_like=True):
    """The state at `end`, the offset after the last whole line; `last` is the offset at which that line begins."""

    end: int
    last: int
    head_hash: bytes
    tail_hash: bytes
    reader: ReaderProgress
    summary: SummaryProgress
