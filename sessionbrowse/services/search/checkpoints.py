"""Match checkpoints (labels with their sessions and entries) with a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sessionbrowse.model.search.entry_facts import is_in_time
from sessionbrowse.model.search.patterns import is_in
from sessionbrowse.model.search.query import SearchQuery, has_words, snippet
from sessionbrowse.model.search.words import literal
from sessionbrowse.services.search.hits import TEXT_SCORE, Checkpoint, Hit, entry_hit, recent_score
from sessionbrowse.services.search.searcher import Searcher


def fits(
    query: SearchQuery,
    mark: Checkpoint,
    pattern_is_in: Callable[[str, str], bool] = is_in,
    text_of: Callable[[str], str] = str,
) -> bool:
    """Return True if a checkpoint matches a query by its label, time, session, agent, entry text and entry state.

    `text_of` returns for a directory the text in which a filter by project searches.
    """
    if query.agents and mark.agent not in query.agents:
        return False
    if query.states and mark.state not in query.states:
        return False
    project = text_of(mark.cwd) if query.projects else ""
    for wanted, text in ((query.projects, project), (query.names, mark.session or ""), (query.labels, mark.label)):
        if wanted and not any(word in literal(text) for word in wanted):
            return False
    if not is_in_time(query, mark.time_ms):
        return False
    text = f"{mark.label} {mark.session or ''} {mark.cwd} {mark.preview}"
    if not has_words(query, text):
        return False
    return query.pattern is None or pattern_is_in(query.pattern, text)


def label_hits(searcher: Searcher, query: SearchQuery, cancelled: Callable[[], bool]) -> Iterator[Hit]:
    """Yield a hit for each label that fits a query without text, newest session first."""
    for summary in searcher.summaries:
        if cancelled():
            return
        if not summary.labels or not searcher.fits(query, summary):
            continue
        for mark in searcher.trees.labels(summary):
            if fits(query, mark, text_of=searcher.project_text):
                shown = snippet(f"{mark.label}  {mark.preview}", [(0, len(mark.label))])
                at = (mark.entry_index, mark.entry_id, "label", mark.state)
                yield entry_hit(summary, *at, shown, recent_score(summary, TEXT_SCORE), mark.time_ms)
