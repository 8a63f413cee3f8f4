"""What kind of file a row of the index is of, and how far it was read, to go on there when it has grown."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.model.reading import Progress
from sessionbrowse.model.session_facts import SummaryProgress

ORDINARY, TRANSCRIPT, FOREIGN = 0, 1, 2


class State(Struct, frozen=True, array_like=True):
    """What is needed to go on at `end`, the byte behind the last whole line; `last` is where that line begins."""

    end: int
    last: int
    head_hash: bytes
    tail_hash: bytes
    reader: Progress
    summary: SummaryProgress
