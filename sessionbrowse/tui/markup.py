"""Light styling of text by its own marks: Markdown and JSON, line by line, nothing parsed beyond the line.

It only names roles for what is there; no character is added or dropped, so text stays copyable as it is.
"""

from __future__ import annotations

import re

from sessionbrowse.tui.parts import Part, text_parts
from sessionbrowse.tui.spans import Line

LONGEST_STYLED = 400_000
"""Characters above which a text is shown without styling: nobody reads its headings."""

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_HEADING = re.compile(r"#{1,6} ")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])(?= )")
_INLINE = re.compile(r"(`+)(?:(?!\1).)+\1|\*\*[^*\s](?:[^*]*[^*\s])?\*\*")
_JSON_LINE = re.compile(r'(\s*)("(?:[^"\\]|\\.)*")(:?)(.*)')
_JSON_WORD = re.compile(r"\s*(?:true|false|null),?\s*")
_JSON_NUMBER = re.compile(r"\s*-?\d[\d.eE+-]*,?\s*")


def markdown_parts(source: str, *, roles: str = "", prefix: Line | None = None) -> list[Part]:
    """Return the parts of a text that a model or a person wrote: prose styled, fenced code set apart."""
    if len(source) > LONGEST_STYLED:
        return text_parts(source, roles=roles, prefix=prefix)
    parts: list[Part] = []
    for block, is_code in _blocks(source):
        if is_code:
            parts += text_parts(block, roles="code", prefix=prefix)
        else:
            parts += text_parts(block, prefix=prefix, styler=lambda line: style_prose(line, roles))
    return parts


def _blocks(source: str) -> list[tuple[str, bool]]:
    """Cut a text into prose and fenced code (fences included), in order, dropping the ends of line between them."""
    blocks: list[tuple[str, bool]] = []
    start = 0
    fence: str | None = None
    for match in _FENCE.finditer(source):
        if fence is None:
            if match.start() > start:
                blocks.append((source[start : match.start() - 1], False))
            start, fence = match.start(), match[1]
        elif match[1].startswith(fence):
            end = source.find("\n", match.end())
            end = len(source) if end < 0 else end
            blocks.append((source[start:end], True))
            start, fence = end + 1, None
    if start < len(source) or not blocks:
        blocks.append((source[start:], fence is not None))
    return blocks


def style_prose(line: str, roles: str = "") -> Line:
    """Return the spans of one line of Markdown."""
    if _HEADING.match(line):
        return [(line, f"{roles} title".strip())]
    if line.startswith(">"):
        return [(line, f"{roles} dim italic".strip())]
    spans: Line = []
    position = 0
    bullet = _BULLET.match(line)
    if bullet is not None:
        spans.append((bullet[0], "accent"))
        position = bullet.end()
    for match in _INLINE.finditer(line, position):
        if match.start() > position:
            spans.append((line[position : match.start()], roles))
        inline = "code" if match[0][0] == "`" else "strong"
        spans.append((match[0], f"{roles} {inline}".strip()))
        position = match.end()
    if position < len(line):
        spans.append((line[position:], roles))
    return spans


def style_json(line: str) -> Line:
    """Return the spans of one line of indented JSON."""
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


def diff_parts(old: str, new: str, *, prefix: Line | None = None) -> list[Part]:
    """Return an edit as removed and added lines."""
    before = prefix or []
    parts: list[Part] = []
    if old:
        parts += text_parts(old, roles="error", prefix=[*before, ("- ", "error")])
    if new:
        parts += text_parts(new, roles="good", prefix=[*before, ("+ ", "good")])
    return parts
