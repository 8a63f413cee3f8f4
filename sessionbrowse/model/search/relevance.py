"""Compute the relevance of an entry for a query, from the number, closeness and word forms of the terms in its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.search.patterns import MatchSpan
from sessionbrowse.model.search.query import SearchQuery, excerpt
from sessionbrowse.model.search.words import (
    BEGINNING,
    EXACT,
    INSIDE,
    MISSPELT,
    STEM,
    ends_word,
    find_whole,
    find_word,
    fit,
    is_cjk,
    is_letter,
    key_of,
    literal,
    original_offsets,
    words_of,
)

MAX_PLACES = 40
"""Maximum number of occurrences of one term that are counted in one entry."""
SNIPPET_CHARACTERS = 160
_MAX_WORD = 100
_USUAL_CHARACTERS = 800
_SATURATION, _LENGTH_SHARE = 1.2, 0.75
"""The constants k1 and b of BM25."""
_CLOSE_CHARACTERS = 300
_CLOSENESS = 0.4
DONE_FACTOR = 0.5
"""Factor for an entry's score if its tool calls are included, not only the message itself."""
_ROLE_FACTORS = {"user": 1.3, "name": 1.4, "label": 1.4, "toolResult": 0.6}

Place = tuple[int, int, int, float]
"""An occurrence of a term in a text: begin, end, the term's index in the list of terms, a weight for the word form."""


class Term(Struct, frozen=True):
    """One term of a query: a word, a phrase, or a pair of CJK characters.

    `instead` are corrections of a misspelt word. For an identifier such as `fooBar`, `spellings` are other ways to
    write it as one word (`foo_bar`), and `parts` are its words. `run` is the CJK sequence to which a pair belongs.
    """

    text: str
    is_word: bool
    is_required: bool = False
    instead: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    run: str = ""

    def tokens(self) -> tuple[str, ...]:
        """Return the words of which the term consists."""
        return (self.text,) if self.is_word else tuple(words_of(self.text))


class Evidence(Struct, frozen=True):
    """The occurrences (`places`) of a query's terms in one entry, with the count and the best weight of each term.

    A term that does not occur has the weight 0. `length` is the number of characters of the entry's text; the first
    `said` of them are the message itself, and names in tool calls, or whole calls and results, follow.
    """

    weights: tuple[float, ...]
    counts: tuple[int, ...]
    places: tuple[Place, ...]
    length: int
    role: str
    said: int

    @property
    def is_done(self) -> bool:
        """True if all terms occur only in tool calls."""
        return self.places[0][0] >= self.said


def terms_of(query: SearchQuery) -> list[Term]:
    """Return the terms of a query: words, quoted phrases, and each pair of adjacent characters in CJK sequences."""
    found = [_word_term(word, query) for word in query.words]
    for phrase in query.phrases:
        if phrase in query.runs:
            found += [Term(phrase[at : at + 2], False, run=phrase) for at in range(len(phrase) - 1)]
        else:
            found.append(Term(phrase, False, is_required=True))
    return list(dict.fromkeys(found))


def keys_of(terms: Sequence[Term]) -> list[str]:
    """Return strings for a fast check: a text without any of the strings contains none of the terms."""
    return list(dict.fromkeys(key for term in terms for key in _keys(term)))


def evidence_in(terms: Sequence[Term], text: str, role: str, said: int | None = None) -> Evidence | None:
    """Return the occurrences of terms in a text; None if the text has no term, or lacks a required phrase.

    The first `said` characters of the text are the message itself (None: all of them).
    """
    folded = literal(text)
    places: list[Place] = []
    weights, counts = [0.0] * len(terms), [0] * len(terms)
    for number, term in enumerate(terms):
        found = _words(term, folded) if term.is_word else _phrases(term, folded)
        if not found and term.is_required:
            return None
        for begin, end, weight in found:
            places.append((begin, end, number, weight))
            weights[number] = max(weights[number], weight)
            counts[number] += 1
    if not places:
        return None
    is_whole = said is None or said >= len(text)
    until = len(folded) + 1 if is_whole else len(literal(text[:said])) if said else 0
    return Evidence(tuple(weights), tuple(counts), tuple(sorted(places)), len(folded), role, until)


