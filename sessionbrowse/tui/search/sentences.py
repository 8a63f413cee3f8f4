"""The sentences of a search: examples of queries, how a query was interpreted, why nothing was found, what to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.model.search.query import SearchQuery, doubts
from sessionbrowse.services.background.search_messages import HitPage
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.text import plural
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, one_line

_MEANINGS = {
    "forms": "only other word forms",
    "session": "no entry has all words, sessions have",
    "some": "no session has all words",
}
MAX_WORDS = 3


def answer_note(sessions: Sequence[RankedSession], page: HitPage, query: SearchQuery) -> Line:
    """Return how the search interpreted a query, in few words; [] if it found what was typed."""
    if sessions and (doubtful := doubts(query, {*page.nowhere, *page.instead})):
        return [(one_line(doubtful[0], 160), "warning")]
    if page.instead:
        wrong, right = next(iter(page.instead.items()))
        return [(f'"{one_line(wrong, 24)}" not found; searched {_words(right)}', "warning")]
    if page.nowhere and sessions:
        return [(f"{_quoted(page.nowhere)} found nowhere", "warning")]
    if sessions and page.ranked and (meaning := _MEANINGS.get(sessions[0].match)):
        return [(meaning, "warning")]
    if page.unread:
        return [(f"{plural(page.unread, 'session')} left out: add a word", "dim")]
    return []


def nothing_sentence(
    text: str, page: HitPage | None, key_of: Callable[[str], str], *, tools: bool, in_project: bool
) -> str:
    """Return the message of an empty list of results: what was not found, and the keys of what to try."""
    if page is not None and page.nowhere:
        said = f"{_quoted(page.nowhere)} {'was' if len(page.nowhere) == 1 else 'were'} found nowhere."
        why = " ".join([said, *page.notes])
    elif page is not None and page.notes:
        return " ".join(page.notes)
    else:
        why = f'Nothing matches "{one_line(text, 60)}".'
    tries = [f"{key_of('scope')} searches all projects"] if in_project else []
    if not tools:
        tries.append(f"{key_of('search_tools')} also searches tool calls and results")
    return f"{why} {', '.join(tries)}." if tries else why


def _quoted(words: Sequence[str]) -> str:
    return ", ".join([f'"{one_line(word, 40)}"' for word in words[:MAX_WORDS]])


def _words(words: Sequence[str]) -> str:
    return one_line(", ".join(words[:MAX_WORDS]) + (" …" if len(words) > MAX_WORDS else ""), 60)


EXAMPLES = {
    "auth token": "both words in any order, also as word prefixes",
    '"auth token"': "an exact phrase",
    "auth -token": "without a word",
    "after:7d": "the last seven days; also before:2026-08, after:yesterday",
    "role:user": "your messages; also role:assistant, role:tool …",
    "project:webshop": "in one project; also agent:pi, name:jwt, machine:mini",
    "label:works": "entries whose label contains the word",
    "tool:bash": "a tool's calls and results",
    "model:opus": "answers of a model",
    "branch:abandoned": "on abandoned branches; also branch:active, branch:compacted",
    "re:Err.*timeout": "a regular expression, which takes the rest of the line",
}
"""Descriptions of the entries that an example of a query finds."""


def example_parts(scope_key: str, tools_key: str, sort_key: str) -> list[Part]:
    """Return the examples, and the keys that change what is searched, as parts of a document."""
    parts: list[Part] = [LinePart([("Search", "title")]), LinePart([])]
    for query, finds in EXAMPLES.items():
        parts += [LinePart([(query, "key")]), LinePart([("  " + finds, "dim")])]
    keys = f"{scope_key} this project or all · {tools_key} tool calls too · {sort_key} order · ↑ earlier searches"
    return [*parts, LinePart([]), LinePart([(keys, "dim")])]
