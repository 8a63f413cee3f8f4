"""The views of an entry beside the tree, and the function that builds their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

from msgspec import Struct

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.layout.parts import LinePart, Part

if TYPE_CHECKING:
    from sessionbrowse.model.session.session import Session

ViewName = Literal["entry", "context", "raw", "diff"]
VIEWS: tuple[ViewName, ...] = ("entry", "context", "raw", "diff")


class ViewRequest(Struct, frozen=True, kw_only=True):
    """A request for a view of an entry; `marked` is the entry to compare with, `width` the pane's width."""

    view: ViewName
    index: int
    marked: int | None
    width: int
    now_ms: float
    home: str
    compare_keys: tuple[str, str] = ("d", "D")


class ViewedEntry(Struct, frozen=True, kw_only=True):
    """The session under the cursor; on the screen of one session, the shown session with its entry and view."""

    summary: Summary
    session: Session | None = None
    index: int | None = None
    view: ViewName = "entry"


def document(session: Session, request: ViewRequest) -> list[Part]:
    """Return the parts of a view; to be called in a background thread."""
    # Imported late: the first screen imports this module but shows no documents, and should open fast.
    from sessionbrowse.model.context import build
    from sessionbrowse.services.inspect.compare import compare
    from sessionbrowse.tui.reading.compare_view import compare_parts
    from sessionbrowse.tui.reading.context_view import context_parts
    from sessionbrowse.tui.reading.documents import entry_document, raw_document

    match request.view:
        case "entry":
            return entry_document(session, request.index, request.now_ms)
        case "context":
            return context_parts(build.build(session, request.index))
        case "raw":
            return raw_document(session, request.index, request.now_ms)
        case "diff":
            other = request.marked if request.marked is not None else session.leaf
            if other is None:
                return [LinePart([("There is no leaf to compare with.", "dim italic")])]
            compared = compare(session, other, request.index)
            return compare_parts(session, compared, request.home, request.width, request.compare_keys)
        case _:
            assert_never(request.view)
