"""Read the checkpoints (labels) of sessions, with those details of the labelled entries that a list shows."""

from __future__ import annotations

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.tree.rows import row_text
from sessionbrowse.services.search.hits import Checkpoint
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
