"""The sentence below the results: what a query was taken to mean, and what was not searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sessionbrowse.services.search.ranked_page import RankedSession
from sessionbrowse.text import plural
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.paint.words import one_line

_MEANINGS = {
    "exact": "",
    "forms": "Only other forms of the words were found.",
    "session": "No entry has all words; these sessions have them in several.",
    "some": "No session has all words.",
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
    """Return the sentence about an answer; `tools_key` is the key that includes tools, None if they are included."""
    parts: list[tuple[str, str]] = []
    for wrong, right in instead.items():
        words = ", ".join(right[:MAX_WORDS]) + (" …" if len(right) > MAX_WORDS else "")
        parts.append((f'"{one_line(wrong, 40)}" was not found; searched {one_line(words, 80)}.', "warning"))
    if sessions and not instead and ranked and _MEANINGS.get(sessions[0].match):
        parts.append((_MEANINGS[sessions[0].match], "warning"))
    if unread:
        parts.append((f"{plural(unread, 'session')} more not read: add a word.", "dim"))
    if sessions and tools_key is not None:
        parts.append((f"Without tool output: {tools_key} adds it.", "dim"))
    line: Line = []
    for part in parts:
        line += [(" ", ""), part] if line else [part]
    return line
