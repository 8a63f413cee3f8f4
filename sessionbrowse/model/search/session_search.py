"""Search the entries of one session, tool calls and results included.

An entry matches if its text contains every word. An agent's own tree search covers only the beginning of a text; this
search finds every entry that the agent's search finds. Bytes are searched first, so that only likely lines are decoded.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from sessionbrowse.format.javascript import words
from sessionbrowse.model.search.entry_text import message_text, tool_text
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import omp_search
from sessionbrowse.model.tree.row_text import search_text_of

_ESCAPED = re.compile(r'["\\/\x00-\x1f]')
_ODD = (rb"\u", "\u0130".encode(), "\u212a".encode())
"""Byte sequences that may mean an ASCII letter: JSON escapes, and İ and the kelvin sign, which fold to i and k."""


def search_session(
    session: Session, query: str, among: Sequence[int], cancelled: Callable[[], bool] = lambda: False
) -> Iterator[tuple[int, list[int]]]:
    """Search some of a session's entries, in file order; `among` has their positions in the list of all entries.

    After each block of entries, yield the number of entries searched so far, and the positions of matching entries.

    Raises:
        Unreadable: the session file is gone or cannot be read.
    """
    tokens = words(query.lower())
    if not tokens:
        return
    is_own = omp_search.matcher(tokens) if session.rules.tree == "omp" else None
    needles = [_needle(token) for token in tokens]
    searched = 0
    for run, block in session.blocks_of(among):
        if cancelled():
            return
        searched += len(run)
        # omp's own tree search also finds texts that contain only some letters of a word, and a search of bytes would
        # miss these, so all entries are decoded.
        likely = run if is_own is not None or None in needles else _likely(session, run, block, needles)
        found = []
        for index, fields in session.fields_of_many(likely) if likely else ():
            own = search_text_of(session, index, fields)
            text = "\n".join((own, message_text(fields), tool_text(fields))).lower()
            if all(token in text for token in tokens) or (is_own is not None and is_own(omp_search.search_words(own))):
                found.append(index)
        yield searched, found


def _needle(token: str) -> bytes | None:
    """Return the longest part of a word that JSON writes without escapes, as bytes; None if there is none."""
    # The word is split at characters that JSON may escape in several ways.
    longest = max(_ESCAPED.split(token), key=len)
    return longest.encode("utf-8", "surrogatepass") or None


def _likely(session: Session, run: Sequence[int], block: bytes, needles: Sequence[bytes | None]) -> list[int]:
    """Return the entries of a block whose lines must be decoded, because they may contain all words (`needles`)."""
    wanted = sorted([needle for needle in needles if needle is not None], key=len, reverse=True)
    begins = [session.offsets[index] - session.offsets[run[0]] for index in run]
    likely = set(_holding(block.lower(), wanted, begins, run))
    # A search of bytes misses escaped characters and other cases of non-ASCII letters, so lines with such characters
    # must be decoded.
    if all(needle.isascii() for needle in wanted):
        for odd in _ODD:
            likely.update(_holding(block, [odd], begins, run))
    else:
        likely.update(_holding(block, [_ODD[0]], begins, run))
        lines = zip(run, begins, strict=True)
        likely.update([index for index, at in lines if not block[at : at + session.sizes[index]].isascii()])
    # Labelled entries must be decoded too, because their labels are in other lines. So must entries that are no
    # messages, because their rows in the tree show computed text such as rounded numbers.
    codes, kinds = session.columns.codes, session.columns.kinds.all
    others = {code for code, kind in enumerate(kinds) if kind.type != "message" or session.is_transcript}
    likely.update([index for index in run if codes[index] in others or index in session.labels])
    return sorted(likely)


def _holding(lowered: bytes, wanted: Sequence[bytes], begins: list[int], run: Sequence[int]) -> list[int]:
    """Return the entries of a block whose lines contain all of `wanted`; `begins` are the offsets of the lines."""
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
