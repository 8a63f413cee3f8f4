"""The rows about whole commands: listing, indexing, rescanning, and how they grow."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench import words
from tests.bench.bench import (
    OURS,
    Bench,
    Line,
    NotThere,
    against,
    limited,
    median,
    megabytes,
    recorded,
    seconds,
    times,
)
from tests.bench.generate import LAST_DAY_MS, Store, iso
from tests.bench.measure import Failed, bytes_below, must, run, spread
from tests.bench.peers import Missing, need, pi_list

LIST_PSS, BEYOND_PSS, BEYOND_SECONDS = 80_000_000, 300_000_000, 3.0
"""Bars of a list: memory for stores as people have them; memory and time for sizes that only have to work."""
READS = re.compile(rb"\b(read|pread64|readv|preadv2?|mmap)\(")
RETURNED = re.compile(rb"\) = (0x[0-9a-f]+|\d+)\b[^)]*$")


def row_list(bench: Bench) -> list[Line]:
    """`list --json`, no index at all, 720 MB: at least 3.5 times faster than pi's own listing."""
    store = bench.store("middle")
    cpu: list[float] = []
    pi_cpu: list[float] = []

    def ours() -> float:
        done = bench.ours(store, bench.cache(store, "list", fresh=True), "list", "--json")
        bench.documents(done, store.spec.sessions)
        cpu.append(done.cpu)
        return done.seconds

    def pi() -> float:
        spent, used = pi_list(bench.peers.pi, bench.env(store, bench.cache(store, "pi")))
        pi_cpu.append(used)
        return spent

    ours()
    lines = [
        against(
            bench, f"`list --json`, no index, {size_of(store)}; pi's `listAll`", ours, pi, unit=seconds, faster=3.5
        ),
    ]
    theirs = spread(pi_cpu).shown(seconds) if pi_cpu else ""
    lines.append(recorded("the same, CPU time of all processes; node's start included", cpu, seconds, theirs))

    def cat() -> float:
        command = need(bench.peers.cat)
        return must(run([*command, *store.files()], bench.env(store, bench.cache(store, "cat")))).seconds

    lines.append(against(bench, "the same; `cat` of all files", ours, cat, unit=seconds))
    return lines


def row_memory(bench: Bench) -> list[Line]:
    """Peak memory of `list --json`, all processes: at most 80 MB, for files of sizes that nobody has 300 MB."""
    lines: list[Line] = []
    for name in ("middle", "large", "images", "line-text", "line-image", "branches"):
        store = bench.store(name)
        cache = bench.cache(store, "list", fresh=True)

        def peak(store: Store = store, name: str = name) -> float:
            cache = bench.cache(store, "list", fresh=True)
            done = bench.ours(store, cache, "list", "--json", memory=True)
            bench.documents(done, store.spec.sessions)
            return float(done.pss)

        theirs = ""
        if name == "middle":
            try:
                env = bench.env(store, bench.cache(store, "pi"))
                theirs = "pi " + megabytes(must(run([*need(bench.peers.pi), "list"], env, memory=True)).pss)
            except Missing as reason:
                theirs = str(reason)
        what = f"`list --json`, no index, {title_of(store)}: peak PSS"
        most = LIST_PSS if store.spec.kind == "mixed" else BEYOND_PSS
        lines.append(limited(what, [peak() for _ in range(3)], megabytes, most, theirs))
        if store.spec.kind in ("images", "line"):
            times_taken = [
                bench.ours(store, bench.cache(store, "list", fresh=True), "list", "--json").seconds
                for _ in range(bench.rounds)
            ]
            what = f"`list --json`, no index, {title_of(store)}: time"
            lines.append(limited(what, times_taken, seconds, BEYOND_SECONDS))
        shutil.rmtree(cache, ignore_errors=True)
    return lines


def row_index(bench: Bench) -> list[Line]:
    """A full index of conversation text from nothing, 720 MB, beside fast-resume's."""
    return _index(bench, ("index", "--rebuild"), "`index --rebuild`", time=2.2, size=0.55, memory=0.85)


def row_index_tools(bench: Bench) -> list[Line]:
    """The same with tool calls and results, which only the user's wish adds: fast-resume leaves them out, so no bar."""
    return _index(bench, ("index", "--rebuild", "--tools"), "`index --rebuild --tools`")


