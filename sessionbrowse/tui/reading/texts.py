"""Texts of a session → parts, folded where they are long: what was said, what tools gave back, values as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from pygments.lexer import Lexer

from sessionbrowse.format.entries import ToolResultMessage
from sessionbrowse.text import clean, json_exact
from sessionbrowse.tui.layout.folds import SMALLEST_REST, Fold, cut_at, more_label, rest_of_text
from sessionbrowse.tui.layout.highlight import code_parts
from sessionbrowse.tui.layout.json_style import style_json
from sessionbrowse.tui.layout.markdown import markdown_parts
from sessionbrowse.tui.layout.parts import LinePart, Part, text_parts
from sessionbrowse.tui.paint.spans import Line

BAR: Line = [("│ ", "rule")]
"""What stands before each row of something that belongs to the line above it."""

Results = Callable[[str], ToolResultMessage | None]
"""Finds what a tool gave back, by the id of its call."""

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)[^\n]*$", re.MULTILINE)
_BLOCK_END_REACH = 4_000
"""Characters after a cut among which an empty line is looked for, so that Markdown is cut between blocks."""


class Detail(Struct, frozen=True, kw_only=True):
    """How much of a message is shown at first.

    `lines` of what was said and `output_lines` of what tools took and gave back (None: all), `thinking_lines` of the
    model's reasoning. What is beyond can be unfolded if `foldable`. `results` finds the results of calls.
    """

    lines: int | None = None
    output_lines: int | None = None
    thinking_lines: int = 0
    foldable: bool = True
    results: Results | None = None


def said_parts(source: str, detail: Detail, *, roles: str = "", prefix: Line | None = None) -> list[Part]:
    """Return a text that a model or a person wrote, as Markdown."""
    place, opening = markdown_cut(source, detail.lines)
    parts = markdown_parts(source[:place], roles=roles, prefix=prefix)
    if place < len(source):
        rest = opening + source[place:].removeprefix("\n")
        parts += more(detail, source, place, lambda: markdown_parts(rest, roles=roles, prefix=prefix), prefix=prefix)
    return parts


def markdown_cut(source: str, lines: int | None) -> tuple[int, str]:
    """Return where Markdown is cut after about `lines` lines, and the line that opens what goes on after it."""
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
    """Return a text that a program wrote, as it stands; in the colours of a language if there is a lexer."""
    place = cut_at(source, detail.output_lines) if detail.output_lines is not None else len(source)

    def shown(text: str) -> list[Part]:
        if lexer is not None:
            return code_parts(text, lexer, prefix=prefix)
        return text_parts(text, roles=roles, prefix=prefix)

    parts = shown(source[:place])
    if place < len(source):
        if lexer is not None:
            parts += more(detail, source, place, lambda: shown(source[place:].removeprefix("\n")), prefix=prefix)
        else:
            parts += more(
                detail, source, place, lambda: rest_of_text(source, place, roles=roles, prefix=prefix), prefix=prefix
            )
    return parts


def more(
    detail: Detail, source: str, place: int, rest: Callable[[], Sequence[Part]], *, prefix: Line | None = None
) -> list[Part]:
    """Return what stands for the rest of a text from a place on: a fold, or a line that says how much it is."""
    return [_rest(detail, more_label(source, place), rest, prefix)]


def _rest(detail: Detail, label: str, rest: Callable[[], Sequence[Part]], prefix: Line | None) -> Part:
    if detail.foldable:
        return Fold([(label, "dim")], rest, prefix=prefix)
    return LinePart([*(prefix or []), (f"… {label}", "faint")])


def parts_and_rest(parts: list[Part], detail: Detail, *, prefix: Line | None = None) -> list[Part]:
    """Return parts that were made of lines, those beyond the detail's lines folded."""
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
    """Return a JSON value to read: a text as it is, anything else as indented JSON."""
    if isinstance(value, str):
        return output_parts(value, detail, prefix=prefix)
    shown = pretty_json(json_exact(value).encode("utf-8", "replace"))
    place = cut_at(shown, detail.output_lines) if detail.output_lines is not None else len(shown)
    parts = text_parts(shown[:place], prefix=prefix, styler=style_json)
    if place < len(shown):
        rest = shown[place:].removeprefix("\n")
        parts += more(detail, shown, place, lambda: text_parts(rest, prefix=prefix, styler=style_json), prefix=prefix)
    return parts


def folded_value(label: str, value: Any) -> Part:
    """Return a value of which only the name shows until it is opened."""
    return Fold([(label, "dim")], lambda: value_parts(value, Detail(), prefix=BAR), hint=json_hint(value))


def json_hint(value: Any) -> str:
    """Return the first keys of an object, the beginning of a text."""
    if isinstance(value, dict):
        return clean(", ".join([str(key)[:40] for key in list(value)[:8]]))
    return clean(value[:200]) if isinstance(value, str) else ""


def extra_parts(extra: dict[str, Any]) -> list[Part]:
    """Return the keys that nobody told us about, as they stand."""
    if not extra:
        return []
    return [LinePart([("other keys", "dim")]), *value_parts(extra, Detail())]


def pretty_json(document: bytes) -> str:
    """Return JSON indented by two; what cannot be indented comes back as it stands."""
    try:
        return msgspec.json.format(document, indent=2).decode("utf-8", "replace")
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return document.decode("utf-8", "replace")
