"""Every session that a command looks at, and what the index holds of it, as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.first_messages import CutMessages
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.index.file_row import Held


class Gathered(Struct, frozen=True):
    """Every session of a scope, parents linked, and what the index holds of it (nothing if it is read each time).

    `generation` is the index's when it told. Where the summaries are without first messages, `first_messages` tells
    those that the index has, by path.
    """

    summaries: list[Summary]
    cut: CutMessages
    rows: dict[str, Held]
    files: dict[str, FoundFile]
    generation: int = 0
    first_messages: Callable[[], Mapping[str, str]] | None = None
