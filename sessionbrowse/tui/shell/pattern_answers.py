"""Find the matches of a typed regular expression in a screen's texts; a worker process does the search."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.search.patterns import MatchSpan
from sessionbrowse.tui.data.jobs import Job, Outcome

if TYPE_CHECKING:
    from sessionbrowse.tui.shell.command_screen import CommandScreen


class PatternAnswers:
    """Cache of the matches of one regular expression, by text; a worker process searches texts that are not cached.

    `name` identifies the pattern, because a screen may have several patterns. `answered` is called after each search.
    With `every`, the worker finds all matches in a text, else only the first.
    """

    def __init__(
        self,
        screen: CommandScreen[None],
        name: str,
        pattern: str,
        answered: Callable[[], object],
        *,
        every: bool = False,
    ) -> None:
        self.pattern = pattern
        self.problem: str | None = None
        """Why the search for the pattern failed or was stopped, so that the pattern matches nothing; else None."""
        self._screen = screen
        self._answered = answered
        self._every = every
        self._spans: dict[str, list[MatchSpan]] = {}
        self._missing: set[str] = set()
        self._is_asked = False
        self._lane = screen.lane(f"pattern-{name}", self._take)

    def spans(self, text: str) -> list[MatchSpan]:
        """Return the pattern's matches in `text`; an empty list until the worker process has searched the text."""
        spans = self._spans.get(text)
        if spans is None and self.problem is None:
            self._missing.add(text)
            if not self._is_asked:
                self._is_asked = True
                # Send the texts later, so that one request to the worker contains all texts of the current refresh.
                self._screen.call_later(self._ask)
        return spans or []

    def forget(self) -> None:
        """Empty the cache of matches and stop the search, because other texts will be shown; an error stays known."""
        self.close()
        self._spans.clear()

    def close(self) -> None:
        """Stop the search for the pattern, which kills the worker process if it is searching."""
        self._missing.clear()
        self._lane.cancel()
        self._is_asked = False

    def _ask(self) -> None:
        pattern, every, texts = self.pattern, self._every, list(self._missing)
        worker = self._screen.browser.pattern_worker

        def work(job: Job) -> dict[str, list[MatchSpan]]:
            return dict(zip(texts, worker.spans(pattern, texts, job.cancelled, every=every), strict=True))

        if texts:
            self._lane.ask(work)
        else:
            self._is_asked = False

    def _take(self, outcome: Outcome) -> None:
        self._is_asked = False
        if isinstance(outcome.error, SessionBrowseError):
            self.problem = outcome.error.sentence
        elif outcome.error is not None:
            raise outcome.error
        else:
            self._spans.update(outcome.value)
            self._missing -= outcome.value.keys()
            if self._missing:
                self._is_asked = True
                self._ask()
        self._answered()
