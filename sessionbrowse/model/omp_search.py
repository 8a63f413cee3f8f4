"""How omp's tree searches (18.2.3): a word matches a word of the text that begins with it, holds it, or nearly does."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

_CAMEL_ACRONYM = re.compile(r"([A-Z]+)([A-Z][a-z])")
_CAMEL_WORD = re.compile(r"([a-z0-9])([A-Z])")
_SHORTEST_TO_SEEK_ON = 3
_ACRONYM_LETTERS = range(2, 5)
_LONGER_BY = 2
_SPREAD = 1.8


class SearchWords(Struct, frozen=True):
    """A text prepared for the search: its words, and all of them joined, with the places where one begins."""

    words: tuple[str, ...]
    joined: str
    starts: frozenset[int]


def search_words(text: str) -> SearchWords:
    """Prepare a text."""
    words = tuple(_words(text))
    starts = []
    place = 0
    for word in words:
        starts.append(place)
        place += len(word)
    return SearchWords(words, "".join(words), frozenset(starts))


def matches(token: str, text: SearchWords) -> bool:
    """Tell whether a word of the query, lower-cased, is found; one without letters and digits always is."""
    parts = _words(token)
    if not parts:
        return True
    if not text.words:
        return False
    return all(_is_found(part, text) or any(_is_found(other, text) for other in _swapped(part)) for part in parts)


def _words(text: str) -> list[str]:
    """Letters, marks and digits in lower case; all else separates, and so does a capital in the midst of a word."""
    split = _CAMEL_WORD.sub(r"\1 \2", _CAMEL_ACRONYM.sub(r"\1 \2", text)).lower()
    if split.isascii():
        kept = "".join([letter if letter.isalnum() else " " for letter in split])
    else:
        kept = "".join([letter if unicodedata.category(letter)[0] in "LMN" else " " for letter in split])
    return [_in_units(word) for word in kept.split(" ") if word]


def _in_units(word: str) -> str:
    """The word with each UTF-16 unit as a character of its own, for lengths and places are counted so."""
    if word.isascii():
        return word
    return "".join(map(chr, memoryview(word.encode("utf-16-le", "surrogatepass")).cast("H")))


def _swapped(token: str) -> Iterator[str]:
    """The token with a letter and a digit beside it exchanged, wherever there is such a pair."""
    for place in range(len(token) - 1):
        pair = token[place : place + 2]
        if pair.isascii() and pair.isalnum() and pair[0].isdigit() != pair[1].isdigit():
            yield f"{token[:place]}{pair[1]}{pair[0]}{token[place + 2 :]}"


def _is_found(token: str, text: SearchWords) -> bool:
    return _begins_a_word(token, text) or any(_fits(token, word) for word in text.words) or _is_acronym(token, text)


def _begins_a_word(token: str, text: SearchWords) -> bool:
    """Whether the token is found from the beginning of a word on, over word ends too; short ones at first sight only."""
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
    """Whether the token's letters stand in the word in this order, each at its first place, not too far apart."""
    first = last = -1
    for letter in token:
        last = word.find(letter, last + 1)
        if last < 0:
            return False
        if first < 0:
            first = last
    return last - first + 1 <= max(len(token) + _LONGER_BY, math.ceil(len(token) * _SPREAD))


def _is_acronym(token: str, text: SearchWords) -> bool:
    """Whether the token's letters begin words of the text in this order, with at most two words too many."""
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
