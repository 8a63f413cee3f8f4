"""The row about sessions of Claude Code and Codex: what they cost, beside the same bytes of pi's sessions."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.bench import Bench, Line, against, seconds
from tests.bench.generate import Store
from tests.bench.rows_browser import browser, shows, titles_of
from tests.bench.rows_command_line import size_of

MOST = 1.2


def row_others(bench: Bench) -> list[Line]:
    """3,000 sessions of Claude Code and 2,000 of Codex, beside 5,000 of pi: list, index and start at most 1.2 times."""
    others, beside = bench.store("others"), bench.store("beside")

    def command(store: Store, *arguments: str) -> Callable[[], float]:
        def run() -> float:
            done = bench.ours(store, bench.cache(store, "others", fresh=True), *arguments)
            if arguments[0] == "list":
                bench.documents(done, store.spec.sessions)
            return done.seconds

        return run

    def start(store: Store, *, fresh: bool) -> Callable[[], float]:
        titles = titles_of(bench, store)
        if not fresh:
            bench.indexed(store)

        def run() -> float:
            with browser(bench, store, fresh=fresh) as terminal:
                painted = terminal.wait(shows(titles)) - terminal.started
                terminal.until_quiet() if not fresh else None
                terminal.press("q")
                terminal.wait_end()
                return painted

        return run

    made: dict[str, Callable[[Store], Callable[[], float]]] = {
        "`list --json`, no index": lambda store: command(store, "list", "--json"),
        "`index --rebuild`": lambda store: command(store, "index", "--rebuild"),
        "browser: start to first real rows, indexed": lambda store: start(store, fresh=False),
        "browser: start to first real rows, no index": lambda store: start(store, fresh=True),
    }
    lines: list[Line] = []
    for name, of in made.items():
        what = f"{name}, {size_of(others)} of Claude Code and Codex; the same bytes of pi's sessions"
        lines.append(against(bench, what, of(others), of(beside), unit=seconds, at_most=MOST))
    return lines
