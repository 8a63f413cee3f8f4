"""The command `search`, which finds entries in every branch of every session."""

from __future__ import annotations

import argparse
import os
import sys

from msgspec.structs import replace

from sessionbrowse.cli import output
from sessionbrowse.cli.for_agents import MOST_CHARACTERS, short_document
from sessionbrowse.cli.found import (
    documents_of,
    fitted_json,
    fitted_lines,
    note_filters,
    note_index,
    note_ranking,
    text_of,
    write_fitted,
)
from sessionbrowse.cli.parser import AddCommand, add_for_agent, add_sort, count, scope_of, settings_in_force
from sessionbrowse.config import cache_dir
from sessionbrowse.errors import NotFound, did_you_mean
from sessionbrowse.model.search.patterns import FindFirst, first_spans
from sessionbrowse.model.search.query import SearchQuery, parse_question
from sessionbrowse.services.list.snapshot import take_snapshot
from sessionbrowse.services.search.hits import HIT_FIELDS
from sessionbrowse.services.search.ranked_page import PER_SESSION, Ranking, grouped
from sessionbrowse.services.search.ranking import Ranker, can_rank
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import open_index
from sessionbrowse.text import json_exact


def run_search(arguments: argparse.Namespace) -> int:
    """Run `search`: print the matching entries, found through the index if there is one, else in the files."""
    settings = settings_in_force()
    scope = scope_of(arguments, settings, hidden=True, archived=True)
    text = " ".join(arguments.query)
    if not text.strip():
        raise NotFound("The query is empty: add a search word.")
    query = parse_question(text)
    if arguments.branch != "any":
        allowed = ("active", "compacted") if arguments.branch == "active" else ("abandoned",)
        states = tuple([state for state in query.states or allowed if state in allowed])
        if not states:
            raise NotFound(
                f"--branch {arguments.branch} contradicts branch:{query.states[0]} in the query; leave one out."
            )
        query = replace(query, states=states)
    tools = arguments.tools or settings.index_tools
    note = output.noting_once(arguments.notes)
    index = open_index(cache_dir(), note)
    snapshot = take_snapshot(scope, index, skipped=output.warn, note=note)
    find_first: FindFirst = first_spans
    if query.pattern is not None:
        # Imported here because the import takes time and only queries with a regular expression need the module.
        from sessionbrowse.services.background.pattern_worker import PatternWorker

        find_first = PatternWorker().first_spans
    searcher = Searcher(snapshot, index, find_first=find_first)
    ranking = _ranked(arguments, searcher, query, tools, settings.search_half_life)
    note_index(searcher, note)
    note_ranking(ranking, note)
    if arguments.json:
        documents = documents_of(ranking.sessions, arguments.fields)
        if arguments.for_agent:
            most = MOST_CHARACTERS if arguments.max_chars is None else min(MOST_CHARACTERS, arguments.max_chars)
            write_fitted(json_exact(short_document(documents, most, arguments.notes)), arguments.max_chars)
        else:
            write_fitted(fitted_json(documents, arguments.max_chars, output.note), arguments.max_chars)
        return 0
    if not ranking.sessions:
        note_filters(searcher, query, note)
        more = "" if tools else "; add --tools to search tool calls and results too"
        output.note(f"nothing found{more}")
        return 0
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    lines = text_of(ranking.sessions, scope.around.home, bold=bold)
    write_fitted(fitted_lines(lines, arguments.max_chars), arguments.max_chars)
    return 0


def _ranked(
    arguments: argparse.Namespace, searcher: Searcher, query: SearchQuery, tools: bool, half_life_days: float
) -> Ranking:
    per_session = arguments.per_session
    if arguments.sort == "best" and can_rank(query):
        ranker = Ranker(searcher, query, tools=tools, half_life_days=half_life_days)
        return ranker.rank(arguments.limit, per_session)
    hits = searcher.find(query, tools=tools)
    # A query with words and a regular expression finds matches in no order, so all matches are found, then sorted.
    best = arguments.sort == "best" and bool(query.tokens())
    shown = PER_SESSION if per_session is None else per_session
    return grouped(hits, searcher.summary, arguments.limit, shown, best=best)


def _fields(text: str) -> tuple[str, ...]:
    """Return the field names in the value of `--fields`; raise ArgumentTypeError for an unknown name."""
    names = tuple([name.strip() for name in text.split(",") if name.strip()])
    unknown = [name for name in names if name not in HIT_FIELDS]
    if unknown or not names:
        wrong = unknown[0] if unknown else ""
        raise argparse.ArgumentTypeError(
            f"{wrong!r} is not one of {', '.join(HIT_FIELDS)}.{did_you_mean(wrong, HIT_FIELDS)}"
        )
    return names


def _characters(text: str) -> int:
    """Return the value of `--max-chars`, at least 2 (the length of `[]`); raise ArgumentTypeError for other texts."""
    number = count(text)
    if number < len("[]"):
        raise argparse.ArgumentTypeError(f"{text} is less than 2")
    return number


COMMANDS = {"search": run_search}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if search := add(
        "search",
        'Search every branch of every session: words, "phrases", -word, re:pattern, and the filters agent: project: '
        "name: machine: label: role: tool: model: before: after: branch:",
    ):
        search.add_argument("query", nargs="+", metavar="QUERY", help="the text to search for")
        search.add_argument(
            "--limit", type=count, default=20, metavar="N", help="print at most N sessions (default: 20)"
        )
        search.add_argument(
            "--per-session", type=count, metavar="N", help="print at most N matches of each session (default: 3)"
        )
        add_sort(search, ("best", "newest"), "best", "best matches or newest sessions first (default: best)")
        search.add_argument(
            "--fields", type=_fields, default=(), metavar="A,B", help="with --json: print only these fields of a match"
        )
        search.add_argument("--max-chars", type=_characters, metavar="N", help="print at most N characters")
        add_for_agent(search)
        search.add_argument("--tools", action="store_true", help="search tool calls and results too")
        search.add_argument(
            "--branch", choices=("active", "abandoned", "any"), default="any", help="the branches to search"
        )
