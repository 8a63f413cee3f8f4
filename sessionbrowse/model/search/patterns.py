"""Compile the regular expressions that users type (`re:pattern`), and find their matches in texts.

A search for a pattern such as `(a+)+x` may never end, and Python's `re` blocks all other threads meanwhile. So only
programs that the user can stop with Ctrl+C call these functions directly; others, such as the browser, let a separate
process call them (the pattern worker).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache

from sessionbrowse.errors import SessionBrowseError

MatchSpan = tuple[int, int]
"""The start and the end of a match in a text."""

FindFirst = Callable[[str, Sequence[str], Callable[[], bool]], Sequence[MatchSpan | None]]
"""A function (pattern, texts, cancelled) that returns each text's first match of the pattern, None if nothing matches.

The search may stop early when `cancelled` returns True.
"""


class BadPattern(SessionBrowseError):
    """Error: a pattern is empty, or not a valid regular expression."""


@lru_cache(maxsize=4)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression that ignores case.

    Raises:
        BadPattern: the pattern is empty, or not a valid regular expression.
    """
    if not pattern:
        raise BadPattern("Type a pattern after re:")
    try:
        with warnings.catch_warnings():
            # Python warns about syntax that later versions may interpret differently; such a warning helps no user.
            warnings.simplefilter("ignore")
            return re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"The pattern is not valid: {error}") from None


def is_in(pattern: str, text: str) -> bool:
    """Return True if a valid pattern matches anywhere in a text."""
    return compiled(pattern).search(text) is not None


def first_spans(
    pattern: str, texts: Sequence[str], cancelled: Callable[[], bool] = lambda: False
) -> list[MatchSpan | None]:
    """Return the first match of a valid pattern in each text, None for a text without a match."""
    search = compiled(pattern).search
    return [found.span() if (found := search(text)) is not None else None for text in texts]


def all_spans(pattern: str, texts: Sequence[str]) -> list[list[MatchSpan]]:
    """Return every place in each text where a valid pattern matches at least one character."""
    find = compiled(pattern).finditer
    return [[found.span() for found in find(text) if found[0]] for text in texts]
