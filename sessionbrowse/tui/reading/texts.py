"""Convert Markdown, output of programs and JSON values to document parts; the rest of a long text is in a fold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from pygments.lexer import Lexer

from sessionbrowse.format.entries import ToolResultMessage
from sessionbrowse.text import clean, json_exact
from sessionbrowse.tui.layout.highlight import code_parts, style_json
from sessionbrowse.tui.layout.markdown import markdown_parts
from sessionbrowse.tui.layout.parts import SMALLEST_REST, Fold, LinePart, Part, cut_at, more_label, text_parts
from sessionbrowse.tui.paint.spans import Line

BAR: Line = [("│ ", "rule")]
"""Prefix of rows that belong to a heading above them, such as the arguments below the name of a tool."""

Results = Callable[[str], ToolResultMessage | None]
"""A function that takes the id of a tool call and returns the call's result, or None."""

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*$", re.MULTILINE)
_BLOCK_END_REACH = 4_000
"""Maximum number of characters by which the end of shortened Markdown is moved forward to an empty line.

Without this, the text could end in the middle of a paragraph or table.
"""


class Detail(Struct, frozen=True, kw_only=True):
    """Maximum numbers of lines of a message that are shown without a fold; None means all lines.

    `lines` limits text, `output_lines` arguments and results of tools. Further lines are in a fold if `foldable`, else
    only their number is shown. Thinking is in a fold if `foldable`, else `thinking_lines` limits it. `results` finds
    the result of a tool call, to show it with the call.
    """

    lines: int | None = None
    output_lines: int | None = None
    thinking_lines: int = 0
    foldable: bool = True
    results: Results | None = None


def said_parts(source: str, detail: Detail, *, roles: str = "", prefix: Line | None = None) -> list[Part]:
    """Convert the text of a message, which is Markdown, to document parts; `detail` limits the visible lines."""
    place, opening = markdown_cut(source, detail.lines)
    shown = partial(markdown_parts, roles=roles, prefix=prefix)
    return _cut_parts(source, place, shown, detail, prefix, opening)


def markdown_cut(source: str, lines: int | None) -> tuple[int, str]:
    """Return the offset at which to cut Markdown after about `lines` lines, and the fence line of a cut code block.

    The fence line is empty if the cut is not inside a code block; else it must be repeated before the rest.
    """
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
    source: str, detail: Detail, *, roles: str = "", prefix: Line | None = None, lexer: Lexer | None = None
) -> list[Part]:
    """Convert the output of a program or the content of a file to document parts; a lexer gives it syntax colours."""
    place = cut_at(source, detail.output_lines) if detail.output_lines is not None else len(source)
    in_colour = partial(code_parts, lexer=lexer, prefix=prefix)
    plain = partial(text_parts, roles=roles, prefix=prefix)
    return _cut_parts(source, place, plain if lexer is None else in_colour, detail, prefix)


def _cut_parts(
    source: str, place: int, make: Callable[[str], list[Part]], detail: Detail, prefix: Line | None, opening: str = ""
) -> list[Part]:
    """Return the document parts of a text up to the offset `place`, then one part (a fold or a note) for the rest.

    `opening` is put before the rest, to reopen a code block that was cut.
    """
    if place == len(source):
        return make(source)

    def rest() -> list[Part]:
        return make(opening + source[place:].removeprefix("\n"))

    return [*make(source[:place]), _rest(detail, more_label(source, place), rest, prefix)]


def _rest(detail: Detail, label: str, rest: Callable[[], Sequence[Part]], prefix: Line | None) -> Part:
    """Return the rest of a long text as a fold, or as a line with the label (its length) if folds are not allowed."""
    if detail.foldable:
        return Fold([(label, "dim")], rest, prefix=prefix)
    return LinePart([*(prefix or []), (f"… {label}", "faint")])


def parts_and_rest(parts: list[Part], detail: Detail, *, prefix: Line | None = None) -> list[Part]:
    """Return document parts, limited to about `detail.output_lines` lines; the other parts are moved into a fold."""
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
    """Convert a JSON value to document parts: a string as text, any other value as indented JSON."""
    if isinstance(value, str):
        return output_parts(value, detail, prefix=prefix)
    shown = pretty_json(json_exact(value).encode("utf-8", "replace"))
    place = cut_at(shown, detail.output_lines) if detail.output_lines is not None else len(shown)
    return _cut_parts(shown, place, lambda json: text_parts(json, prefix=prefix, styler=style_json), detail, prefix)


def json_hint(value: Any) -> str:
    """Return a short hint of a JSON value: the first keys of an object, or the beginning of a string."""
    if isinstance(value, dict):
        return clean(", ".join([str(key)[:40] for key in list(value)[:8]]))
    return clean(value[:200]) if isinstance(value, str) else ""


def extra_parts(extra: dict[str, Any]) -> list[Part]:
    """Return the undocumented keys of an entry or message, with their values, under the heading `other keys`."""
    if not extra:
        return []
    return [LinePart([("other keys", "dim")]), *value_parts(extra, Detail())]


def pretty_json(document: bytes) -> str:
    """Return a JSON document indented by two blanks per level; unchanged if it is not valid JSON."""
    try:
        return msgspec.json.format(document, indent=2).decode("utf-8", "replace")
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return document.decode("utf-8", "replace")
