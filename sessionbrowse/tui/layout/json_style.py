"""Syntax colours of indented JSON, computed line by line; the text stays unchanged."""

from __future__ import annotations

import re

from sessionbrowse.tui.paint.spans import Line

_JSON_LINE = re.compile(r'(\s*)("(?:[^"\\]|\\.)*")(:?)(.*)')
_JSON_WORD = re.compile(r"\s*(?:true|false|null),?\s*")
_JSON_NUMBER = re.compile(r"\s*-?\d[\d.eE+-]*,?\s*")


def style_json(line: str) -> Line:
    """Return one line of indented JSON as coloured pieces of text (spans)."""
    match = _JSON_LINE.fullmatch(line)
    if match is None:
        return _json_value(line)
    indent, string, colon, rest = match.groups()
    if colon:
        return [(indent, ""), (string, "name"), (colon, "dim"), *_json_value(rest)]
    return [(indent, ""), (string, "string"), (rest, "dim")]


def _json_value(piece: str) -> Line:
    stripped = piece.strip()
    if stripped.startswith('"'):
        return [(piece, "string")]
    if _JSON_WORD.fullmatch(piece):
        return [(piece, "keyword")]
    if _JSON_NUMBER.fullmatch(piece):
        return [(piece, "number")]
    if stripped and all(character in "{}[],: " for character in stripped):
        return [(piece, "dim")]
    return [(piece, "string")]
