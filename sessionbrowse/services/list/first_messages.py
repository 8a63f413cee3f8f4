"""First messages of which the index has only the beginning, read where they stand."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sessionbrowse.errors import Unreadable
from sessionbrowse.model.listing.message_text import first_message_of
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.read.content import read_at

CutMessages = dict[str, tuple[int, int]]
"""By path, offset and size of the line of a first message of which the index has only the beginning."""


def with_first_messages(summaries: Sequence[Summary], cut: CutMessages) -> list[Summary]:
    """Return the summaries with their first messages whole, as far as a list shows them."""
    return [_whole(summary, cut[summary.path]) if summary.path in cut else summary for summary in summaries]


def _whole(summary: Summary, at: tuple[int, int]) -> Summary:
    try:
        line = read_at(summary.path, *at)
    except Unreadable:
        # It went a moment ago: the others are listed all the same, and this one with what is known of it.
        return replace(summary, first_message_cut=True)
    text, was_cut = first_message_of(line)
    return replace(summary, first_message=text or summary.first_message, first_message_cut=was_cut)
