"""JavaScript's text functions, which pi, omp, atomic and indusagi apply to session files, in Python."""

from __future__ import annotations

import re

_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_BLANK_RUNS = re.compile(f"[{_BLANKS}]+")


def trim(text: str) -> str:
    """Strip blanks from both ends of a text, as `String.prototype.trim` does (U+FEFF is a blank, U+0085 is not)."""
    return text.strip(_BLANKS)


def words(text: str) -> list[str]:
    """Return the words of a text, split at blanks as JavaScript's `split(/\\s+/)` does, without empty words."""
    return [word for word in _BLANK_RUNS.split(text) if word]


def units(text: str) -> int:
    """Return the length of a text in UTF-16 code units, as `String.prototype.length` does."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def cut(text: str, limit: int) -> str:
    """Return the first `limit` UTF-16 code units of a text, as JavaScript's `slice(0, limit)` does.

    The cut may split a surrogate pair.
    """
    if len(text) <= limit and text.isascii():
        return text
    encoded = text[:limit].encode("utf-16-le", "surrogatepass")[: 2 * limit]
    return encoded.decode("utf-16-le", "surrogatepass")
