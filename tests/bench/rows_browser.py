"""The rows about the browser: it runs in a terminal of its own, keys go in, and the screen is read back."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from tests.bench.bare_app import PAINTED
from tests.bench.bench import (
    OURS,
    Bench,
    Line,
    NotThere,
    against,
    limited,
    median,
    seconds,
    times,
)
from tests.bench.generate import Store
from tests.bench.measure import Failed, cpu_of_tree, must, pairs, percentile, run, spread
from tests.bench.peers import pi_open
from tests.bench.rows_command_line import appended, search_words, size_of, title_of
from tests.support.terminal import BACKSPACE, DOWN, ENTER, ESCAPE, PAGE_DOWN, PAGE_UP, UP, Screen, Terminal, TimedOut

SEARCH_ALL = "/"
LISTS = "─ Projects ─"
INDEXING = re.compile(r"\bindexing\b")
QUIT_SECONDS = 0.15
START = 1.35
FIRST_HITS_SECONDS, SETTLED_SECONDS, INDEXING_SECONDS = 0.05, 0.1, 0.15
FRAME_SECONDS = 0.016
TITLE_CHARACTERS = 10


def row_start(bench: Bench) -> list[Line]:
    """From the start of the process to the first real rows, 10,000 sessions indexed; and what quitting takes."""
    store = bench.store("large")
    titles = titles_of(bench, store)
    quits: dict[str, list[float]] = {"ours": [], "bare": []}
    rounds = bench.rounds * 2

    def bare(one_core: bool = False) -> float:
        with _started(lambda: _bare(bench, store), one_core) as terminal:
            painted = terminal.wait(lambda screen: PAINTED in screen.text()) - terminal.started
            terminal.until_quiet()
            quits["bare"].append(-terminal.press("q") + terminal.wait_end())
            return painted

    def from_index(one_core: bool = False) -> float:
        with _started(lambda: browser(bench, store), one_core) as terminal:
            painted = terminal.wait(shows(titles)) - terminal.started
            terminal.until_quiet()
            quits["ours"].append(-terminal.press("q") + terminal.wait_end())
            return painted

    lines = [*_start_without_index(bench, store, titles, bare)]
    what = f"browser: start to first real rows, {store.spec.sessions:,} sessions indexed; bare Textual app's one line"
    try:
        bench.indexed(store)
    except NotThere as reason:
        return [Line(what, f"not there yet: {reason}", "", "", f"≤ {START:g}×", False), *lines]
    from_index()
    quits["ours"].clear()
    first = against(bench, what, from_index, bare, unit=seconds, at_most=START, rounds=rounds)
    quitting = _quitting("browser: quitting, indexed", quits["ours"], quits["bare"])
    on_one_core = against(
        bench,
        "the same start with one core",
        lambda: from_index(one_core=True),
        lambda: bare(one_core=True),
        unit=seconds,
        at_most=START,
        rounds=rounds,
    )
    return [first, on_one_core, quitting, *lines]


def _started(start: Callable[[], Terminal], one_core: bool) -> Terminal:
    """Start a program; with `one_core` it and all that it starts share one core."""
    cores = os.sched_getaffinity(0)
    if one_core:
        os.sched_setaffinity(0, {max(cores)})
    try:
        return start()
    finally:
        os.sched_setaffinity(0, cores)


def _start_without_index(bench: Bench, store: Store, titles: list[str], bare: Callable[[], float]) -> list[Line]:
    between: list[float] = []
    quits: list[float] = []
    bare_quits: list[float] = []

    def ours() -> float:
        with browser(bench, store, fresh=True) as terminal:
            first = terminal.wait(lambda screen: bool(screen.text().strip()))
            rows = terminal.wait(shows(titles))
            between.append(rows - first)
            # while it still reads: that is when quitting is hard
            quits.append(-terminal.press("q") + terminal.wait_end())
            return rows - terminal.started

    def bare_quit() -> float:
        with _bare(bench, store) as terminal:
            terminal.wait(lambda screen: PAINTED in screen.text())
            bare_quits.append(-terminal.press("q") + terminal.wait_end())
            return bare_quits[-1]

    pairs(bench.rounds, ours, bare_quit)
    return [
        limited(f"browser: first paint to first rows, {size_of(store)}, no index", between, seconds, 0.1),
        _quitting("browser: quitting while it reads, no index", quits, bare_quits),
        against(bench, "browser: start to first rows, no index; bare Textual app", ours, bare, unit=seconds),
    ]


def _quitting(what: str, ours: list[float], bare: list[float]) -> Line:
    more = spread([mine - other for mine, other in zip(ours, bare, strict=False)])
    return Line(
        what,
        spread(ours).shown(seconds),
        spread(bare).shown(seconds),
        f"{more.median * 1000:+.0f} ms",
        f"≤ +{QUIT_SECONDS * 1000:.0f} ms",
        more.median <= QUIT_SECONDS,
    )


def row_search(bench: Bench) -> list[Line]:
    """Search in the browser, 5 GB: hits after each key from the third letter on, and keys that come fast."""
    store = bench.store("large")
    titles = titles_of(bench, store)
    bench.ours(store, bench.indexed(store), "search", "the", "--json", "--limit", "1")
    kept = 0
    chosen = [*search_words(100, 4), *search_words(2_000, 4), *search_words(15_000, 4)]
    with browser(bench, store) as terminal:
        terminal.wait(shows(titles))
        terminal.until_quiet()
        terminal.press(SEARCH_ALL)
        terminal.until_quiet()
        painted, settled, missed = _type_words(terminal, chosen)
        for _ in range(5):
            typed = f"zq{uuid.uuid4().hex[:8]}"
            for letter in typed:
                terminal.press(letter)
                time.sleep(0.008)
            terminal.until_quiet(0.4)
            kept += typed in terminal.screen.text()
            _erase(terminal, len(typed))
    lines = []
    if painted:
        late = percentile(painted, 0.95)
        what = f"search in the browser, {size_of(store)}, from the third letter: first hits painted, p95"
        shown = f"{seconds(late)} (median {seconds(median(painted))}, most {seconds(max(painted))})"
        lines.append(Line(what, shown, "", "", f"≤ {seconds(FIRST_HITS_SECONDS)}", late <= FIRST_HITS_SECONDS))
    late = percentile(settled, 0.95)
    shown = f"{seconds(late)} (median {seconds(median(settled))}, most {seconds(max(settled))})"
    lines.append(
        Line(
            "the same: screen settled, ranking included, p95",
            shown,
            "",
            "",
            f"≤ {seconds(SETTLED_SECONDS)}",
            late <= SETTLED_SECONDS,
        )
    )
    found = f"{len(painted)} of {len(painted) + len(missed)}" + (f"; not {', '.join(missed[:5])}" if missed else "")
    lines.append(Line("the same: hits appeared at all", found, "", "", "all", not missed))
    lines.append(Line("the same: ten letters in 80 ms, all kept", f"{kept} of 5", "", "", "5 of 5", kept == 5))
    return lines


def row_search_indexing(bench: Bench) -> list[Line]:
    """First hits of a search in the browser while the first index of 5 GB is built beside it."""
    store = bench.store("large")
    what = f"search in the browser while the first index of {size_of(store)} is built: first hits painted, p95"
    taken: list[float] = []
    missed: list[str] = []

    def is_indexing(screen: Screen) -> bool:
        return INDEXING.search(screen.text()) is not None

    with browser(bench, store, fresh=True) as terminal:
        terminal.wait(is_indexing, 120)
        for word in search_words(60, 40):
            terminal.press(SEARCH_ALL)
            terminal.until_quiet(0.1)
            painted, _, lost = _type_words(terminal, [word], most=0.4)
            terminal.press(ESCAPE)
            terminal.until_quiet(0.1)
            terminal.press(ESCAPE)
            terminal.until_quiet(0.1)
            try:
                terminal.wait(is_indexing, 1)
            except TimedOut:
                break  # the index may have been there when the last letters were typed
            taken += painted
            missed += lost
    if not taken:
        raise Failed("the index was built before one word was typed")
    late = percentile(taken, 0.95)
    shown = f"{seconds(late)} (median {seconds(median(taken))}, most {seconds(max(taken))}, {len(taken)} keys)"
    appeared = f"{len(taken)} of {len(taken) + len(missed)}"
    return [
        Line(what, shown, "", "", f"≤ {seconds(INDEXING_SECONDS)}", late <= INDEXING_SECONDS),
        Line("the same: hits appeared at all", appeared, "", "", "all", not missed),
    ]


def _type_words(terminal: Terminal, words: list[str], most: float = 2) -> tuple[list[float], list[float], list[str]]:
    """Type five letters of each word into the search line; a screen that keeps changing is left after `most` seconds.

    From the third letter on, return the seconds until hits stood there, those until the screen was at rest, and the
    beginnings of words that found none.
    """
    painted: list[float] = []
    settled: list[float] = []
    missed: list[str] = []
    for word in words:
        for letter in word[:2]:
            terminal.press(letter)
            terminal.until_quiet(0.3, most)
        for length in range(3, 6):
            before, _ = _lines_and_drawn(terminal.screen)
            moment, screens = terminal.record(word[length - 1], quiet=0.4, most=most, look=_lines_and_drawn)
            settled.append(_at_rest(word[:length], screens, moment) - moment)
            stood = _painted(word[:length], before, screens)
            if stood is not None:
                painted.append(stood - moment)
            else:
                missed.append(word[:length])
        _erase(terminal, 5)
    return painted, settled, missed


def row_live(bench: Bench) -> list[Line]:
    """A change on disk shows within a second."""
    store = bench.store("large")
    listed = bench.documents(bench.ours(store, bench.cache(store, "ours"), "list", "--json", "--limit", "3"))
    newest = next(file for file in store.files() if str(file) == listed[0]["path"])
    taken: list[float] = []
    with browser(bench, store) as terminal:
        terminal.wait(shows(titles_of(bench, store)))
        terminal.until_quiet(1.0)
        for _ in range(bench.rounds):
            name = f"live {uuid.uuid4().hex[:5]}"
            with appended(newest, "session_info", {"name": name}):
                moment = time.perf_counter()
                try:
                    taken.append(terminal.wait(shows([name]), 5) - moment)
                except TimedOut:
                    return [Line("browser: a changed session shows", "not within 5 s", "", "", "≤ 1 s", False)]
            terminal.until_quiet(1.0)
    return [limited(f"browser: a changed session shows, {size_of(store)}", taken, seconds, 1.0)]


def row_follow(bench: Bench) -> list[Line]:
    """A session of 100,000 entries that grows is followed in its tree."""
    store = bench.store("chain")
    file = store.files()[0]
    bench.indexed(store)
    taken: list[float] = []
    with browser(bench, store) as terminal:
        go_into_tree(terminal, titles_of(bench, store))
        for _ in range(bench.rounds):
            terminal.until_quiet(2.0)
            text = f"followed {uuid.uuid4().hex[:6]}"
            message = {"role": "user", "content": text, "timestamp": 1}
            with appended(file, "message", {"message": message}):
                moment = time.perf_counter()
                taken.append(terminal.wait(shows([text]), 15) - moment)
    return [limited(f"browser: a message appended to {title_of(store)} stands in its open tree", taken, seconds, 1.0)]


def row_open(bench: Bench) -> list[Line]:
    """Open the largest session that is to be quick, and one that is to work: ready to paint the tree, beside pi."""
    return [*_opened(bench, "long", painted_s=0.5), *_opened(bench, "chain", painted_s=3.0)]


def _opened(bench: Bench, name: str, painted_s: float) -> list[Line]:
    store = bench.store(name)
    file = store.files()[0]
    env = bench.env(store, bench.cache(store, "ours"))
    checkout = str(Path(__file__).resolve().parents[2])

    def ours() -> float:
        done = must(run([sys.executable, "-m", "tests.bench.open_ours", file], env | {"PYTHONPATH": checkout}))
        answer = json.loads(done.stdout)
        if answer["count"] != store.spec.entries:
            raise Failed(f"{answer['count']} entries instead of {store.spec.entries}")
        return float(answer["seconds"])

    def pi() -> float:
        return pi_open(bench.peers.pi, env, file)

    what = f"open {title_of(store)}, to the rows of its tree"
    lines = [against(bench, f"{what}; pi's `open` + `getTree`", ours, pi, unit=seconds, faster=1)]
    what = f"the same in the browser, {store.spec.entries:,} entries: Enter to tree painted"
    taken: list[float] = []
    try:
        for _ in range(bench.rounds):
            with browser(bench, store) as terminal:
                taken.append(go_into_tree(terminal, titles_of(bench, store)))
    except Failed as reason:
        return [*lines, Line(what, f"not measured: {reason}", "", "", "", None)]
    return [*lines, limited(what, taken, seconds, painted_s)]


def row_keys(bench: Bench) -> list[Line]:
    """Cursor and page keys in a tree of 100,000 rows: our own work per key."""
    store = bench.store("chain")
    many = 20 if bench.quick else 60
    plan = [*[DOWN] * 5, *[UP] * many, *[PAGE_UP] * many, *[DOWN] * many, *[PAGE_DOWN] * many]
    with browser(bench, store) as terminal:
        go_into_tree(terminal, titles_of(bench, store))
        terminal.until_quiet(1.0)
        work, shown = _press_all(terminal, plan)
        held = _hold(terminal, PAGE_UP, many)
    with _bare(bench, store, str(store.spec.entries)) as terminal:
        terminal.wait(lambda screen: PAINTED in screen.text())
        bare_work, bare_shown = _press_all(terminal, [*[PAGE_DOWN] * 3 * many, *plan])
        bare_held = _hold(terminal, PAGE_UP, many)
    late, bare_late = percentile(work, 0.95), percentile(bare_work, 0.95)
    own = late - median(bare_work)
    what = f"cursor and page keys, {title_of(store)}"
    return [
        Line(
            f"{what}: CPU per key less a bare list's median, p95",
            seconds(own),
            "",
            "",
            f"≤ {seconds(FRAME_SECONDS)}",
            own <= FRAME_SECONDS,
        ),
        Line(
            f"{what}: CPU per key, p95; bare Textual list", seconds(late), seconds(bare_late), times(late / bare_late)
        ),
        Line(
            f"{what}: key to first change on the screen, p95; bare Textual list",
            seconds(percentile(shown, 0.95)),
            seconds(percentile(bare_shown, 0.95)),
            times(percentile(shown, 0.95) / percentile(bare_shown, 0.95)),
        ),
        Line(
            f"{what}: CPU per key while a page key is held, 30 a second; bare Textual list",
            seconds(held),
            seconds(bare_held),
            times(held / bare_held),
        ),
    ]


def _press_all(terminal: Terminal, plan: list[str]) -> tuple[list[float], list[float]]:
    """Return, for each key, the CPU seconds until the screen is quiet and the seconds until it first changes."""
    work: list[float] = []
    shown: list[float] = []
    terminal.until_quiet()
    for key in plan:
        before = terminal.screen.text()
        used = cpu_of_tree(terminal.pid)
        moment = terminal.press(key)
        try:
            shown.append(terminal.wait(_differs(before), 1) - moment)
        except TimedOut:
            continue  # at the end of the list there is nothing to change
        terminal.until_quiet(0.08)
        work.append(cpu_of_tree(terminal.pid) - used)
    if len(work) < len(plan) // 2:
        raise Failed(f"only {len(work)} of {len(plan)} keys changed the screen")
    return work, shown


def _hold(terminal: Terminal, key: str, count: int) -> float:
    """Return the CPU seconds for each key while it repeats as a held key does."""
    terminal.until_quiet()
    used = cpu_of_tree(terminal.pid)
    for _ in range(count):
        due = terminal.press(key) + 1 / 30
        while (left := due - time.perf_counter()) > 0:
            terminal.until_quiet(left, left)
    terminal.until_quiet(0.08)
    return (cpu_of_tree(terminal.pid) - used) / count


def go_into_tree(terminal: Terminal, titles: list[str]) -> float:
    """Press Enter until a session's tree stands on the screen; return the seconds after the key that opened it."""
    terminal.wait(shows(titles))
    terminal.until_quiet()
    for _ in range(3):
        moment = terminal.press(ENTER)
        try:
            return terminal.wait(_is_tree, 3) - moment
        except TimedOut:
            continue
    raise Failed("Enter does not lead into the session's tree")


