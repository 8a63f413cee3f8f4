"""The row about the time from a key to the frame that shows what it did, and what it costs the processor.

Nothing but bytes is waited for while the browser works; what they show is worked out afterwards.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from itertools import accumulate

from msgspec import Struct, field
from wcwidth import wcwidth

from tests.bench.bench import Bench, Line, limited, median, recorded, seconds
from tests.bench.measure import Failed, cpu_of_tree, percentile
from tests.bench.rows_browser import LISTS, browser, go_into_tree, shows, titles_of
from tests.bench.rows_command_line import appended, size_of, title_of
from tests.support.terminal import BACKSPACE, DOWN, ESCAPE, PAGE_DOWN, PAGE_UP, UP, Screen, Terminal

FRAME_LIMIT_SECONDS = 0.033
SAID_LIMIT_SECONDS = 0.2
"""As for a search: the rows come from the same program."""
QUIET_SECONDS = 0.25
"""Longer than anything waits before it goes on, such as the preview for the cursor to rest."""
STATS_LIMIT_SECONDS, STATS_CHANGED_SECONDS = 0.1, 1.0
ORDER = "\x13"
WORDS = ("auth", "test", "config") * 3
"""Often enough that the slowest twentieth is more than the slowest key."""


class Keys(Struct):
    """Times of one kind of keys: to the final lists and footer, to the last byte of output, and CPU time.

    `first` is the time to the first frame with other rows, `rows` to the rows as they stay, whatever is counted below.
    """

    first: list[float] = field(default_factory=list)
    frames: list[float] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def row_latency(bench: Bench) -> list[Line]:
    """Key to painted frame: cursor, page, fold and letters, in long lists and in a tree of 100,000 rows."""
    many = 10 if bench.quick else 40
    lists, tree, branches = bench.store("large"), bench.store("chain"), bench.store("branches")
    for store in (lists, tree, branches):
        bench.indexed(store)
    return [
        *_in_lists(browser(bench, lists), titles_of(bench, lists), f"lists, {size_of(lists)}", many),
        *_in_tree(browser(bench, tree), titles_of(bench, tree), f"tree, {title_of(tree)}", many),
        *_in_folds(browser(bench, branches), titles_of(bench, branches), f"tree, {title_of(branches)}", many),
    ]


def row_stats_screen(bench: Bench) -> list[Line]:
    """Key to the first frame of the statistics, to their figures, and from a changed session to other figures."""
    store = bench.store("large")
    bench.indexed(store)
    frames: list[float] = []
    figures: list[float] = []
    changes: list[float] = []
    with browser(bench, store) as terminal:
        terminal.wait(shows(titles_of(bench, store)))
        terminal.until_quiet(2.0)
        for _ in range(bench.rounds + 1):
            moment = terminal.press("$")
            frames.append(terminal.wait(_is_statistics) - moment)
            figures.append(terminal.wait(_has_figures) - moment)
            terminal.until_quiet(0.5)
            terminal.press(ESCAPE)
            terminal.wait(lambda screen: LISTS in screen.text())
            terminal.until_quiet(0.5)
        terminal.press("$")
        terminal.wait(_has_figures)
        terminal.until_quiet(0.5)
        for number in range(bench.rounds):
            before = terminal.screen.lines()[1]
            tokens = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 1000 + number}}
            message = {
                "role": "assistant",
                "content": [{"type": "text", "text": uuid.uuid4().hex}],
                "provider": "bench",
                "model": "bench",
                "usage": tokens,
                "timestamp": int(time.time() * 1000),
            }
            with appended(store.files()[number], "message", {"message": message}):
                moment = time.perf_counter()
                changes.append(terminal.wait(_has_other_figures(before), 5) - moment)
                terminal.until_quiet(0.5)
            terminal.until_quiet(2.0, 5)
    what = f"statistics, {size_of(store)}"
    return [
        # The first figures after other versions of files are those that the index keeps for the next times.
        limited(f"{what}: key to first frame", frames[1:], seconds, STATS_LIMIT_SECONDS),
        recorded(f"{what}: key to figures", figures[1:], seconds),
        limited(f"{what}: changed session to changed figures", changes, seconds, STATS_CHANGED_SECONDS),
    ]


def _is_statistics(screen: Screen) -> bool:
    return screen.lines()[0].lstrip().startswith("Cost ")


def _has_figures(screen: Screen) -> bool:
    return _is_statistics(screen) and " tokens" in screen.lines()[1]


def _has_other_figures(before: str) -> Callable[[Screen], bool]:
    return lambda screen: _has_figures(screen) and screen.lines()[1] != before


def _in_lists(opened: Terminal, titles: list[str], what: str, many: int) -> list[Line]:
    cursor, page, letters, order = Keys(), Keys(), Keys(), Keys()
    with opened as terminal:
        terminal.wait(shows(titles))
        terminal.until_quiet(2.0)
        _press(terminal, [DOWN] * many + [UP] * (many // 2), cursor)
        _press(terminal, [PAGE_DOWN] * many + [PAGE_UP] * many, page)
        _press(terminal, [ORDER, ORDER] * (many // 4), order)
        _type(terminal, letters)
    said = percentile(letters.frames, 0.95)
    return [
        *_lines(f"{what}: cursor", cursor),
        *_lines(f"{what}: page", page),
        # Sessions in which the word was said come a moment later, from another program, below those with such a name.
        *_lines(f"{what}: filter letters, names", Keys(frames=letters.first, settled=letters.settled, cpu=letters.cpu)),
        Line(
            f"{what}: filter letters: key to all rows, those in which it was said too, p95",
            f"{seconds(said)} (median {seconds(median(letters.frames))})",
            "",
            "",
            f"≤ {seconds(SAID_LIMIT_SECONDS)}",
            said <= SAID_LIMIT_SECONDS,
        ),
        *_lines(f"{what}: another order", order, bar=False),
    ]


def _in_tree(opened: Terminal, titles: list[str], what: str, many: int) -> list[Line]:
    cursor, page, letters = Keys(), Keys(), Keys()
    with opened as terminal:
        go_into_tree(terminal, titles)
        terminal.until_quiet(2.0)
        _press(terminal, [UP] * many + [DOWN] * (many // 2), cursor)
        _press(terminal, [PAGE_UP] * many + [PAGE_DOWN] * (many // 2), page)
        _type(terminal, letters)
    return [
        *_lines(f"{what}: cursor", cursor),
        *_lines(f"{what}: page", page),
        # Tens of thousands of hits are counted long after those around the cursor stand there.
        *_lines(f"{what}: search letters, rows", Keys(frames=letters.rows, settled=letters.settled, cpu=letters.cpu)),
        recorded(f"{what}: search letters: all counted", letters.frames, seconds),
    ]


def _in_folds(opened: Terminal, titles: list[str], what: str, many: int) -> list[Line]:
    fold = Keys()
    with opened as terminal:
        go_into_tree(terminal, titles)
        terminal.until_quiet(2.0)
        terminal.press("g")
        terminal.until_quiet(0.5)
        _press(terminal, [" ", " "] * (many // 2), fold)
    return _lines(f"{what}: fold", fold)


def _type(terminal: Terminal, taken: Keys) -> None:
    for word in WORDS:
        terminal.press("/")
        terminal.until_quiet(QUIET_SECONDS)
        _press(terminal, [*word, BACKSPACE], taken)
        # A second Escape would go on to the few folders, or leave the tree.
        terminal.press(ESCAPE)
        terminal.until_quiet(QUIET_SECONDS)


def _press(terminal: Terminal, keys: list[str], taken: Keys) -> None:
    missed = 0
    for key in keys:
        terminal.until_quiet(QUIET_SECONDS)
        before = _without_view(terminal.screen.lines())
        used = cpu_of_tree(terminal.pid)
        pressed, screens = terminal.record(key, quiet=QUIET_SECONDS)
        taken.cpu.append(cpu_of_tree(terminal.pid) - used)
        shown = [(moment, _without_view(lines)) for moment, lines in screens]
        if not shown or shown[-1][1] == before:
            missed += 1
            continue
        rows = [_rows(lines) for _, lines in shown]
        changed = next((at for at, lines in enumerate(rows) if lines != _rows(before)), 0)
        taken.first.append(shown[changed][0] - pressed)
        taken.frames.append(_last_change(shown) - pressed)
        taken.rows.append(_last_change([(moment, _rows(lines)) for moment, lines in shown]) - pressed)
        taken.settled.append(shown[-1][0] - pressed)
    if missed > len(keys) // 4:
        raise Failed(f"{missed} of {len(keys)} keys changed nothing on the screen: {keys[:3]}")


def _last_change(shown: list[tuple[float, list[str]]]) -> float:
    last = len(shown) - 1
    while last > 0 and shown[last - 1][1] == shown[-1][1]:
        last -= 1
    return shown[last][0]


def _rows(lines: list[str]) -> list[str]:
    """Return the rows of the panes, without scroll bars, frames, and the lines below."""
    return [line.rstrip("│▁▂▃▄▅▆▇█ ") for line in lines if line.startswith("│")]


def _without_view(lines: list[str]) -> list[str]:
    """Return the screen without the header and the view on the right, which follow the cursor when it rests."""
    top = lines[1] if len(lines) > 1 else ""
    view = re.search(r"╭[─ ]*(?:Preview|Entry)", top)
    bottom = max((number for number, line in enumerate(lines) if line.startswith("╰")), default=0)
    return [
        _cut(line, view.start()) if view is not None and number <= bottom else line for number, line in enumerate(lines)
    ][1:]


def _cut(line: str, cells: int) -> str:
    """Return a line's beginning; a wide character stands in two cells."""
    if line.isascii():
        return line[:cells]
    ends = accumulate(max(0, wcwidth(character)) for character in line)
    return "".join([character for character, end in zip(line, ends, strict=True) if end <= cells])


def _lines(what: str, taken: Keys, *, bar: bool = True) -> list[Line]:
    late, used = percentile(taken.frames, 0.95), percentile(taken.cpu, 0.95)
    return [
        Line(
            f"{what}: key to painted frame, p95",
            f"{seconds(late)} (median {seconds(median(taken.frames))})",
            "",
            "",
            f"≤ {seconds(FRAME_LIMIT_SECONDS)}" if bar else "",
            late <= FRAME_LIMIT_SECONDS if bar else None,
        ),
        Line(
            f"{what}: the same with the view beside it, p95; CPU per key, p95 and median",
            seconds(percentile(taken.settled, 0.95)),
            f"{seconds(used)}, {seconds(median(taken.cpu))}",
        ),
    ]
