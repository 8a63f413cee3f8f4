"""Remove the escape sequences of terminals from texts: colours, cursor movements, links, titles, images.

The module `text` removes other harmful characters. A search also reads texts without these sequences, as they are
displayed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property


class LazyPattern:
    """A regular expression compiled at its first use: compiling all patterns takes 5 % of the browser's start time."""

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        """Return the first match in a text, or None."""
        return self._compiled.search

    @cached_property
    def fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        """Return a match if the pattern matches a whole text, else None."""
        return self._compiled.fullmatch

    @cached_property
    def sub(self) -> Callable[[str | Callable[[re.Match[str]], str], str], str]:
        """Replace every match in a text."""
        return self._compiled.sub


def without_sequences(text: str) -> str:
    """Return `text` without escape sequences: colours, cursor movements, links, titles and other terminal commands.

    No sequence goes beyond its line, and an unfinished one ends at the first blank. Other control characters stay.
    """
    if "\x1b" not in text and (text.isascii() or _EIGHT_BITS.search(text) is None):
        return text
    return _SEQUENCE.sub("", text)


# Escape sequences are removed as a whole: without its escape character, a sequence would be shown as "[31m" or as the
# address of a link. Nothing in these patterns can be matched in two ways, so a search takes linear time.
_STRING = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f]*+(?:\x07|\x1b{1,2}\\|\x9c)"
_FINAL = r"(?: [@-~](?![a-z])|[!-/]*+[@-~]?)"
_SEQUENCE = LazyPattern(
    rf"\x1b(?:\[[0-?]*+{_FINAL}"  # colours and the cursor
    rf"|[]PX^_k]{_STRING}"  # links, titles, the clipboard, images
    # An unfinished sequence ends before the first blank or non-ASCII letter, so that it can hide an address but no
    # sentence.
    r"|[]PX^_][!-~]*+"
    r"|[(*)+./-][A-Z0-9<=>]|%[@G8]|\#[3-68]|[6-9<=>\\|}~]|[DEHMNOZc](?![a-z])"  # character sets, states
    r"|(?=[\x1b\r\n]|\Z))"
    # The 8-bit forms of these sequences, except inside a UTF-8 letter that was decoded as Latin-1 or Windows-1252.
    r"|(?<![\xc2-\xdf])(?<![\xe0-\xf4][^\x00-\x7f])(?<![\xf0-\xf4][^\x00-\x7f]{2})"
    rf"(?:\x9b(?:[0-?]++{_FINAL}|[HJKm])|[\x90\x98\x9d-\x9f]{_STRING}|\x9d[0-9]++;[!-~]*+)"
)
_EIGHT_BITS = LazyPattern("[\x90\x98\x9b\x9d-\x9f]")
