"""The labels of all sessions, with the entries that bear them, as a list shows them."""

from __future__ import annotations

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.tree.rows import row_text
from sessionbrowse.services.search.hits import Checkpoint
from sessionbrowse.services.search.trees import Label, Tree, Trees, version_of


class KnownCheckpoints:
    """The checkpoints of sessions; those of a session that did not change are read once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, list[Checkpoint]]] = {}

    def of(self, summary: Summary, trees: Trees) -> list[Checkpoint]:
        """Return the labels of a session, that of the latest entry first, with what a list shows of them."""
        known = self._known.get(summary.path)
        if known is not None and known[0] == version_of(summary):
            return known[1]
        tree = trees.tree(summary)
        found = [_checkpoint(summary, tree, label) for label in trees.labels(summary)] if tree is not None else []
        self._known[summary.path] = (version_of(summary), found)
        return found


def _checkpoint(summary: Summary, tree: Tree, label: Label) -> Checkpoint:
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
        said_ms=label.said_ms,
        state=tree.state(label.index),
        preview=row_text(tree.session, label.index),
    )
