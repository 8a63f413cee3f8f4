"""The origin of a session that was carried over from another agent, as its header names it."""

from __future__ import annotations

from sessionbrowse.format.entries import Header
from sessionbrowse.format.json_value import Json

MARK = "sessionbrowse"
"""The key under which headers and entries keep what a conversion has to remember."""


def origin_of(header: Header) -> dict[str, Json] | None:
    """Return the `agent`, `id` and `path` of the session from which a conversion made this one; None for others."""
    mark = header.extra.get(MARK)
    origin = mark.get("origin") if isinstance(mark, dict) else None
    return origin if isinstance(origin, dict) else None


def parent_of(header: Header) -> str | None:
    """Return the parent session in a header: a path or id, for a converted session the path of its origin."""
    path = (origin_of(header) or {}).get("path")
    return header.parent_session or (path if isinstance(path, str) else None)