def _is_tree(screen: Screen) -> bool:
    rows = [line for line in screen.lines() if re.search(r"\b(user|assistant): |\[(read|bash|edit|write)\b", line)]
    return "leaf" in screen.text() and len(rows) >= 10


def shows(titles: list[str]) -> Callable[[Screen], bool]:
    wanted = re.compile("|".join(map(re.escape, titles)))
    return lambda screen: wanted.search(screen.text()) is not None


def _differs(before: str) -> Callable[[Screen], bool]:
    return lambda screen: screen.text() != before


def _lines_and_drawn(screen: Screen) -> tuple[list[str], set[int]]:
    return screen.lines(), screen.drawn()


def _at_rest(prefix: str, screens: list[tuple[float, tuple[list[str], set[int]]]], pressed: float) -> float:
    """Return the time of the last drawing, except of the line with the typed letters, because its cursor blinks."""
    drawn_at = [at for at, (now, drawn) in screens if any(not _is_typed(prefix).match(now[line]) for line in drawn)]
    return max(drawn_at, default=pressed)


def _is_typed(prefix: str) -> re.Pattern[str]:
    return re.compile(rf"\s*/{prefix}(?:\s|$)")


def _painted(prefix: str, before: list[str], screens: list[tuple[float, tuple[list[str], set[int]]]]) -> float | None:
    """Return when the hits of the prefix first stood there; None if they never did.

    Hits stand there once a line with the prefix, below the first session, is drawn after the typed letter is. The same
    line is drawn again for a longer word, because more of it is marked. Late hits of the shorter word may come with the
    letter, so lines drawn together with it count only if one is new, or if none is drawn again.
    """
    is_typed = _is_typed(prefix)
    first = next((number for number, line in enumerate(before) if "─ Sessions" in line), 1) + 2
    with_letter: float | None = None
    has_letter = False
    for at, (now, drawn) in screens:
        had_letter, has_letter = has_letter, has_letter or any(is_typed.match(line) for line in now)
        hits = [
            line for line in drawn if line >= first and _is_hit(prefix, now[line]) and not is_typed.match(now[line])
        ]
        if has_letter and hits:
            if had_letter or any(now[line] != before[line] for line in hits):
                return at
            with_letter = at
        before = before if has_letter else now
    return with_letter


