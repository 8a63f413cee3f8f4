"""Plan two kinds of clean copy: a pruned copy lacks branches; a shrunk copy lacks images, large output or reasoning."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.clean.dropped import abandoned
from sessionbrowse.model.clean.plan import CleanPlan
from sessionbrowse.model.session.session import Session
from sessionbrowse.services.clean.clean import MakePlan
from sessionbrowse.services.list.locate import find_entry


def branches_plan(entries: Sequence[str], *, all_abandoned: bool = False, keep_labelled: bool = False) -> MakePlan:
    """Return a function that plans a clean copy without the given entries and their descendants.

    Each entry is named by an id, the beginning of an id, or a label. `all_abandoned` drops all inactive branches too;
    with `keep_labelled`, inactive branches with a labelled entry stay.
    """

    def make_plan(session: Session) -> CleanPlan:
        drop = {find_entry(session, entry) for entry in entries}
        if all_abandoned:
            drop |= abandoned(session, keep_labelled=keep_labelled)
        return CleanPlan(drop=frozenset(drop))

    if not entries and not all_abandoned:
        raise RefusedWrite("Name the branches to drop. Nothing was changed.")
    return make_plan


def shrink_plan(*, images: bool = False, results_over: int | None = None, thinking: bool = False) -> MakePlan:
    """Return a function that plans a smaller clean copy of a session.

    With `images`, images become short texts. Tool results of more than `results_over` bytes become short texts too;
    None keeps them. With `thinking`, reasoning is dropped, except after the last user message of a branch.
    """
    if not images and not thinking and results_over is None:
        raise RefusedWrite("Say what to shrink: images, tool results above a size, or reasoning. Nothing was changed.")
    plan = CleanPlan(images=images, results_over=results_over, thinking=thinking)
    return lambda session: plan
