"""Search the entries of one session, tool calls and results included.

The query's grammar and the word forms are those of the search over all sessions. The bytes of each line are searched
first, so that only lines that may match are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from sessionbrowse.format.json_value import Json
from sessionbrowse.model.search.entry_facts import facts_in, fits_facts
from sessionbrowse.model.search.patterns import FindFirst, first_spans
from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.model.search.relevance import Term, evidence_in, keys_of, terms_of
from sessionbrowse.model.search.words import literal
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree.entry_states import EntryStates
from sessionbrowse.model.tree.row_text import search_text_of


def search_session(
    session: Session,
    query: SearchQuery,
    among: Sequence[int],
    cancelled: Callable[[], bool] = lambda: False,
    *,
    some: bool = False,
    find_first: FindFirst = first_spans,
) -> Iterator[tuple[int, list[int]]]:
    """Search the entries of a session whose indexes are in `among`, in file order.

    An entry matches if it has all terms of the query; with `some`, one term is enough. After each block of entries,
    yield the number of entries searched so far, and the indexes of the block's matching entries. The query's filters
    by agent, project and name are ignored, because they select sessions.

    Raises:
        Unreadable: the session file is gone or cannot be read.
        PatternStopped: `find_first` could not search the texts for the query's regular expression.
    """
    terms = terms_of(query)
    needles = [[key.encode("utf-8", "surrogatepass") for key in keys_of([term])] for term in terms]
    states = EntryStates(session) if query.states else None
    searched = 0
    for run, block in session.blocks_of(among):
        if cancelled():
            return
        searched += len(run)
        found: list[tuple[int, str]] = []
        for index, fields in session.fields_of_many(_likely(session, run, block, needles, any if some else all)):
            if states is None or states.of(index) in query.states:
                text = _matching_text(session, index, fields, query, terms, some=some)
                found += [(index, text)] if text is not None else []
        if query.pattern is not None and found:
            spans = find_first(query.pattern, [text for _, text in found], cancelled)
            found = [each for each, span in zip(found, spans, strict=True) if span is not None]
        yield searched, [index for index, _ in found]


def _matching_text(
    session: Session, index: int, fields: dict[str, Json], query: SearchQuery, terms: Sequence[Term], *, some: bool
) -> str | None:
    """Return the searched text of an entry if it fits the query; None if not. The query's pattern is not checked."""
    mark = session.labels.get(index)
    if query.labels and not any(mark is not None and wanted in literal(mark.text) for wanted in query.labels):
        return None
    facts = facts_in(fields, tools=True)
    # Entries that are not messages have no text of their own; agents search the text of their rows.
    text = facts.text or search_text_of(session, index, fields)
    text = f"{mark.text}\n{text}" if mark is not None else text
    if not fits_facts(query, replace(facts, text=text)):
        return None
    evidence = evidence_in(terms, text, "") if terms else None
    return text if not terms or (evidence is not None and (some or all(evidence.weights))) else None


def _likely(
    session: Session,
    run: Sequence[int],
    block: bytes,
    needles: Sequence[Sequence[bytes]],
    has: Callable[[Iterator[bool]], bool],
) -> list[int]:
    """Return the entries of a block whose lines must be decoded, because they may match.

    A line with a term contains one of the term's `needles`. `has` is `all` if every term is needed, else `any`.
    """
    if not needles:
        return list(run)
    first, labels, likely = session.offsets[run[0]], session.labels, []
    # Entries that are not messages are searched by the texts of their rows, which are not in the file.
    for index in run:
        begin = session.offsets[index] - first
        line = block[begin : begin + session.sizes[index]].lower()
        # A search of bytes cannot find words with JSON escapes or with characters that have several forms.
        if (
            session.is_transcript
            or session.envelopes[index].type != "message"
            or index in labels
            or not line.isascii()
            or b"\\u" in line
            or has(any(key in line for key in keys) for keys in needles)
        ):
            likely.append(index)
    return likely
