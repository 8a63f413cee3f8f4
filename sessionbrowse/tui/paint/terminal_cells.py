"""Remember the cells that the terminal shows, and send only the cells that differ in a new frame.

Textual sends a whole row if a part of it may have changed. Most of its cells are unchanged, and colour codes take most
of its bytes, which makes Textual's output slow over a slow connection.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.cells import split_graphemes
from rich.color import Color, ColorSystem
from rich.style import Style
from textual.strip import Strip

Pen = tuple[str | None, str | None, str]
"""The style of a cell: attributes, foreground, background, as parameters of the escape sequence SGR (`ESC[…m`).

None means that the value does not matter, because it is not visible: for example the foreground of a blank.
"""
Cell = tuple[str, Pen]
"""A character with its combining marks, and its pen (style); the right half of a wide character is an empty string."""
Piece = tuple[int, int, Strip, int, int]
"""Cells to paint: column and row on the screen, a Textual strip, and the start and end of the range in the strip."""

_PLAIN: Pen = ("", "", "")
_PLAIN_BLANK: Pen = (None, None, "")
_UNKNOWN: Cell = ("?", ("?", "?", "?"))
"""Placeholder for a cell of the terminal whose content is not known; it differs from every real cell."""
_SHOWN_ON_BLANKS = frozenset("45679") | {"21", "53"}
"""SGR codes of attributes that are visible on a blank: underlines, blinking, reverse, strike-through, overline."""
_SHORT_GAP = 3
"""A gap of up to this many unchanged cells between two changes is sent again: moving the cursor takes more bytes."""


class TerminalCells:
    """A copy of the screen as the terminal shows it: the cells that were sent last."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell]] = {}

    def forget(self) -> None:
        """Forget the shown cells, because the terminal may show other content; the next frame then has all cells."""
        self._rows.clear()

    def update(self, pieces: Iterable[Piece], colors: ColorSystem) -> str:
        """Return text and escape sequences that make the terminal show the cells in `pieces`."""
        rows: dict[int, list[Cell]] = {}
        for x, y, strip, start, end in pieces:
            row = rows.get(y)
            if row is None:
                row = rows[y] = list(self._rows.get(y, ()))
            cells = _cells_of(strip, start, end, colors)
            if len(row) < x + len(cells):
                row += [_UNKNOWN] * (x + len(cells) - len(row))
            row[x : x + len(cells)] = cells
        output = _Output()
        for y, row in rows.items():
            before = self._rows.get(y, [])
            if row != before:
                _paint_row(output, y, before, row)
                self._rows[y] = row
        return output.text()


class _Output:
    """Builds the text for the terminal; it tracks the terminal's cursor position and pen (style) after that text."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._x, self._y = -1, -1
        self._pen = _PLAIN

    def move(self, x: int, y: int) -> None:
        """Move the terminal's cursor to column `x` and row `y`, unless it is there already."""
        if y == self._y and x > self._x:
            self._parts.append(f"\x1b[{x - self._x}C")
        elif (x, y) != (self._x, self._y):
            self._parts.append(f"\x1b[{y + 1};{x + 1}H")
        self._x, self._y = x, y

    def write(self, cells: Iterable[Cell]) -> None:
        """Write cells at the position of the terminal's cursor, with an escape sequence where the style changes."""
        pen, parts, last = self._pen, self._parts, None
        for text, wanted in cells:
            if wanted is not last:
                last = wanted
                codes, pen = _change(pen, wanted)
                parts.append(codes)
            parts.append(text)
            self._x += 1
        self._pen = pen

    def lose_position(self) -> None:
        """Mark the cursor position as unknown, after a character whose width differs between terminals."""
        self._x, self._y = -1, -1

    def text(self) -> str:
        """Return the whole text for the terminal; at its end, colours and attributes are reset."""
        if self._pen != _PLAIN:
            self._parts.append("\x1b[0m")
        return "".join(self._parts)


def _paint_row(output: _Output, y: int, before: list[Cell], row: list[Cell]) -> None:
    if _is_odd(before) or _is_odd(row):
        # The row contains characters whose width differs between terminals, which may shift the cells after them. So
        # all cells are written, and after each such character the cursor is moved to an absolute position.
        for x, cell in enumerate(row):
            if cell is not _UNKNOWN and cell[0]:
                letter = row[x : x + 2] if x + 1 < len(row) and not row[x + 1][0] else [cell]
                output.move(x, y)
                if _is_odd(letter):
                    # The cells of the character are first filled with blanks: a terminal that draws the character in
                    # one cell instead of two would otherwise keep the old content of the second cell.
                    output.write([(" ", cell[1])] * len(letter))
                    output.move(x, y)
                    output.write(letter)
                    output.lose_position()
                else:
                    output.write(letter)
        return
    for start, end in _changed(before, row):
        output.move(start, y)
        output.write(row[start:end])


