"""The command `search`: entries in every branch of every session."""

from __future__ import annotations

import argparse
from itertools import islice

from msgspec.structs import replace

from sessionbrowse.cli import output
from sessionbrowse.cli.scoping import scope_of, settings_in_force, warn
from sessionbrowse.config import cache_dir
from sessionbrowse.model.search.query import parse_question
from sessionbrowse.services.list.index_access import open_if_there
from sessionbrowse.services.list.searchable import searchable
from sessionbrowse.services.search.hits import hit_document
from sessionbrowse.services.search.search import Searcher


def run_search(arguments: argparse.Namespace) -> int:
    """`search`: by the index where there is one, else by reading every file."""
    settings = settings_in_force()
    scope = scope_of(arguments, settings, hidden=True, archived=True)
    # Every argument that holds blanks was quoted by the shell's user: it is taken as it is written.
    query = parse_question(" ".join(arguments.query))
    if arguments.branch != "any":
        states = ("active", "compacted") if arguments.branch == "active" else ("abandoned",)
        query = replace(query, states=states)
    index = open_if_there(cache_dir(), output.note)
    gathered = searchable(scope, index, skipped=warn) if index is not None else None
    if gathered is None:
        from sessionbrowse.services.list.indexed import gathered_by

        gathered = gathered_by(scope, index, skipped=warn, note=output.note)
    tools = arguments.tools or settings.index_tools
    hits = list(islice(Searcher(gathered, index).find(query, tools=tools), arguments.limit))
    if arguments.json:
        output.print_json([hit_document(hit) for hit in hits])
    else:
        output.print_hits(hits, home=scope.around.home)
    return 0


COMMANDS = {"search": run_search}
