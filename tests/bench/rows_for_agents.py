"""The rows about answers for a language model: soon there, and short."""

from __future__ import annotations

import json

from tests.bench.bench import Bench, Line, limited, seconds
from tests.bench.measure import Run
from tests.bench.rows_command_line import search_words, size_of

MOST_CHARACTERS = 2_000
INDEXED_SECONDS, UNINDEXED_SECONDS = 0.5, 2.0


def row_for_agents(bench: Bench) -> list[Line]:
    """Each command that the skill names, with the index: at most 0.5 s and 2,000 characters; without it 2 s."""
    store = bench.store("large")
    cache = bench.indexed(store)
    word = search_words(3_000, 1)[0]
    hits = json.loads(bench.ours(store, cache, "search", word, "--json", "--limit", "5").stdout)
    path, entry = hits[0]["path"], hits[0]["entry_id"]
    commands = {
        "search": ("search", word),
        "search, two words": ("search", *search_words(300, 2)),
        "context": ("context", path, "--at", entry),
        "show": ("show", path),
        "diff": ("diff", path, entry, entry),
        "labels": ("labels",),
        "list": ("list", "--cwd", "."),
        "stats": ("stats", "--by", "day", "--since", "7d"),
    }
    most = 0
    lines: list[Line] = []
    for name, command in commands.items():
        runs = [bench.ours(store, cache, *command, "--for-agent") for _ in range(bench.rounds)]
        most = max(most, *(_length(each) for each in runs))
        lines.append(
            limited(
                f"`{name} --for-agent`, {size_of(store)}", [each.seconds for each in runs], seconds, INDEXED_SECONDS
            )
        )
    lines.append(limited("the same: longest answer", [most], lambda value: f"{value:,.0f} characters", MOST_CHARACTERS))
    for command in (("search", word), ("list",)):
        empty = bench.cache(store, "for-agents", fresh=True)
        runs = [bench.ours(store, empty, *command, "--for-agent") for _ in range(bench.rounds)]
        times = [each.seconds for each in runs]
        lines.append(
            limited(f"`{command[0]} --for-agent`, {size_of(store)}, no index", times, seconds, UNINDEXED_SECONDS)
        )
        is_said = "Only the newest" in json.loads(runs[0].stdout)["note"]
        lines.append(Line("the same says so", "yes" if is_said else "no", "", "", "yes", is_said))
    return lines


def _length(done: Run) -> int:
    return len(done.stdout.decode().rstrip("\n"))
