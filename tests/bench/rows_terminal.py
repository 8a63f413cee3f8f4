"""The rows about the line to the terminal: the bytes that a key sends, and how long they take over a slow one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sessionbrowse.demo import make_demo
from tests.bench.bench import OURS, Bench, Line, seconds
from tests.bench.measure import percentile
from tests.support.terminal import BACKSPACE, DOWN, ENTER, ESCAPE, PAGE_DOWN, PAGE_UP, UP, Terminal

PREVIEW_BYTES, TREE_BYTES, FILTER_BYTES, OTHER_BYTES = 6_000, 2_500, 6_000, 25_000
SLOW_BYTES_A_SECOND = 125_000
SLOW_KEY_SECONDS = 0.1
QUIET_SECONDS = 0.25
HOME = "g"


def row_terminal(bench: Bench) -> list[Line]:
    """In the demo at 120×40: the bytes that a key sends, and the time until a cursor key is seen over 1 Mbit/s."""
    many = 10 if bench.quick else 30
    with tempfile.TemporaryDirectory() as folder, _demo(Path(folder)) as terminal:
        terminal.wait("webshop")
        terminal.until_quiet(1.0)
        cursor = _sent(terminal, [DOWN] * many + [UP] * many)
        filters = [size for _ in range(5) for size in (_sent(terminal, ["/"]) + _sent(terminal, [ESCAPE]))]
        others = _sent(terminal, [PAGE_DOWN, PAGE_UP, "?", ESCAPE, "/", "t", "e", BACKSPACE, ESCAPE, ESCAPE, "v", "v"])
        slow = [_shown_slowly(terminal, key) for key in [DOWN, DOWN, UP, UP] * (many // 4)]
        _sent(terminal, [HOME, DOWN])
        others += _sent(terminal, [ENTER])
        tree = _sent(terminal, [UP] * many + [DOWN] * many)
        others += _sent(terminal, [PAGE_UP, PAGE_DOWN, "?", ESCAPE])
        slow += [_shown_slowly(terminal, key) for key in [UP, UP, DOWN, DOWN] * (many // 4)]
    late = percentile(slow, 0.95)
    return [
        _line("a step of the cursor, with a preview that changes", cursor, PREVIEW_BYTES),
        _line("a step of the cursor in a tree", tree, TREE_BYTES),
        _line("a filter line that opens or closes", filters, FILTER_BYTES),
        _line("any other key", others, OTHER_BYTES),
        Line(
            "cursor keys over 1 Mbit/s: key to the cursor at its new row, p95",
            seconds(late),
            "",
            "",
            f"≤ {seconds(SLOW_KEY_SECONDS)}",
            late <= SLOW_KEY_SECONDS,
        ),
    ]


def _line(what: str, sizes: Sequence[int], most: int) -> Line:
    found = percentile(sizes, 0.95)
    return Line(f"bytes sent for {what}, p95", f"{found / 1000:.1f} KB", "", "", f"≤ {most / 1000:g} KB", found <= most)


def _sent(terminal: Terminal, keys: Sequence[str]) -> list[int]:
    """Return the number of bytes that the browser sent for each key."""
    sizes = []
    for key in keys:
        before = len(terminal.seen)
        terminal.press(key)
        terminal.until_quiet(QUIET_SECONDS)
        sizes.append(len(terminal.seen) - before)
    return sizes


def _shown_slowly(terminal: Terminal, key: str) -> float:
    """Return the seconds from a key to its first change on the screen, over a line that is slow with every byte."""
    terminal.until_quiet(QUIET_SECONDS)
    shown, before = terminal.screen.text(), len(terminal.seen)
    pressed = terminal.press(key)
    moment = terminal.wait(lambda screen: screen.text() != shown, 1)
    return moment - pressed + (len(terminal.seen) - before) / SLOW_BYTES_A_SECOND


def _demo(folder: Path) -> Terminal:
    """Open the demo's sessions, whose texts are those of real work, as a new user."""
    make_demo(folder)
    roots = [word for agent in ("pi", "omp", "indusagi") for word in ("--root", folder / agent / "agent")]
    home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return Terminal([OURS, *roots], {**env, **home, "COLORTERM": "truecolor"}, folder)