def score_of(evidence: Evidence, rarities: Sequence[float]) -> float:
    """Return the relevance of an entry: the BM25 score of the terms, raised if the terms are close together.

    Messages of the user, names and labels get a higher score, tool results a lower one. `rarities` has one number for
    each term, higher for rarer terms. Terms in tool calls count less than the same terms in the message itself.
    """
    if evidence.said > evidence.length:
        return _score(evidence, rarities)
    places = tuple([place for place in evidence.places if place[0] < evidence.said])
    weights, counts = [0.0] * len(rarities), [0] * len(rarities)
    for _, _, number, weight in places:
        weights[number] = max(weights[number], weight)
        counts[number] += 1
    said = replace(evidence, weights=tuple(weights), counts=tuple(counts), places=places, length=evidence.said)
    return max(_score(said, rarities), DONE_FACTOR * _score(evidence, rarities))


def _score(evidence: Evidence, rarities: Sequence[float]) -> float:
    norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * evidence.length / _USUAL_CHARACTERS)
    score = sum(
        rarity * weight * count * (_SATURATION + 1) / (count + norm)
        for rarity, weight, count in zip(rarities, evidence.weights, evidence.counts, strict=True)
        if count
    )
    present = [number for number, weight in enumerate(evidence.weights) if weight]
    if len(present) > 1:
        worth = sum(rarities[number] * evidence.weights[number] for number in present)
        score += _CLOSENESS * worth * max(0.0, 1 - _closest(evidence.places, len(present)) / _CLOSE_CHARACTERS)
    return score * _ROLE_FACTORS.get(evidence.role, 1.0)


def _word_term(word: str, query: SearchQuery) -> Term:
    spellings: list[str] = []
    parts: tuple[str, ...] = ()
    for compound in query.compounds:
        joined = "".join(compound)
        if word.replace("_", "") == joined:
            spellings += [joined, "_".join(compound)]
            parts = compound
        elif word in compound:
            spellings.append(joined)
    others = tuple([each for each in dict.fromkeys(spellings) if each != word])
    return Term(word, not is_cjk(word), spellings=others, parts=parts)


def snippet_of(text: str, evidence: Evidence, rarities: Sequence[float]) -> tuple[str, tuple[MatchSpan, ...]]:
    """Return the part of a text with the most important terms, as one line, and the positions of terms in this line."""
    places = evidence.places
    best, best_worth = (0, 0), -1.0
    last = 0
    for first, place in enumerate(places):
        while last < len(places) and places[last][1] <= place[0] + SNIPPET_CHARACTERS:
            last += 1
        inside = places[first : max(last, first + 1)]
        by_term: dict[int, float] = {}
        for _, _, number, weight in inside:
            by_term[number] = max(by_term.get(number, 0.0), weight * rarities[number])
        worth = sum(by_term.values())
        if worth > best_worth + 1e-9:
            best, best_worth = (place[0], max(each[1] for each in inside)), worth
    begin, end = best
    spare = max(0, SNIPPET_CHARACTERS - (end - begin)) // 2
    begin, end = max(0, begin - spare), max(end, begin + SNIPPET_CHARACTERS - spare)
    folded_spans = [(a, b) for a, b, _, _ in places if a >= begin and b <= end]
    offsets = [begin, *(offset for a, b in folded_spans for offset in (a, b - 1))]
    wanted = sorted(set(offsets))
    known = dict(zip(wanted, original_offsets(text, wanted), strict=True)) if text else {}
    at = known.get(begin, 0)
    if at > 0:
        # The snippet begins after the next blank, so that it does not begin inside a word.
        blank = text.find(" ", at, known[folded_spans[0][0]] + 1 if folded_spans else at)
        at = blank + 1 if blank >= 0 else at
    until = min(len(text), at + SNIPPET_CHARACTERS + 20)
    return excerpt(text, at, until, [(known[a], known[b - 1] + 1) for a, b in folded_spans])


