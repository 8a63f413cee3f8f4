"""The text of a row in a session's tree, and the text that the tree's search reads, as in the session's agent program.

An entry is decoded when its row is drawn. The text may contain control characters; callers must remove these. The row
of a tool result shows the tool call. If several answers have calls of this id, the answer whose row is lowest counts.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from msgspec import Struct

from sessionbrowse.format.json_value import MISSING, string
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import row_text_omp, row_text_pi
from sessionbrowse.model.tree.shape import display_order
from sessionbrowse.model.tree.tool_call_text import Call, Fields, other_call_text

Makers = dict[str, list[int]]
"""Maps the id of a tool call to the indexes of the answers that contain the call, in file order."""

_MAKERS: WeakKeyDictionary[Session, Makers] = WeakKeyDictionary()
_PLACES: WeakKeyDictionary[Session, dict[int, int]] = WeakKeyDictionary()


def caller_of(session: Session, call_id: str) -> int | None:
    """Return the index of the answer that contains the tool call `call_id`.

    Of several such answers, return the one whose row is lowest; None if there is none.
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


class RowText(Struct, frozen=True):
    """The text of an entry's row; `failed` is True for a tool, command or answer that ended with an error."""

    text: str
    failed: bool = False


def read_row(session: Session, index: int, home: str = "") -> RowText:
    """Return the text of an entry's row, and True if its tool, command or answer failed."""
    return RowText(row_text(session, index, home), is_failed(session.fields(index)))


def is_failed(fields: Fields) -> bool:
    """Return True for the entry of a tool result, a command or an answer that ended with an error."""
    message = fields.get("message")
    if not isinstance(message, dict):
        return False
    code = message.get("exitCode") if message.get("role") == "bashExecution" else None
    return message.get("isError") is True or message.get("stopReason") == "error" or code not in (None, 0)


def row_text(session: Session, index: int, home: str = "") -> str:
    """Return the text of an entry's row in a tree, without the entry's label and the lines that the tree draws.

    The row of a tool result shows the tool call. Paths below `home` begin with `~`. The text is the same as in
    pi 1.5.2, omp 18.2.3, atomic 0.9.15 or indusagi 0.12.15.
    """
    kind = session.envelopes[index]
    call = _answered_call(session, index) if kind.role == "toolResult" else None
    if call is not None and session.rules.only_read:
        return other_call_text(call, home)
    fields = session.fields(index)
    if session.rules.tree == "omp":
        return row_text_omp.row_text(kind.type, kind.role, fields, call, home)
    return row_text_pi.row_text(session.rules.tree, kind.type, kind.role, fields, call, home)


def search_text_of(session: Session, index: int, fields: Fields) -> str:
    """Return the search text of an entry: the text in which the search of the agent's tree looks for the query.

    The search text has the entry's label, role, and the beginning of the entry's text. `fields` is the entry's JSON
    object.
    """
    kind = session.envelopes[index]
    mark = session.labels.get(index)
    if session.rules.tree == "omp":
        found = row_text_omp.search_text(kind.type, kind.role, fields)
    else:
        found = row_text_pi.search_text(session.rules.tree, kind.type, kind.role, fields)
    return f"{mark.text} {found}" if mark is not None else found


_LAST_CALLS: WeakKeyDictionary[Session, tuple[int, dict[str, Call]]] = WeakKeyDictionary()


def _answered_call(session: Session, index: int) -> Call | None:
    call_id = session.envelopes[index].tool_call_id
    caller = caller_of(session, call_id) if call_id else None
    return _calls_of(session, caller).get(call_id or "") if caller is not None else None


def _calls_of(session: Session, caller: int) -> dict[str, Call]:
    """Return the tool calls of an answer by id.

    The calls of the last answer are cached, because the results of the calls of one answer are in adjacent rows.
    """
    kept = _LAST_CALLS.get(session)
    if kept is not None and kept[0] == caller:
        return kept[1]
    message = session.fields(caller).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    calls = {
        string(block.get("id")): Call(block.get("name", MISSING), block.get("arguments", MISSING))
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "toolCall"
    }
    _LAST_CALLS[session] = (caller, calls)
    return calls