def _index(
    bench: Bench,
    arguments: tuple[str, ...],
    name: str,
    *,
    time: float | None = None,
    size: float | None = None,
    memory: float | None = None,
) -> list[Line]:
    store = bench.store("middle")
    sizes: dict[str, list[float]] = {"ours": [], "fr": []}

    def ours(*, memory: bool = False) -> float:
        cache = bench.cache(store, "index", fresh=True)
        done = bench.ours(store, cache, *arguments, memory=memory)
        sizes["ours"].append(bytes_below(cache))
        return float(done.pss) if memory else done.seconds

    def fr(*, memory: bool = False) -> float:
        command = need(bench.peers.fast_resume)
        cache = bench.cache(store, "fr-index", fresh=True)
        done = must(run([*command, "--rebuild"], bench.env(store, cache), memory=memory))
        sizes["fr"].append(bytes_below(cache))
        return float(done.pss) if memory else done.seconds

    ours()  # compiled modules are there from now on
    what = f"{name} from nothing, {size_of(store)}; `fr --rebuild`"
    lines = [against(bench, what, ours, fr, unit=seconds, at_most=time)]
    if sizes["fr"]:
        mine, other = median(sizes["ours"]), median(sizes["fr"])
        ratio = mine / other
        bar = "" if size is None else f"≤ {size:g}×"
        met = None if size is None else ratio <= size
        lines.append(Line(f"{name}: size", megabytes(mine), megabytes(other), times(ratio), bar, met))
    lines.append(
        against(
            bench,
            f"{name}: peak PSS",
            lambda: ours(memory=True),
            lambda: fr(memory=True),
            unit=megabytes,
            at_most=round(memory, 3) if memory else None,
            rounds=3,
        )
    )
    return lines


def row_rescan(bench: Bench) -> list[Line]:
    """`list --json --limit 50` of 10,000 indexed sessions, nothing changed, every file asked."""
    store = bench.store("large")
    cache = bench.indexed(store)
    env = bench.env(store, bench.cache(store, "fr"))

    def ours() -> float:
        done = bench.ours(store, cache, "list", "--json", "--limit", "50")
        bench.documents(done, min(50, store.spec.sessions))
        return done.seconds

    def fr() -> float:
        return must(run([*need(bench.peers.fast_resume), "--json", "--limit", "50"], env)).seconds

    if not bench.peers.fast_resume.missing:
        must(run([*bench.peers.fast_resume.command, "--rebuild"], env))
    ours()
    what = f"`list --json --limit 50`, {store.spec.sessions:,} sessions unchanged"
    return [
        against(bench, f"{what}; `fr` the same", ours, fr, unit=seconds, at_most=0.7, rounds=bench.rounds * 3),
        _notices_a_change(bench, store, cache),
    ]


