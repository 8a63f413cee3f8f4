"""The row about sessions of other machines: three mirrors beside as many sessions of this machine."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from sessionbrowse.agents import Place
from sessionbrowse.store.own.mirrors import FILES, MirrorState, write_state
from tests.bench.bench import OURS, Bench, Line, against, seconds
from tests.bench.generate import SESSIONS_BELOW_HOME, Store
from tests.bench.measure import cpu_of_tree
from tests.bench.rows_browser import shows, titles_of
from tests.bench.rows_command_line import search_words, size_of
from tests.support.terminal import Terminal

MACHINES = ("mini", "work", "server")
AT_MOST = 1.1


def row_machines(bench: Bench) -> list[Line]:
    """CPU time of list, search and start for three machines of 3,000 sessions: that of 9,000 local sessions."""
    here = bench.store("machines")
    there = mirrored(here)
    titles = titles_of(bench, here)
    for store in (here, there):
        bench.documents(bench.ours(store, bench.indexed(store), "list", "--json"), here.spec.sessions)
    word, rare = search_words(300, 1)[0], search_words(5_000, 1)[0]

    def command(store: Store, *arguments: str) -> Callable[[], float]:
        return lambda: bench.ours(store, bench.cache(store, "ours"), *arguments).cpu

    def unindexed(store: Store) -> Callable[[], float]:
        return lambda: bench.ours(store, bench.cache(store, "list", fresh=True), "list", "--json").cpu

    def start(store: Store) -> Callable[[], float]:
        return lambda: _start(bench, store, titles)

    measured: tuple[tuple[str, Callable[[Store], Callable[[], float]]], ...] = (
        ("`list --json`", lambda store: command(store, "list", "--json")),
        ("`list --json --limit 50`", lambda store: command(store, "list", "--json", "--limit", "50")),
        ("`list --json`, no index", unindexed),
        ("`search` of a common word", lambda store: command(store, "search", word, "--json", "--limit", "50")),
        ("`search` of a rare word", lambda store: command(store, "search", rare, "--json", "--limit", "50")),
        ("`projects --json`", lambda store: command(store, "projects", "--json")),
        ("browser: start until nothing more is painted", start),
    )
    of = f"three mirrors, {size_of(here)}, {here.spec.sessions:,} sessions in all; as many local ones: CPU time"
    lines: list[Line] = []
    for what, form in measured:
        ours, theirs = form(there), form(here)
        ours(), theirs()
        lines.append(against(bench, f"{what}, {of}", ours, theirs, unit=seconds, at_most=AT_MOST))
    return lines


def mirrored(store: Store) -> Store:
    """Return a home without own sessions, and with a store's files dealt out to the mirrors of three machines."""
    home = store.home.parent / "mirrors"
    top = home / ".local" / "share" / "sessionbrowse" / "machines"
    mark = home / "complete"
    if not mark.exists():
        shutil.rmtree(home, ignore_errors=True)
        cwds: dict[str, list[str]] = {name: [] for name in MACHINES}
        counts = dict.fromkeys(MACHINES, 0)
        for folder in sorted(store.sessions_dir.iterdir(), key=lambda folder: -len(os.listdir(folder))):
            # Each machine has projects of its own, so that both homes have as many projects, too.
            name = min(MACHINES, key=counts.__getitem__)
            goal = Path(f"{top / name / FILES}/home/dev/{folder.relative_to(store.home)}")
            shutil.copytree(folder, goal)
            first, *others = goal.iterdir()
            counts[name] += 1 + len(others)
            with first.open("rb") as opened:
                cwds[name].append(json.loads(opened.readline())["cwd"])
        place = Place("pi", f"/home/dev/{SESSIONS_BELOW_HOME}", "projects", "default", agent_dir="/home/dev/.pi/agent")
        for name in MACHINES:
            now = time.time_ns() // 1_000_000
            state = MirrorState(name=name, host=name, seen=now, home="/home/dev", shell="/bin/sh", places=(place,))
            write_state(replace(state, directories=dict.fromkeys(cwds[name], True)), str(top))
        mark.touch()
    return Store(replace(store.spec, name=f"{store.spec.name}-mirrors"), home)


def _start(bench: Bench, store: Store, titles: list[str]) -> float:
    shutil.rmtree(bench.below / "state", ignore_errors=True)
    env = bench.env(store, bench.cache(store, "ours"))
    with Terminal([OURS], env, store.home) as terminal:
        terminal.wait(shows(titles))
        terminal.until_quiet(1.0)
        return cpu_of_tree(terminal.pid)
