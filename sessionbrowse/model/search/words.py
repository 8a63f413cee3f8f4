"""The words of texts for searching, and their comparison by stem, beginning, parts and typing mistakes.

Words are sequences of letters, digits and `_`; each CJK character is a word by itself. Words are folded: converted to
lower case without diacritics. Each character is folded independently of its neighbours, so a text yields the same words
even if it is folded in pieces.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache

# A word consists of 0-9, a-z, _ and non-ASCII characters. The pattern excludes all other characters: a pattern that
# lists the characters of words would be slow to compile (2 ms).
_WORD = re.compile(r"[^\x00-/:-^`{-\x7f]+")
MAX_WORD, KEPT_OF_WORD = 16_000, 1_000
"""Of a word with more than the first number of letters, the search engine stores the second number."""
_ENORMOUS = re.compile(rf"[^\W_]{{{MAX_WORD + 1},}}")
_CASES = bytes(
    97 if 97 <= code <= 122 else 65 if 65 <= code <= 90 else 48 if 48 <= code <= 57 else 0 for code in range(256)
)
"""A table that turns a byte of UTF-8 into `a`, `A` or `0` if it is a letter or a digit, and into NUL otherwise."""
_PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# In scripts without blanks between words, each character counts as a word, so that any substring is found. This text
# lists the ranges of such characters: of each range the first character, and the one after its last. A regular
# expression for them would be slow to compile (5 ms).
_CJK_BOUNDS = (
    "\u0e00\u0f00\u1000\u10a0\u1780\u1800\u2e80\u2fe0\u3005\u3008\u3040\u3190\u31a0\u31c0\u31f0\u3200\u3400\u4dc0\u4e00\ua4d0"
    "\uac00\ud7b0\uf900\ufb00\uff66\uff9e\U0001b000\U0001b170\U00020000\U00040000"
)


def fold(text: str) -> str:
    """Return a text in lower case without diacritics, for comparing words.

    Non-ASCII characters that are not part of a word become blanks; CJK characters get blanks around them.
    """
    return fold_foreign(text).lower() if not text.isascii() else text.lower()


def fold_foreign(text: str) -> str:
    """Return a text with non-ASCII characters in lower case without diacritics; ASCII letters stay as they are.

    The search engine converts ASCII letters itself.
    """
    # Python's encoder finds non-ASCII characters four times as fast as a regular expression does.
    return text if text.isascii() else text.encode("ascii", _FOLDED).decode()


def engine_text(text: str) -> str:
    """Return a text as the search engine stores it: folded, and at the end the parts of identifiers such as `fooBar`.

    The engine splits words at `_` itself, converts letters to lower case, and refuses enormous words, which are cut.
    """
    folded = fold_foreign(text)
    if len(folded) > MAX_WORD:
        folded = _ENORMOUS.sub(lambda word: word[0][:KEPT_OF_WORD], folded)
    parts = camel_parts(folded)
    return f"{folded}\n{parts}" if parts else folded


def camel_parts(text: str) -> str:
    """Return the parts of the identifiers in a text: `foo Bar HTTP Server` for the identifiers `fooBar HTTPServer`.

    The identifiers come in no particular order.
    """
    # Finding the places in bytes is many times as fast as a regular expression over the text.
    raw = text.encode("utf-8", "surrogatepass")
    cases = raw.translate(_CASES) + b"\0"
    found: set[bytes] = set()
    for change in (b"aA", b"AAa"):
        at = cases.find(change)
        while at >= 0:
            end = cases.find(b"\0", at)
            found.add(raw[cases.rfind(b"\0", 0, at) + 1 : end])
            at = cases.find(change, end)
    return " ".join(identifier_parts(b" ".join(found).decode("utf-8", "surrogatepass"))) if found else ""


def identifier_parts(names: str) -> list[str]:
    """Return the parts of one or more identifiers: `foo` and `Bar` of `fooBar`."""
    return _PART.findall(names)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case without diacritics, in order."""
    return _WORD.findall(fold(text))


def words_in(folded: str) -> list[str]:
    """Return the words, in order, of a text that is already in lower case without diacritics."""
    return _WORD.findall(folded)


def find_whole(wanted: str, folded: str, start: int = 0) -> int:
    """Return the first offset from `start` at which `folded` contains `wanted` as whole words, -1 if there is none.

    Both texts are in lower case without diacritics, with single blanks, as `literal` returns them.
    """
    at = find_word(wanted, folded, start)
    while at >= 0 and not ends_word(wanted, folded, at + len(wanted)):
        at = find_word(wanted, folded, at + 1)
    return at


def ends_word(wanted: str, folded: str, end: int) -> bool:
    """Return True if the occurrence of `wanted` that ends at offset `end` of a text does not end inside a word."""
    return end >= len(folded) or not (is_letter(wanted[-1]) and is_letter(folded[end]))


