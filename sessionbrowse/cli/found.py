"""Print the hits (matching entries) of a search: as JSON of limited length, or as text, grouped by session."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from sessionbrowse.cli.output import short_id
from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.sequences import without_sequences
from sessionbrowse.services.search.hits import Hit, hit_document
from sessionbrowse.services.search.ranked_page import RankedSession, Ranking
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.services.search.text_index import why_no_engine
from sessionbrowse.store.index.index import discard_index
from sessionbrowse.text import age, clean, json_exact, shorten_home

_BOLD, _PLAIN = "\x1b[1m", "\x1b[22m"


def note_index(searcher: Searcher, note: Callable[[str], None]) -> None:
    """Say that words cannot be looked up in the index here; discard an index that was found to be damaged."""
    if searcher.index is None:
        return
    why = why_no_engine(searcher.index)
    if why is not None:
        note(why)
    elif searcher.words is not None and searcher.words.damage is not None:
        discard_index(searcher.index, searcher.words.damage, note)


def note_filters(searcher: Searcher, query: SearchQuery, note: Callable[[str], None]) -> None:
    """Say which values of filters fit no session, where a search has found nothing."""
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
    """Return text lines: for each session a heading (name, age, agent, directory, id), then its matching entries."""
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
        title = clean(summary.name or "") or "(no name)"
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
