"""Parts of a message's content blocks: media, and ids of calls."""

from __future__ import annotations

from sessionbrowse.format.json_value import Json
from sessionbrowse.text import size as shown_size

_LEAST_MEDIA_CHARACTERS = 64
"""Base64 text below this length saves nothing; the shortest image is about as long as the text in its place."""


def short_call_id(call_id: str) -> str:
    """Return the id of a tool call without the part that refers to reasoning kept by the provider."""
    return call_id.split("|fc_", 1)[0]


def medium(item: dict[str, Json]) -> str | None:
    """Return the text in place of a block that holds a medium, None for any other object."""
    data, kind = item.get("data"), item.get("mimeType")
    source = item.get("source")
    if isinstance(source, dict) and source.get("type") == "base64":
        data, kind = source.get("data"), source.get("media_type")
    if not isinstance(data, str) or not isinstance(kind, str):
        return None
    if len(data) < _LEAST_MEDIA_CHARACTERS:
        return None
    return media_placeholder(kind, len(data))


def media_placeholder(kind: str, characters: int) -> str:
    """Return the text in place of a medium of so many base64 characters."""
    name = kind.split("/", 1)[0] if "/" in kind else "image"
    return f"[{name or 'file'} removed: {kind}, {shown_size(characters * 3 // 4)}]"
