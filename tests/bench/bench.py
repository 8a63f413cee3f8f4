"""Helpers of all rows: the stores, our program and the peers, and the lines that a row returns."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.bench.generate import Store, StoreSpec, make_store
from tests.bench.measure import Failed, Run, must, pairs, ratios, run, spread, warm
from tests.bench.peers import Missing, Peers

OURS = Path(sys.executable).with_name("sessionbrowse")

FULL_SPECS = {
    "middle": StoreSpec("middle", "mixed", 2_000, 720_000_000),
    "large": StoreSpec("large", "mixed", 10_000, 5_000_000_000),
    "machines": StoreSpec("machines", "mixed", 9_000, 450_000_000),
    "tenth": StoreSpec("tenth", "mixed", 1_000, 500_000_000),
    "hundredth": StoreSpec("hundredth", "mixed", 100, 50_000_000),
    "others": StoreSpec("others", "others", 5_000, 1_800_000_000),
    "beside": StoreSpec("beside", "mixed", 5_000, 1_800_000_000),
    "images": StoreSpec("images", "images", 1, 1_800_000_000),
    "line-text": StoreSpec("line-text", "line", 1, 200_000_000),
    "line-image": StoreSpec("line-image", "line", 1, 200_000_000),
    "chain": StoreSpec("chain", "chain", 1, 128_000_000, 100_000),
    "long": StoreSpec("long", "chain", 1, 30_000_000, 10_000),
    "branches": StoreSpec("branches", "branches", 1, 100_000_000, 5_000),
}
QUICK_PART = 20


class Line(Struct, frozen=True):
    """One measurement with its peer's and its bar. `met` is None if there is no bar."""

    what: str
    ours: str
    peer: str = ""
    ratio: str = ""
    bar: str = ""
    met: bool | None = None


class NotThere(Exception):
    """Our program does not have the command yet; the message names it."""


class Bench:
    """The stores and peers of one benchmark. Stores are made when a row first asks for them."""

    def __init__(self, below: Path, peers: Peers, *, quick: bool, rounds: int, say: Callable[[str], None]) -> None:
        self.below = below
        self.peers = peers
        self.quick = quick
        self.rounds = rounds
        self.say = say
        self._stores: dict[str, Store] = {}

    def store(self, name: str) -> Store:
        """Return a store, made if need be and read once, so that the page cache is warm."""
        if name not in self._stores:
            spec = FULL_SPECS[name]
            if self.quick:
                spec = smaller(spec)
            store = make_store(spec, self.below / "stores", self.say)
            warm(store.files())
            self._stores[name] = store
        return self._stores[name]

    def cache(self, store: Store, name: str, *, fresh: bool = False) -> Path:
        """Return a cache directory for a store, emptied if `fresh`."""
        folder = self.below / "caches" / store.spec.name / name
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def env(self, store: Store, cache: Path) -> dict[str, str]:
        """Return the environment of a user whose home is the store: nothing of this machine's user is seen."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(store.home),
            "XDG_CACHE_HOME": str(cache),
            "XDG_CONFIG_HOME": str(self.below / "config"),
            "XDG_STATE_HOME": str(self.below / "state"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }

    def ours(self, store: Store, cache: Path, *arguments: str, memory: bool = False) -> Run:
        """Run our command line.

        Raises:
            NotThere: it does not know the command or the option.
            Failed: it failed.
        """
        return ours([OURS, *arguments], self.env(store, cache), memory=memory, cwd=store.home)

    def documents(self, done: Run, expected: int | None = None) -> list[dict[str, Any]]:
        """Return the array that a command printed.

        Raises:
            Failed: it holds another number of sessions than expected, so its time means nothing.
        """
        found: list[dict[str, Any]] = json.loads(done.stdout)
        if expected is not None and len(found) != expected:
            raise Failed(f"it lists {len(found)} sessions, there are {expected}")
        return found

    def indexed(self, store: Store) -> Path:
        """Return a cache directory in which our index of the store is up to date."""
        cache = self.cache(store, "ours")
        self.ours(store, cache, "index")
        return cache


def ours(command: Sequence[str | Path], env: Mapping[str, str], *, memory: bool, cwd: Path) -> Run:
    """Run a command line of ours and tell a missing command from a failure."""
    done = run(command, env, cwd=cwd, memory=memory)
    if done.status == 2 and "There is no" in done.sentence:
        raise NotThere(f"`{' '.join(map(str, command[1:]))}`")
    return must(done)


def smaller(spec: StoreSpec) -> StoreSpec:
    """Return a store a twentieth the size, to try the benchmark itself."""
    sessions = spec.sessions if spec.sessions == 1 else max(10, spec.sessions // QUICK_PART)
    return StoreSpec(
        f"quick-{spec.name}",
        spec.kind,
        sessions,
        spec.bytes // QUICK_PART,
        spec.entries // QUICK_PART,
    )


def against(
    bench: Bench,
    what: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    *,
    unit: Callable[[float], str],
    faster: float | None = None,
    at_most: float | None = None,
    rounds: int | None = None,
) -> Line:
    """Measure ours and a peer by turns.

    The bar is on the median ratio: `faster` asks for peer/ours of at least this, `at_most` for ours/peer of at most.
    """
    bar = f"≥ {faster:g}× faster" if faster is not None else f"≤ {at_most:g}×" if at_most is not None else ""
    try:
        mine, other = pairs(rounds or bench.rounds, ours, theirs)
    except Missing as reason:
        alone = [ours() for _ in range(rounds or bench.rounds)]
        return Line(what, spread(alone).shown(unit), str(reason), "", bar, False if bar else None)
    met: bool | None = None
    if faster is not None:
        found = ratios(other, mine)
        met = found.median >= faster
        ratio = f"{found.shown(times)} faster"
    else:
        found = ratios(mine, other)
        met = found.median <= at_most if at_most is not None else None
        ratio = found.shown(times)
    return Line(what, spread(mine).shown(unit), spread(other).shown(unit), ratio, bar, met)


def limited(what: str, values: Sequence[float], unit: Callable[[float], str], most: float, peer: str = "") -> Line:
    """Return a line whose median has an upper bar."""
    found = spread(values)
    return Line(what, found.shown(unit), peer, "", f"≤ {unit(most)}", found.median <= most)


def recorded(what: str, values: Sequence[float], unit: Callable[[float], str], peer: str = "") -> Line:
    """Return a line without a bar."""
    return Line(what, spread(values).shown(unit), peer)


def seconds(value: float) -> str:
    """Return a time in words."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms" if value >= 0.01 else f"{value * 1000:.1f} ms"


def megabytes(value: float) -> str:
    """Return a size in words."""
    return f"{value / 1e6:,.0f} MB" if value >= 1e7 else f"{value / 1e6:.2f} MB"


def times(value: float) -> str:
    """Return a ratio in words."""
    return f"{value:.2f}×"


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return spread(values).median
