"""Read all sessions of a scope in batches, so that the first ones can be shown before the last are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list.gather import Listed, Summarise, gather_into
from sessionbrowse.store.find.discover import FoundFile, Skipped
from sessionbrowse.store.find.parent_links import link_parents
from sessionbrowse.store.find.roots import Scope

BATCH_SECONDS = 0.05


class Batch(Struct, frozen=True):
    """Some summaries, each replacing an earlier one of the same path, and the number of files done and in total."""

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
    """Yield the summaries of all sessions, newest files first; the last batch adds parents that were found late.

    Raises:
        NotFound: a given root is not a directory, or a given agent is unknown.
    """
    files: dict[str, FoundFile] = {}
    sessions: dict[str, Listed] = {}
    pending: list[Summary] = []
    done = 0
    # The first session is yielded alone, at once.
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
    linked = link_parents([session for session in sessions.values() if isinstance(session, Summary)])
    if linked:
        yield Batch(linked, done, len(files))
