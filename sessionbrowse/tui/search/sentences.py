"""The sentences of a search: how the search interpreted the query, why nothing was found, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.model.search.query import SearchQuery, doubts
from sessionbrowse.services.background.search_messages import HitPage
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.text import plural
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import one_line

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
