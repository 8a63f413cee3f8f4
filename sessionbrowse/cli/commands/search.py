"""The command `search`, which finds entries in every branch of every session."""

from __future__ import annotations

import argparse
from itertools import islice

from msgspec.structs import replace

from sessionbrowse.cli import output
from sessionbrowse.cli.for_agents import print_document
from sessionbrowse.cli.parser import AddCommand, add_for_agent, count, scope_of, settings_in_force
from sessionbrowse.config import cache_dir
from sessionbrowse.errors import NotFound
from sessionbrowse.model.search.patterns import FindFirst, first_spans
from sessionbrowse.model.search.query import parse_question
from sessionbrowse.services.list.snapshot import take_snapshot
from sessionbrowse.services.search.hits import hit_document
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.index import open_index


def run_search(arguments: argparse.Namespace) -> int:
    """Run `search`: use the index if there is one, else read every file."""
    settings = settings_in_force()
    scope = scope_of(arguments, settings, hidden=True, archived=True)
    # Blanks inside an argument were quoted in the shell, so they are kept.
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
    index = open_index(cache_dir(), output.note)
    snapshot = take_snapshot(scope, index, skipped=output.warn, note=output.note, brief=True)
    find_first: FindFirst = first_spans
    if query.pattern is not None:
        # Only a regular expression needs the process beside this one; its import takes time.
        from sessionbrowse.services.background.pattern_worker import PatternWorker

        find_first = PatternWorker().first_spans
    searcher = Searcher(snapshot, index, find_first=find_first)
    hits = list(islice(searcher.find(query, tools=tools), arguments.limit))
    if arguments.json:
        print_document(arguments, [hit_document(hit) for hit in hits])
    else:
        output.print_hits(hits, home=scope.around.home)
    return 0


COMMANDS = {"search": run_search}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module, with their arguments."""
    if search := add(
        "search",
        'Entries in every branch of every session: words, "phrases", re:pattern, and the filters agent: project: name: '
        "label: role: tool: model: before: after: branch:",
    ):
        search.add_argument("query", nargs="+", metavar="QUERY", help="the text to search for")
        search.add_argument("--limit", type=count, default=100, metavar="N", help="at most N hits (default 100)")
        add_for_agent(search)
        search.add_argument("--tools", action="store_true", help="in tool calls and results too")
        search.add_argument(
            "--branch", choices=("active", "abandoned", "any"), default="any", help="the branches to search"
        )
