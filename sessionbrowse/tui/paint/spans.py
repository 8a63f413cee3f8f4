"""Styled text of one row: fitting, padding, wrapping; words and signs that several screens show alike.

Styled text is a list of spans, which are `(text, roles)` pairs; roles are style names. The text of a span must not
contain control characters (`sessionbrowse.text.clean` removes them).
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from rich.cells import split_graphemes

from sessionbrowse.model.listing.directories import split
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.text import clean, shorten_home, truncate
from sessionbrowse.text import width as cell_width

Span = tuple[str, str]
"""A text without control characters, and its roles (style names) separated by blanks; `""` means no style."""

Line = list[Span]
"""The styled spans of one row, from left to right."""

ELLIPSIS = "…"


def line_width(line: Iterable[Span]) -> int:
    """Return the width of a styled line in terminal cells; wide characters count two."""
    return sum([len(text) if text.isascii() else cell_width(text) for text, _ in line])


def fit(line: Line, width: int) -> Line:
    """Return a styled line, shortened to `width` cells with an ellipsis if it is longer."""
    if line_width(line) <= width:
        return line
    kept: Line = []
    room = width
    for text, roles in line:
        cells = cell_width(text)
        # A span (piece of text) is added uncut only if at least one cell remains after it for the ellipsis.
        if cells < room:
            kept.append((text, roles))
            room -= cells
            continue
        if room > 0:
            cut = truncate(text + ELLIPSIS if cells == room else text, room)
            kept.append((cut, roles))
        break
    return kept


def sides(left: Line, right: Line, width: int, *, least: int = 12) -> Line:
    """Return a row with `left` at its left and `right` at its right edge; `left` is shortened if necessary.

    If fewer than `least` cells would remain for `left`, leave `right` out.
    """
    if not right:
        return fit(left, width)
    right_width = line_width(right)
    room = width - right_width - 1
    if room < min(least, line_width(left)):
        return fit(left, width)
    cut = fit(left, room)
    return [*cut, (" " * (width - right_width - line_width(cut)), ""), *right]


def pad(line: Line, width: int) -> Line:
    """Return a styled line, shortened or filled with blanks to exactly `width` cells."""
    line = fit(line, width)
    missing = width - line_width(line)
    return [*line, (" " * missing, "")] if missing > 0 else line


def right_aligned(text: str, roles: str, width: int) -> Span:
    """Return a span of `width` cells: blanks, then the text."""
    return (" " * max(0, width - cell_width(text)) + text, roles)


def wrap_words(text: str, width: int) -> list[str]:
    """Wrap one line of text to rows of at most `width` cells, at blanks if possible, never inside a character."""
    return [text[start:end] for start, end in wrap_offsets(text, width)]


def wrap_offsets(text: str, width: int) -> list[tuple[int, int]]:
    """Wrap one line of text as `wrap_words` does, but return the start and end offset of each row."""
    width = max(1, width)
    if text.isascii():
        return _wrap_ascii(text, width)
    graphemes, cells = split_graphemes(text)
    if cells <= width:
        return [(0, len(text))]
    return _wrap_graphemes(text, graphemes, width)


def _wrap_ascii(text: str, width: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    start, length = 0, len(text)
    in_path = False
    while length - start > width:
        cut = text.rfind(" ", start, start + width + 1)
        # A line break at a blank removes the blank. If only indentation precedes a long word, breaking there would
        # remove a blank of the indentation, so the word is cut instead.
        if cut <= start or not text[start:cut].strip():
            in_path = in_path or _begins_path(text, start)
            slash = text.rfind("/", start + 1, start + width) if in_path else -1
            end = slash + 1 if slash > start and text[start:slash].strip() else start + width
            rows.append((start, end))
            start = end
        else:
            rows.append((start, cut))
            start, in_path = cut + 1, False
    rows.append((start, length))
    return rows


def _begins_path(text: str, start: int) -> bool:
    """Return True if a file path begins at an offset; long paths are wrapped after a slash, other words anywhere."""
    return text[start : start + 40].lstrip(" (\"'“").startswith(("/", "~/"))


def _wrap_graphemes(text: str, graphemes: list[tuple[int, int, int]], width: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    row_start = 0
    used = 0
    # The last possible line break in the current row: the offsets where this row would end and where the next row would
    # start, and the width in cells from the start of this row to the start of the next.
    break_end, break_next, break_used = -1, -1, 0
    slash_end, slash_used, in_path = -1, 0, False
    after_wide = False
    for start, end, cells in graphemes:
        is_blank = text[start:end] == " "
        if is_blank and used >= width:
            rows.append((row_start, start))
            row_start, used, break_end = end, 0, -1
            continue
        while used + cells > width and start > row_start:
            # Wide (East Asian) characters need no blanks between words: a row may end before or after any of them.
            if (cells == 2 or after_wide) and break_next != start:
                rows.append((row_start, start))
                row_start, used = start, 0
            elif break_end <= row_start:
                in_path = in_path or _begins_path(text, row_start)
                cut, cut_used = (slash_end, slash_used) if in_path and slash_end > row_start else (start, used)
                rows.append((row_start, cut))
                row_start = cut
                used -= cut_used
            else:
                rows.append((row_start, break_end))
                row_start, in_path = break_next, False
                used -= break_used
                slash_used -= break_used
            break_end = -1
        used += cells
        if text[start:end] == "/":
            slash_end, slash_used = end, used
        after_wide = cells == 2
        if is_blank:
            break_end, break_next, break_used = start, end, used
        elif after_wide:
            break_end, break_next, break_used = end, end, used
    rows.append((row_start, len(text)))
    return rows


def cut_left(text: str, width: int) -> str:
    """Shorten a text to `width` cells by replacing its beginning with an ellipsis; a short text is returned as is."""
    if cell_width(text) <= width:
        return text
    kept = text
    room = max(0, width - 1)
    graphemes, _ = split_graphemes(text)
    used = 0
    for start, _end, cells in reversed(graphemes):
        if used + cells > room:
            break
        used += cells
        kept = text[start:]
    return ELLIPSIS + kept if used else ELLIPSIS


GLYPHS = {"pi": "π", "omp": "ω", "atomic": "α", "indusagi": "ι", "claude": "c", "codex": "x"}
"""The letter that represents each agent in list rows, where its name would be too long; the preview shows the name."""

STATUS_SIGNS = {
    "interrupted": ("!", "warning"),
    "aborted": ("■", "dim"),
    "error": ("⊗", "error"),
    "pending": ("◔", "accent"),
}
"""The sign (one cell) and the role (style name) for each session status in lists; complete sessions have no sign."""

CRUMB: Line = [(" › ", "faint")]
"""The separator between two items of the path in the header, such as project and session."""

TITLE_CHARACTERS = 400
"""Maximum number of characters that `one_line` returns by default; no row is wider, so more would not be visible."""


def agent_span(agent: str) -> tuple[str, str]:
    """Return the letter that represents an agent in list rows, in the agent's colour."""
    return (GLYPHS.get(agent, "·"), agent if agent in GLYPHS else "dim")


