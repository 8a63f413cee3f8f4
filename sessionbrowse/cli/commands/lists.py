"""The commands `list`, `projects` and `labels`. Their JSON must stay compatible (docs/json.md)."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from sessionbrowse.cli import output
from sessionbrowse.cli.output import print_document
from sessionbrowse.cli.parser import (
    AddCommand,
    add_cwd,
    add_for_agent,
    add_sort,
    add_span,
    count,
    in_directory,
    scope_of,
    settings_in_force,
    span_ms,
)
from sessionbrowse.config import cache_dir, state_dir
from sessionbrowse.errors import NotFound
from sessionbrowse.model.listing.directories import stored
from sessionbrowse.services.list.gather import completed, newest, open_listing, select
from sessionbrowse.store.find.slow_disks import exists_many
from sessionbrowse.text import is_time, iso_ms, parse_time

if TYPE_CHECKING:
    from sessionbrowse.model.listing.summary import Summary
    from sessionbrowse.model.search.patterns import FindFirst
    from sessionbrowse.model.search.query import SearchQuery
    from sessionbrowse.services.list.gather import Listing
    from sessionbrowse.services.search.ranked_page import RankedSession
    from sessionbrowse.services.search.searcher import Searcher
    from sessionbrowse.store.find.roots import Scope
    from sessionbrowse.store.index.index import Note

_NOTING_SECONDS = 0.3
_MOST_RANKED = 200
"""Maximum number of sessions that `list QUERY`, best matches first, prints without `--limit`."""
FOR_AGENT = 20
"""Maximum number of rows that `list --for-agent` prints without `--limit`."""

SORTS = ("newest", "threaded", "name", "size", "cost", "best")


def run_list(arguments: argparse.Namespace) -> int:
    """Run `list`: print all sessions, or those whose name, id, directory or messages match a query."""
    scope = scope_of(arguments, hidden=arguments.hidden)
    query = " ".join(arguments.query)
    filters = {
        "within": in_directory(arguments),
        "named": arguments.named,
        "limit": arguments.limit if arguments.limit is not None or not arguments.for_agent else FOR_AGENT,
    }
    ranks: dict[str, RankedSession] = {}
    note = output.noting_once(arguments.notes)
    if query.strip():
        summaries, ranks = _found(scope, query, arguments.sort, filters, note, whole=arguments.json)
    else:
        with open_listing(scope, cache_dir(), skipped=output.warn, note=note, processes=True) as listing:
            if arguments.sort in (None, "newest", "best"):
                chosen = newest(listing.unsorted, **filters)
            else:
                chosen = select(completed(listing, listing.sessions), sort=arguments.sort, **filters)
            summaries = completed(listing, chosen, whole=arguments.json)
    cwd = arguments.cwd
    if cwd is not None and not summaries and not os.path.isdir(cwd):
        from sessionbrowse.store.find.directories import given

        raise NotFound(f"The directory {given(cwd, os.curdir)} does not exist, and no session belongs to it.")
    if arguments.null:
        output.print_paths(each.path for each in summaries)
    elif arguments.json:
        documents = (summary_document(each) | _rank_of(ranks.get(each.path)) for each in summaries)
        if arguments.for_agent:
            print_document(arguments, list(documents))
        else:
            output.print_json_list(documents)
    else:
        output.print_sessions(summaries, home=scope.around.home)
    return 0


def run_projects(arguments: argparse.Namespace) -> int:
    """Run `projects`: print working directories and whether each exists (unknown if the disk does not answer)."""
    from sessionbrowse.store.find.directories import same_spelling

    scope = scope_of(arguments)
    is_asked = _text_filter(arguments)
    is_then = _time_filter(arguments)
    with open_listing(scope, cache_dir(), skipped=output.warn, note=output.noting_once(), processes=True) as listing:
        sessions = [
            session
            for session in newest(listing.unsorted, within=in_directory(arguments))
            if is_then(session.modified) and is_asked(session.cwd)
        ]
    exists = exists_many({session.cwd for session in sessions if session.cwd})
    documents = project_documents(sessions, exists, same_spelling(exists))[: arguments.limit]
    if arguments.json:
        output.print_json(documents)
    else:
        output.print_projects(documents, home=scope.around.home)
    _note_projects([path for path, there in exists.items() if there])
    return 0


def run_labels(arguments: argparse.Namespace) -> int:
    """Run `labels`: print the labels of all sessions, newest first; only sessions that have some of them are opened."""
    from sessionbrowse.model.search.query import parse_question
    from sessionbrowse.services.inspect import documents as inspect
    from sessionbrowse.services.search.hits import Checkpoint
    from sessionbrowse.services.search.session_filters import SessionFilters, fits
    from sessionbrowse.store.read.session_file import open_session

    scope = scope_of(arguments)
    note = output.noting_once(arguments.notes)
    with open_listing(scope, cache_dir(), skipped=output.warn, note=note, processes=True) as listing:
        there = newest(listing.unsorted, within=in_directory(arguments))
        labelled = [session for session in there if session.labels]
    query, is_then = parse_question(" ".join(arguments.query), note), _time_filter(arguments)
    filters = SessionFilters(labelled)
    most = arguments.limit
    if arguments.for_agent and (most is None or most > FOR_AGENT):
        # The command collects one label more than it prints: if there is one more, it says that labels are left out.
        most = FOR_AGENT + 1
    # The sessions with the newest labels come first, so that the others need not be opened if few labels are wanted.
    found: list[tuple[str, int, int, dict[str, Any]]] = []
    for place, session in sorted(enumerate(labelled), key=lambda each: each[1].newest_label, reverse=True):
        if len(found) == most and (most == 0 or found[0][0] > session.newest_label):
            break
        if not filters.fits(query, session):
            continue
        own = inspect.label_documents(open_session(session.path, session.agent), scope.around.home)
        for number, document in enumerate(own):
            time_text = str(document["time"] or "")
            at = parse_time(time_text)
            known = {key: value for key, value in document.items() if key not in ("time", "machine")}
            mark = Checkpoint(**(known | {"cwd": session.cwd}), entry_index=0, time_ms=at)
            if is_then(at) and fits(query, mark):
                heappush(found, (time_text, -place, -number, document))
                if most is not None and len(found) > most:
                    heappop(found)
    documents = [document for *_, document in sorted(found, reverse=True)]
    print_text = partial(output.print_labels, home=scope.around.home)
    if arguments.for_agent:
        print_document(arguments, documents)
        return 0
    return output.print_either(arguments.json, documents, print_text)


def _text_filter(arguments: argparse.Namespace) -> Callable[..., bool]:
    """Return a function that tests whether all words of QUERY occur in its arguments, ignoring case and accents."""
    from sessionbrowse.model.search.words import literal

    words = literal(" ".join(arguments.query)).split()
    return lambda *texts: all(any(word in literal(text or "") for text in texts) for word in words)


def _time_filter(arguments: argparse.Namespace) -> Callable[[float | None], bool]:
    since, until = span_ms(arguments.since, arguments.until, datetime.now())
    if since is None and until is None:
        return lambda at: True
    return lambda at: at is not None and (since is None or at >= since) and (until is None or at < until)


def summary_document(summary: Summary) -> dict[str, Any]:
    """Return the JSON object of one session in `list --json`; times are ISO 8601 UTC with milliseconds."""
    document: dict[str, Any] = {
        "agent": summary.agent,
        "path": summary.path,
        "id": summary.id,
        "cwd": summary.own_cwd,
        "machine": summary.machine,
        "name": summary.name,
        "created": _iso(summary.created),
        "modified": _iso(summary.modified),
        "message_count": summary.message_count,
        "first_message": summary.first_message,
        "parent_session": summary.parent_session,
        "parent_path": summary.parent_path,
        "bytes": summary.bytes,
        "hidden": summary.hidden,
        "archived": summary.archived,
        "entry_count": summary.entry_count,
        "branch_count": summary.branch_count,
        "label_count": summary.label_count,
        "tokens": summary.tokens,
        "cost": summary.cost,
        "model": summary.model,
        "problem": summary.problem,
        "problem_count": summary.problem_count,
        "left_behind": summary.left_behind,
        "status": summary.status,
    }
    if summary.copy_of is not None:
        document["copy_of"] = summary.copy_of
    if summary.first_message_cut:
        document["first_message_cut"] = True
    return document


def project_documents(
    sessions: Iterable[Summary], exists: Mapping[str, bool | None], spelled: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the JSON objects of `projects --json`, one per working directory, most recently active first.

    `spelled` maps each stored directory to the one spelling that is used for all paths to this directory.
    """
    by_cwd: dict[str, list[Summary]] = {}
    for session in sessions:
        by_cwd.setdefault(spelled.get(session.cwd, session.cwd), []).append(session)
    documents: list[dict[str, Any]] = []
    for cwd, own in by_cwd.items():
        latest = max((session.modified for session in own if session.modified is not None), default=None)
        documents.append(
            {
                "cwd": stored(cwd, own[0].machine),
                "machine": own[0].machine,
                "agents": sorted({session.agent for session in own}),
                "sessions": len(own),
                "named": sum(1 for session in own if session.name),
                "modified": _iso(latest),
                "exists": exists.get(cwd) if cwd else None,
            }
        )
    documents.sort(key=lambda document: document["cwd"])
    return sorted(documents, key=lambda document: document["modified"] or "", reverse=True)