def _changed(before: list[Cell], row: list[Cell]) -> list[tuple[int, int]]:
    """Return the (start, end) ranges of changed cells in a row; ranges that are close together are merged.

    A range never begins or ends inside a wide character.
    """
    runs: list[tuple[int, int]] = []
    known = len(before)
    for x, cell in enumerate(row):
        if cell is _UNKNOWN or (x < known and (before[x] is cell or before[x] == cell)):
            continue
        start = x - 1 if not cell[0] and x else x
        end = x + 2 if x + 1 < len(row) and not row[x + 1][0] else x + 1
        if runs and start - runs[-1][1] <= _SHORT_GAP and _UNKNOWN not in row[runs[-1][1] : start]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    return runs


def _is_odd(cells: list[Cell]) -> bool:
    """Return True if a cell has a character whose width differs between terminals, such as emoji or combining marks."""
    for x, (text, _) in enumerate(cells):
        if len(text) > 1 or "\U0001f000" <= text < "\U00020000":
            return True
        if "\x7f" < text < "\u2e80" and x + 1 < len(cells) and not cells[x + 1][0]:
            return True
    return False


def _cells_of(strip: Strip, start: int, end: int, colors: ColorSystem) -> list[Cell]:
    """Return the cells `start` to `end` of a Textual strip; half of a wide character becomes a blank."""
    cells: list[Cell] = []
    for text, style, control in strip:
        if not control:
            cells += _letters(text, style, colors)
            if len(cells) > end:
                break
    is_cut = end < len(cells) and not cells[end][0]
    cells = cells[start:end]
    if cells and not cells[0][0]:
        cells[0] = (" ", cells[0][1])
    if cells and is_cut:
        cells[-1] = (" ", cells[-1][1])
    return cells


# Cached because frames repeat most of their texts. With the cache, equal cells are also the same objects, which Python
# compares much faster.
@lru_cache(maxsize=16384)
def _letters(text: str, style: Style | None, colors: ColorSystem) -> tuple[Cell, ...]:
    pen, blank = _pens(style, colors)
    if text.isascii():
        return tuple([(letter, blank if letter == " " else pen) for letter in text])
    cells: list[Cell] = []
    for first, last, size in split_graphemes(text)[0]:
        letter = text[first:last]
        if size == 0 and cells:
            at = len(cells) - 1 if cells[-1][0] else len(cells) - 2
            cells[at] = (cells[at][0] + letter, cells[at][1])
        elif size:
            cells.append((letter, blank if letter == " " else pen))
            cells += [("", pen)] * (size - 1)
    return tuple(cells)


@lru_cache(maxsize=4096)
def _pens(style: Style | None, colors: ColorSystem) -> tuple[Pen, Pen]:
    """Return two pens (SGR parameters) for a Rich style: one for characters, and one for blanks."""
    if style is None:
        return _PLAIN, _PLAIN_BLANK
    attributes = [code for code in Strip.render_ansi(style.without_color, colors).split(";") if code]
    foreground = _codes(shown_color(style.color, colors), foreground=True)
    background = _codes(shown_color(style.bgcolor, colors), foreground=False)
    pen = (";".join(attributes), foreground, background)
    return pen, pen if _SHOWN_ON_BLANKS.intersection(attributes) else (None, None, background)


def _codes(color: Color | None, *, foreground: bool) -> str:
    """Return the SGR parameters of a colour; "" for the terminal's default colour."""
    return ";".join(color.get_ansi_codes(foreground)) if color is not None and not color.is_default else ""


@lru_cache(maxsize=1024)
def shown_color(color: Color | None, colors: ColorSystem) -> Color | None:
    """Return the colour that a terminal with a system of colours shows for a colour.

    Rich takes dark and pale colours for much stronger ones of the 256: a dark grey with some blue becomes navy.
    """
    if color is None or color.triplet is None or colors is not ColorSystem.EIGHT_BIT:
        return color.downgrade(colors) if color is not None else None
    red, green, blue = color.triplet

    def difference(number: int) -> float:
        # The "redmean" formula: close to how different colours look to people.
        other = Color.from_ansi(number).get_truecolor()
        mean = (red + other[0]) / 512
        weights = (2 + mean, 4, 3 - mean)
        distances = (red - other[0], green - other[1], blue - other[2])
        return sum(weight * distance**2 for weight, distance in zip(weights, distances, strict=True))

    # The first 16 colours are different in each terminal.
    return Color.from_ansi(min(range(16, 256), key=difference))


@lru_cache(maxsize=65536)
def _change(pen: Pen, wanted: Pen) -> tuple[str, Pen]:
    """Return the escape sequence that changes the terminal's style from `pen` to `wanted`, and the resulting pen."""
    attributes, foreground, background = pen
    codes: list[str] = []
    if wanted[0] is None:
        keeps = not _SHOWN_ON_BLANKS.intersection((attributes or "").split(";"))
        target = attributes if keeps else ""
    else:
        target = wanted[0]
    if target != attributes:
        if attributes:
            codes.append("0")
            foreground = background = ""
        codes += [target] if target else []
    if wanted[1] is not None and wanted[1] != foreground:
        codes.append(wanted[1] or "39")
        foreground = wanted[1]
    if wanted[2] != background:
        codes.append(wanted[2] or "49")
        background = wanted[2]
    return (f"\x1b[{';'.join(codes)}m" if codes else ""), (target, foreground, background)
