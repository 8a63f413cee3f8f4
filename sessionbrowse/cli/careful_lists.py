"""Lists that take all that is known of every session: with a query, in another order, or without an index."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from sessionbrowse.cli.scoping import warn
from sessionbrowse.config import INDEX_FILE, cache_dir
from sessionbrowse.model.listing.picker import fields_of, parse_query, score
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.list import catalog, choose
from sessionbrowse.services.list.first_messages import CutMessages
from sessionbrowse.services.list.scope import Scope


def listed(
    scope: Scope, arguments: argparse.Namespace, note: Callable[[str], None]
) -> tuple[list[Summary], CutMessages]:
    """Return the sessions that `list` shows, and where first messages stand that the index has cut."""
    text = " ".join(arguments.query)
    query = parse_query(text)
    found: dict[str, str] = {}
    cut: CutMessages = {}
    if query.is_empty:
        sessions, cut = summaries(scope, note)
    else:

        def matches(summary: Summary, said: str) -> bool:
            fits = score(query, fields_of(summary, said)) is not None
            if fits:
                found[summary.path] = said
            return fits

        sessions = catalog.all_summaries_with_texts(scope, matches, skipped=warn)
    chosen = choose.select(
        sessions,
        query=text,
        cwd=os.path.abspath(arguments.cwd) if arguments.cwd is not None else None,
        named=arguments.named,
        sort=arguments.sort or ("recent" if query.is_empty else "relevance"),
        limit=arguments.limit,
        texts=found,
    )
    return chosen, cut


def summaries(scope: Scope, note: Callable[[str], None]) -> tuple[list[Summary], CutMessages]:
    """Return the sessions of a scope, by the index where there is one; and which first messages it has cut."""
    directory = cache_dir()
    if not os.path.exists(directory / INDEX_FILE):
        return catalog.all_summaries(scope, skipped=warn, parallel=True), {}
    from sessionbrowse.services.list import indexed

    found = indexed.all_sessions(scope, directory, skipped=warn, note=note, may_fork=True)
    return found.summaries, found.cut
