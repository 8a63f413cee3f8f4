"""Build a page of search results from ranked sessions: their best entries, with snippets; copies are shown once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.entry_facts import EntryFacts
from sessionbrowse.model.search.query import snippet
from sessionbrowse.model.search.relevance import Evidence, Term, evidence_in, snippet_of
from sessionbrowse.model.search.words import EXACT as EXACT_FORM
from sessionbrowse.model.search.words import MISSPELT
from sessionbrowse.services.search.hits import DONE_ROLE, LABEL_SCORE, MATCHES, Hit, entry_hit
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.store.index.rows import FileRow, StoredEntries

PER_SESSION = 3
"""Maximum number of entries shown for one session in the results, by default."""
_FULL_SESSIONS, _LEAST_OF_BEST = 5, 0.5
_ABANDONED_FACTOR = 0.9
LOOKED_AT, USUAL_PAGE = 3, 50
"""`LOOKED_AT` ranked sessions are examined for each session on a page, because some are only copies of others.

A page of fewer than `USUAL_PAGE` sessions counts as one of `USUAL_PAGE`, so that it begins with the same sessions as a
longer page.
"""

EXACT, FORMS, SESSION, SOME, TYPO = range(len(MATCHES))

Weights = tuple[float, ...]
"""The weights of a query's terms in some text: one number per term, from 0 (missing) to 1 (the same word)."""


class Found(Struct):
    """An entry that contains terms of the query, with its score, state and number of copies in other files."""

    index: int
    facts: EntryFacts
    evidence: Evidence
    score: float = 0.0
    state: str = "active"
    entry_id: str | None = None
    copies: int = 0


class RankedSession(Struct):
    """A session in the search results: its best hits, how well it matches, and its score.

    `match` is one of `MATCHES`. `more` counts further hits that are not in `hits`. `missing` are the words of the query
    that the session lacks.
    """

    summary: Summary
    hits: list[Hit]
    match: str
    score: float
    more: int = 0
    missing: tuple[str, ...] = ()


class Ranking(Struct):
    """The sessions that a ranked search found, best first.

    `instead` maps misspelt words of the query to the words searched instead. `unread` counts sessions that contain
    words of the query, but were not read because there were too many. `is_cut` is True if more sessions match than
    requested. `nowhere` are the words of the query that were found nowhere, and for which nothing similar was found.
    """

    sessions: list[RankedSession]
    instead: dict[str, tuple[str, ...]] = {}
    unread: int = 0
    is_cut: bool = False
    nowhere: tuple[str, ...] = ()


class MatchingSession(Struct):
    """A session that may be a result: its data from the index, and the entries that were read (`found`)."""

    summary: Summary
    row: FileRow | None
    named: Weights
    places: StoredEntries | None = None
    """Offsets and ids of the entries in the file, read when they are needed."""
    hits: dict[int, float] = {}
    """The entries that the index found, with their scores."""
    is_complete: bool = False
    """True if the index says that the session contains all terms."""
    found: list[Found] = []
    elsewhere: Weights = ()
    """The weights of the terms in entries that were not read."""
    read: set[int] = set()
    match: int = SOME
    score: float = 0.0

    def weights(self) -> Weights:
        """Return how well each term of the query matches in the session, by its best match: 0 (missing) to 1."""
        groups = [self.named, *(each.evidence.weights for each in self.found)]
        return combined((*groups, self.elsewhere) if self.elsewhere else tuple(groups))


def corrected(text: str, instead: Mapping[str, tuple[str, ...]]) -> str:
    """Return a query's text with misspelt words replaced by the words searched instead, for highlighting in entries."""
    words = [" ".join(instead.get(word.lower(), (word,))) for word in text.split()]
    return " ".join(words) if instead else text


@lru_cache(maxsize=4096)
def combined(groups: tuple[Weights, ...]) -> Weights:
    """Combine several tuples that say how well each term matches: return the highest number for each term."""
    return tuple([max(column) for column in zip(*groups, strict=True)])


def grouped(
    hits: Iterable[Hit],
    summary_of: Callable[[str], Summary | None],
    sessions: int,
    per_session: int,
    *,
    best: bool = False,
) -> Ranking:
    """Group hits by session, at most `per_session` for each, newest session first.

    With `best`, all hits are read, and hits and sessions are sorted by how well they match (`MATCHES`); otherwise,
    reading stops after the first `sessions` sessions. `summary_of` returns the summary of a path.
    """
    found: dict[str, RankedSession] = {}
    for session in newest_first(hits, summary_of, sys.maxsize):
        found[session.summary.path] = session
        if len(found) > sessions and not best:
            break
    for session in found.values():
        if best:
            session.hits.sort(key=_match_order)
        session.match = min(session.hits, key=_match_order).match
        session.more = max(0, len(session.hits) - per_session)
        session.hits = session.hits[:per_session]
    shown = [session for session in found.values() if session.hits]
    if best:
        shown.sort(key=lambda each: MATCHES.index(each.match))
    return Ranking(shown[:sessions], is_cut=len(shown) > sessions)