def find_word(wanted: str, folded: str, start: int = 0) -> int:
    """Return the first offset from `start` at which `wanted` is at the beginning of a word in `folded`, else -1."""
    at = folded.find(wanted, start)
    if not is_letter(wanted[0]):
        return at
    while at > 0 and is_letter(folded[at - 1]):
        at = folded.find(wanted, at + 1)
    return at


def is_letter(character: str) -> bool:
    """Return True if a character is a letter, digit or `_`; CJK characters do not count, as each is a word alone."""
    return (character.isalnum() or character == "_") and (character.isascii() or not is_cjk(character))


def is_cjk(word: str) -> bool:
    """Return True if a word is a single character of a script without blanks between words, such as Chinese."""
    return len(word) == 1 and bisect_right(_CJK_BOUNDS, word) % 2 == 1


def literal(text: str) -> str:
    """Return a text in lower case without diacritics, with single blanks, for comparing phrases.

    Unlike `fold`, this function keeps punctuation.
    """
    # `split` splits at the same white space as the pattern `\s+`, and is five times as fast.
    folded = " ".join(text.split())
    if text[:1].isspace():
        folded = f" {folded}"
    if text[-1:].isspace() and folded != " ":
        folded = f"{folded} "
    if not folded.isascii():
        folded = folded.encode("ascii", _LITERAL).decode("utf-8", "surrogatepass")
    return folded.lower()


def original_offsets(text: str, wanted: Sequence[int]) -> list[int]:
    """Map sorted offsets in the compared form of a text, `literal(text)`, to offsets in the text itself."""
    found: list[int] = []
    # The loop moves through both texts at once: `at` is an offset in `text`, and `folded_at` the offset of the same
    # character in `literal(text)`. Their distance changes only at several blanks and at non-ASCII characters.
    folded_at = at = 0
    # Skip the beginning of the text, up to the last blank before the first wanted offset.
    blank = text.rfind(" ", 0, wanted[0]) if wanted else -1
    if blank > 0 and not text[blank - 1].isspace() and (skipped := len(literal(text[:blank]))) <= wanted[0]:
        folded_at, at = skipped, blank
    for special in _SPECIAL.finditer(text, at):
        begin, run = special.start(), special[0]
        folded_at, at = folded_at + begin - at, begin
        while len(found) < len(wanted) and wanted[len(found)] < folded_at:
            found.append(at - folded_at + wanted[len(found)])
        if len(found) == len(wanted):
            return found
        lengths = [1] if run.isspace() else [len(_literal_character(character)) for character in run]
        for place, length in enumerate(lengths, at):
            folded_at += length
            while len(found) < len(wanted) and wanted[len(found)] < folded_at:
                found.append(place)
        at = special.end()
    return [*found, *[at - folded_at + offset for offset in wanted[len(found) :]]]


# The function `literal` may change the length of several blanks and of non-ASCII characters.
_SPECIAL = re.compile(r"\s{2,}|[^\x00-\x7f\s]+")


@lru_cache(maxsize=16384)
def _literal_text(run: str) -> str:
    return "".join([_literal_character(character) for character in run])


@lru_cache(maxsize=16384)
def _literal_character(character: str) -> str:
    character = _of_usual_width(character)
    if is_cjk(character):
        return character
    return "".join([part for part in _parts(character) if not unicodedata.category(part).startswith("M")])


@lru_cache(maxsize=16384)
def _fold_run(run: str) -> str:
    return "".join([_fold_character(character) for character in run])


@lru_cache(maxsize=16384)
def _fold_character(character: str) -> str:
    character = _of_usual_width(character)
    if is_cjk(character):
        # CJK characters are not decomposed, because a Korean syllable would become several letters.
        return f" {character} "
    folded = ""
    for part in _parts(character):
        if unicodedata.category(part).startswith("M"):
            continue
        folded += part if part.isalnum() or part == "_" else " "
    return folded


def _of_usual_width(character: str) -> str:
    """Return the normal form of a full-width or half-width character, such as A for a wide A; others unchanged."""
    return unicodedata.normalize("NFKC", character) if "\uff00" <= character <= "\uffef" else character


def _parts(character: str) -> str:
    # `casefold` turns small Cherokee letters into capitals, so `lower` comes after it.
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", character).casefold().lower())


def _registered(name: str, folded: Callable[[str], str]) -> str:
    """Register an error handler that replaces non-ASCII characters by the result of `folded`; return its name."""

    def replaced(error: UnicodeError) -> tuple[bytes, int]:
        assert isinstance(error, UnicodeEncodeError)
        return folded(error.object[error.start : error.end]).encode("utf-8", "surrogatepass"), error.end

    codecs.register_error(name, replaced)
    return name


_LITERAL = _registered("sessionbrowse.literal", _literal_text)
_FOLDED = _registered("sessionbrowse.folded", _fold_run)


# ---- comparing words ---------------------------------------------------------------------------------------

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
