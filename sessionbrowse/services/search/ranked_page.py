"""Pages of ranked sessions: the shown entries of each, with snippets, and copies of an entry counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.entry_facts import EntryFacts
from sessionbrowse.model.search.relevance import Evidence, Term, evidence_in, snippet_of
from sessionbrowse.model.search.word_forms import EXACT as EXACT_FORM
from sessionbrowse.services.search.hits import LABEL_SCORE, MATCHES, Hit, session_hit
from sessionbrowse.services.search.searcher import Searcher
from sessionbrowse.services.search.session_trees import SessionTree
from sessionbrowse.services.search.word_rows import TermRow
from sessionbrowse.store.index.rows import FileRow

PER_SESSION = 3
"""Number of entries of a session that are shown."""
_FULL_SESSIONS, _LEAST_OF_BEST = 5, 0.5
_ABANDONED_FACTOR = 0.9
_LEAST_COPY = 12

EXACT, FORMS, SESSION, SOME, TYPO = range(len(MATCHES))


class Found(Struct):
    """An entry with terms of the query."""

    index: int
    facts: EntryFacts
    evidence: Evidence
    score: float = 0.0
    state: str = "active"
    entry_id: str | None = None
    copies: int = 0


class RankedSession(Struct):
    """A session of the results: its best entries, how it matches, and the query's words that it lacks."""

    summary: Summary
    hits: list[Hit]
    match: str
    score: float
    more: int = 0
    missing: tuple[str, ...] = ()


class Ranking(Struct):
    """The sessions found, best first.

    `instead` maps misspelt words to the words that were searched; `unread` counts the sessions that have words of the
    query and were not read, because there were too many.
    """

    sessions: list[RankedSession]
    instead: dict[str, tuple[str, ...]] = {}
    unread: int = 0


class MatchingSession(Struct):
    summary: Summary
    row: FileRow | None
    rows: list[TermRow]
    named: list[float]
    found: list[Found]
    elsewhere: list[float] = []
    """The weights of frequent terms in the session's other rows."""
    guess: float = 0.0
    likely: int = SOME
    match: int = SOME
    score: float = 0.0
    was_read: bool = False

    def weights(self) -> list[float]:
        """Return the best weight of each term in the session."""
        groups = [self.named, *(each.evidence.weights for each in self.found)]
        groups += [row.weights for row in self.rows] if not self.was_read else []
        groups += [self.elsewhere] if self.elsewhere else []
        return [max(column) for column in zip(*groups, strict=True)]

    def likely_class(self) -> int:
        """Return the best class that the session can have."""
        groups = [self.named, *(each.evidence.weights for each in self.found), *(row.weights for row in self.rows)]
        best = min(map(likely, groups))
        return best if best != SESSION or min(self.weights()) > 0 else SOME


def grouped(
    hits: Iterable[Hit], summary_of: Callable[[str], Summary | None], sessions: int, per_session: int
) -> Ranking:
    """Return hits that come in another order as sessions, in the order of each one's first hit."""
    by_path: dict[str, RankedSession] = {}
    for hit in hits:
        session = by_path.get(hit.path)
        if session is None:
            summary = summary_of(hit.path)
            if summary is None:
                continue
            if len(by_path) >= sessions:
                break
            session = by_path[hit.path] = RankedSession(summary, [], hit.match, hit.score)
        if len(session.hits) < per_session:
            session.hits.append(hit)
        else:
            session.more += 1
    return Ranking([each for each in by_path.values() if each.hits])


