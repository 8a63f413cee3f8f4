"""Regular expressions that users type (`re:pattern`): compile one, and find it in texts.

Searching for a pattern such as `(a+)+x` may never end, and `re` lets no other thread run meanwhile. So only programs
that the user can end with Ctrl+C call these functions directly; others use the pattern worker, which calls them in
another process.
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
"""Returns the first match of a pattern in each text; its last argument tells when the search is cancelled."""


class BadPattern(SessionBrowseError):
    """The error for a pattern that is empty or no regular expression."""


@lru_cache(maxsize=4)
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case.

    Raises:
        BadPattern: it is empty, or no regular expression.
    """
    if not pattern:
        raise BadPattern("Type a pattern behind re:")
    try:
        with warnings.catch_warnings():
            # Python warns of syntax that a later version may read in another way; users cannot act on that.
            warnings.simplefilter("ignore")
            return re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"The pattern is not valid: {error}") from None


def is_in(pattern: str, text: str) -> bool:
    """Tell whether a valid pattern matches anywhere in a text."""
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
