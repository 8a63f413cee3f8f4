"""Find the answer of the model that contains the tool call of a given tool result.

Calls in several answers may have the same id. Then the answer whose row in the tree is the lowest is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.model.session.envelopes import Envelopes
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.display_order import display_order

NEAR = 64
"""Number of entries above a tool result that are searched for its call, before all answers of the session are read."""

Makers = dict[str, list[int]]
"""Maps the id of a tool call to the indexes of the answers that contain the call, in file order."""

_MAKERS: WeakKeyDictionary[Session, Makers] = WeakKeyDictionary()
_PLACES: WeakKeyDictionary[Session, dict[int, int]] = WeakKeyDictionary()


def caller_of(session: Session, index: int, call_id: str) -> int | None:
    """Return the index of the answer with the tool call `call_id`, whose result is the entry at `index`.

    Return None if no answer has this call.
    """
    above = session.parents[index]
    for _ in range(0 if session.columns.calls_repeat else NEAR):
        if above == ROOT:
            break
        if session.kind(above).role == "assistant" and call_id in session.envelopes[above].tool_calls:
            return above
        above = session.parents[above]
    makers = _makers_of(session).get(call_id, [])
    return max(makers, key=_places_of(session).__getitem__) if len(makers) > 1 else next(iter(makers), None)


def learn_calls(session: Session, before: Session | None = None) -> None:
    """If several tool calls of the session may have the same id, find the answers of all calls and cache them.

    `caller_of` uses the cache. `before` is the same session before its file grew; what is cached for it is reused. The
    function reads much of the file, so it must run in a background thread.
    """
    if session.columns.calls_repeat:
        _makers_of(session, before)


def _makers_of(session: Session, before: Session | None = None) -> Makers:
    """Map the id of each tool call to the answers that contain the call; cached, because all answers must be read."""
    makers = _MAKERS.get(session)
    if makers is None:
        known = _MAKERS.get(before) if before is not None else None
        behind = len(before.ids) if known is not None and before is not None and _grew(before, session) else 0
        makers = dict(known) if known is not None and behind else {}
        answers = [at for at in range(behind, len(session.ids)) if session.kind(at).role == "assistant"]
        for index, envelope in _envelopes_of(session, answers):
            for call_id in envelope.tool_calls:
                makers[call_id] = [*makers.get(call_id, ()), index]
        _MAKERS[session] = makers
    return makers


def _envelopes_of(session: Session, indexes: list[int]) -> Iterable[tuple[int, Envelope]]:
    envelopes = session.envelopes
    # A session of format version 1 or 2 has its envelopes as a list in memory, so no file has to be read.
    return envelopes.many(indexes) if isinstance(envelopes, Envelopes) else [(at, envelopes[at]) for at in indexes]


def _grew(before: Session, session: Session) -> bool:
    count = len(before.ids)
    if not 0 < count <= len(session.ids) or before.path != session.path:
        return False
    last = count - 1
    is_same_end = (before.offsets[last], before.sizes[last]) == (session.offsets[last], session.sizes[last])
    return is_same_end and list(session.ids[:count]) == list(before.ids)


def _places_of(session: Session) -> dict[int, int]:
    places = _PLACES.get(session)
    if places is None:
        order = display_order(session, session.leaf)
        places = _PLACES[session] = dict(zip(order, range(len(order)), strict=True))
    return places