def _is_hit(prefix: str, line: str) -> bool:
    """Return True if a line of the screen holds the prefix at the beginning of a word."""
    return re.search(rf"(?<!\w){prefix}", line, re.IGNORECASE) is not None


def _erase(terminal: Terminal, letters: int) -> None:
    for _ in range(letters):
        terminal.press(BACKSPACE)
    terminal.until_quiet(0.3, 2)


def titles_of(bench: Bench, store: Store) -> list[str]:
    """Return how the newest sessions' titles begin: what the first real rows show."""
    done = bench.ours(store, bench.cache(store, "titles"), "list", "--json", "--limit", "60")
    found: list[str] = []
    for each in bench.documents(done):
        text = " ".join((each["name"] or each["first_message"] or "").split())[:TITLE_CHARACTERS].strip()
        if len(text) >= TITLE_CHARACTERS - 2 and text.isascii():
            found.append(text)
    if not found:
        raise Failed("no session has a title to look for")
    return found


def browser(bench: Bench, store: Store, *, fresh: bool = False) -> Terminal:
    shutil.rmtree(bench.below / "state", ignore_errors=True)
    cache = bench.cache(store, "browser" if fresh else "ours", fresh=fresh)
    return Terminal([OURS], bench.env(store, cache), store.home)


def _bare(bench: Bench, store: Store, *arguments: str) -> Terminal:
    command = bench.peers.textual.command
    return Terminal([*command, *arguments], bench.env(store, bench.cache(store, "bare")), store.home)
