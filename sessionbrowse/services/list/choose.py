"""The list of sessions: which, and in which order."""

from __future__ import annotations

from collections.abc import Iterable

from sessionbrowse.model.listing.picker import filtered, ordered, parse_query
from sessionbrowse.model.listing.summary import Summary


def select(
    summaries: Iterable[Summary],
    *,
    query: str = "",
    cwd: str | None = None,
    named: bool = False,
    sort: str = "recent",
    limit: int | None = None,
    texts: dict[str, str] | None = None,
) -> list[Summary]:
    """Return the sessions that a list shows, in its order. `texts` are the messages' texts by path, if known.

    Raises:
        BadPattern: the query's pattern is not valid.
    """
    wanted = [
        summary
        for summary in summaries
        if (cwd is None or summary.cwd == cwd) and (not named or (summary.name or "").strip())
    ]
    by_path = texts or {}
    chosen = ordered(wanted, "recent")
    if query.strip() or sort not in ("recent", "relevance"):
        chosen = filtered(chosen, parse_query(query), sort, lambda summary: by_path.get(summary.path))
    return chosen if limit is None else chosen[:limit]
