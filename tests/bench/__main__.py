"""`python -m tests.bench [ROW…] [--quick]`: measures the rows against their bars; a whole run goes to RESULTS.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench import (
    rows_browser,
    rows_command_line,
    rows_for_agents,
    rows_latency,
    rows_machines,
    rows_other_programs,
    rows_terminal,
)
from tests.bench.bench import OURS, Bench, Line, NotThere
from tests.bench.generate import NoSpace, bench_dir
from tests.bench.measure import Failed
from tests.bench.peers import Missing, find_peers
from tests.bench.report import machine, shown, write_results
from tests.bench.search_quality import rows as search_rows
from tests.support.terminal import TimedOut

RESULTS = Path(__file__).resolve().with_name("RESULTS.md")
ROWS: dict[str, Callable[[Bench], list[Line]]] = {
    "list": rows_command_line.row_list,
    "memory": rows_command_line.row_memory,
    "index": rows_command_line.row_index,
    "index-tools": rows_command_line.row_index_tools,
    "rescan": rows_command_line.row_rescan,
    "stats": rows_command_line.row_stats,
    "start": rows_browser.row_start,
    "search": rows_browser.row_search,
    "search-indexing": rows_browser.row_search_indexing,
    "live": rows_browser.row_live,
    "follow": rows_browser.row_follow,
    "machines": rows_machines.row_machines,
    "append": rows_command_line.row_append,
    "open": rows_browser.row_open,
    "keys": rows_browser.row_keys,
    "latency": rows_latency.row_latency,
    "stats-screen": rows_latency.row_stats_screen,
    "terminal": rows_terminal.row_terminal,
    "growth": rows_command_line.row_growth,
    "others": rows_other_programs.row_others,
    "search-commands": rows_command_line.row_search_commands,
    "for-agents": rows_for_agents.row_for_agents,
    "search-quality": search_rows.row_search_quality,
    "search-time": search_rows.row_search_time,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; exit status 1 if a bar is not met."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"only these of: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="stores a twentieth the size: tries the benchmark itself")
    parser.add_argument("--rounds", type=int, help="pairs for each comparison (5; with --quick 3)")
    parser.add_argument("--output", type=Path, help="write the results here (all rows in full size: RESULTS.md)")
    chosen = parser.parse_args(arguments)
    unknown = [row for row in chosen.rows if row not in ROWS]
    if unknown:
        parser.error(f"no row named {', '.join(unknown)}; there are: {', '.join(ROWS)}")
    if sys.platform != "linux":
        parser.error("it reads the memory of processes from Linux's /proc")
    if not OURS.exists():
        parser.error("sessionbrowse is not installed beside this Python; make setup does it")

    rounds = chosen.rounds or (3 if chosen.quick else 5)
    below = bench_dir()
    peers = find_peers(below / "peers")
    bench = Bench(below, peers, quick=chosen.quick, rounds=rounds, say=_say)
    _say(machine(peers))
    lines: list[Line] = []
    started = time.perf_counter()
    for name in chosen.rows or ROWS:
        for line in _measured(name, bench):
            lines.append(line)
            _say(f"{name}: {shown(line)}")
    bars = [line for line in lines if line.met is not None]
    met = sum(1 for line in bars if line.met)
    _say(f"{met} of {len(bars)} bars met, {time.perf_counter() - started:.0f} s")
    output = chosen.output or (RESULTS if not chosen.rows and not chosen.quick else None)
    if output is not None:
        write_results(lines, peers, rounds, output)
    return 0 if met == len(bars) else 1


def _measured(name: str, bench: Bench) -> list[Line]:
    """Return a row's lines; a row that cannot be measured is a bar that is not met."""
    row = ROWS[name]
    what = (row.__doc__ or name).strip().splitlines()[0]
    try:
        return row(bench)
    except NotThere as reason:
        return [Line(what, f"not there yet: {reason}", met=False)]
    except (Failed, TimedOut, NoSpace, Missing, OSError, ValueError, LookupError) as reason:
        return [Line(what, f"not measured: {str(reason).partition(chr(10))[0]}", met=False)]


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