def _keys(term: Term) -> list[str]:
    if not term.is_word:
        # A phrase is split at characters that JSON may escape. The longest piece has none, so it stands in an undecoded
        # line just as in the phrase.
        pieces = words_of(term.text) or re.split(r'[\s"\\/]+', term.text)
        return [max(pieces, key=len)]
    corrected = [word for other in term.instead for word in (other, other.partition("_")[0])]
    return [key_of(word) for word in (term.text, *corrected, *term.spellings, *term.parts[:1])]


def _words(term: Term, folded: str) -> list[tuple[int, int, float]]:
    found: dict[tuple[int, int], float] = {}
    for key, weight_of in _lookups(term):
        at = folded.find(key)
        while at >= 0 and len(found) < MAX_PLACES:
            begin, end = _word_at(folded, at, at + len(key), len(term.text))
            weight = weight_of(folded[begin:end])
            if weight > found.get((begin, end), 0.0):
                found[begin, end] = weight
            at = folded.find(key, max(end, at + 1))
    for other in term.instead:
        if "_" in other:
            for match in _in_parts(tuple(other.split("_"))).finditer(folded):
                found.setdefault(match.span(), MISSPELT)
    if term.parts:
        for match in _in_parts(term.parts).finditer(folded):
            found.setdefault(match.span(), STEM)
    if len(found) >= MAX_PLACES and EXACT not in found.values():
        # The search above stopped at `MAX_PLACES` occurrences without an exact one. Exact ones have the most weight, so
        # one is searched separately.
        at = find_whole(term.text, folded)
        if at >= 0:
            found[at, at + len(term.text)] = EXACT
    return [(begin, end, weight) for (begin, end), weight in found.items()]


@lru_cache(maxsize=64)
def _lookups(term: Term) -> list[tuple[str, Callable[[str], float]]]:
    """Return the strings by which a term is looked up in a text, each with the function that weighs a found word."""
    corrected = [spelt for other in term.instead for spelt in dict.fromkeys([other, other.replace("_", "")])]
    return [
        (key_of(term.text), partial(fit, term.text)),
        *[(key_of(other) if other in term.instead else other, partial(_corrected, other)) for other in corrected],
        *[(other, partial(_spelt, other)) for other in term.spellings],
    ]


def _corrected(wanted: str, word: str) -> float:
    return MISSPELT * fit(wanted, word)


def _spelt(spelling: str, word: str) -> float:
    return STEM if word == spelling else INSIDE


@lru_cache(maxsize=64)
def _in_parts(parts: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that matches the parts of an identifier as separate words, such as `foo.bar` and `foo bar`."""
    return re.compile(r"(?<!\w)" + r"[\W_]".join(parts) + r"(?!\w)")


def _phrases(term: Term, folded: str) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    size = len(term.text)
    usual = EXACT if not term.run or term.run in folded else BEGINNING
    at = find_word(term.text, folded)
    while at >= 0 and len(found) < MAX_PLACES:
        found.append((at, at + size, usual if ends_word(term.text, folded, at + size) else BEGINNING))
        at = find_word(term.text, folded, at + 1)
    if at >= 0 and usual == EXACT and not any(weight == EXACT for _, _, weight in found):
        at = find_whole(term.text, folded, at)
        found += [(at, at + size, EXACT)] if at >= 0 else []
    return found


def _word_at(folded: str, begin: int, end: int, length: int) -> tuple[int, int]:
    """Return the begin and the end of the word in `folded` that contains the span from `begin` to `end`.

    A very long word is cut to about 100 characters before and after the span, plus `length`, the length of the word
    that the user searches.
    """
    least, most = begin - _MAX_WORD - length, end + _MAX_WORD + length
    while begin > max(0, least) and is_letter(folded[begin - 1]):
        begin -= 1
    while end < min(len(folded), most) and is_letter(folded[end]):
        end += 1
    return begin, end


def _closest(places: Sequence[Place], terms: int) -> int:
    """Return the length of the shortest part of a text that contains all found terms; `terms` is their number."""
    inside: dict[int, int] = {}
    best, first = 1 << 30, 0
    for place in places:
        inside[place[2]] = inside.get(place[2], 0) + 1
        while len(inside) == terms:
            head = places[first]
            best = min(best, place[1] - head[0])
            inside[head[2]] -= 1
            if not inside[head[2]]:
                del inside[head[2]]
            first += 1
    return best
