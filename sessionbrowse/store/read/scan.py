"""All sessions of a scan as summaries: newest first, in batches, with bounded memory, stoppable at any file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.store.find.discover import FoundFile, Skipped, newest_first
from sessionbrowse.store.find.parent_links import link_parents
from sessionbrowse.store.find.scan_passes import Scan, turns
from sessionbrowse.store.read.summarise import summaries_of
from sessionbrowse.store.read.worker_processes import one_worker, workers_for

BATCH_SECONDS = 0.05


class Batch(Struct, frozen=True):
    """Some summaries, new or replacing earlier ones of the same path, and how far the scan is."""

    summaries: list[Summary]
    done: int
    total: int


def scan(
    what: Scan,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    skipped: Callable[[Skipped], None] = lambda _: None,
    summarise: Callable[[FoundFile, str | None], Summary | None] | None = None,
    parallel: bool = False,
) -> Iterator[Batch]:
    """Yield the summaries of all sessions, newest files first; the last batch brings parents that were found.

    `parallel` is for who wants them all: several processes read, in no order; only where no other thread runs.

    The directories of sessions found so far may name further places in their settings: those come second.
    """
    found: dict[str, Summary] = {}
    done = 0
    total = 0
    for places, files in turns(what, found.values, cancelled=cancelled, skipped=skipped):
        total += len(files)
        pending: list[Summary] = []
        # The first rows must not wait for a batch to fill.
        deadline = 0.0
        workers = workers_for if parallel else one_worker
        for summary in summaries_of(newest_first(files), what.override, summarise, workers_for=workers):
            if cancelled():
                return
            done += 1
            if summary is not None and (what.include_hidden or not summary.hidden):
                found[summary.path] = summary
                pending.append(summary)
            if pending and time.monotonic() >= deadline:
                yield Batch(pending, done, total)
                pending = []
                deadline = time.monotonic() + BATCH_SECONDS
        if pending or (places is what.places and not files):
            yield Batch(pending, done, total)
    linked = link_parents(found.values())
    if linked:
        yield Batch(linked, done, total)
