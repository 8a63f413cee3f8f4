"""The command `stats`: tokens and cost of all requests to models; a request copied by a fork counts only once.

The format of its JSON must stay compatible.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sessionbrowse.cli import output
from sessionbrowse.cli.output import print_document
from sessionbrowse.cli.parser import (
    AddCommand,
    add_cwd,
    add_for_agent,
    add_span,
    count,
    in_directory,
    scope_of,
    span_ms,
)
from sessionbrowse.config import cache_dir
from sessionbrowse.model.usage.request import REQUESTS, UNPRICED, UNRECORDED, Span, Totals, tokens_of
from sessionbrowse.services.usage.stats import BY, SORTS, Stats, cents, name_of, stats, stats_document
from sessionbrowse.services.usage.usage_listing import UsageRow, open_usage
from sessionbrowse.text import clean, plural, shorten_home, tokens

_FORMULA = ("=", "+", "-", "@")
"""First characters of a cell that a spreadsheet would interpret as a formula."""


def run_stats(arguments: argparse.Namespace) -> int:
    """Run `stats`: print rows of tokens and cost, and their total."""
    scope = scope_of(arguments, hidden=True, archived=True)
    span = span_of(arguments.since, arguments.until, datetime.now())
    query = " ".join(arguments.query)
    within = in_directory(arguments)
    note = output.noting_once(arguments.notes)
    paths: set[str] | None = None
    if query.strip():
        from sessionbrowse.cli.commands.lists import paths_found

        paths = paths_found(scope, query, note)

    with open_usage(scope, cache_dir(), skipped=output.warn, note=note, processes=True) as found:
        there = within({session.cwd for session in found.listing.sessions}) if within is not None else None

        def chosen(session: Any) -> bool:
            return (paths is None or session.path in paths) and (there is None or session.cwd in there)

        asked: Callable[[Any], bool] | None = None if paths is None and there is None else chosen
        answer = stats(found, arguments.by, span=span, chosen=asked, sort=arguments.sort, limit=arguments.limit)
    document = stats_document(answer, span)
    if arguments.json:
        print_document(arguments, document)
    elif arguments.csv:
        output.print_pieces([csv_text(document["rows"]).encode("utf-8", "backslashreplace")])
    else:
        _print_stats(answer, _names(answer, scope.around.home))
    return 0


def span_of(since: str | None, until: str | None, now: datetime) -> Span:
    """Return the time span from `since` until `until`; raise ArgumentTypeError if a value is not a time."""
    return Span(*span_ms(since, until, now))


def csv_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV (RFC 4180); an apostrophe is put before a text that a spreadsheet would read as a formula."""
    flat = [dict(_flat(row)) for row in rows]
    into = io.StringIO()
    writer = csv.writer(into)
    names = list(flat[0]) if flat else ["key", "name", "sessions", "requests", "tokens", "cost"]
    writer.writerow(names)
    for row in flat:
        writer.writerow([_cell(row.get(name), is_text=name in _TEXTS) for name in names])
    return into.getvalue()


_TEXTS = frozenset({"key", "name", "path", "id", "leaf_id"})


def _flat(row: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}_{part}", item) for part, item in value.items())
        elif name == "agent_total":
            yield from (("agent_total_tokens", None), ("agent_total_cost", None))
        else:
            yield name, value


def _cell(value: Any, *, is_text: bool) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if is_text and text.startswith(_FORMULA) else text


def _print_stats(found: Stats, names: Sequence[str]) -> None:
    """Print one row for each group, then the total, then notes about requests to models that the total leaves out."""
    rows = [(*_sums(row.totals), clean(name) or "(unknown)") for row, name in zip(found.rows, names, strict=True)]
    if rows:
        more = f", with {plural(found.rows_left_out, 'row')} left out by --limit" if found.rows_left_out else ""
        rows.append((*_sums(found.total), f"total{more}"))
    titles = ("cost", "tokens", "kept", "abandoned", "compaction", "subagents", found.by)
    output.print_table(titles, rows, right=(0, 1, 2, 3, 4, 5), stretch=6)
    output.note_all(_beside(found.total))


def _sums(totals: Totals) -> tuple[str, ...]:
    total = totals.total
    return (cents(total), tokens(tokens_of(total)), *[cents(part) if part[REQUESTS] else "" for part in totals.parts])


def _beside(total: Totals) -> list[str]:
    """Return sentences about copied requests, requests without a price, and compactions without a recorded cost."""
    sums, sentences = total.total, []
    if copies := total.copies[REQUESTS]:
        counted = plural(copies, "copy of a model request", "copies of model requests")
        sentences.append(f"{counted}, {cents(total.copies)}, {'is' if copies == 1 else 'are'} not counted again")
    if sums[UNPRICED]:
        are = "is" if sums[UNPRICED] == 1 else "are"
        sentences.append(f"{sums[UNPRICED]:,} of {plural(sums[REQUESTS], 'request')} {are} not priced")
    if total.undecided[REQUESTS]:
        undecided = plural(total.undecided[REQUESTS], "request")
        sentences.append(f"{undecided}, {cents(total.undecided)}, may be counted elsewhere")
    if sums[UNRECORDED]:
        sentences.append(f"{plural(sums[UNRECORDED], 'compaction')} without a recorded cost")
    return sentences


def _names(found: Stats, home: str) -> list[str]:
    """Return the name of each row's group, such as a directory or model, for the table."""

    def name(row: UsageRow) -> str:
        if found.by == "project":
            return shorten_home(str(row.key or ""), home) or "(none)"
        shown = name_of(found.by, row) or (row.path and shorten_home(row.path, home)) or "(unknown)"
        return f"{shown} · {row.leaf_id}" if found.by == "branch" and row.leaf_id else shown

    return [name(row) for row in found.rows]


COMMANDS = {"stats": run_stats}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if asked := add(
        "stats", "Sum up the tokens and cost of all sessions; a model request counts once, even if forks copied it"
    ):
        add_for_agent(asked)
        asked.add_argument("query", nargs="*", metavar="QUERY", help="only sessions with an entry that has these words")
        asked.add_argument(
            "--by", choices=BY, default="project", help="print one row for each project, model, … (default: project)"
        )
        add_span(asked, "only requests")
        add_cwd(asked)
        asked.add_argument(
            "--sort", choices=SORTS, help="order of the rows (default: cost; days, weeks and months: time)"
        )
        asked.add_argument("--limit", type=count, metavar="N", help="print at most N rows")
        asked.add_argument("--csv", action="store_true", help="print comma-separated values")
