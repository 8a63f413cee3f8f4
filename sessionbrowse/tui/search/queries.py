"""The latest queries, which the Up key brings back into an empty search line."""

from __future__ import annotations

from collections.abc import Sequence

MOST_QUERIES = 50


class Queries:
    """The latest queries, oldest first, and the one that was brought back last."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = list(known)
        self._at: int | None = None

    def add(self, text: str) -> None:
        """Add a query that was used, as the latest one."""
        text = text.strip()
        if text:
            self.known = [*[each for each in self.known if each != text], text][-MOST_QUERIES:]
        self._at = None

    def recalled(self, text: str, step: int) -> str | None:
        """Return the query before (`step` -1) or after (1) the one that was brought back last.

        None if `text`, which stands in the line, was typed by the user, or if there is no such query.
        """
        at = self._at if self._at is not None and text == self.known[self._at] else None
        if at is None and (text or step > 0):
            return None
        wanted = (len(self.known) if at is None else at) + step
        if wanted >= len(self.known):
            self._at = None
            return ""
        if wanted < 0:
            return None
        self._at = wanted
        return self.known[wanted]