def _match_order(hit: Hit) -> int:
    return MATCHES.index(hit.match)


def newest_first(
    hits: Iterable[Hit], summary_of: Callable[[str], Summary | None], per_session: int
) -> Iterator[RankedSession]:
    """Yield sessions with their hits, newest session first.

    A session with hits in its texts is yielded after each of these hits, any other session once. `hits` are in the
    order of `Searcher.find`: hits in names and labels, then in texts, newest session first. A session gets at
    most `per_session` hits.
    """
    named: dict[str, RankedSession] = {}
    current: RankedSession | None = None
    for hit in hits:
        is_named = hit.score >= LABEL_SCORE
        session = named.get(hit.path) if is_named else current
        if session is None or session.summary.path != hit.path:
            summary = summary_of(hit.path)
            if summary is None:
                continue
            session = RankedSession(summary, [], hit.match, hit.score)
            if is_named:
                named[hit.path] = session
            else:
                newer = [each for each in named.values() if _newest(each) < _newest(session)]
                yield from [named.pop(each.summary.path) for each in sorted(newer, key=_newest)]
                current = session = named.pop(hit.path, session)
        if len(session.hits) < per_session:
            session.hits.append(hit)
        if session is current:
            yield session
    yield from sorted(named.values(), key=_newest)


def _newest(session: RankedSession) -> tuple[float, str]:
    return -(session.summary.modified or 0), session.summary.path


class Page:
    """Builds a page of search results from the sessions that match a query."""

    def __init__(self, searcher: Searcher, terms: Sequence[Term], rarities: Sequence[float]) -> None:
        self._searcher = searcher
        self._terms = terms
        self._rarities = rarities
        # A session's name need not contain the query's quoted phrases, because an entry may contain them.
        self._optional = [replace(term, is_required=False) for term in terms]

    def sessions(
        self, ranked: Sequence[MatchingSession], sessions: int, per_session: int | None, *, copies: bool
    ) -> list[RankedSession]:
        """Return the best sessions with their hits, at most `sessions` of them.

        An entry that several files contain is shown only in the best session with it, unless `copies` is True. A
        session that has only such entries is shown if its name contains terms of the query and differs from the names
        of the sessions that show these entries.
        """
        page: list[RankedSession] = []
        owners = {} if copies else self._owners(ranked[: LOOKED_AT * max(sessions, USUAL_PAGE)])
        for candidate in _by_own_entries(ranked, owners) if owners else ranked:
            if len(page) >= sessions:
                break
            entries = _own_entries(candidate, owners)
            names = self._name_hit(candidate)
            if candidate.found and not entries and not _is_named_itself(candidate, names, owners):
                continue
            if not entries and not names:
                continue
            room = PER_SESSION if per_session is None else per_session
            if per_session is None and len(page) >= _FULL_SESSIONS and candidate.match != SESSION:
                room = 1
            hits = self._hits(candidate, entries, names, room, all_fitting=per_session is not None) if room else []
            lacking = [t.text for t, weight in zip(self._terms, candidate.weights(), strict=True) if not weight]
            page.append(
                RankedSession(
                    candidate.summary,
                    hits,
                    MATCHES[candidate.match],
                    round(candidate.score, 4),
                    max(0, len(entries) + len(names) - room),
                    tuple(lacking),
                )
            )
        return page

    def _hits(
        self, candidate: MatchingSession, entries: list[Found], names: list[Hit], room: int, *, all_fitting: bool
    ) -> list[Hit]:
        """Return up to `room` hits of a session; with `all_fitting`, also entries far worse than the best entry."""
        self._place(candidate)
        entries.sort(key=_order)
        if not all_fitting:
            entries = [each for each in entries if each.score >= _LEAST_OF_BEST * entries[0].score]
        # The hit in the session's name is sorted together with the entries: an entry that matches better comes first.
        return sorted(names + [self._hit(candidate, each) for each in entries[:room]], key=_match_order)[:room]

    def _owners(self, ranked: Sequence[MatchingSession]) -> dict[object, MatchingSession]:
        """Map each entry that several sessions contain to the session that shows the entry: the best-ranked one."""
        having: dict[object, dict[str, tuple[MatchingSession, Found]]] = {}
        for candidate in ranked:
            for each in candidate.found:
                each.copies = 0
                having.setdefault(_identity(candidate, each), {}).setdefault(candidate.summary.path, (candidate, each))
        owners: dict[object, MatchingSession] = {}
        for key, copies in having.items():
            if len(copies) > 1:
                owners[key], shown = next(iter(copies.values()))
                shown.copies = len(copies) - 1
        return owners

    def _place(self, candidate: MatchingSession) -> None:
        """Fill in the states and ids of the entries found in a session."""
        indexed = (candidate.row, candidate.places) if candidate.row and candidate.places else None
        outline = self._searcher.trees.outline(candidate.summary, indexed) if candidate.found else None
        if outline is not None:
            for each in candidate.found:
                each.state, each.entry_id = outline.state(each.index), outline.entry_id(each.index)

    def _name_hit(self, candidate: MatchingSession) -> list[Hit]:
        summary = candidate.summary
        if not any(candidate.named) or (candidate.found and min(candidate.named) == 0):
            return []
        labels = [("label", text) for text in summary.labels]
        kinds = [("name", summary.name or ""), *labels, ("directory", summary.cwd)]
        found = [
            (snippet_of(text, evidence, self._rarities), role, worth(self._rarities, evidence.weights))
            for role, text in kinds
            if (evidence := evidence_in(self._optional, text, "name")) is not None
        ]
        # A session that was found by its id has no matching text, so the hit shows its name or directory.
        by_id = (snippet(summary.name or summary.cwd, []), "id", 0.0)
        shown, role, _ = max(found, key=lambda each: each[2], default=by_id)
        match = EXACT if min(candidate.named) == 1.0 else FORMS if min(candidate.named) else candidate.match
        kind = MATCHES[TYPO if candidate.match == TYPO else match]
        return [
            entry_hit(summary, None, None, role, "active", shown, round(candidate.score, 4), summary.modified, kind)
        ]

    def _hit(self, candidate: MatchingSession, found: Found) -> Hit:
        summary = candidate.summary
        own = class_of(found)
        return entry_hit(
            summary,
            found.index,
            found.entry_id,
            DONE_ROLE if found.evidence.is_done else found.facts.role,
            found.state or "active",
            snippet_of(found.facts.text, found.evidence, self._rarities),
            round(candidate.score, 4),
            found.facts.time_ms,
            MATCHES[own if own in (EXACT, FORMS) and candidate.match != TYPO else max(candidate.match, SESSION)],
            found.copies,
        )