def _iso(milliseconds: float | None) -> str | None:
    return iso_ms(milliseconds) if milliseconds is not None and is_time(milliseconds) else None


def _found(
    scope: Scope, text: str, sort: str | None, filters: dict[str, Any], note: Note, *, whole: bool
) -> tuple[list[Summary], dict[str, RankedSession]]:
    """Return the sessions that match a query, in the order `sort`, and a dictionary of matches and scores by path.

    The dictionary is empty unless the sessions are sorted by score.
    """
    from sessionbrowse.cli.commands.search import note_filters, note_index, note_ranking
    from sessionbrowse.services.search.ranking import Ranker, can_rank

    limit = filters["limit"]
    question, listing, listed, searcher = _searched(scope, text, filters, note)
    by_path = {each.path: each for each in listed}
    order = None if sort == "best" else sort
    if order is not None or not can_rank(question):
        rows = [by_path[path] for path in searcher.paths_of(question)]
        note_index(searcher, note)
        if not rows:
            note_filters(searcher, question, note)
        if order is not None:
            rows = [by_path[each.path] for each in select(completed(listing, rows), sort=order)]
        return completed(listing, rows[:limit], whole=whole), {}
    ranker = Ranker(searcher, question, half_life_days=settings_in_force().search_half_life)
    ranking = ranker.rank(_MOST_RANKED if limit is None else limit, 0, copies=True)
    note_index(searcher, note)
    note_ranking(ranking, note)
    ranks = {each.summary.path: each for each in ranking.sessions}
    if not ranks:
        note_filters(searcher, question, note)
    return completed(listing, [by_path[path] for path in ranks], whole=whole), ranks


