"""Read the sessions of directories and agents in batches, so that a list shows the first before all are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.gather import Summarise, gather_into
from sessionbrowse.store.find.discover import FoundFile, Skipped
from sessionbrowse.store.find.parent_links import link_parents
from sessionbrowse.store.find.roots import Scope

BATCH_SECONDS = 0.05


class Batch(Struct, frozen=True):
    """Some summaries of sessions, the number of files read so far, and the total number of files.

    A summary replaces an earlier summary with the same path.
    """

    summaries: list[Summary]
    done: int
    total: int


def scan(
    scope: Scope,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    skipped: Callable[[Skipped], None] = lambda _: None,
    summarise: Summarise | None = None,
) -> Iterator[Batch]:
    """Yield the summaries of all sessions in batches, newest files first.

    The last batch repeats forks whose parent session was read after them, now with the parent's path.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    files: dict[str, FoundFile] = {}
    sessions: dict[str, Summary] = {}
    pending: list[Summary] = []
    done = 0
    # A batch is yielded at `deadline`. It starts at 0, so the first session is a batch by itself and is shown at once.
    deadline = 0.0
    for summary in gather_into(files, sessions, scope, cancelled=cancelled, skipped=skipped, summarise=summarise):
        done += 1
        if summary is not None:
            pending.append(summary)
        if pending and time.monotonic() >= deadline:
            yield Batch(pending, done, len(files))
            pending = []
            deadline = time.monotonic() + BATCH_SECONDS
    if cancelled():
        return
    if pending or not done:
        yield Batch(pending, done, len(files))
    linked = link_parents(sessions.values())
    if linked:
        yield Batch(linked, done, len(files))
