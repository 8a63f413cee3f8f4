"""Read the checkpoints (labels) of sessions, with those details of the labelled entries that a list shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.patterns import is_in
from sessionbrowse.model.search.query import SearchQuery, has_words
from sessionbrowse.model.search.words import literal
from sessionbrowse.model.tree.rows import row_text
from sessionbrowse.services.search.hits import TEXT_SCORE, Checkpoint, Hit, entry_hit
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.services.search.session_trees import LabelledEntry, SessionTree, SessionTreeCache, version_of


class CheckpointCache:
    """Reads the checkpoints of sessions, and caches the checkpoints of each session until the session changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, list[Checkpoint]]] = {}

    def of(self, summary: Summary, trees: SessionTreeCache) -> list[Checkpoint]:
        """Return the checkpoints of a session, in reverse file order."""
        known = self._known.get(summary.path)
        if known is not None and known[0] == version_of(summary):
            return known[1]
        tree = trees.tree(summary)
        found = [_checkpoint(summary, tree, label) for label in trees.labels(summary)] if tree is not None else []
        self._known[summary.path] = (version_of(summary), found)
        return found


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
    if query.after_ms is not None and (mark.time_ms is None or mark.time_ms < query.after_ms):
        return False
    if query.before_ms is not None and (mark.time_ms is None or mark.time_ms >= query.before_ms):
        return False
    text = f"{mark.label} {mark.session or ''} {mark.cwd} {mark.preview}"
    if not has_words(query, text):
        return False
    return query.pattern is None or pattern_is_in(query.pattern, text)


def label_hits(
    searcher: Searcher, query: SearchQuery, checkpoints: CheckpointCache, cancelled: Callable[[], bool]
) -> Iterator[Hit]:
    """Yield the labels that fit a query without text, as hits at their entries, newest session first."""
    for summary in searcher.summaries:
        if cancelled():
            return
        if not summary.labels or not searcher.fits(query, summary):
            continue
        for mark in checkpoints.of(summary, searcher.trees):
            if fits(query, mark, text_of=searcher.project_text):
                text, spans = f"{mark.label}  {mark.preview}", [(0, len(mark.label))]
                at = (mark.entry_index, mark.entry_id, "label", mark.state)
                yield entry_hit(summary, *at, text, spans, TEXT_SCORE, mark.time_ms)


def _checkpoint(summary: Summary, tree: SessionTree, label: LabelledEntry) -> Checkpoint:
    return Checkpoint(
        path=summary.path,
        id=summary.id,
        agent=summary.agent,
        cwd=summary.cwd,
        session=summary.name,
        entry_index=label.index,
        entry_id=label.entry_id,
        label=label.text,
        time_ms=label.time_ms,
        state=tree.state(label.index),
        preview=row_text(tree.session, label.index),
    )
