"""Judge how well the names, labels, directories and ids of sessions match the terms of a query."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.entry_facts import is_in_time
from sessionbrowse.model.search.query import SearchQuery, has_excluded
from sessionbrowse.model.search.relevance import Term, evidence_in
from sessionbrowse.model.search.word_forms import EXACT

_LEAST_ID = 4


class SessionNames:
    """The weights of a query's terms in the names of sessions; each text is judged once."""

    def __init__(self, query: SearchQuery, terms: Sequence[Term]) -> None:
        self.ids = tuple([term.text for term in terms if len(term.text) >= _LEAST_ID])
        """The terms that may be the beginning of a session's id."""
        self._query = query
        # A session's name need not contain the query's quoted phrases, because an entry may contain them.
        self._terms = [replace(term, is_required=False) for term in terms]
        self._nothing = (0.0,) * len(terms)
        self._by_text: dict[str, tuple[float, ...]] = {}

    def weights(self, summary: Summary) -> tuple[float, ...]:
        """Return how well each term matches the name, labels, directory and id of a session: 0 (missing) to 1."""
        query, own = self._query, (summary.id or "").lower()
        if query.is_about_entries or not is_in_time(query, summary.modified):
            return self._nothing
        text = "\n".join([summary.name or "", *summary.labels, *summary.cwd.split("/")[-2:]])
        known = self._by_text.get(text)
        if known is None:
            evidence = evidence_in(self._terms, text, "name") if not has_excluded(query, text) else None
            known = self._by_text[text] = evidence.weights if evidence is not None else self._nothing
        if not own.startswith(self.ids):
            return known
        # A query splits an id at its hyphens into several words, so each part is compared.
        return tuple(
            [
                EXACT if own.startswith(term.text) or f"-{term.text}" in own else weight
                for term, weight in zip(self._terms, known, strict=True)
            ]
        )
