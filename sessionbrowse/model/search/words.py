"""Split text into the words that a search compares: runs of letters, digits or `_`, folded; and single CJK characters.

To fold is to remove case and diacritics. Each character is folded by itself, so text can be folded in pieces, and the
index and the files are folded in the same way.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

# Runs of 0-9, a-z, _ and characters beyond ASCII, written as a negated set: the positive one takes 2 ms to compile.
_WORD = re.compile(r"[^\x00-/:-^`{-\x7f]+")
# Scripts without blanks between words: every character is a word, so that any substring is found. Each range has its
# first character and the one after its last; a regular expression for them takes 5 ms to compile.
_CJK_BOUNDS = (
    "\u0e00\u0f00\u1000\u10a0\u1780\u1800\u2e80\u2fe0\u3005\u3008\u3040\u3190\u31a0\u31c0\u31f0\u3200\u3400\u4dc0\u4e00\ua4d0"
    "\uac00\ud7b0\uf900\ufb00\uff66\uff9e\U0001b000\U0001b170\U00020000\U00040000"
)


def fold(text: str) -> str:
    """Return a text in lower case without diacritics, in which words are compared.

    Characters beyond ASCII that are in no word become blanks; CJK characters get blanks around them.
    """
    return fold_foreign(text).lower() if not text.isascii() else text.lower()


def fold_foreign(text: str) -> str:
    """Return a text with all characters beyond ASCII folded; SQLite's tokenizer folds the case of ASCII."""
    # Python's encoder finds characters beyond ASCII four times as fast as a regular expression does.
    return text if text.isascii() else text.encode("ascii", _FOLDED).decode()


def words_of(text: str) -> list[str]:
    """Return the words of a text, in lower case without diacritics, in order."""
    return _WORD.findall(fold(text))


def words_in(folded: str) -> list[str]:
    """Return the words of a folded text, in order."""
    return _WORD.findall(folded)


def find_whole(wanted: str, folded: str, start: int = 0) -> int:
    """Return the first offset from `start` at which `wanted` stands and neither begins nor ends inside a word, or -1.

    Both texts are made by `literal`.
    """
    at = find_word(wanted, folded, start)
    while at >= 0 and not ends_word(wanted, folded, at + len(wanted)):
        at = find_word(wanted, folded, at + 1)
    return at


def ends_word(wanted: str, folded: str, end: int) -> bool:
    """Tell whether `wanted`, which stands in a text before `end`, ends with its last word."""
    return end >= len(folded) or not (is_letter(wanted[-1]) and is_letter(folded[end]))


def find_word(wanted: str, folded: str, start: int = 0) -> int:
    """Return the first offset from `start` at which `wanted` begins a word of `folded`, -1 if there is none."""
    at = folded.find(wanted, start)
    if not is_letter(wanted[0]):
        return at
    while at > 0 and is_letter(folded[at - 1]):
        at = folded.find(wanted, at + 1)
    return at


def is_letter(character: str) -> bool:
    """Tell whether neighbours of a folded character can belong to its word; a CJK character is a word by itself."""
    return (character.isalnum() or character == "_") and (character.isascii() or not is_cjk(character))


def is_cjk(word: str) -> bool:
    """Tell whether a folded word is one character of a script without blanks between words."""
    return len(word) == 1 and bisect_right(_CJK_BOUNDS, word) % 2 == 1


def literal(text: str) -> str:
    """Return a text in lower case without diacritics, each run of blanks as one, in which phrases are compared.

    Unlike `fold` it keeps the punctuation between words.
    """
    # `split` knows the same blanks as `\s`, and is five times as fast.
    folded = " ".join(text.split())
    if text[:1].isspace():
        folded = f" {folded}"
    if text[-1:].isspace() and folded != " ":
        folded = f"{folded} "
    if not folded.isascii():
        folded = folded.encode("ascii", _LITERAL).decode("utf-8", "surrogatepass")
    return folded.lower()


def original_offsets(text: str, wanted: Sequence[int]) -> list[int]:
    """Map sorted offsets in `literal(text)` to offsets in the original text."""
    found: list[int] = []
    # `folded_at` in `literal(text)` is the position `at` in `text`; both grow alike up to a match of `_SPECIAL`.
    folded_at, at = _block_of(text, wanted[0]) if wanted else (0, 0)
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


def _block_of(text: str, wanted: int) -> tuple[int, int]:
    """Return where the block that contains the offset `wanted` begins, in `literal(text)` and in `text`.

    Blocks are folded as a whole, which is fast.
    """
    folded_at = at = 0
    while True:
        end = at + _BLOCK
        while 0 < end < len(text) and text[end].isspace():
            end += 1
        folded_end = folded_at + len(literal(text[at:end]))
        if end >= len(text) or folded_end > wanted:
            return folded_at, at
        folded_at, at = folded_end, end


_BLOCK = 512

# Text that may change its length in `literal`; a single blank remains one character.
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


def _literal_run(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    run = error.object[error.start : error.end]
    return _literal_text(run).encode("utf-8", "surrogatepass"), error.end


_LITERAL = "sessionbrowse.literal"
codecs.register_error(_LITERAL, _literal_run)


def _folded_run(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    return _fold_run(error.object[error.start : error.end]).encode(), error.end


_FOLDED = "sessionbrowse.folded"
codecs.register_error(_FOLDED, _folded_run)


@lru_cache(maxsize=16384)
def _fold_run(run: str) -> str:
    return "".join([_fold_character(character) for character in run])


@lru_cache(maxsize=16384)
def _fold_character(character: str) -> str:
    character = _of_usual_width(character)
    if is_cjk(character):
        # Hangul is kept as it is: decomposed, a syllable would become several letters.
        return f" {character} "
    folded = ""
    for part in _parts(character):
        if unicodedata.category(part).startswith("M"):
            continue
        folded += part if part.isalnum() or part == "_" else " "
    return folded


def _of_usual_width(character: str) -> str:
    """Return the usual form of a full-width or half-width character, such as A for a wide A; others as they are."""
    return unicodedata.normalize("NFKC", character) if "\uff00" <= character <= "\uffef" else character


def _parts(character: str) -> str:
    # `casefold` turns small Cherokee letters into capitals, so `lower` comes after it.
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", character).casefold().lower())
