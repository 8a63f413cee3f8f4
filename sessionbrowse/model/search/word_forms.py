"""Forms of words: stems, beginnings and parts, and words that differ by one letter. All words are folded."""

from __future__ import annotations

from functools import lru_cache

EXACT, STEM, BEGINNING, MISSPELT, RELATED, INSIDE = 1.0, 0.9, 0.8, 0.7, 0.6, 0.5
"""Weights of the ways in which a word of a text fits a word of a query."""
LEAST_INSIDE = 4
"""Least number of letters that are searched inside of words; shorter ones are in too many."""
LEAST_MISSPELT = 4

_ENDINGS = ("ing", "ers", "er", "ors", "or", "ed", "es", "en", "s", "e")
_LEAST_RELATED = 5
_RELATED_SHARE = 0.65


def fit(wanted: str, word: str) -> float:
    """Return how well a word of a text fits a word of a query, from 0 (not at all) to 1 (the same)."""
    if wanted == word:
        return EXACT
    if stem(wanted) == stem(word):
        return STEM
    if len(wanted) > 1 and word.startswith(wanted):
        return BEGINNING
    if _are_related(wanted, word):
        return RELATED
    if wanted in word:
        # The parts of `foo_bar` are known; those of `fooBar` are not, because the index has no capitals.
        is_part = len(wanted) > 1 and f"_{wanted}_" in f"_{word}_"
        return INSIDE if is_part or len(wanted) >= LEAST_INSIDE else 0.0
    return 0.0


@lru_cache(maxsize=1024)
def key_of(wanted: str) -> str:
    """Return the letters that are in every word that fits `wanted`; a text without them has no such word."""
    root = stem(wanted)
    # `entry` and `entries` have the same stem, but not the last letter of it.
    root = root[:-1] if root.endswith("y") and len(root) > 2 else root
    return min(root, wanted[:_LEAST_RELATED], key=len)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a word without a common ending, such as that of a plural, a participle or a doer."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word
    if word.endswith(("ss", "us", "is")):
        return word
    found = word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            found = word[: -len(ending)]
            break
    for ending in ("ions", "ion", "at"):
        if found.endswith(ending) and len(found) - len(ending) >= 5:
            found = found[: -len(ending)]
    if found != word and len(found) > 3 and found[-1] == found[-2] and found[-1] not in "aeiouls":
        found = found[:-1]
    return found


def is_misspelt(wanted: str, word: str) -> bool:
    """Tell whether two words differ by one letter: one more, one less, another one, or two that changed places."""
    if abs(len(wanted) - len(word)) > 1 or wanted == word:
        return False
    begin = 0
    while begin < min(len(wanted), len(word)) and wanted[begin] == word[begin]:
        begin += 1
    one, two = wanted[begin:], word[begin:]
    if len(one) == len(two):
        return one[1:] == two[1:] or (one[:2] == two[1::-1] and one[2:] == two[2:])
    return one[1:] == two if len(one) > len(two) else one == two[1:]


def _are_related(one: str, two: str) -> bool:
    if one[:_LEAST_RELATED] != two[:_LEAST_RELATED] or min(len(one), len(two)) < _LEAST_RELATED:
        return False
    common = _LEAST_RELATED
    while common < min(len(one), len(two)) and one[common] == two[common]:
        common += 1
    return common >= _RELATED_SHARE * max(len(one), len(two)) and "_" not in one + two
