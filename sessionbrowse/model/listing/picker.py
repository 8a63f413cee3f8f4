"""The sort orders of pi's session picker (`/resume`, pi 1.5.2), and its fuzzy matching (letters in order)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.parents import ROOT, loops

_WORD_STARTS = frozenset(" \t\n\r\f\v-_./:")
_SWAPPABLE = re.compile(r"([a-z]+)([0-9]+)|([0-9]+)([a-z]+)")


def fuzzy(query: str, text: str) -> float | None:
    """Return the score of a text that contains all letters of the query in order; lower is better, None means no match.

    The better of two scores counts: one for the leftmost letters that match, and one for the whole query without gaps.
    If `abc12` does not match, `12abc` is tried.
    """
    query, text = query.lower(), text.lower()
    found = _fuzzy_both_ways(query, text)
    if found is not None:
        return found
    swapped = _swapped(query)
    found = _fuzzy_both_ways(swapped, text) if swapped else None
    return None if found is None else found + 5


def scattered(query: str) -> re.Pattern[str]:
    """Return a pattern that matches a text in lower case if, and only if, `fuzzy` returns a score for it."""
    query = query.lower()
    ways = [query, _swapped(query)]
    # `*+` prevents useless backtracking: the text that it skips does not contain the next letter of the query.
    return re.compile("|".join(["".join([f"[^{re.escape(a)}]*+{re.escape(a)}" for a in way]) for way in ways if way]))


def ordered(summaries: Iterable[Summary], sort: str) -> list[Summary]:
    """Return summaries sorted by `sort`: name, size, cost, threaded, or else newest first."""
    match sort:
        case "name":
            return sorted(summaries, key=lambda summary: (not summary.name, summary.title.casefold()))
        case "size":
            return sorted(summaries, key=lambda summary: -summary.bytes)
        case "cost":
            return sorted(summaries, key=lambda summary: -summary.cost)
        case "threaded":
            return [summary for summary, _ in threads(list(summaries))]
        case _:
            return sorted(summaries, key=lambda summary: (-(summary.modified or 0), -summary.mtime_ns))


def threads(summaries: Sequence[Summary]) -> list[tuple[Summary, tuple[bool, ...]]]:
    """Return summaries in the order of pi's threaded view: each session is followed by its forks.

    Sessions are sorted by the last change of the session or its forks, newest first. Each summary comes with flags for
    drawing the lines of the tree: one flag for each ancestor from the top, then one for the session. A flag is True if
    that ancestor or session is the last of its siblings. If parents form a loop, one session of the loop is shown
    without parent; pi does not show the sessions of a loop.
    """
    index_by_path = {summary.path: index for index, summary in enumerate(summaries)}
    parents = [index_by_path.get(summary.parent_path or "", ROOT) for summary in summaries]
    for members in loops(parents):
        parents[min(members)] = ROOT
    children: dict[int, list[int]] = {}
    for index, parent in enumerate(parents):
        children.setdefault(parent, []).append(index)
    latest = [summary.modified or 0.0 for summary in summaries]
    for index in _leaves_first(children, parents):
        if parents[index] != ROOT:
            latest[parents[index]] = max(latest[parents[index]], latest[index])
    rows: list[tuple[Summary, tuple[bool, ...]]] = []
    stack: list[tuple[int, tuple[bool, ...]]] = []

    def push(siblings: list[int], above: tuple[bool, ...]) -> None:
        siblings.sort(key=lambda index: -latest[index])
        for position in range(len(siblings) - 1, -1, -1):
            stack.append((siblings[position], (*above, position == len(siblings) - 1)))

    push(children.get(ROOT, []), ())
    while stack:
        index, lasts = stack.pop()
        rows.append((summaries[index], lasts))
        push(children.get(index, []), lasts)
    return rows


def _leaves_first(children: dict[int, list[int]], parents: list[int]) -> list[int]:
    order: list[int] = []
    stack = list(children.get(ROOT, []))
    while stack:
        index = stack.pop()
        order.append(index)
        stack += children.get(index, [])
    return order[::-1]


def _swapped(query: str) -> str:
    """Return a word with its letters and digits swapped, such as `12abc` for `abc12`; "" for any other word."""
    parts = _SWAPPABLE.fullmatch(query)
    return "".join(reversed([part for part in parts.groups() if part])) if parts is not None else ""


def _fuzzy_both_ways(query: str, text: str) -> float | None:
    if not query:
        return 0.0
    leftmost = _leftmost(query, text)
    if leftmost is None:
        return None
    best = leftmost
    at = text.find(query)
    while at >= 0:
        best = min(best, _points(range(at, at + len(query)), text))
        at = text.find(query, at + 1)
    return best - 100 if query == text else best


def _leftmost(query: str, text: str) -> float | None:
    places: list[int] = []
    at = -1
    for letter in query:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
        places.append(at)
    return _points(places, text)


def _points(places: Iterable[int], text: str) -> float:
    """Return the score of letters matched at the given positions, lower is better.

    Consecutive letters and starts of words lower the score; gaps and late positions raise it.
    """
    points = 0.0
    previous = -1
    run = 0
    for place in places:
        if place == previous + 1:
            run += 1
            points -= run * 5
        else:
            run = 0
            points += (place - previous - 1) * 2 if previous >= 0 else 0
        if place == 0 or text[place - 1] in _WORD_STARTS:
            points -= 10
        points += place * 0.1
        previous = place
    return points
