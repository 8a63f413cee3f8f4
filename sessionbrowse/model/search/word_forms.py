"""Compare words by stem, beginning, parts and typing mistakes. All words are in lower case without diacritics."""

from __future__ import annotations

from functools import lru_cache

EXACT, STEM, BEGINNING, MISSPELT, RELATED, INSIDE = 1.0, 0.9, 0.8, 0.7, 0.6, 0.5
"""Weights from 0 to 1 for the ways in which a word of a text can match a word of a query."""
LEAST_INSIDE = 4
"""Minimum length of a query's word that may match inside longer words; shorter words would match too many words."""
LEAST_MISSPELT = 4

_ENDINGS = ("ing", "ers", "er", "ors", "or", "ed", "es", "en", "s", "e")
_LEAST_RELATED = 5
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_RELATED_SHARE = 0.65


def fit(wanted: str, word: str) -> float:
    """Return a weight for the match of `word` in a text with `wanted` in a query: 0 for no match, 1 for equal words."""
    if wanted == word:
        return EXACT
    if stem(wanted) == stem(word):
        return STEM
    if len(wanted) > 1 and word.startswith(wanted):
        return BEGINNING
    if _are_related(wanted, word):
        return RELATED
    if wanted in word:
        # Only `foo_bar` can be split into parts: `fooBar` cannot, because the index stores words in lower case.
        is_part = len(wanted) > 1 and f"_{wanted}_" in f"_{word}_"
        return INSIDE if is_part or len(wanted) >= LEAST_INSIDE else 0.0
    return 0.0


@lru_cache(maxsize=1024)
def key_of(wanted: str) -> str:
    """Return a string that is contained in every word that matches `wanted`, to skip texts without it quickly."""
    root = stem(wanted)
    # A final `y` is cut off: `entry` and `entries` share the stem `entry`, but `entries` does not contain a `y`.
    root = root[:-1] if root.endswith("y") and len(root) > 2 else root
    return min(root, wanted[:_LEAST_RELATED], key=len)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a word without a common English ending, such as `-s`, `-ing`, `-ed` or `-er`."""
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
    """Return True if two words differ by one typing mistake: one letter extra, missing or wrong, or two swapped."""
    if abs(len(wanted) - len(word)) > 1 or wanted == word:
        return False
    begin = 0
    while begin < min(len(wanted), len(word)) and wanted[begin] == word[begin]:
        begin += 1
    one, two = wanted[begin:], word[begin:]
    if len(one) == len(two):
        return one[1:] == two[1:] or (one[:2] == two[1::-1] and one[2:] == two[2:])
    return one[1:] == two if len(one) > len(two) else one == two[1:]


def mistaken_heads(wanted: str) -> set[str]:
    """Return the beginnings of the words that differ from `wanted` by a typing mistake in its first half."""
    size = len(wanted) // 2 + 1
    heads = set()
    for at in range(size):
        head, tail = wanted[:at], wanted[at:size]
        heads |= {head + tail[1:], head + tail[1:2] + tail[:1] + tail[2:]}
        heads.update(head + letter + rest for letter in _LETTERS for rest in (tail[1:], tail))
    return heads


def _are_related(one: str, two: str) -> bool:
    if one[:_LEAST_RELATED] != two[:_LEAST_RELATED] or min(len(one), len(two)) < _LEAST_RELATED:
        return False
    common = _LEAST_RELATED
    while common < min(len(one), len(two)) and one[common] == two[common]:
        common += 1
    return common >= _RELATED_SHARE * max(len(one), len(two)) and "_" not in one + two
