"""Write the benchmark's table and the machine it was measured on, to the terminal and to RESULTS.md."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from tests.bench.bench import Line
from tests.bench.peers import Peers


def table(lines: list[Line]) -> str:
    """Return the lines as a table in Markdown."""
    rows = ["| what | ours | peer | ratio | bar | |", "|---|---|---|---|---|---|"]
    for line in lines:
        cells = (line.what, line.ours, line.peer, line.ratio, line.bar, verdict(line))
        rows.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(rows)


def shown(line: Line) -> str:
    """Return one line for the terminal."""
    parts = [line.ours, line.peer and f"peer {line.peer}", line.ratio, line.bar and f"bar {line.bar}", verdict(line)]
    return f"{line.what}\n    {' · '.join(part for part in parts if part)}"


def verdict(line: Line) -> str:
    """Return whether the bar is met; nothing where there is none."""
    return "" if line.met is None else "met" if line.met else "**not met**"


def machine(peers: Peers) -> str:
    """Return what the figures are true for; no names and paths of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    facts = [
        f"{os.cpu_count()} cores, {_processor()}, {memory / 2**30:.0f} GiB of memory",
        f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}",
        "ours: " + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("msgspec", "textual", "rich")),
    ]
    for peer in peers.all():
        facts.append(f"{peer.name}: missing, {peer.missing}" if peer.missing else f"{peer.name}: {peer.version}")
    return "\n".join(f"- {fact}" for fact in facts)


def results(lines: list[Line], peers: Peers, rounds: int) -> str:
    """Return the whole of RESULTS.md."""
    bars = [line for line in lines if line.met is not None]
    return f"""# Results of `make bench`

{sum(1 for line in bars if line.met)} of {len(bars)} bars met. Median (minimum – maximum) of {rounds} rounds or more.
A ratio is ours to the peer's, or the other way round where it says "faster": the median over the pairs, which were run
by turns. Page cache warm. PSS is that of all processes together, measured in runs of its own. The stores are made up
from the figures of real sessions (`figures.py`). Bars that are not met are answered in `OUT_OF_REACH.md`.

{machine(peers)}

{table(lines)}
"""


def write_results(lines: list[Line], peers: Peers, rounds: int, path: Path) -> None:
    """Write RESULTS.md."""
    path.write_text(results(lines, peers, rounds))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()
