"""What a word is for the search: a run of letters, digits or `_`, without case and diacritics; CJK by the character.

Folding looks at one character at a time, so text may be folded in pieces, and what stands in the index and what is
compared with the file are the same by construction.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[0-9a-z_\x80-\U0010ffff]+")
# Scripts written without blanks between words: every character is a word, so that any substring is found.
_CJK = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3130-\u318f"
    r"\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff66-\uff9d"
    r"\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)


def fold(text: str) -> str:
    """Return the text in which words are compared: lower case, no diacritics; what is in no word is one blank.

    ASCII stays as it is but for its case. CJK characters stand between blanks, each a word of its own.
    """
    return fold_foreign(text).lower() if not text.isascii() else text.lower()


def fold_foreign(text: str) -> str:
    """Return the text with everything beyond ASCII folded; ASCII keeps its case, which SQLite's tokenizer folds."""
    # Python's encoder finds what is not ASCII four times as fast as a regular expression does.
    return text if text.isascii() else text.encode("ascii", _FOLDED).decode()


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded, in order."""
    return _WORD.findall(fold(text))


def is_cjk(word: str) -> bool:
    """Tell whether a folded word is one character of a script without blanks."""
    return len(word) == 1 and _CJK.match(word) is not None


def literal(text: str) -> str:
    """Return the text in which phrases are compared: lower case, no diacritics, every run of blanks one blank.

    Its words are those of `fold`; what stands between them is kept.
    """
    return _SPECIAL.sub(_literal_run, text).lower() if not text.isascii() else _BLANKS.sub(" ", text).lower()


def original_offsets(text: str, end: int) -> list[int]:
    """Return for each of the first `end` characters of `literal(text)` which character of the text it comes from."""
    offsets: list[int] = []
    at = 0
    for found in _SPECIAL.finditer(text):
        offsets += range(at, found.start())
        if found[0].isspace():
            offsets.append(found.start())
        else:
            for place, character in enumerate(found[0], found.start()):
                offsets += [place] * len(_literal_character(character))
        at = found.end()
        if len(offsets) >= end:
            return offsets
    offsets += range(at, len(text))
    return offsets


_BLANKS = re.compile(r"\s{2,}|[^\S ]")
_SPECIAL = re.compile(r"\s{2,}|[^\S ]|[^\x00-\x7f\s]+")


def _literal_run(found: re.Match[str]) -> str:
    return " " if found[0].isspace() else _literal_text(found[0])


@lru_cache(maxsize=16384)
def _literal_text(run: str) -> str:
    return "".join([_literal_character(character) for character in run])


@lru_cache(maxsize=16384)
def _literal_character(character: str) -> str:
    if _CJK.match(character):
        return character
    parts = unicodedata.normalize("NFD", unicodedata.normalize("NFD", character).casefold())
    return "".join([part for part in parts if not unicodedata.category(part).startswith("M")])


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
    if _CJK.match(character):
        # Hangul would fall apart into letters.
        return f" {character} "
    folded = ""
    for part in unicodedata.normalize("NFD", unicodedata.normalize("NFD", character).casefold()):
        if unicodedata.category(part).startswith("M"):
            continue
        folded += part if part.isalnum() or part == "_" else " "
    return folded
