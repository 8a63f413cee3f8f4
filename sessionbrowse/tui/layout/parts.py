"""The parts (blocks) of which a document for the text view consists.

A part estimates its height, and is cleaned, wrapped and styled only when it becomes visible. Fifty megabytes of text
are a few thousand parts, which store offsets into one string.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.text import clean, clean_lines
from sessionbrowse.tui.paint.spans import Line, fit, line_width, wrap_offsets

CHUNK = 8 * 1024
"""A long text is split into document parts of at least this many characters; each part ends at a line end."""

LONGEST_PART = 2 * CHUNK
"""Maximum number of characters in one document part; longer lines are cut to pieces of `PIECE_OF_LINE` characters."""

PIECE_OF_LINE = CHUNK // 2
"""Number of characters in one document part, if a very long line is cut into several parts."""

SHOWN_FIRST = 24
"""Number of parts at the top of a document that are built in advance, because they may be visible when it opens."""

CLOSED, OPEN = "▸ ", "▾ "
SMALLEST_REST = 4
"""Minimum number of lines to hide in a fold; fewer lines are shown, because a fold would save hardly any room."""

CHARACTERS_PER_LINE = 400
"""Number of characters that count as one line when a text is cut for a fold, so that very long lines are cut too."""

_SEPARATOR = " ·"

Styler = Callable[[str], Line]
"""A function that styles one line: it splits the text, which has no control characters, into styled spans."""


class Part(Protocol):
    """A block of a document, such as a paragraph or a section of a long text; it can wrap itself into screen rows."""

    def estimate(self, width: int) -> int:
        """Return the part's estimated height in rows, without wrapping its text."""

    def rows(self, width: int) -> list[Line]:
        """Return the part's content as screen rows, each at most `width` cells wide."""

    def plain(self) -> str:
        """Return the part's text without styles, for the clipboard."""


class LinePart:
    """A document part with one styled line; wrapped rows after its first row are indented."""

    def __init__(self, line: Line, *, indent: int = 0) -> None:
        self._line = line
        self._indent = indent

    def estimate(self, width: int) -> int:
        """Return the number of screen rows of the line, estimated from its number of characters."""
        return 1 + sum([len(text) for text, _ in self._line]) // max(1, width)

    def rows(self, width: int) -> list[Line]:
        """Return the wrapped rows of the line."""
        rows = wrap_line(self._line, width, indent=self._indent)
        return [*map(_without_separator, rows[:-1]), rows[-1]]

    def plain(self) -> str:
        """Return the line's text."""
        return "".join([text for text, _ in self._line])


class FactPart(LinePart):
    """A line with a fact about an entry, such as its model; search matches are not highlighted in it."""


class ItemsPart(LinePart):
    """Short facts separated by ` · `; they are wrapped only between facts, no row begins or ends with ` · `."""

    def __init__(self, items: Sequence[str], *, before: Line | None = None) -> None:
        first = before or []
        super().__init__([*first, (("" if not first else " · ") + " · ".join(items), "dim")])
        self._first = first
        self._items = items

    def rows(self, width: int) -> list[Line]:
        """Return rows that each contain as many facts as fit into `width` cells."""
        rows: list[Line] = [list(self._first)]
        for item in self._items:
            dot = " · " if rows[-1] else ""
            if rows[-1] and line_width(rows[-1]) + line_width([(dot + item, "")]) > width:
                rows.append([])
                dot = ""
            rows[-1].append((dot + item, "dim"))
        return [row for line in rows for row in wrap_line(line, width)]


class RowPart:
    """Base class of document parts that are always one row high."""

    def estimate(self, width: int) -> int:
        """Return the height of the part, which is always one row."""
        return 1


class FittedPart(RowPart):
    """A row computed for the pane's width: a horizontal line, a bar, or a line with a text at the right edge."""

    def __init__(self, make: Callable[[int], Line], plain: str = "") -> None:
        self._make = make
        self._plain = plain

    def rows(self, width: int) -> list[Line]:
        """Return one row, computed for a pane of `width` cells."""
        return [self._make(width)]

    def plain(self) -> str:
        """Return the part's text for the clipboard."""
        return self._plain


class EntryLink(FittedPart):
    """A row that links to another entry of the session; Enter or a click moves the tree's cursor to that entry."""

    def __init__(self, make: Callable[[int], Line], plain: str, index: int) -> None:
        super().__init__(make, plain)
        self.index = index


