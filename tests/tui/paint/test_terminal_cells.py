"""After any frames the terminal shows the last one, whatever was there before, and unchanged cells are not sent."""

from __future__ import annotations

import random

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from sessionbrowse.tui.paint.terminal_cells import Piece, TerminalCells
from tests.support.terminal import Screen
from tests.tui.paint.test_lean_compositor import as_seen

COLUMNS, ROWS = 30, 6
TEXTS = ["word", "  ", "─│", "日本語", "한", "e\u0301", "✔\ufe0f", "👍🏽", "🔍", "x" * 9, "✓ ok", "ﬁ"]
STYLES = [
    None,
    *map(Style.parse, ("bold", "red on blue", "#102030 on #a0b0c0", "reverse", "underline green", "dim on color(9)")),
]


def shown(screen: Screen) -> list[list[object]]:
    buffer = screen._screen.buffer
    return [[as_seen(buffer[y][x]) for x in range(COLUMNS)] for y in range(ROWS)]


def painted(text: str) -> Screen:
    screen = CompleteScreen(ROWS, COLUMNS)
    screen.feed(text.encode())
    return screen


class CompleteScreen(Screen):
    """A screen that takes colours too, and wraps no lines, as the browser asks of terminals."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__(rows, columns)
        self.feed(b"\x1b[?7l")

    def feed(self, given: bytes) -> None:
        self._stream.feed(given)


def strip_of(dice: random.Random, width: int) -> Strip:
    strip = Strip([Segment(dice.choice(TEXTS), dice.choice(STYLES)) for _ in range(dice.randint(1, 12))])
    return strip.adjust_cell_length(width, dice.choice(STYLES[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("colors", [ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT, ColorSystem.STANDARD])
def test_after_any_pieces_the_terminal_shows_what_a_terminal_without_memory_shows(colors: ColorSystem) -> None:
    for seed in range(60):
        dice = random.Random(seed)
        cells, terminal = TerminalCells(), CompleteScreen(ROWS, COLUMNS)
        frame: dict[tuple[int, int], Strip] = {}
        for _ in range(8):
            pieces: list[Piece] = []
            for y in range(ROWS):
                for x, width in ((0, 11), (11, COLUMNS - 11)):
                    if (x, y) not in frame or dice.random() < 0.4:
                        frame[x, y] = strip_of(dice, width)
                        pieces.append((x, y, frame[x, y], 0, width))
            terminal.feed(cells.update(pieces, colors).encode())
            whole = [(x, y, strip, 0, strip.cell_length) for (x, y), strip in frame.items()]
            assert shown(terminal) == shown(painted(TerminalCells().update(whole, colors))), seed
            assert cells.update(whole, colors) == ""


def test_a_part_of_a_strip_is_painted_at_its_place_and_cut_letters_are_blank() -> None:
    strip = Strip([Segment("ab日本cd")])
    screen = painted(TerminalCells().update([(4, 1, strip, 3, 7)], ColorSystem.TRUECOLOR))
    assert screen.lines()[1] == "     本c"


def test_only_changed_cells_are_sent() -> None:
    cells, style = TerminalCells(), Style.parse("#102030 on #a0b0c0")
    cells.update([(0, 0, Strip([Segment("the cursor is here", style)]), 0, 18)], ColorSystem.TRUECOLOR)
    sent = cells.update([(0, 0, Strip([Segment("the cursor is gone", style)]), 0, 18)], ColorSystem.TRUECOLOR)
    assert sent == "\x1b[1;15H\x1b[38;2;16;32;48;48;2;160;176;192mgon\x1b[0m"


def test_a_letter_of_doubtful_width_shifts_nothing_that_is_sent_after_it() -> None:
    cells = TerminalCells()
    cells.update([(0, 0, Strip([Segment("👍🏽 good")]), 0, 7)], ColorSystem.TRUECOLOR)
    sent = cells.update([(0, 0, Strip([Segment("👍🏽 gold")]), 0, 7)], ColorSystem.TRUECOLOR)
    assert sent == "\x1b[1;1H  \x1b[1;1H👍🏽\x1b[1;3H gold"


def test_what_was_forgotten_is_sent_again() -> None:
    cells, pieces = TerminalCells(), [(0, 0, Strip([Segment("text")]), 0, 4)]
    first = cells.update(pieces, ColorSystem.TRUECOLOR)
    assert cells.update(pieces, ColorSystem.TRUECOLOR) == ""
    cells.forget()
    assert cells.update(pieces, ColorSystem.TRUECOLOR) == first
