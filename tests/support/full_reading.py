"""The list read in full: every line as a record of its own, at a fifth of the speed. The fast list must agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.listing.summary_builder import SummaryBuilder
from sessionbrowse.store.read import content, summarise
from sessionbrowse.store.read.content import file_blocks


def summary_in_full(path: Path, agent: str) -> Summary | None:
    """Return the summary of a file of which every line was read in full."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(content, "feed_lines", _feed_in_full)
        return summarise.summarise_path(str(path), lambda _: agent)


def _feed_in_full(descriptor: int, summariser: SummaryBuilder) -> None:
    for block in line_blocks(file_blocks(descriptor)):
        summariser.add_block(block)
