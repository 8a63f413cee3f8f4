"""Helpers for the content blocks of a message: placeholders for media, and short ids of tool calls."""

from __future__ import annotations

from sessionbrowse.format.json_value import Json
from sessionbrowse.text import size as shown_size

_LEAST_MEDIA_CHARACTERS = 64
"""Minimum base64 length of an image that a placeholder replaces; replacing a smaller image would save too little."""


def short_call_id(call_id: str) -> str:
    """Return the id of a tool call without its `|fc_…` part, which refers to reasoning stored by the provider."""
    return call_id.split("|fc_", 1)[0]


def medium(item: dict[str, Json]) -> str | None:
    """Return the placeholder text for a content block with an image or other medium; None for any other block."""
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
    """Return the placeholder text for an image or other medium, given its MIME type and base64 length."""
    name = kind.split("/", 1)[0] if "/" in kind else "image"
    return f"[{name or 'file'} removed: {kind}, {shown_size(characters * 3 // 4)}]"
