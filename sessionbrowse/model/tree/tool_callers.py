"""Find the answer that made a tool call.

Ids of calls may repeat; then the call in the lowest row of the tree counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from sessionbrowse.format.envelope import Envelope
from sessionbrowse.model.session.envelopes import Envelopes
from sessionbrowse.model.session.session import ROOT, Session
from sessionbrowse.model.tree.display_order import display_order

NEAR = 64
"""Number of entries above a result that are searched for its call before all answers are read."""

Makers = dict[str, list[int]]
"""For each id of a tool call: the answers that made the call, in file order."""

_MAKERS: WeakKeyDictionary[Session, Makers] = WeakKeyDictionary()
_PLACES: WeakKeyDictionary[Session, dict[int, int]] = WeakKeyDictionary()


def caller_of(session: Session, index: int, call_id: str) -> int | None:
    """Return the answer that made the call whose result is the entry `index`."""
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
    """Find in advance which answer made each tool call, if the rows of the tree will need it.

    `before` is the same session before its file grew: its results are reused. This reads much of the file, so only
    background threads call it.
    """
    if session.columns.calls_repeat:
        _makers_of(session, before)


def _makers_of(session: Session, before: Session | None = None) -> Makers:
    """Map each tool call to the answers that made it; this reads every answer of the session."""
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
    # The envelopes of a migrated session are a list in memory, which needs no reading.
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
