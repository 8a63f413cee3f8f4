"""Convert texts to parts, folded if they are long: Markdown, output of programs, JSON values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from pygments.lexer import Lexer

from sessionbrowse.format.entries import ToolResultMessage
from sessionbrowse.text import clean, json_exact
from sessionbrowse.tui.layout.folds import SMALLEST_REST, Fold, cut_at, more_label
from sessionbrowse.tui.layout.highlight import code_parts
from sessionbrowse.tui.layout.json_style import style_json
from sessionbrowse.tui.layout.markdown import markdown_parts
from sessionbrowse.tui.layout.parts import LinePart, Part, text_parts
from sessionbrowse.tui.paint.spans import Line

BAR: Line = [("│ ", "rule")]
"""Prefix of rows that belong to the line above, such as the arguments of a tool call."""

Results = Callable[[str], ToolResultMessage | None]
"""A function that returns the result of a tool call by the id of the call."""

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*$", re.MULTILINE)
_BLOCK_END_REACH = 4_000
"""Maximum number of characters to move a cut of Markdown forward to an empty line, which is the end of a block."""


class Detail(Struct, frozen=True, kw_only=True):
    """Limits for the visible part of a message.

    Maximum numbers of lines: `lines` for text, `output_lines` for arguments and results of tools (None: all),
    `thinking_lines` for reasoning. The other lines become a fold if `foldable`, else only their number is shown.
    `results` returns the results of tool calls.
    """

    lines: int | None = None
    output_lines: int | None = None
    thinking_lines: int = 0
    foldable: bool = True
    results: Results | None = None


def said_parts(source: str, detail: Detail, *, roles: str = "", prefix: Line | None = None) -> list[Part]:
    """Return the parts of a message's text, which is Markdown."""
    place, opening = markdown_cut(source, detail.lines)

    def shown(text: str) -> list[Part]:
        return markdown_parts(text, roles=roles, prefix=prefix)

    return _cut_parts(source, place, shown, detail, prefix, opening)


def markdown_cut(source: str, lines: int | None) -> tuple[int, str]:
    """Return the offset after about `lines` lines of Markdown, and the fence of the code block that is open there."""
    place = cut_at(source, lines) if lines is not None else len(source)
    if place == len(source):
        return place, ""
    fence: re.Match[str] | None = None
    for found in _FENCE.finditer(source, 0, place):
        if fence is None:
            fence = found
        elif found[1].startswith(fence[1]) and found[0].strip() == found[1]:
            fence = None
    if fence is not None:
        return place, fence[0] + "\n"
    end = source.find("\n\n", place, place + _BLOCK_END_REACH)
    return (end if end >= 0 else place), ""


def output_parts(
    source: str,
    detail: Detail,
    *,
    roles: str = "",
    prefix: Line | None = None,
    lexer: Lexer | None = None,
) -> list[Part]:
    """Return the parts of a program's output, with syntax colours if there is a lexer."""
    place = cut_at(source, detail.output_lines) if detail.output_lines is not None else len(source)

    def shown(text: str) -> list[Part]:
        if lexer is not None:
            return code_parts(text, lexer, prefix=prefix)
        return text_parts(text, roles=roles, prefix=prefix)

    return _cut_parts(source, place, shown, detail, prefix)


def _cut_parts(
    source: str, place: int, make: Callable[[str], list[Part]], detail: Detail, prefix: Line | None, opening: str = ""
) -> list[Part]:
    """Return the parts of a text up to an offset, then the rest as one part; `opening` is put before the rest."""
    if place == len(source):
        return make(source)

    def rest() -> list[Part]:
        return make(opening + source[place:].removeprefix("\n"))

    return [*make(source[:place]), _rest(detail, more_label(source, place), rest, prefix)]


def _rest(detail: Detail, label: str, rest: Callable[[], Sequence[Part]], prefix: Line | None) -> Part:
    """Return the rest of a text as a fold, or as a line that names its length."""
    if detail.foldable:
        return Fold([(label, "dim")], rest, prefix=prefix)
    return LinePart([*(prefix or []), (f"… {label}", "faint")])


def parts_and_rest(parts: list[Part], detail: Detail, *, prefix: Line | None = None) -> list[Part]:
    """Return the parts; those after the first `output_lines` lines are hidden in a fold."""
    if detail.output_lines is None:
        return parts
    kept, lines = 0, 0
    while kept < len(parts) and lines < detail.output_lines:
        lines += parts[kept].plain().count("\n") + 1
        kept += 1
    rest = parts[kept:]
    hidden = sum([part.plain().count("\n") + 1 for part in rest])
    if hidden < SMALLEST_REST:
        return parts
    return [*parts[:kept], _rest(detail, f"{hidden:,} more lines", lambda: rest, prefix)]


def value_parts(value: Any, detail: Detail, *, prefix: Line | None = None) -> list[Part]:
    """Return the parts of a JSON value: a string as text, anything else as indented JSON."""
    if isinstance(value, str):
        return output_parts(value, detail, prefix=prefix)
    shown = pretty_json(json_exact(value).encode("utf-8", "replace"))
    place = cut_at(shown, detail.output_lines) if detail.output_lines is not None else len(shown)
    return _cut_parts(shown, place, lambda json: text_parts(json, prefix=prefix, styler=style_json), detail, prefix)


def folded_value(label: str, value: Any) -> Part:
    """Return a fold with a JSON value."""
    return Fold([(label, "dim")], lambda: value_parts(value, Detail(), prefix=BAR), hint=json_hint(value))


def json_hint(value: Any) -> str:
    """Return the first keys of an object, or the beginning of a string."""
    if isinstance(value, dict):
        return clean(", ".join([str(key)[:40] for key in list(value)[:8]]))
    return clean(value[:200]) if isinstance(value, str) else ""


def extra_parts(extra: dict[str, Any]) -> list[Part]:
    """Return the keys of an entry that the format does not document."""
    if not extra:
        return []
    return [LinePart([("other keys", "dim")]), *value_parts(extra, Detail())]


def pretty_json(document: bytes) -> str:
    """Return JSON indented by two; unchanged if it is not valid."""
    try:
        return msgspec.json.format(document, indent=2).decode("utf-8", "replace")
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return document.decode("utf-8", "replace")
