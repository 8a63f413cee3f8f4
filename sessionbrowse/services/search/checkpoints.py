"""Match checkpoints (labels with their sessions and entries) with a query."""

from __future__ import annotations

from collections.abc import Callable

from sessionbrowse.model.search.entry_facts import is_in_time
from sessionbrowse.model.search.patterns import is_in
from sessionbrowse.model.search.query import SearchQuery, has_words
from sessionbrowse.model.search.words import literal
from sessionbrowse.services.search.hits import Checkpoint


def fits(query: SearchQuery, mark: Checkpoint, pattern_is_in: Callable[[str, str], bool] = is_in) -> bool:
    """Return True if a checkpoint matches a query by its label, time, entry state and text.

    The filters that select sessions are left to `SessionFilters`.
    """
    if query.states and mark.state not in query.states:
        return False
    if query.labels and not any(word in literal(mark.label) for word in query.labels):
        return False
    if not is_in_time(query, mark.time_ms):
        return False
    text = f"{mark.label} {mark.session or ''} {mark.cwd} {mark.preview}"
    if not has_words(query, text):
        return False
    return query.pattern is None or pattern_is_in(query.pattern, text)
