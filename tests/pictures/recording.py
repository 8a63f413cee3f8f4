"""Record a minute of use as one moving SVG: the real program in a real terminal, on the demo store (`make recording`).

The picture holds each different row of the screen once, and shows one frame after the other by CSS alone.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterable
from html import escape
from pathlib import Path

import pyte
from msgspec import Struct

from tests.support.story_support import PROJECT_ROOT
from tests.support.terminal import DOWN, ENTER, ESCAPE, TAB, UP, Terminal

COLUMNS, ROWS = 112, 28
CELL_WIDTH, CELL_HEIGHT = 8.4, 18.0
BACKGROUND, FOREGROUND = "#1e1e1e", "#e0e0e0"
CTRL_D = "\x04"
PICTURE = PROJECT_ROOT / "screenshots" / "tour.svg"
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=][0-9;]*u")
_COLOURS = {"black": "#000000", "red": "#cc5555", "green": "#55aa55", "brown": "#cdcd55", "blue": "#5555cc"}
_COLOURS |= {"magenta": "#cc55cc", "cyan": "#55cccc", "white": "#cccccc"}


class Step(Struct, frozen=True):
    """Keys to press, a text that the screen then shows, how long the frame stays, and what is happening."""

    keys: str
    shows: str
    seconds: float
    caption: str


TOUR = (
    Step("", "sessions", 3, "The sessions of all agents, newest first"),
    Step(DOWN, "Refactor auth", 2.5, "Beside the cursor: the conversation as it stands"),
    Step(ENTER, "Tree", 3, "Enter opens the session: every branch, label and compaction"),
    *(Step(UP, "", 0.5, "The entry under the cursor is beside the tree") for _ in range(3)),
    Step(UP, "", 2, "The entry under the cursor is beside the tree"),
    Step(TAB, "tokens", 4, "Tab: what the model would receive at this entry"),
    Step(TAB + TAB, "Diff", 0.5, "d: how this branch differs from the active one"),
    Step("d", "Diff", 4, "d: how this branch differs from the active one"),
    Step(ESCAPE * 2, "sessions", 1, "Esc goes back"),
    Step("/", "", 1, "/ searches all that was ever said"),
    *(Step(letter, "", 0.2, "/ searches all that was ever said") for letter in "idempotenc"),
    Step("y", "", 4, "Enter would open the entry that was found"),
    Step(ESCAPE * 2, "sessions", 1, "Esc goes back"),
    Step(DOWN * 4 + CTRL_D, "trash", 3.5, "Ctrl+D moves a session to the trash, after a question"),
    Step(ENTER, "undo", 2, "Ctrl+D moves a session to the trash, after a question"),
    Step("u", "", 3, "u brings it back, today or next week"),
    Step("$", "abandoned", 4, "$: what it cost, each request counted once"),
    Step(ESCAPE, "sessions", 2, "sessionbrowse"),
)


def main() -> None:
    """Record the tour and write the picture."""
    frames = list(record(TOUR))
    PICTURE.write_text(drawn(frames))
    print(f"{PICTURE.relative_to(PROJECT_ROOT)}: {len(frames)} frames, {PICTURE.stat().st_size / 1024:.0f} KB")


class Frame(Struct, frozen=True):
    """A screen as rows of SVG, the seconds for which it stays, and its caption."""

    rows: tuple[str, ...]
    seconds: float
    caption: str


def record(steps: Iterable[Step]) -> Iterable[Frame]:
    """Yield the screen after each step."""
    with tempfile.TemporaryDirectory() as home:
        env = {
            "PATH": os.defpath,
            "HOME": home,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(PROJECT_ROOT),
        }
        command = [sys.executable, "-m", "sessionbrowse", "demo"]
        screen = pyte.Screen(COLUMNS, ROWS)
        stream = pyte.ByteStream(screen)
        fed = 0
        with Terminal(command, env, Path(home), rows=ROWS, columns=COLUMNS) as terminal:
            for step in steps:
                terminal.press(step.keys)
                if step.shows:
                    terminal.wait(step.shows)
                terminal.until_quiet(0.6)
                stream.feed(_UNKNOWN_TO_PYTE.sub(b"", bytes(terminal.seen[fed:])))
                fed = len(terminal.seen)
                yield Frame(tuple(_row(screen, y) for y in range(ROWS)), step.seconds, step.caption)


def drawn(frames: list[Frame]) -> str:
    """Return the SVG: the rows that occur, then each frame, which is visible in its share of the time."""
    numbers = {row: number for number, row in enumerate(dict.fromkeys(row for frame in frames for row in frame.rows))}
    whole = sum(frame.seconds for frame in frames)
    width, height = COLUMNS * CELL_WIDTH + 20, (ROWS + 2) * CELL_HEIGHT + 20
    styles, groups, begun = [], [], 0.0
    for number, frame in enumerate(frames):
        begin, end = 100 * begun / whole, 100 * (begun + frame.seconds) / whole
        begun += frame.seconds
        steps = [(0, 0), (begin, 1), (end, 0), (100, 0)] if begin else [(0, 1), (end, 0), (100, 0)]
        if end > 99.999:
            steps = [(0, 0), (begin, 1), (100, 1)]
        shown = "".join(f"{at:.3f}%{{visibility:{'visible' if on else 'hidden'}}}" for at, on in steps)
        styles.append(f"@keyframes f{number}{{{shown}}}#f{number}{{animation:f{number} {whole:g}s step-end infinite}}")
        rows = "".join(
            f'<use href="#r{numbers[row]}" y="{y * CELL_HEIGHT:g}"/>' for y, row in enumerate(frame.rows) if row
        )
        caption = (
            f'<text class="c" x="{width / 2 - 10:g}" y="{(ROWS + 1) * CELL_HEIGHT:g}">{escape(frame.caption)}</text>'
        )
        groups.append(f'<g id="f{number}" visibility="{"hidden" if number else "visible"}">{rows}{caption}</g>')
    rows = "".join(f'<g id="r{number}">{row}</g>' for row, number in numbers.items() if row)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" font-size="14" '
        f'font-family="Menlo, Consolas, DejaVu Sans Mono, monospace"><style>text{{white-space:pre;fill:{FOREGROUND}}}'
        f".b{{font-weight:bold}}.c{{text-anchor:middle;font-family:sans-serif;font-size:16px}}{''.join(styles)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/><defs>{rows}</defs>'
        f'<g transform="translate(10 10)">{"".join(groups)}</g></svg>\n'
    )


def _row(screen: pyte.Screen, y: int) -> str:
    """Return a row of the screen as SVG at height 0: one rectangle and one text for each run of equal cells."""
    parts: list[str] = []
    cells = [screen.buffer[y][x] for x in range(COLUMNS)]
    begin = 0
    while begin < COLUMNS:
        cell = cells[begin]
        end = begin
        while end < COLUMNS and _look(cells[end]) == _look(cell):
            end += 1
        foreground, background, is_bold = _look(cell)
        text = "".join(one.data for one in cells[begin:end])
        x, width = begin * CELL_WIDTH, (end - begin) * CELL_WIDTH
        if background != BACKGROUND:
            parts.append(f'<rect x="{x:g}" width="{width:g}" height="{CELL_HEIGHT:g}" fill="{background}"/>')
        if text.strip():
            bold = ' class="b"' if is_bold else ""
            fill = "" if foreground == FOREGROUND else f' style="fill:{foreground}"'
            size = f' textLength="{width:g}" lengthAdjust="spacingAndGlyphs"' if len(text) > 1 else ""
            parts.append(f'<text x="{x:g}" y="13.5"{bold}{fill}{size}>{escape(text, quote=False)}</text>')
        begin = end
    return "".join(parts)


def _look(cell: pyte.screens.Char) -> tuple[str, str, bool]:
    foreground, background = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
    return (background, foreground, cell.bold) if cell.reverse else (foreground, background, cell.bold)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return _COLOURS.get(name.removeprefix("bright"), f"#{name}")


if __name__ == "__main__":
    main()
