"""Find the answer of the model that contains the tool call of a given tool result.

Calls in several answers may have the same id. Then the answer whose row in the tree is the lowest is used.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.display_order import display_order

Makers = dict[str, list[int]]
"""Maps the id of a tool call to the indexes of the answers that contain the call, in file order."""

_MAKERS: WeakKeyDictionary[Session, Makers] = WeakKeyDictionary()
_PLACES: WeakKeyDictionary[Session, dict[int, int]] = WeakKeyDictionary()


def caller_of(session: Session, call_id: str) -> int | None:
    """Return the index of the answer with the tool call `call_id`, whose result is the entry at `index`.

    Return None if no answer has this call.
    """
    makers = _makers_of(session).get(call_id, [])
    return max(makers, key=_places_of(session).__getitem__) if len(makers) > 1 else next(iter(makers), None)


def _makers_of(session: Session) -> Makers:
    makers = _MAKERS.get(session)
    if makers is None:
        makers = _MAKERS[session] = {}
        for index, envelope in enumerate(session.envelopes):
            for call_id in envelope.tool_calls if envelope.role == "assistant" else ():
                makers.setdefault(call_id, []).append(index)
    return makers


def _places_of(session: Session) -> dict[int, int]:
    places = _PLACES.get(session)
    if places is None:
        order = display_order(session, session.leaf)
        places = _PLACES[session] = dict(zip(order, range(len(order)), strict=True))
    return places