def _rank_of(found: RankedSession | None) -> dict[str, Any]:
    return {"match": found.match, "score": found.score} if found is not None else {}


def paths_found(scope: Scope, text: str, note: Note) -> set[str]:
    """Return the paths of the sessions that match a query.

    A session matches if one entry, the name, the directory or the id matches the whole query.
    """
    from sessionbrowse.cli.commands.search import note_filters, note_index

    question, _, _, searcher = _searched(scope, text, {"within": None, "named": False}, note)
    found = set(searcher.paths_of(question))
    note_index(searcher, note)
    if not found:
        note_filters(searcher, question, note)
    return found


def _searched(
    scope: Scope, text: str, filters: dict[str, Any], note: Note
) -> tuple[SearchQuery, Listing, list[Summary], Searcher]:
    """Return the parsed query, all sessions, the sessions that pass the filters, and a searcher for these sessions."""
    from sessionbrowse.model.search.patterns import first_spans
    from sessionbrowse.model.search.query import parse_question
    from sessionbrowse.services.list.gather import Snapshot, filtered, gather
    from sessionbrowse.services.search.searcher import Searcher
    from sessionbrowse.store.index.index import open_index

    question = parse_question(text, note)
    find_first: FindFirst = first_spans
    if question.pattern is not None:
        from sessionbrowse.services.background.pattern_worker import PatternWorker

        find_first = PatternWorker().first_spans
    index = open_index(cache_dir(), note)
    generation = index.generation if index is not None else 0
    listing = gather(scope, index, skipped=output.warn, note=note)
    listed = filtered(listing.unsorted, within=filters["within"], named=filters["named"])
    snapshot = Snapshot(listed, listing.rows, generation)
    return question, listing, listed, Searcher(snapshot, index, find_first=find_first)


def _note_projects(directories: Sequence[str]) -> None:
    """Record each directory's git repository, by which the directory can be found again after it was moved.

    This is done after the output is printed, because it takes up to 0.3 s.
    """
    sys.stdout.flush()
    if directories:
        from sessionbrowse.store.find import repositories

        until = time.monotonic() + _NOTING_SECONDS
        repositories.note(directories, str(state_dir()), lambda: time.monotonic() > until, _NOTING_SECONDS)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": run_list,
    "projects": run_projects,
    "labels": run_labels,
}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if listing := add("list", "List sessions, newest first; with a QUERY, best matches first"):
        listing.add_argument(
            "query", nargs="*", metavar="QUERY", help='words, "phrases", re:pattern or filters, as in `search`'
        )
        add_cwd(listing)
        listing.add_argument(
            "--null", action="store_true", help="print only paths of session files, a NUL byte after each"
        )
        listing.add_argument("--named", action="store_true", help="only sessions with a name")
        listing.add_argument(
            "--hidden",
            action="store_true",
            help="also sessions of subagents and atomic's workflows, and omp's empty ones",
        )
        add_sort(listing, SORTS, None, "order of the sessions (default: newest; with a QUERY: best)")
        add_for_agent(listing)
        listing.add_argument("--limit", type=count, metavar="N", help="print at most N sessions")

    if projects := add(
        "projects", "List working directories with number of sessions and last activity; mark missing directories"
    ):
        projects.add_argument("query", nargs="*", metavar="QUERY", help="words in the directory's path")
        _add_filters(projects, "only sessions that changed", "directories")

    if labels := add("labels", "List every label of every session"):
        labels.add_argument(
            "query",
            nargs="*",
            metavar="QUERY",
            help="a query as in `search`, for label, session name, entry and directory",
        )
        _add_filters(labels, "only labels set", "labels")
        add_for_agent(labels)


def _add_filters(parser: argparse.ArgumentParser, in_time: str, rows: str) -> None:
    add_span(parser, in_time)
    add_cwd(parser)
    parser.add_argument("--limit", type=count, metavar="N", help=f"print at most N {rows}")
