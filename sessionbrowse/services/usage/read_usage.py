"""Read a session file that is not in the index: its summary and its model requests."""

from __future__ import annotations

from msgspec.structs import asdict

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.usage.request import NO_USAGE, FileRequests
from sessionbrowse.store.find.discover import FoundFile
from sessionbrowse.store.find.parent_links import placed
from sessionbrowse.store.index.read_file import read_for_index
from sessionbrowse.store.read.summarise import summarise_file


class SummaryWithUsage(Summary, frozen=True, kw_only=True):
    """The summary of a session file that is not in the index, with the file's model requests."""

    usage: FileRequests = NO_USAGE


def read_with_usage(file: FoundFile) -> Summary | None:
    """Return the summary of a file that is not in the index, with its model requests if they can be read."""
    read = read_for_index(file.path, file.agent, lambda *_: None, tools=False, restart=lambda: None)
    if read is None:
        return summarise_file(file)
    return placed(SummaryWithUsage(**asdict(read.summary), usage=read.usage), file)