def newest_first(
    hits: Iterable[Hit], summary_of: Callable[[str], Summary | None], per_session: int
) -> Iterator[RankedSession]:
    """Yield the sessions of hits, newest first, each again for every hit that it gets, up to `per_session`.

    The hits come as `Searcher.find` yields them: names and labels, then texts, newest session first.
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
                yield from _newer(named, session)
                current = session = named.pop(hit.path, session)
        if len(session.hits) < per_session:
            session.hits.append(hit)
        if session is current:
            yield session
    yield from sorted(named.values(), key=_newest)


def _newer(named: dict[str, RankedSession], than: RankedSession) -> list[RankedSession]:
    """Remove and return the sessions that are newer than one."""
    newer = sorted([each for each in named.values() if _newest(each) < _newest(than)], key=_newest)
    for each in newer:
        del named[each.summary.path]
    return newer


def _newest(session: RankedSession) -> tuple[float, str]:
    return -(session.summary.modified or 0), session.summary.path


class Page:
    """Makes a page of sessions out of those that a query found."""

    def __init__(self, searcher: Searcher, terms: Sequence[Term], rarities: Sequence[float]) -> None:
        self._searcher = searcher
        self._terms = terms
        self._rarities = rarities
        # A phrase that is required need not stand in the name.
        self._optional = [replace(term, is_required=False) for term in terms]

    def sessions(
        self, ranked: Sequence[MatchingSession], sessions: int, per_session: int | None, *, copies: bool
    ) -> list[RankedSession]:
        """Return the first sessions, where an entry that several files have stands in the first of them only."""
        page: list[RankedSession] = []
        shown: dict[object, Found] = {}
        for candidate in ranked:
            if len(page) >= sessions:
                break
            entries = self._without_copies(candidate, {} if copies else shown)
            names = self._name_hit(candidate)
            total = len(entries) + len(names)
            if candidate.found and not entries:
                continue
            room = PER_SESSION if per_session is None else per_session
            if per_session is None:
                room = room if len(page) < _FULL_SESSIONS or candidate.match == SESSION else 1
                entries = [each for each in entries if each.score >= _LEAST_OF_BEST * entries[0].score]
            hits = names + [self._hit(candidate, each) for each in entries[:room]]
            if hits:
                lacking = [t.text for t, weight in zip(self._terms, candidate.weights(), strict=True) if not weight]
                page.append(
                    RankedSession(
                        candidate.summary,
                        hits[:room],
                        MATCHES[candidate.match],
                        round(candidate.score, 4),
                        max(0, total - room),
                        tuple(lacking),
                    )
                )
        return [replace(each, hits=[self._counted(hit, shown) for hit in each.hits]) for each in page]

    def _without_copies(self, candidate: MatchingSession, shown: dict[object, Found]) -> list[Found]:
        tree = self._searcher.trees.tree(candidate.summary) if candidate.found else None
        entries: list[Found] = []
        for each in candidate.found:
            _place(each, tree)
            key = _identity(each)
            if key in shown:
                shown[key].copies += 1
                continue
            shown[key] = each
            entries.append(each)
        return sorted(
            entries,
            key=lambda each: (
                class_of(each),
                -each.score * (_ABANDONED_FACTOR if each.state == "abandoned" else 1.0),
                -each.index,
            ),
        )

    def _name_hit(self, candidate: MatchingSession) -> list[Hit]:
        summary = candidate.summary
        if not any(candidate.named) or (candidate.found and min(candidate.named) == 0):
            return []
        kinds = [
            ("name", summary.name or ""),
            *(("label", text) for text in summary.labels),
            ("directory", summary.cwd),
        ]
        judged = [(evidence_in(self._optional, text, "name"), role, text) for role, text in kinds]
        best = max([each for each in judged if each[0] is not None], key=self._worth_of, default=None)
        match = EXACT if min(candidate.named) == 1.0 else FORMS if min(candidate.named) else candidate.match
        kind = MATCHES[TYPO if candidate.match == TYPO else match]
        # A session found by its id is shown by its name or directory.
        _, role, title = best or (None, "id", summary.name or summary.cwd)
        hit = session_hit(summary, title, [], 0.0)
        if best is not None and best[0] is not None:
            line, marks = snippet_of(title, best[0], self._rarities)
            hit = replace(hit, snippet=line, marks=marks)
        return [replace(hit, score=round(candidate.score, 4), match=kind, role=role)]

    def _worth_of(self, judged: tuple[Evidence | None, str, str]) -> float:
        return worth(self._rarities, judged[0].weights) if judged[0] is not None else 0.0

    def _hit(self, candidate: MatchingSession, found: Found) -> Hit:
        summary = candidate.summary
        line, marks = snippet_of(found.facts.text, found.evidence, self._rarities)
        own = class_of(found)
        return Hit(
            path=summary.path,
            id=summary.id,
            agent=summary.agent,
            cwd=summary.cwd,
            name=summary.name,
            entry_index=found.index,
            entry_id=found.entry_id,
            role=found.facts.role,
            state=found.state or "active",
            snippet=line,
            marks=marks,
            score=round(candidate.score, 4),
            time_ms=found.facts.time_ms,
            match=MATCHES[own if own in (EXACT, FORMS) and candidate.match != TYPO else max(candidate.match, SESSION)],
        )

    @staticmethod
    def _counted(hit: Hit, shown: dict[object, Found]) -> Hit:
        if hit.entry_index is None:
            return hit
        for each in shown.values():
            if each.copies and each.index == hit.entry_index and each.entry_id == hit.entry_id:
                return replace(hit, copies=each.copies)
        return hit


def class_of(found: Found) -> int:
    """Return the class of an entry by itself."""
    return likely(found.evidence.weights)


def likely(weights: Sequence[float]) -> int:
    """Return the class of a text, or the best class of its entries, by the weights of the terms in it."""
    least = min(weights)
    return EXACT if least == EXACT_FORM else FORMS if least > 0 else SESSION


def worth(rarities: Sequence[float], weights: Sequence[float]) -> float:
    """Return the sum of the rarities of the terms found, each by the weight of its form."""
    return sum([rarity * weight for rarity, weight in zip(rarities, weights, strict=True)])


def _place(found: Found, tree: SessionTree | None) -> None:
    found.copies = 0
    if tree is not None:
        found.state, found.entry_id = tree.state(found.index), tree.entry_id(found.index)


def _identity(found: Found) -> object:
    """Return a value that copies of an entry share: its role and text, and its id if the text is short."""
    text = found.facts.text
    return (found.facts.role, text, found.entry_id if len(text) < _LEAST_COPY else None)
