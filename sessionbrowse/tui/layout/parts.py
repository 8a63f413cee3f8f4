"""The parts of documents for the text view; a part estimates its height, and is wrapped when it becomes visible.

A document is a list of parts. Fifty megabytes of text are a few thousand parts that point into one string; only the
visible ones are cleaned, wrapped and styled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol

from msgspec import Struct

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.text import clean, clean_lines
from sessionbrowse.tui.paint.spans import Line, line_width, wrap_offsets

CHUNK = 8 * 1024
"""Minimum number of characters in one part of a long text; the part ends at the next line end."""

LONGEST_PART = 2 * CHUNK
"""Maximum number of characters in one part; a longer line is cut into pieces of `PIECE_OF_LINE` characters."""

PIECE_OF_LINE = CHUNK // 2
"""Number of characters in one part of a very long line."""

SHOWN_FIRST = 24
"""Maximum number of parts that can be visible when a document opens."""

_SEPARATOR = " ·"

Styler = Callable[[str], Line]
"""A function that styles one line: it returns spans for a clean text."""


class Part(Protocol):
    """A piece of a document."""

    def estimate(self, width: int) -> int:
        """Return an estimate of the height in rows, without wrapping the text."""

    def rows(self, width: int) -> list[Line]:
        """Return the rows of the part, each at most `width` cells."""

    def plain(self) -> str:
        """Return the text of the part for the clipboard."""


class LinePart:
    """One styled line, wrapped with a hanging indent."""

    def __init__(self, line: Line, *, indent: int = 0) -> None:
        self._line = line
        self._indent = indent

    def estimate(self, width: int) -> int:
        """Return the number of screen rows of this part, estimated from the length of its line in the file."""
        return 1 + sum([len(text) for text, _ in self._line]) // max(1, width)

    def rows(self, width: int) -> list[Line]:
        """Return the wrapped rows."""
        rows = wrap_line(self._line, width, indent=self._indent)
        return [*map(_without_separator, rows[:-1]), rows[-1]]

    def plain(self) -> str:
        """Return the line's text."""
        return "".join([text for text, _ in self._line])


class FactPart(LinePart):
    """A line with a fact about an entry; searches do not mark matches in it."""


class ItemsPart(LinePart):
    """Short facts with dots between them; a row never ends with a dot."""

    def __init__(self, items: Sequence[str], *, before: Line | None = None) -> None:
        first = before or []
        super().__init__([*first, (("" if not first else " · ") + " · ".join(items), "dim")])
        self._first = first
        self._items = items

    def rows(self, width: int) -> list[Line]:
        """Return the rows, each with as many facts as fit."""
        rows: list[Line] = [list(self._first)]
        for item in self._items:
            dot = " · " if rows[-1] else ""
            if rows[-1] and line_width(rows[-1]) + line_width([(dot + item, "")]) > width:
                rows.append([])
                dot = ""
            rows[-1].append((dot + item, "dim"))
        return [row for line in rows for row in wrap_line(line, width)]


class RowPart:
    """The base of parts that are always one row high."""

    def estimate(self, width: int) -> int:
        """Return the height of the part, which is always one row."""
        return 1


class FittedPart(RowPart):
    """A screen row that depends on the pane's width: a rule, a bar, or a line with a text at its right edge."""

    def __init__(self, make: Callable[[int], Line], plain: str = "") -> None:
        self._make = make
        self._plain = plain

    def rows(self, width: int) -> list[Line]:
        """Return the part's one row, made for this width."""
        return [self._make(width)]

    def plain(self) -> str:
        """Return the part's text for the clipboard."""
        return self._plain


class EntryLink(FittedPart):
    """A row that leads to another entry of the session: Enter or a click puts the tree's cursor there."""

    def __init__(self, make: Callable[[int], Line], plain: str, index: int) -> None:
        super().__init__(make, plain)
        self.index = index


