"""Which sessions have the words that are typed: whether they do, sooner than how well (`picker.score`)."""

from __future__ import annotations

from collections.abc import Iterable

from sessionbrowse.model.picker import fields_of, fuzzy
from sessionbrowse.model.session_facts import Summary


class Typed:
    """The sessions' fields in lower case, kept from one letter to the next."""

    def __init__(self) -> None:
        self._lowered: dict[str, tuple[Summary, str]] = {}

    def matching(self, summaries: Iterable[Summary], words: tuple[str, ...]) -> list[Summary]:
        """Return those of the sessions that have every word, in their order: `score` has one for exactly these."""
        found = list(summaries)
        for word in words:
            lowered = word.lower()
            # Many sessions lie in the same few directories.
            in_directory: dict[str, bool] = {}
            kept = []
            for summary in found:
                if lowered in self._text(summary):
                    kept.append(summary)
                    continue
                is_there = in_directory.get(summary.cwd)
                if is_there is None:
                    is_there = in_directory[summary.cwd] = fuzzy(word, summary.cwd) is not None
                if is_there or (summary.name is not None and fuzzy(word, summary.name) is not None):
                    kept.append(summary)
            found = kept
        return found

    def know(self, summaries: Iterable[Summary]) -> None:
        """Take the sessions' fields before a word is typed."""
        for summary in summaries:
            self._text(summary)

    def _text(self, summary: Summary) -> str:
        known = self._lowered.get(summary.path)
        if known is not None and known[0] is summary:
            return known[1]
        fields = fields_of(summary)
        # No word holds a blank, so none is found across two fields.
        text = "\n".join((fields.name, fields.id, fields.text, fields.cwd)).lower()
        self._lowered[summary.path] = (summary, text)
        return text