class Fold(RowPart):
    """A collapsible block of a document: one row, and below it the content while the fold is open.

    The content is built when the fold is opened.
    """

    def __init__(
        self,
        label: Line,
        body: Callable[[], Sequence[Part]],
        *,
        prefix: Line | None = None,
        hint: str = "",
        is_open: bool = False,
    ) -> None:
        self._label = label
        self.body = body
        """Builds the hidden content of the fold, as a list of document parts."""
        self._prefix = prefix or []
        self._hint = hint
        self.is_open = is_open

    def rows(self, width: int) -> list[Line]:
        """Return the fold's row: its label and, if the fold is closed, a hint of its content."""
        sign = OPEN if self.is_open else CLOSED
        row: Line = [*self._prefix, (sign, "accent"), *self._label]
        if self._hint and not self.is_open and line_width(row) + 8 < width:
            row.append((f"  {self._hint}", "faint"))
        return [fit(row, width)]

    def plain(self) -> str:
        """Return the label as text, and a closed fold's content; an open fold's content is in the parts below it."""
        label = "".join([text for text, _ in self._label])
        return label if self.is_open else "\n".join([label, *[part.plain() for part in self.body()]])


class TextPart:
    """A document part that shows a section of a long text, with a prefix before each row."""

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
        """Return the number of rows of the section, estimated from its numbers of lines and characters."""
        room = max(1, width - line_width(self._prefix))
        breaks = self._source.count("\n", self._start, self._end)
        return 1 + breaks + (self._end - self._start - breaks) // (room + max(0, room // 4))

    def rows(self, width: int) -> list[Line]:
        """Return the wrapped rows of the section."""
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
    """A placeholder for document parts that are built only when they become visible, such as an entry read from disk.

    The text view then replaces the placeholder by the built parts.
    """

    def __init__(self, make: Callable[[], list[Part]], *, about: int = 3) -> None:
        self._make = make
        self._about = about
        self._built: list[Part] | None = None

    def warm(self) -> None:
        """Build the parts in advance; call this in a background thread, so that painting does not wait for the disk."""
        self._built = self.build()

    def build(self) -> list[Part]:
        """Build and return the document parts that replace the placeholder; if that fails, a line with the error."""
        if self._built is not None:
            return self._built
        try:
            return self._make()
        except SessionBrowseError as error:
            return [LinePart([("✗ ", "error"), (clean(str(error)), "error")])]

    def estimate(self, width: int) -> int:
        """Return an estimate, given when the placeholder was made, of the number of rows that its parts will take."""
        return self._about

    def rows(self, width: int) -> list[Line]:
        """Build the parts and return all their rows."""
        return [row for part in self.build() for row in part.rows(width)]

    def plain(self) -> str:
        """Build the parts and return their text, for the clipboard."""
        return "\n".join([part.plain() for part in self.build()])


def warm(parts: Iterable[Part]) -> None:
    """Build the lazy parts at the top of a document; called in a background thread, so that painting need not wait."""
    for part in islice(parts, SHOWN_FIRST):
        if isinstance(part, LazyPart):
            part.warm()


def text_parts(
    source: str, *, roles: str = "", prefix: Line | None = None, styler: Styler | None = None, hang: bool = False
) -> list[Part]:
    """Split a text of any size into document parts; with `hang`, a wrapped line's rows after its first are indented."""
    return [
        TextPart(source, start, end, roles=roles, prefix=prefix, styler=styler, hang=hang)
        for start, end in text_cuts(source)
    ]


def text_cuts(source: str, start: int = 0) -> list[tuple[int, int]]:
    """Return start and end offset of each part into which a long text is split, without the line ends between them."""
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


def cut_at(source: str, lines: int) -> int:
    """Return the offset at which to cut a text after about `lines` lines; the text's length if few lines remain."""
    limit = min(len(source), lines * CHARACTERS_PER_LINE)
    end = -1
    for _ in range(lines):
        end = source.find("\n", end + 1, limit)
        if end < 0:
            break
    place = end if end >= 0 else limit
    rest = source.count("\n", place, place + SMALLEST_REST * CHARACTERS_PER_LINE)
    if rest < SMALLEST_REST and len(source) - place <= SMALLEST_REST * CHARACTERS_PER_LINE:
        return len(source)
    return place


def more_label(source: str, start: int) -> str:
    """Return the label for the text after an offset: `214 more lines`, or for few lines `90 more characters`."""
    lines = source.count("\n", start)
    if lines < SMALLEST_REST:
        return f"{len(source) - start:,} more characters"
    return f"{lines:,} more lines"


def wrap_line(line: Line, width: int, *, indent: int = 0) -> list[Line]:
    """Wrap a styled line to rows of at most `width` cells; rows after the first start with `indent` blanks."""
    text = "".join([piece for piece, _ in line])
    if text.isascii() and len(text) <= width:
        return [line]
    offsets = wrap_offsets(text, width)
    if indent and len(offsets) > 1:
        # Rows after the first are indented and so have less width: the text after the first row is wrapped again.
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
    """Remove the separator ` ·` from the end of a row; it is needed only between two facts in the same row."""
    text = "".join([piece for piece, _ in row])
    return slice_line(row, 0, len(text) - len(_SEPARATOR)) if text.endswith(_SEPARATOR) else row


def slice_line(line: Line, start: int, end: int) -> Line:
    """Return the part of a styled line between two character offsets."""
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
    """Return a styled line with additional roles (styles) on some character ranges, which must be sorted."""
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
