"""Lists of files, commands and labels of compacted entries that the compaction's summary does not mention."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sessionbrowse.model.context.build import build
from sessionbrowse.model.context.forgotten import forgotten
from sessionbrowse.model.session.session import Session
from sessionbrowse.text import plural
from sessionbrowse.tui.layout.folds import Fold
from sessionbrowse.tui.layout.parts import EntryLink, Part
from sessionbrowse.tui.paint.spans import fit
from sessionbrowse.tui.paint.words import one_line


def forgotten_parts(session: Session, index: int) -> list[Part]:
    """Return up to three folds: files, commands and labels that a compaction's summary does not mention.

    Each item is a link to its entry.
    """
    lost = forgotten(session, index, [left.index for left in build(session, index).left_out])
    kinds = (("file", lost.files), ("command", lost.commands), ("label", lost.labels))
    return [
        Fold([(f"{plural(len(found), kind)} not in the summary", "warning")], partial(_links, found))
        for kind, found in kinds
        if found
    ]


def _links(found: Sequence[tuple[str, int]]) -> list[Part]:
    def link(name: str, index: int) -> Part:
        shown = one_line(name, 300)
        return EntryLink(lambda width: fit([("  ↗ ", "accent"), (shown, "")], width), shown, index)

    return [link(name, index) for name, index in found]
