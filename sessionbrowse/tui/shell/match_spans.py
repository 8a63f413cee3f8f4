"""Find the parts of a row of text that match a search query, for highlighting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sessionbrowse.model.search.query import BadSearch, SearchQuery, parse_search
from sessionbrowse.model.search.relevance import evidence_in, terms_of
from sessionbrowse.model.search.words import original_offsets
from sessionbrowse.tui.shell.pattern_answers import PatternAnswers
from sessionbrowse.tui.widgets.text_view import FindMatches

if TYPE_CHECKING:
    from sessionbrowse.tui.shell.command_screen import CommandScreen


class MatchMarks:
    """Finds the matches of a query that a pane highlights; a worker process searches regular expressions.

    `name` identifies the pane on the screen. `changed` is called when the worker process has found further matches.
    """

    def __init__(self, screen: CommandScreen[None], name: str, changed: Callable[[], object]) -> None:
        self._screen = screen
        self._name = name
        self._changed = changed
        self._answers: PatternAnswers | None = None

    def of(self, text: str) -> FindMatches | None:
        """Return a function that finds the query's matches in a row of text; None for a query without text to find."""
        try:
            query = parse_search(text)
        except BadSearch:
            query = SearchQuery()
        answers = self._answers_for(query.pattern)
        if not query.has_text:
            return None
        return lambda row: apart([*words_in(query, row), *(answers.spans(row) if answers is not None else ())])

    def _answers_for(self, pattern: str | None) -> PatternAnswers | None:
        if self._answers is not None and self._answers.pattern == pattern:
            self._answers.forget()
            return self._answers
        if self._answers is not None:
            self._answers.close()
        self._answers = None
        if pattern is not None:
            self._answers = PatternAnswers(self._screen, self._name, pattern, self._changed, every=True)
        return self._answers


def words_in(query: SearchQuery, row: str) -> list[tuple[int, int]]:
    """Return the (start, end) of the query's words and phrases in a row, in all word forms that the search finds."""
    terms = [replace(term, is_required=False) for term in terms_of(query)]
    evidence = evidence_in(terms, row, "") if terms else None
    if evidence is None:
        return []
    wanted = sorted({offset for begin, end, _, _ in evidence.places for offset in (begin, end - 1)})
    known = dict(zip(wanted, original_offsets(row, wanted), strict=True))
    return sorted({(known[begin], known[end - 1] + 1) for begin, end, _, _ in evidence.places})


def apart(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans (start, end) in sorted order, with overlapping spans merged into one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(places):
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found
