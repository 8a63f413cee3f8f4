"""Find the parts of a row of text that match a search query, for highlighting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.search.patterns import MatchSpan
from sessionbrowse.model.search.query import BadSearch, SearchQuery, parse_search
from sessionbrowse.model.search.relevance import evidence_in, terms_of
from sessionbrowse.model.search.words import original_offsets
from sessionbrowse.tui.data.jobs import Job, Outcome
from sessionbrowse.tui.widgets.text_view import FindMatches

if TYPE_CHECKING:
    from sessionbrowse.tui.shell.command_screen import CommandScreen


class MatchMarks:
    """Finds the matches of a query that a pane highlights; a worker process searches regular expressions.

    `name` identifies the pane on the screen. `changed` is called when the worker process has found further matches, or
    has failed: then the expression matches nothing.
    """

    def __init__(self, screen: CommandScreen[None], name: str, changed: Callable[[], object]) -> None:
        self._screen = screen
        self._changed = changed
        self._lane = screen.lane(f"pattern-{name}", self._receive)
        self._pattern: str | None = None
        self._has_failed = False
        self._spans: dict[str, list[MatchSpan]] = {}
        self._missing: set[str] = set()

    def of(self, text: str) -> FindMatches | None:
        """Return a function that finds the query's matches in a row of text; None for a query without text to find."""
        try:
            query = parse_search(text)
        except BadSearch:
            query = SearchQuery()
        # Other texts will be shown, so a running search is stopped, which kills the worker process.
        self._lane.cancel()
        self._spans, self._missing = {}, set()
        self._has_failed = self._has_failed and query.pattern == self._pattern
        self._pattern = query.pattern
        if not query.has_text:
            return None
        return lambda row: apart([*words_in(query, row), *self._found(query.pattern, row)])

    def _found(self, pattern: str | None, row: str) -> list[MatchSpan]:
        """Return the pattern's matches in a row; none until the worker process has searched the row."""
        spans = self._spans.get(row)
        if spans is None and pattern is not None and pattern == self._pattern and not self._has_failed:
            if not self._missing:
                # Send the rows later, so that one request to the worker contains all rows of the current refresh.
                self._screen.call_later(self._ask)
            self._missing.add(row)
        return spans or []

    def _ask(self) -> None:
        pattern, rows = self._pattern, list(self._missing)
        worker = self._screen.browser.pattern_worker

        def work(job: Job) -> dict[str, list[MatchSpan]]:
            return dict(zip(rows, worker.spans(pattern or "", rows, job.cancelled, every=True), strict=True))

        if rows:
            self._lane.ask(work)

    def _receive(self, outcome: Outcome) -> None:
        if isinstance(outcome.error, SessionBrowseError):
            self._has_failed = True
        elif outcome.error is not None:
            raise outcome.error
        else:
            self._spans.update(outcome.value)
            self._missing -= outcome.value.keys()
            self._ask()
        self._changed()


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
