"""Build the context: the messages that the model would receive at an entry, and the reasons why others are omitted.

Each agent program has its own algorithm, in its own module; this module selects one. Only entries whose content is
needed are decoded.
"""

from __future__ import annotations

from sessionbrowse.model.context import atomic, omp, pi
from sessionbrowse.model.context.message import Context, ContextMessage, LeftOut, ModelRef, OmpSettings
from sessionbrowse.model.session.session import Session

__all__ = ["Context", "ContextMessage", "LeftOut", "ModelRef", "OmpSettings", "build"]


def build(session: Session, at: int | None = None) -> Context:
    """Return the context at the entry with the index `at`, or at the leaf if `at` is None. Bad data never raises.

    At the leaf, two cases are special. If the last entry has no id, the context of atomic is empty, but pi, omp and
    indusagi build the context at this entry as at any other. If the last entry's id is null, the context is empty in
    all programs.
    """
    start = session.leaf if at is None else at
    is_atomic = session.rules.context == "atomic"
    if at is None and (session.leaf_is_null or (is_atomic and session.leaf_id is None)):
        start = None
    path = session.branch(start)
    if session.is_transcript:
        return pi.build_transcript(session, path)
    match session.rules.context:
        case "pi":
            return pi.build(session, path)
        case "omp":
            return omp.build(session, path)
        case "atomic":
            return atomic.build(session, path)
        case "indusagi":
            return pi.build_older(session, path)
