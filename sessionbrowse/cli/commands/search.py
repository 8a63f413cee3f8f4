"""The command `search`, which finds entries in every branch of every session."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from sessionbrowse.cli import output
from sessionbrowse.cli.output import MOST_CHARACTERS, short_document, short_id
from sessionbrowse.cli.parser import AddCommand, add_for_agent, add_sort, count, scope_of, settings_in_force
from sessionbrowse.config import cache_dir
from sessionbrowse.errors import NotFound, did_you_mean
from sessionbrowse.model.search.patterns import FindFirst, first_spans
from sessionbrowse.model.search.query import SearchQuery, parse_question
from sessionbrowse.services.list.gather import take_snapshot
from sessionbrowse.services.search.hits import HIT_FIELDS, Hit, hit_document
from sessionbrowse.services.search.ranked_page import PER_SESSION, RankedSession, Ranking, grouped
from sessionbrowse.services.search.ranking import Ranker, can_rank
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.services.search.text_index import why_no_engine
from sessionbrowse.store.index.index import discard_index, open_index
from sessionbrowse.text import age, clean, json_exact, shorten_home, truncate, without_sequences

_BOLD, _PLAIN = "\x1b[1m", "\x1b[22m"
_TITLE_CELLS = 80


def run_search(arguments: argparse.Namespace) -> int:
    """Run `search`: print the matching entries, found through the index if there is one, else in the files."""
    settings = settings_in_force()
    scope = scope_of(arguments, settings, hidden=True, archived=True)
    text = " ".join(arguments.query)
    if not text.strip():
        raise NotFound("The query is empty: add a search word.")
    note = output.noting_once(arguments.notes)
    query = parse_question(text, note)
    if arguments.branch != "any":
        allowed = ("active", "compacted") if arguments.branch == "active" else ("abandoned",)
        states = tuple([state for state in query.states or allowed if state in allowed])
        if not states:
            raise NotFound(
                f"--branch {arguments.branch} contradicts branch:{query.states[0]} in the query; leave one out."
            )
        query = replace(query, states=states)
    tools = arguments.tools or settings.index_tools
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
        output.note(f"nothing found{more}" if searcher.summaries else "no session found")
        return 0
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    lines = text_of(ranking.sessions, scope.around.home, bold=bold)
    shown = fitted_lines(lines, arguments.max_chars)
    if len(shown) < len("\n".join(lines)):
        output.note(f"Some lines were left out, to stay within {arguments.max_chars:,} characters.")
    write_fitted(shown, arguments.max_chars)
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


def note_index(searcher: Searcher, note: Callable[[str], None]) -> None:
    """Print the reason if words cannot be looked up in the index; discard an index that was found to be damaged."""
    if searcher.index is None:
        return
    why = why_no_engine(searcher.index)
    if why is not None:
        note(why)
    elif searcher.words is not None and searcher.words.damage is not None:
        discard_index(searcher.index, searcher.words.damage, note)


def note_filters(searcher: Searcher, query: SearchQuery, note: Callable[[str], None]) -> None:
    """Print which filter values match no session; call this if a search has found nothing."""
    for sentence in searcher.unmatched(query):
        note(sentence)


def note_ranking(ranking: Ranking, note: Callable[[str], None]) -> None:
    """Print which words of the search were replaced or found nowhere, and whether more sessions match."""
    for wrong, right in ranking.instead.items():
        note(f"{wrong} was not found; searched instead: {', '.join(right)}.")
    for word in ranking.nowhere if ranking.sessions else ():
        note(f"{word} was found nowhere.")
    if ranking.unread:
        note(f"{ranking.unread} more sessions have some of the words; add a word to narrow the search.")
    elif ranking.is_cut:
        note("More sessions match; a larger --limit shows them.")


def documents_of(sessions: Sequence[RankedSession], fields: Sequence[str]) -> list[dict[str, Any]]:
    """Return the hits (matching entries) as JSON documents with the keys in `fields`, or with all if it is empty."""
    documents = [hit_document(hit) for session in sessions for hit in session.hits]
    return [{key: each[key] for key in fields} for each in documents] if fields else documents


def fitted_json(documents: Sequence[dict[str, Any]], most: int | None, note: Callable[[str], None]) -> str:
    """Return a JSON array of search results, at most `most` characters long; results that do not fit are left out.

    If not even the first result fits, its text is cut; if that does not suffice, the array is empty.
    """
    texts = [json_exact(each) for each in documents]
    if most is None or sum(map(len, texts)) + len(texts) + 1 <= most:
        return "[" + ",".join(texts) + "]"
    kept, length = 0, 1
    while kept < len(texts) and length + len(texts[kept]) + 1 <= most:
        length += len(texts[kept]) + 1
        kept += 1
    if kept:
        note(f"{len(texts) - kept} of {len(texts)} search results were left out, to stay within {most:,} characters.")
        return "[" + ",".join(texts[:kept]) + "]"
    first = dict(documents[0])
    snippet = str(first.get("snippet", ""))
    while snippet:
        snippet = snippet[: len(snippet) * 3 // 4]
        first["snippet"] = snippet
        if "marks" in first:
            first["marks"] = [mark for mark in first["marks"] if mark[1] <= len(snippet)]
        text = "[" + json_exact(first) + "]"
        if len(text) <= most:
            note(f"One result was cut and {len(texts) - 1} were left out, to stay within {most:,} characters.")
            return text
    note(f"All {len(texts)} search results were left out, to stay within {most:,} characters.")
    return "[]"


def text_of(sessions: Sequence[RankedSession], home: str, *, bold: bool) -> list[str]:
    """Return text lines: for each session a heading (title, age, agent, directory, id), then its matching entries."""
    now = time.time() * 1000
    width = max((len(hit.entry_id or "") for session in sessions for hit in session.hits), default=0)
    lines: list[str] = []
    for session in sessions:
        summary = session.summary
        facts = [
            age(summary.modified, now) if summary.modified is not None else "",
            summary.agent,
            clean(shorten_home(summary.cwd, home)),
            clean(short_id(summary.id)),
            *([f"{session.more} more hits"] if session.more > 1 else ["1 more hit"] if session.more else []),
            *([f"without: {' '.join(map(clean, session.missing))}"] if session.missing else []),
        ]
        title = truncate(clean(summary.title), _TITLE_CELLS) or "(no messages)"
        lines.append(f"{_BOLD}{title}{_PLAIN}" if bold else title)
        lines[-1] += "  " + " · ".join(fact for fact in facts if fact)
        for hit in session.hits:
            about = [hit.role, *([hit.state] if hit.state != "active" else [])]
            if hit.copies:
                about.append(f"also in {hit.copies} {'copy' if hit.copies == 1 else 'copies'}")
            head = f"  {clean(hit.entry_id or ''):{width}}  {', '.join(map(clean, about))}: "
            lines.append(head + _marked(hit, bold))
        lines.append("")
    return lines[:-1]


def write_fitted(text: str, most: int | None) -> None:
    """Write the whole text to stdout, then a newline; without the newline if it would exceed `most` characters."""
    end = "\n" if most is None or len(text) < most else ""
    sys.stdout.buffer.write((text + end).encode("utf-8", "backslashreplace"))


def fitted_lines(lines: Sequence[str], most: int | None) -> str:
    """Return as many of the first lines as fit into `most` characters, joined; no line is cut."""
    if most is None:
        return "\n".join(lines)
    kept, length = 0, -1
    while kept < len(lines) and length + len(lines[kept]) + 1 <= most:
        length += len(lines[kept]) + 1
        kept += 1
    return "\n".join(lines[:kept])


def _marked(hit: Hit, bold: bool) -> str:
    """Return the text around the match in an entry; with `bold`, the matching words are bold.

    Control characters are removed after the text is split at the matches, because removing them shifts the offsets. No
    match is bold in a name with escape sequences: they would be split, too.
    """
    if not bold or without_sequences(hit.snippet) != hit.snippet:
        return clean(hit.snippet)
    parts: list[str] = []
    at = 0
    for begin, end in hit.marks:
        if begin >= at:
            parts += [clean(hit.snippet[at:begin]), _BOLD, clean(hit.snippet[begin:end]), _PLAIN]
            at = end
    return "".join([*parts, clean(hit.snippet[at:])])


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