def row_stats(bench: Bench) -> list[Line]:
    """`stats --json` of 10,000 indexed sessions, nothing changed: at most 1.3 times `list --json --limit 50`."""
    store = bench.store("large")
    cache = bench.indexed(store)

    def asked(*arguments: str) -> float:
        return bench.ours(store, cache, *arguments).seconds

    def ours() -> float:
        return asked("stats", "--json")

    ours()
    what = f"`stats --json`, {store.spec.sessions:,} sessions unchanged"
    file = store.files()[len(store.files()) // 2]
    with appended(file, "session_info", {"name": "another"}):
        changed = ours()
    return [
        against(
            bench,
            f"{what}; `list --json --limit 50`",
            ours,
            lambda: asked("list", "--json", "--limit", "50"),
            unit=seconds,
            at_most=1.3,
            rounds=bench.rounds * 3,
        ),
        recorded("the same after one session changed", [changed], seconds),
    ]


def _notices_a_change(bench: Bench, store: Store, cache: Path) -> Line:
    """A rescan that does not ask every file would be fast too: change an old one and look."""
    file = store.files()[len(store.files()) // 2]
    name = f"renamed {uuid.uuid4().hex[:8]}"
    with appended(file, "session_info", {"name": name}):
        listed = bench.documents(bench.ours(store, cache, "list", "--json"), store.spec.sessions)
    seen = any(each["name"] == name for each in listed)
    bench.ours(store, cache, "list", "--json")
    return Line("the same notices one changed file", "yes" if seen else "no", "", "", "yes", seen)


def row_append(bench: Bench) -> list[Line]:
    """One appended line in a session of 128 MB is indexed by reading less than 1 MB of it."""
    store = bench.store("chain")
    cache = bench.indexed(store)
    word = f"zq{uuid.uuid4().hex[:10]}"
    message = {"role": "user", "content": [{"type": "text", "text": f"find {word}"}], "timestamp": LAST_DAY_MS}
    with appended(store.files()[0], "message", {"message": message}):
        read, how = _bytes_read(bench, store, cache)
        hits = bench.documents(bench.ours(store, cache, "search", word, "--json"))
    bench.ours(store, cache, "index")
    what = f"one appended line in {title_of(store)}: bytes of the file read{how}"
    line = limited(what, [float(read)], megabytes, 1e6)
    if len(hits) != 1:
        return [line, Line("the appended word is found", f"{len(hits)} hits", "", "", "1", False)]
    return [line, Line("the appended word is found", "yes", "", "", "yes", True)]


def _bytes_read(bench: Bench, store: Store, cache: Path) -> tuple[int, str]:
    file = os.fsencode(store.files()[0])
    strace = shutil.which("strace")
    if strace is None:
        raise Failed("strace is not installed; it tells what is read")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command: list[str | Path] = [
            strace,
            "-f",
            "-y",
            "-s",
            "0",
            "-o",
            log,
            "-e",
            "trace=read,pread64,readv,preadv,preadv2,mmap",
        ]
        must(run([*command, OURS, "index"], bench.env(store, cache), cwd=store.home))
        read = 0
        for line in log.read_bytes().splitlines():
            call = READS.search(line)
            returned = RETURNED.search(line)
            if file not in line or call is None or returned is None:
                continue
            mapped = call[1] == b"mmap"
            read += int(line.split(b", ")[1]) if mapped else int(returned[1])
    return read, ""


@contextmanager
def appended(file: Path, kind: str, fields: dict[str, object]) -> Iterator[None]:
    """Append one entry as the agent would, and take it away afterwards."""
    status = file.stat()
    with file.open("rb") as opened:
        opened.seek(max(0, status.st_size - 4_000_000))
        parent = json.loads(opened.read().splitlines()[-1])["id"]
    entry = {"type": kind, "id": uuid.uuid4().hex[:8], "parentId": parent, "timestamp": iso(LAST_DAY_MS).decode()}
    try:
        with file.open("ab") as opened:
            opened.write(json.dumps(entry | fields, separators=(",", ":")).encode() + b"\n")
        yield
    finally:
        os.truncate(file, status.st_size)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def row_growth(bench: Bench) -> list[Line]:
    """Time per session from 100 to 10,000 sessions of the same kind: flat."""
    lines: list[Line] = []
    for name, arguments in (
        ("`list --json`, no index", ("list", "--json")),
        ("`index --rebuild`", ("index", "--rebuild")),
    ):
        taken: list[tuple[int, float]] = []
        try:
            for size in ("hundredth", "tenth", "large"):
                store = bench.store(size)
                runs = [
                    bench.ours(store, bench.cache(store, "growth", fresh=True), *arguments).seconds
                    for _ in range(min(3, bench.rounds))
                ]
                taken.append((store.spec.sessions, median(runs)))
                shutil.rmtree(bench.cache(store, "growth"))
        except NotThere as reason:
            lines.append(Line(f"growth: {name}", f"not there yet: {reason}", "", "", "flat", False))
            continue
        shown = ", ".join(f"{count:,}: {seconds(spent)} = {spent / count * 1e3:.2f} ms each" for count, spent in taken)
        (small, a), (middle, b), (large, c) = taken
        early, late = (b - a) / (middle - small), (c - b) / (large - middle)
        grown = late / early if early > 0 else math.inf
        lines.append(
            Line(
                f"growth: {name}; per further session",
                shown,
                "",
                times(grown),
                "≤ 1.25× from end to end",
                grown <= 1.25,
            )
        )
    return lines


def row_search_commands(bench: Bench) -> list[Line]:
    """For the record: one word, asked on the command line, beside fast-resume and rg."""
    store = bench.store("large")
    cache = bench.indexed(store)
    lines: list[Line] = []
    env = bench.env(store, bench.cache(store, "fr"))
    for rank in (60, 3_000, 40_000):
        word = search_words(rank, 1)[0]

        def ours(word: str = word) -> float:
            return bench.ours(store, cache, "search", word, "--json", "--limit", "50").seconds

        def fr(word: str = word) -> float:
            return must(run([*need(bench.peers.fast_resume), "--json", "--limit", "50", word], env)).seconds

        def rg(word: str = word) -> float:
            done = run([*need(bench.peers.rg), "-l", "-i", "-w", word, store.sessions_dir], env)
            return done.seconds

        what = f"`search` of word number {rank:,}, {size_of(store)}"
        lines.append(against(bench, f"{what}; `fr --json`", ours, fr, unit=seconds))
        lines.append(against(bench, f"{what}; `rg -l`", ours, rg, unit=seconds, rounds=2))
    return lines


def search_words(rank: int, count: int) -> list[str]:
    """Return words of plain letters from this rank of the vocabulary on: the higher, the rarer."""
    return [word for word in words.vocabulary()[rank:] if re.fullmatch("[a-z]{6,12}", word)][:count]


def size_of(store: Store) -> str:
    """Return a store's size in words."""
    return f"{store.spec.bytes / 1e6:,.0f} MB" if store.spec.bytes < 2e9 else f"{store.spec.bytes / 1e9:,.0f} GB"


def title_of(store: Store) -> str:
    """Return what a store is in words."""
    size = size_of(store)
    match store.spec.kind:
        case "images":
            return f"one file of {size} of images"
        case "line":
            return f"one line of {size} of {'text' if store.spec.name.endswith('text') else 'image'}"
        case "chain":
            return f"one session of {store.spec.entries:,} entries, {size}"
        case "branches":
            return f"one session of {store.spec.entries:,} branches"
        case _:
            return f"{size}, {store.spec.sessions:,} sessions"
