"""The fuzzy search in the tree of omp 18.2.3: a text matches if it has a similar word for every word of the query."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

_CAMEL_ACRONYM = re.compile(r"([A-Z]+)([A-Z][a-z])")
_CAMEL_WORD = re.compile(r"([a-z0-9])([A-Z])")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_SHORTEST_TO_SEEK_ON = 3
_ACRONYM_LETTERS = range(2, 5)
_LONGER_BY = 2
_SPREAD = 1.8


class SearchWords(Struct, frozen=True):
    """A text prepared for the search: its words, the words joined without blanks, and each word's start in `joined`."""

    words: tuple[str, ...]
    joined: str
    starts: frozenset[int]


def search_words(text: str) -> SearchWords:
    """Split a text into words and return it as `SearchWords`, the form that `matcher` needs."""
    words = tuple(_words(text))
    starts = []
    place = 0
    for word in words:
        starts.append(place)
        place += len(word)
    return SearchWords(words, "".join(words), frozenset(starts))


def matcher(tokens: Iterable[str]) -> Callable[[SearchWords], bool]:
    """Return a function that tells whether a text matches all words of a query; `tokens` are the words in lower case.

    A query word without letters and digits matches every text; a query word with separators counts as several words.
    """
    tests = [_any_of([_test(part), *map(_test, _swapped(part))]) for token in tokens for part in _words(token)]

    def is_found(text: SearchWords) -> bool:
        return all(test(text) for test in tests) if text.words else not tests

    return is_found


def _words(text: str) -> list[str]:
    """Split a text into lower-case words of letters, marks and digits; a capital inside a word begins a new word."""
    split = _CAMEL_WORD.sub(r"\1 \2", _CAMEL_ACRONYM.sub(r"\1 \2", text)).lower()
    if split.isascii():
        return _ASCII_WORD.findall(split)
    kept = "".join([letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in split])
    return [_in_units(word) for word in kept.split(" ") if word]


def _in_units(word: str) -> str:
    """Return a word with one character for each UTF-16 unit, because omp counts lengths in UTF-16 units."""
    if word.isascii():
        return word
    return "".join(map(chr, memoryview(word.encode("utf-16-le", "surrogatepass")).cast("H")))


def _swapped(token: str) -> Iterator[str]:
    """Yield variants of a query word in which a letter and a digit next to each other are swapped."""
    for place in range(len(token) - 1):
        pair = token[place : place + 2]
        if pair.isascii() and pair.isalnum() and pair[0].isdigit() != pair[1].isdigit():
            yield f"{token[:place]}{pair[1]}{pair[0]}{token[place + 2 :]}"


def _any_of(tests: list[Callable[[SearchWords], bool]]) -> Callable[[SearchWords], bool]:
    return tests[0] if len(tests) == 1 else lambda text: any(test(text) for test in tests)


def _test(token: str) -> Callable[[SearchWords], bool]:
    # The result for each word of a text is cached, because texts repeat words.
    fitting: dict[str, bool] = {}

    def is_found(text: SearchWords) -> bool:
        for word in text.words:
            fits = fitting.get(word)
            if fits is None:
                fits = fitting[word] = _fits(token, word)
            if fits:
                return True
        return _begins_a_word(token, text) or _is_acronym(token, text)

    return is_found


def _begins_a_word(token: str, text: SearchWords) -> bool:
    """Return True if the query word `token` occurs in the joined words of the text, at the start of a word.

    As in omp, only the first occurrence of a query word of one or two characters is checked.
    """
    place = text.joined.find(token)
    while place >= 0:
        if place in text.starts:
            return True
        if len(token) < _SHORTEST_TO_SEEK_ON:
            return False
        place = text.joined.find(token, place + 1)
    return False


def _fits(token: str, word: str) -> bool:
    if token in word or (token.startswith(word) and len(token) - len(word) <= _LONGER_BY):
        return True
    return _are_letters_near(token, word)


def _are_letters_near(token: str, word: str) -> bool:
    """Return True if `word` contains the letters of the query word `token` in order and not too far apart."""
    first = last = -1
    for letter in token:
        last = word.find(letter, last + 1)
        if last < 0:
            return False
        if first < 0:
            first = last
    return last - first + 1 <= max(len(token) + _LONGER_BY, math.ceil(len(token) * _SPREAD))


def _is_acronym(token: str, text: SearchWords) -> bool:
    """Return True if the letters of the query word `token` are the initials of words in the text, in the same order.

    At most two other words may be between these words.
    """
    if len(token) not in _ACRONYM_LETTERS:
        return False
    first = last = -1
    found = 0
    for place, word in enumerate(text.words):
        if word[0] == token[found]:
            first = place if first < 0 else first
            last = place
            found += 1
            if found == len(token):
                return last - first + 1 <= len(token) + _LONGER_BY
    return False