def place_of(candidate: MatchingSession) -> tuple[int, float, float, str]:
    """Return the sort key of a session in the results; exact matches and matches of other word forms rank alike."""
    summary = candidate.summary
    return max(candidate.match, FORMS), -candidate.score, -(summary.modified or 0), summary.path


def class_of(found: Found) -> int:
    """Return the match of a single entry: `EXACT`, `FORMS` or `SESSION`, which are positions in `MATCHES`."""
    return likely(found.evidence.weights)


def likely(weights: Sequence[float]) -> int:
    """Return `EXACT`, `FORMS` or `SESSION` (positions in `MATCHES`) for a text, from the weight of each term in it."""
    least = min(weights)
    # A text in which two words match only as misspelt is usually about something else.
    is_near = least > 0 and weights.count(MISSPELT) < 2
    return EXACT if least == EXACT_FORM else FORMS if is_near else SESSION


def worth(rarities: Sequence[float], weights: Sequence[float]) -> float:
    """Return the sum of the terms' rarities, each multiplied by how well the term matches (0 to 1)."""
    return sum([rarity * weight for rarity, weight in zip(rarities, weights, strict=True)])


def _by_own_entries(
    ranked: Sequence[MatchingSession], owners: Mapping[object, MatchingSession]
) -> list[MatchingSession]:
    """Sort sessions by how well they match (`MATCHES`), then by score.

    An entry that several sessions contain counts as a match only for the session that shows it (see `owners`).
    """
    for candidate in ranked:
        own = _own_entries(candidate, owners)
        if len(own) < len(candidate.found) and candidate.match in (EXACT, FORMS):
            candidate.match = min([likely(candidate.named), *map(class_of, own)])
    return sorted(ranked, key=place_of)


def _own_entries(candidate: MatchingSession, owners: Mapping[object, MatchingSession]) -> list[Found]:
    return [each for each in candidate.found if owners.get(_identity(candidate, each), candidate) is candidate]


def _is_named_itself(
    candidate: MatchingSession, names: Sequence[Hit], owners: Mapping[object, MatchingSession]
) -> bool:
    """Return True if a session's name matches, and the sessions that show its entries have other names.

    A fork often has the name of its parent session.
    """
    shown = [owners[_identity(candidate, each)].summary.name for each in candidate.found]
    return any(hit.role == "name" for hit in names) and candidate.summary.name not in shown


def _order(found: Found) -> tuple[int, float, int]:
    factor = _ABANDONED_FACTOR if found.state == "abandoned" else 1.0
    return class_of(found), -found.score * factor, -found.index


def _identity(candidate: MatchingSession, found: Found) -> object:
    """Return a key that is equal for copies of an entry in several files; an entry without time counts as no copy."""
    facts = found.facts
    if facts.time_ms is None:
        return candidate.summary.path, found.index
    return facts.role, facts.text, facts.time_ms
