"""The list read in full: every line as a record of its own, at a fifth of the speed. The fast list must agree."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from sessionbrowse.format.lines import line_blocks
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.listing.summary_builder import SummaryBuilder
from sessionbrowse.store.read import summarise


def summary_in_full(path: Path, agent: str) -> Summary | None:
    """Return the summary of a file of which every line was read in full."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(summarise, "feed_lines", _feed_in_full)
        return summarise.summarise_path(str(path), lambda _: agent)


def _feed_in_full(pieces: Iterable[bytes], summariser: SummaryBuilder) -> None:
    for block in line_blocks(pieces):
        summariser.add_block(block)
