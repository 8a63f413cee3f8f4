"""Where in a row what was searched for stands."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.model.search.patterns import TooSlow, places, within
from sessionbrowse.model.search.query import BadSearch, SearchQuery, parse_search, spans_in
from sessionbrowse.tui.widgets.text_view import Marks

PATIENCE_SECONDS = 0.1
"""So long a row is searched for a pattern."""


def marks_of(text: str) -> Marks | None:
    """Return what finds the places of a query's words, phrases and pattern; None for a query without any."""
    try:
        query = parse_search(text)
    except BadSearch:
        return None
    singles = [SearchQuery(words=(word,)) for word in query.words]
    singles += [SearchQuery(phrases=(phrase,)) for phrase in query.phrases]
    pattern = query.pattern
    if not singles and pattern is None:
        return None

    def marks(row: str) -> list[tuple[int, int]]:
        nonlocal pattern
        found: list[tuple[int, int]] = []
        if pattern is not None:
            try:
                with within(PATIENCE_SECONDS):
                    found = places(pattern, row)
            except TooSlow:
                # What it found elsewhere is shown all the same, unmarked: rows are drawn while keys wait.
                pattern = None
        for single in singles:
            found += _places(single, row)
        return apart(found)

    return marks


def _places(single: SearchQuery, row: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    begin = 0
    while begin < len(row) and (spans := spans_in(single, row[begin:])):
        first, last = begin + spans[0][0], begin + spans[0][1]
        # Behind a match the rest of its word is no beginning of another one.
        if first > begin or not begin or not row[begin - 1].isalnum():
            found.append((first, last))
        begin = max(last, begin + 1)
    return found


def apart(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return places in order, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(places):
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found
