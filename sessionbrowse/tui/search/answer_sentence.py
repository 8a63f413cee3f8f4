"""The sentences below the search results: how the search interpreted the query, and what it did not search."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.services.background.search_messages import HitPage
from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.text import plural
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import one_line

_MEANINGS = {
    "exact": "",
    "forms": "Found only other forms of the searched words.",
    "session": "No entry has all searched words, but several entries of a session together have them.",
    "some": "No session has all searched words.",
}
MAX_WORDS = 3


def answer_sentence(sessions: Sequence[RankedSession], page: HitPage, *, tools_key: str | None) -> Line:
    """Return the sentences about the search results of a page.

    `tools_key` is the key that adds tool output to the search, None if the search includes tool output already.
    """
    instead, unread = page.instead, page.unread
    parts: list[tuple[str, str]] = []
    for wrong, right in instead.items():
        words = ", ".join(right[:MAX_WORDS]) + (" …" if len(right) > MAX_WORDS else "")
        parts.append((f'"{one_line(wrong, 40)}" was not found; searched {one_line(words, 80)}.', "warning"))
    if page.nowhere and sessions:
        words = ", ".join([f'"{one_line(word, 40)}"' for word in page.nowhere[:MAX_WORDS]])
        parts.append((f"{words} was found nowhere.", "warning"))
    elif sessions and not instead and page.ranked and _MEANINGS.get(sessions[0].match):
        parts.append((_MEANINGS[sessions[0].match], "warning"))
    if unread:
        parts.append((f"Too many matches: the search left out {plural(unread, 'session')}. Add a search word.", "dim"))
    if sessions and tools_key is not None:
        parts.append((f"Press {tools_key} to search tool output too.", "dim"))
    line: Line = []
    for part in parts:
        line += [(" ", ""), part] if line else [part]
    return line
