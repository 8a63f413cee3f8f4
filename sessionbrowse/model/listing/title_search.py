"""Search the titles of many sessions, allowing typing mistakes; titles are not prepared again for each typed letter.

A title is a session's name, or the beginning of its first message. This module reads no disk and no index.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.search.patterns import MatchSpan
from sessionbrowse.model.search.query import SearchQuery, has_words, word_spans
from sessionbrowse.model.search.words import find_word, literal, words_of

TITLE_CHARACTERS = 200


class Titles:
    """Searches the names of sessions for exact words, and their titles for words with typing mistakes.

    `in_order` returns the sessions in the order in which they are yielded; the order of `summaries` does not matter.
    """

    def __init__(self, summaries: Sequence[Summary], in_order: Callable[[], Sequence[Summary]]) -> None:
        self._summaries = summaries
        self._in_order = in_order
        self._names: list[tuple[Summary, str]] | None = None
        self._words: dict[str, tuple[str, ...]] | None = None
        self._letters: dict[str, int] = {}

    def title(self, summary: Summary) -> str:
        """Return a session's name, or the beginning of its first message."""
        return summary.name or (summary.first_message or "")[:TITLE_CHARACTERS]

    def named(self, query: SearchQuery) -> Iterator[tuple[Summary, list[MatchSpan]]]:
        """Yield the sessions whose name contains all words of the query, each with the positions of these words."""
        if self._names is None:
            self._names = [(each, literal(each.name)) for each in self._in_order() if each.name]
        wanted = (*query.words, *query.phrases)
        for summary, folded in self._names:
            if summary.name is not None and all(find_word(word, folded) >= 0 for word in wanted):
                spans = word_spans(query, summary.name, folded)
                if spans is not None:
                    yield summary, spans

    def having(self, pieces: Sequence[str]) -> list[Summary]:
        """Return the sessions whose id, name, labels or directory contain one of the given strings.

        The strings are in lower case without diacritics; one letter alone must be a whole word.
        """
        text, begins = self._about
        places: set[int] = set()
        for piece in pieces:
            at = _find(piece, text)
            while at >= 0:
                place = bisect_right(begins, at) - 1
                places.add(place)
                at = _find(piece, text, begins[place + 1])
        near = {
            each for each, folded in self._directories.items() if any(_find(piece, folded) >= 0 for piece in pieces)
        }
        if near:
            places.update([place for place, each in enumerate(self._summaries) if each.cwd in near])
        return [self._summaries[place] for place in sorted(places)]

    def near(self, query: SearchQuery, cancelled: Callable[[], bool]) -> Iterator[Summary]:
        """Yield the sessions whose title matches every word of the query only if typing mistakes are allowed.

        One letter may be wrong in a word of five to eight letters, two letters in a longer word.
        """
        if query.phrases or query.excluded or query.pattern is not None or not query.words:
            return
        words = self._title_words()
        near = [self._near_words(word, cancelled) for word in query.words]
        if cancelled() or not all(near):
            return
        for summary in self._in_order():
            own = words.get(summary.path, ())
            if all(not others.isdisjoint(own) for others in near) and not has_words(query, self.title(summary)):
                yield summary

    @cached_property
    def _about(self) -> tuple[str, list[int]]:
        """The ids, names and labels of all sessions as one text, and the offset at which each session's part begins.

        The text is in lower case without diacritics. A last offset, the length of the text plus 1, ends the last
        session's part.
        """
        texts = [
            "\n".join((each.id or "", each.name or "", *each.labels)) if each.name or each.labels else each.id or ""
            for each in self._summaries
        ]
        folded = "\0".join(texts).lower()
        if not folded.isascii():
            texts = [each.lower() if each.isascii() else literal(each) for each in texts]
            folded = "\0".join(texts)
        return folded, list(accumulate([len(each) + 1 for each in texts], initial=0))

    @cached_property
    def _directories(self) -> dict[str, str]:
        return {cwd: literal(cwd) for cwd in {each.cwd for each in self._summaries}}

    def _near_words(self, word: str, cancelled: Callable[[], bool]) -> set[str]:
        allowed, letters, least = _allowed(word), _letters_of(word), len(word) - _allowed(word)
        return {
            other
            for other, others in self._letters.items()
            # These two fast checks exclude words that lack more letters than the allowed number of mistakes.
            if len(other) >= least and (letters & ~others).bit_count() <= allowed
            if not cancelled() and is_near(word, other)
        }

    def _title_words(self) -> dict[str, tuple[str, ...]]:
        if self._words is None:
            self._words = {each.path: tuple(words_of(self.title(each))) for each in self._summaries}
            known = {word for words in self._words.values() for word in words}
            self._letters = {word: _letters_of(word) for word in known}
        return self._words


def _find(piece: str, text: str, start: int = 0) -> int:
    if len(piece) > 1 or not piece.isascii():
        return text.find(piece, start)
    found = re.compile(rf"(?<!\w){re.escape(piece)}(?!\w)", re.ASCII).search(text, start)
    return found.start() if found is not None else -1


def is_near(word: str, other: str) -> bool:
    """Return True if the typed `word` matches a title's word `other`, or its beginning, with the allowed mistakes."""
    if other.startswith(word):
        return True
    allowed = _allowed(word)
    # The user may have typed only the beginning of the title's word, so the beginnings of `other` are compared.
    heads = {other[:length] for length in range(len(word) - allowed, len(word) + allowed + 1)}
    return allowed > 0 and any(_distance(word, head) <= allowed for head in heads)


def _allowed(word: str) -> int:
    return 0 if len(word) < 5 else 1 if len(word) < 9 else 2


def _letters_of(word: str) -> int:
    """Return a bit set of the letters in a word, for a fast comparison; some letters share a bit."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) % 61)
    return bits


def _distance(one: str, two: str) -> int:
    """Return the Damerau-Levenshtein distance of two words: inserted, deleted, replaced or swapped letters."""
    before: list[int] = []
    above = list(range(len(two) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, other in enumerate(two, 1):
            best = min(above[column] + 1, current[column - 1] + 1, above[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == two[column - 2] and one[row - 2] == other:
                best = min(best, before[column - 2] + 1)
            current.append(best)
        before, above = above, current
    return above[-1]
