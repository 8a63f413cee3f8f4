"""The sentences below the search results: how the search interpreted the query, and which text it left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.text import plural
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import one_line

_MEANINGS = {
    "exact": "",
    "forms": "Found only other forms of the searched words.",
    "session": "No entry has all searched words; in these sessions, several entries together do.",
    "some": "No session has all searched words.",
}
MAX_WORDS = 3


def answer_sentence(
    sessions: Sequence[RankedSession],
    *,
    ranked: bool,
    instead: Mapping[str, tuple[str, ...]],
    unread: int,
    tools_key: str | None,
) -> Line:
    """Return the sentences about search results; `tools_key` is the key that includes tool output, None if included."""
    parts: list[tuple[str, str]] = []
    for wrong, right in instead.items():
        words = ", ".join(right[:MAX_WORDS]) + (" …" if len(right) > MAX_WORDS else "")
        parts.append((f'"{one_line(wrong, 40)}" was not found; searched {one_line(words, 80)}.', "warning"))
    if sessions and not instead and ranked and _MEANINGS.get(sessions[0].match):
        parts.append((_MEANINGS[sessions[0].match], "warning"))
    if unread:
        parts.append((f"{plural(unread, 'session')} more not searched: add a word.", "dim"))
    if sessions and tools_key is not None:
        parts.append((f"Without tool output: {tools_key} adds it.", "dim"))
    line: Line = []
    for part in parts:
        line += [(" ", ""), part] if line else [part]
    return line
