"""Keep the texts of the newest sessions in memory, to search these sessions without the index.

For a common word, the index returns very many entries; a search in memory finds the first hits within 50 ms.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from sessionbrowse.model.search.entry_facts import EntryFacts, facts_of
from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.model.search.words import literal
from sessionbrowse.services.search.entry_lines import lines_at
from sessionbrowse.services.search.session_trees import SessionTree
from sessionbrowse.store.index.rows import FileRow


class RecentText(Struct, frozen=True):
    """The text and facts of an entry, kept in memory; `folded` is the text in lower case without diacritics."""

    index: int
    facts: EntryFacts
    folded: str
    entry_id: str | None
    state: str


class RecentTexts:
    """The texts of some sessions in memory; a session's texts are only used while its index row is unchanged."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[FileRow, list[RecentText]]] = {}

    def has(self, path: str, row: FileRow) -> bool:
        """Return True if the texts of a session are in memory, in the same version as in the index."""
        texts = self._texts.get(path)
        return texts is not None and texts[0] == row

    def read(self, path: str, row: FileRow, tree: SessionTree) -> None:
        """Read the texts of a session into memory, in reverse file order."""
        entries: list[RecentText] = []
        try:
            for index, raw in lines_at(path, tree.text_places()):
                facts = facts_of(raw, tools=False)
                if facts is not None and facts.text:
                    entries.append(
                        RecentText(index, facts, literal(facts.text), tree.entry_id(index), tree.state(index))
                    )
        except IndexError:
            # The file has become shorter since it was indexed, so its texts are not kept.
            return
        self._texts[path] = (row, entries)

    def characters(self, path: str) -> int:
        """Return the number of characters in memory for a session, 0 if the session is not in memory."""
        texts = self._texts.get(path)
        return sum([len(entry.folded) for entry in texts[1]]) if texts is not None else 0

    def keep_only(self, paths: Collection[str]) -> None:
        """Remove the texts of all sessions from memory except the sessions with the given paths."""
        for path in [path for path in self._texts if path not in paths]:
            del self._texts[path]

    def likely(self, path: str, query: SearchQuery) -> list[RecentText]:
        """Return the entries of a session in memory that contain every word and phrase as a substring."""
        entries = self._texts[path][1]
        for wanted in (*query.words, *query.phrases):
            entries = [entry for entry in entries if wanted in entry.folded]
        return entries
