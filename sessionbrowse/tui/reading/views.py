"""The views of an entry (entry, context, raw, diff) next to the tree, their documents, and entries found again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.layout.parts import LinePart, Part

if TYPE_CHECKING:
    from sessionbrowse.model.context.build import Context
    from sessionbrowse.model.session.session import Session

ViewName = Literal["entry", "context", "diff", "raw"]
VIEWS: tuple[ViewName, ...] = ("entry", "context", "diff", "raw")


class ViewRequest(Struct, frozen=True, kw_only=True):
    """The parameters of a view of the entry at `index`.

    `other` is the index of the entry to compare with (None: the leaf); `width` is the pane's width in cells.
    """

    view: ViewName
    index: int
    other: int | None
    width: int
    now_ms: float
    home: str
    environ: Mapping[str, str] = {}
    compare_keys: tuple[str, str] = ("space", "d")


class ViewedEntry(Struct, frozen=True, kw_only=True):
    """The session that the user looks at; on the session screen also the entry, and the view of that entry."""

    summary: Summary
    session: Session | None = None
    index: int | None = None
    view: ViewName = "entry"


def document(session: Session, request: ViewRequest) -> list[Part]:
    """Return the document of a view as a list of parts; must be called in a background thread, because it is slow."""
    # These modules are imported late, because the first screen imports this module and must open fast.
    from sessionbrowse.model.context import build
    from sessionbrowse.services.inspect.compare import compare, compare_branch
    from sessionbrowse.tui.reading.compare_view import compare_parts
    from sessionbrowse.tui.reading.context_view import context_parts
    from sessionbrowse.tui.reading.documents import entry_document, raw_document

    match request.view:
        case "entry":
            return entry_document(session, request.index, request.now_ms)
        case "context":
            context = build.build(session, request.index)
            return context_parts(context, _window(session, context, request))
        case "raw":
            return raw_document(session, request.index, request.now_ms)
        case "diff":
            if request.other is not None:
                compared = compare(session, request.other, request.index)
            elif session.leaf is not None:
                compared = compare_branch(session, request.index, session.leaf)
            else:
                return [LinePart([("There is no leaf to compare with.", "dim italic")])]
            return compare_parts(session, compared, request.home, request.width, request.compare_keys)
        case _:
            assert_never(request.view)


def _window(session: Session, context: Context, request: ViewRequest) -> int | None:
    from sessionbrowse.agents import AGENTS
    from sessionbrowse.services.inspect.model_windows import context_window
    from sessionbrowse.store.find.roots import real_surroundings

    if context.model is None:
        return None
    around = replace(real_surroundings(), home=request.home, environ=request.environ)
    places = AGENTS[session.rules.agent].places(around)
    return context_window(context.model.provider, context.model.model_id, places[0].agent_dir if places else None)


ENTRY_IS_GONE = "The entry is gone: the session's file was changed meanwhile."


def find_again(session: Session, index: int | None, entry_id: str | None) -> int | None:
    """Return the new index of an entry, given its index and id before the file was read again; None if it is gone."""
    if entry_id is None:
        return index if index is not None and index < len(session.ids) else None
    if index is not None and index < len(session.ids) and session.ids[index] == entry_id:
        return index
    return session.index_by_id.get(entry_id)
