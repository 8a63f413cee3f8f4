"""Show edits of files as removed and added lines, from the old and new text or from a diff that the agent stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from sessionbrowse.text import clean_lines
from sessionbrowse.tui.layout.parts import Part, text_parts
from sessionbrowse.tui.paint.spans import Line

CONTEXT_LINES = 3
MOST_COMPARED = 2_000
"""Maximum number of lines, of old and new text together, that are compared, because the time grows quadratically.

For longer texts all old lines are shown as removed and all new lines as added.
"""

_NUMBERED = re.compile(r"([+\- ])( *\d+)( .*|)$", re.DOTALL)
_GAP = "⋯"


def edit_parts(old: str, new: str, *, prefix: Line | None = None) -> list[Part]:
    """Return an edit as document parts: common lines, removed lines with `-`, added lines with `+`."""
    before = prefix or []
    parts: list[Part] = []
    for sign, source in _stretches(old, new):
        parts += text_parts(source, roles=_ROLES[sign], prefix=[*before, (f"{sign} ", _ROLES[sign])])
    return parts


def edit_counts(old: str, new: str) -> tuple[int, int]:
    """Return the numbers of lines that an edit adds and removes."""
    counts = {"+": 0, "-": 0}
    for sign, source in _stretches(old, new):
        if sign in counts:
            counts[sign] += source.count("\n") + 1
    return counts["+"], counts["-"]


def style_diff(line: str) -> Line:
    """Return one line of a diff as coloured pieces of text (spans)."""
    roles = _ROLES.get(line[:1], "dim")
    numbered = _NUMBERED.match(line)
    if numbered is not None:
        sign, number, text = numbered.groups()
        return [(sign, roles), (number, "faint"), (text, roles)]
    return [(line, "accent" if line.startswith("@@") else roles)]


def count_spans(counts: tuple[int, int]) -> Line:
    """Return the numbers of added and removed lines as coloured text: `+12 −3`."""
    added, removed = counts
    return [(f"  +{added:,}", "good"), (f" −{removed:,}", "error")]


_ROLES = {"+": "good", "-": "error", " ": "dim"}


def _stretches(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield (sign, lines) for the groups of an edit: ` ` for common lines, `-` for removed, `+` for added lines.

    In a long group of common lines, the middle is replaced by a note with its number of lines.
    """
    old_lines, new_lines = clean_lines(old) if old else [], clean_lines(new) if new else []
    if len(old_lines) + len(new_lines) > MOST_COMPARED:
        groups: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old_lines), 0, len(new_lines))]
    else:
        groups = SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes()
    for number, (kind, old_start, old_end, new_start, new_end) in enumerate(groups):
        if kind == "equal":
            at_ends = (number == 0, number == len(groups) - 1)
            yield from _common(old_lines[old_start:old_end], *at_ends)
            continue
        if old_end > old_start:
            yield "-", "\n".join(old_lines[old_start:old_end])
        if new_end > new_start:
            yield "+", "\n".join(new_lines[new_start:new_end])


def _common(lines: list[str], is_first: bool, is_last: bool) -> Iterator[tuple[str, str]]:
    head = 0 if is_first else CONTEXT_LINES
    tail = 0 if is_last else CONTEXT_LINES
    if len(lines) <= head + tail + 1:
        yield " ", "\n".join(lines)
        return
    gap = f"{_GAP} {len(lines) - head - tail:,} lines the same"
    yield " ", "\n".join([*lines[:head], gap, *(lines[-tail:] if tail else [])])