def status_words(summary: Summary) -> Line:
    """Return a session's status with its sign (`done` if complete), shown after the agent's name; [] if unknown."""
    if summary.status in (None, "complete"):
        return [(" · done", "dim")] if summary.status else []
    sign, role = STATUS_SIGNS[summary.status]
    return [(" · ", "dim"), (f"{sign} {summary.status}", role)]


def one_line(foreign: str, characters: int = TITLE_CHARACTERS) -> str:
    """Return the beginning of a text in one line: control characters removed, runs of white space joined.

    A text that is cut ends with an ellipsis.
    """
    # White space is joined before the text is cut, because a message may start with many blanks or empty lines.
    head = " ".join(foreign[: characters * 4].split())
    is_cut = len(head) > characters or bool(foreign[characters * 4 :].strip())
    return clean(head[: characters - 1] + ELLIPSIS if is_cut else head)


def named(summary: Summary) -> str:
    """Return a session's title in one line without control characters; without a title, the file name."""
    return one_line(summary.title, 60) or clean(os.path.basename(summary.path))


def quoted(value: str) -> str:
    """Return a text in double quotes, for a sentence; the text must have no control characters."""
    return f'"{value}"'


def project_name(cwd: str, home: str) -> tuple[str, str]:
    """Split a directory's path for display: return its last component, and the path above with `~` for the home."""
    shown = clean(shorten_home(cwd, home))
    above, name = split(shown)
    return (name, above.rstrip("/")) if name and above else (shown, "")
