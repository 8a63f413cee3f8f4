"""How far a file was read into the index, to go on there when it has grown."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.listing.summary import SummaryProgress
from sessionbrowse.model.session.records import ReaderProgress


class State(Struct, frozen=True, array_like=True):
    """What is needed to go on at `end`, the byte behind the last whole line; `last` is where that line begins."""

    end: int
    last: int
    head_hash: bytes
    tail_hash: bytes
    reader: ReaderProgress
    summary: SummaryProgress
