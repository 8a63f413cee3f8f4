"""The programs' own search in a tree: an entry matches if all words are in its search text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sessionbrowse.format.json_value import words
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows
from sessionbrowse.model.tree.row_text import search_text_of
from tests.support import omp_search


def search_text(session: Session, index: int) -> str:
    """Return the text in which the program's own search looks for its words."""
    return search_text_of(session, index, session.fields(index))


def search_texts(session: Session, indexes: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the search texts of entries with their indexes, in file order."""
    for index, fields in session.fields_of_many(indexes):
        yield index, search_text_of(session, index, fields)


def found(session: Session, query: str, among: Collection[int]) -> list[int]:
    """Return the entries in which the program's own search finds all words of the query."""
    tokens = words(query.lower())
    texts = search_texts(session, among)
    if session.rules.tree == "omp":
        is_found = omp_search.matcher(tokens)
        return [index for index, text in texts if is_found(omp_search.search_words(text))]
    return [index for index, text in texts if all(token in text.lower() for token in tokens)]


def searched_rows(session: Session, filter_name: str, query: str, **how: Any) -> rows.Rows:
    """Return the rows of a tree in which the program's own search looks for a query."""
    shown = [row.index for row in rows.rows(session, filter_name)]
    return rows.rows(session, filter_name, hits=found(session, query, shown) if words(query) else None, **how)
