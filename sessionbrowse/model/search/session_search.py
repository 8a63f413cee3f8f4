"""Search one session: every entry's whole text, what tools were asked and answered included.

An entry is found where each word stands somewhere in its text, as in the programs' own trees, which look at the
beginning of a text only; what those find is found too. The bytes are looked at first, as they lie in the file: only
lines that may hold the words are decoded.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from sessionbrowse.format.javascript import words
from sessionbrowse.model.search.entry_text import said_text, tool_text
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import omp_search
from sessionbrowse.model.tree.row_text import search_text_of

_ESCAPED = re.compile(r'["\\/\x00-\x1f]')
_ODD = (rb"\u", "\u0130".encode(), "\u212a".encode())
"""How an escaped character begins, and the letters beyond ASCII whose lower case is not: İ and the kelvin sign."""

Found = tuple[int, list[int]]
"""How many of the entries are behind, and which of the last of them were found."""


def found_inside(
    session: Session, query: str, among: Sequence[int], cancelled: Callable[[], bool] = lambda: False
) -> Iterator[Found]:
    """Yield the entries that hold every word of the query, in file order, a block at a time.

    `among` are the entries to look at, in file order.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    tokens = words(query.lower())
    if not tokens:
        return
    is_own = omp_search.matcher(tokens) if session.rules.tree == "omp" else None
    needles = [_needle(token) for token in tokens]
    behind = 0
    for run, block in session.blocks_of(among):
        if cancelled():
            return
        behind += len(run)
        # omp's own search forgives what the bytes do not show.
        likely = run if is_own is not None or None in needles else _likely(session, run, block, needles)
        found = []
        for index, fields in session.fields_of_many(likely) if likely else ():
            own = search_text_of(session, index, fields)
            text = "\n".join((own, said_text(fields), tool_text(fields))).lower()
            if all(token in text for token in tokens) or (is_own is not None and is_own(omp_search.search_words(own))):
                found.append(index)
        yield behind, found


def _needle(token: str) -> bytes | None:
    """Return bytes that stand in every line whose text holds the word; None if there are none that must."""
    # JSON may write these characters in several ways.
    longest = max(_ESCAPED.split(token), key=len)
    return longest.encode("utf-8", "surrogatepass") or None


def _likely(session: Session, run: Sequence[int], block: bytes, needles: Sequence[bytes | None]) -> list[int]:
    """Return the entries of a block that may hold all needles: those whose bytes do, and those that must be read."""
    wanted = sorted([needle for needle in needles if needle is not None], key=len, reverse=True)
    begins = [session.offsets[index] - session.offsets[run[0]] for index in run]
    likely = set(_holding(block.lower(), wanted, begins, run))
    # Characters that are escaped, and letters beyond ASCII that have another lower case in text than in bytes: to
    # what is ASCII that matters only where theirs is.
    if all(needle.isascii() for needle in wanted):
        for odd in _ODD:
            likely.update(_holding(block, [odd], begins, run))
    else:
        likely.update(_holding(block, [_ODD[0]], begins, run))
        lines = zip(run, begins, strict=True)
        likely.update([index for index, at in lines if not block[at : at + session.sizes[index]].isascii()])
    # Rows of other kinds than messages say what is not in their line, such as rounded numbers; labels are other lines.
    codes, kinds = session.columns.codes, session.columns.kinds.all
    others = {code for code, kind in enumerate(kinds) if kind.type != "message" or session.is_transcript}
    likely.update([index for index in run if codes[index] in others or index in session.labels])
    return sorted(likely)


def _holding(lowered: bytes, wanted: Sequence[bytes], begins: list[int], run: Sequence[int]) -> list[int]:
    """Return the entries of a block that hold all needles, by leaping from one place of the first one to the next."""
    found: list[int] = []
    first, rest = wanted[0], wanted[1:]
    at = lowered.find(first)
    while at >= 0:
        place = bisect_right(begins, at) - 1
        end = begins[place + 1] if place + 1 < len(begins) else len(lowered)
        if all(lowered.find(needle, begins[place], end) >= 0 for needle in rest):
            found.append(run[place])
        at = lowered.find(first, end)
    return found