class TextPart:
    """A section of a long text, with a prefix before each row."""

    def __init__(
        self,
        source: str,
        start: int,
        end: int,
        *,
        roles: str = "",
        prefix: Line | None = None,
        styler: Styler | None = None,
        hang: bool = False,
    ) -> None:
        self._source = source
        self._start = start
        self._end = end
        self._roles = roles
        self._prefix = prefix or []
        self._styler = styler
        self._hang = hang

    def estimate(self, width: int) -> int:
        """Return the number of rows, estimated as if all lines had the mean length."""
        room = max(1, width - line_width(self._prefix))
        breaks = self._source.count("\n", self._start, self._end)
        return 1 + breaks + (self._end - self._start - breaks) // (room + max(0, room // 4))

    def rows(self, width: int) -> list[Line]:
        """Return the wrapped rows."""
        room = max(1, width - line_width(self._prefix))
        rows: list[Line] = []
        for text in clean_lines(self._source[self._start : self._end]):
            line: Line = self._styler(text) if self._styler is not None else [(text, self._roles)]
            indent = min(len(text) - len(text.lstrip()) + 2, room // 2) if self._hang else 0
            rows.extend([[*self._prefix, *row] for row in wrap_line(line, room, indent=indent)])
        return rows

    def plain(self) -> str:
        """Return the section's text without control characters, for the clipboard."""
        return "\n".join(clean_lines(self._source[self._start : self._end]))


class LazyPart:
    """A placeholder for parts that are built when they become visible, such as an entry to be read from its file.

    The text view replaces the placeholder by the built parts.
    """

    def __init__(self, make: Callable[[], list[Part]], *, about: int = 3) -> None:
        self._make = make
        self._about = about
        self._built: list[Part] | None = None

    def warm(self) -> None:
        """Build the parts in a background thread, so that painting does not wait for a disk."""
        self._built = self.build()

    def build(self) -> list[Part]:
        """Return the parts; if the file cannot be read, a line with the reason."""
        if self._built is not None:
            return self._built
        try:
            return self._make()
        except SessionBrowseError as error:
            return [LinePart([("✗ ", "error"), (clean(str(error)), "error")])]

    def estimate(self, width: int) -> int:
        """Return the estimated number of rows, which was given when the placeholder was made."""
        return self._about

    def rows(self, width: int) -> list[Line]:
        """Build the parts and return all their rows."""
        return [row for part in self.build() for row in part.rows(width)]

    def plain(self) -> str:
        """Return the text of the parts."""
        return "\n".join([part.plain() for part in self.build()])


def warm(parts: Iterable[Part]) -> None:
    """Build the lazy parts at the top of the document, so that painting does not wait for a disk."""
    for part in islice(parts, SHOWN_FIRST):
        if isinstance(part, LazyPart):
            part.warm()


def text_parts(
    source: str,
    *,
    roles: str = "",
    prefix: Line | None = None,
    styler: Styler | None = None,
    hang: bool = False,
) -> list[Part]:
    """Return the parts of a text of any size; with `hang`, wrapped rows are indented a little more than their line."""
    return [
        TextPart(source, start, end, roles=roles, prefix=prefix, styler=styler, hang=hang)
        for start, end in text_cuts(source)
    ]


def text_cuts(source: str, start: int = 0) -> list[tuple[int, int]]:
    """Return start and end of each part of a long text; the line end between two parts belongs to neither."""
    cuts: list[tuple[int, int]] = []
    length = len(source)
    while length - start > LONGEST_PART:
        end = source.find("\n", start + CHUNK, start + LONGEST_PART)
        if end < 0:
            end = source.rfind("\n", start, start + PIECE_OF_LINE)
        if end < 0:
            end = start + PIECE_OF_LINE
            cuts.append((start, end))
            start = end
        else:
            cuts.append((start, end))
            start = end + 1
    cuts.append((start, length))
    return cuts


def wrap_line(line: Line, width: int, *, indent: int = 0) -> list[Line]:
    """Return the rows of a wrapped line; rows after the first start with `indent` blanks."""
    text = "".join([piece for piece, _ in line])
    if text.isascii() and len(text) <= width:
        return [line]
    offsets = wrap_offsets(text, width)
    if indent and len(offsets) > 1:
        # Only the first row has the full width, so the rest is wrapped again at the narrower width.
        head = offsets[0]
        rest = text[offsets[1][0] :]
        base = offsets[1][0]
        room = max(1, width - indent)
        offsets = [head, *[(start + base, end + base) for start, end in wrap_offsets(rest, room)]]
    rows = [slice_line(line, start, end) for start, end in offsets]
    if indent:
        rows = [rows[0], *[[(" " * indent, ""), *row] for row in rows[1:]]]
    return rows


def _without_separator(row: Line) -> Line:
    """Return a row without the separator of facts at its end: the end of the row separates them."""
    text = "".join([piece for piece, _ in row])
    return slice_line(row, 0, len(text) - len(_SEPARATOR)) if text.endswith(_SEPARATOR) else row


def slice_line(line: Line, start: int, end: int) -> Line:
    """Return the characters `start` to `end` of a styled line."""
    kept: Line = []
    position = 0
    for text, roles in line:
        stop = position + len(text)
        if stop > start and position < end:
            kept.append((text[max(0, start - position) : end - position], roles))
        position = stop
        if position >= end:
            break
    return kept


def overlay(line: Line, ranges: Iterable[tuple[int, int]], roles: str) -> Line:
    """Return the line with further roles added on some ranges of characters; the ranges are in order."""
    total = sum([len(text) for text, _ in line])
    result: Line = []
    position = 0
    for start, end in ranges:
        start, end = max(position, start), min(end, total)
        if start >= end:
            continue
        result += slice_line(line, position, start)
        result += [(text, f"{old} {roles}".strip()) for text, old in slice_line(line, start, end)]
        position = end
    return result + slice_line(line, position, total)


class PreviewDocument(Struct, frozen=True):
    """A document for a preview, and the query whose matches are marked in it."""

    parts: list[Part]
    query: str = ""
