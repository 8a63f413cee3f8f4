"""What was said in the newest sessions, held in memory: common words are found there sooner than by the index."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from sessionbrowse.model.search.entry_facts import EntryFacts, facts_of
from sessionbrowse.model.search.query import SearchQuery
from sessionbrowse.model.search.words import literal
from sessionbrowse.services.search.lines import lines_at
from sessionbrowse.services.search.trees import Tree
from sessionbrowse.store.index.file_row import Held


class Said(Struct, frozen=True):
    """An entry that is held in memory; `folded` is its text as words are compared."""

    index: int
    facts: EntryFacts
    folded: str
    entry_id: str | None
    state: str


class Recent:
    """The entries of some sessions, by path, each with the row of the index that it was held for."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Held, list[Said]]] = {}

    def holds(self, path: str, row: Held) -> bool:
        """Whether the session is held as the index has it."""
        held = self._held.get(path)
        return held is not None and held[0] == row

    def hold(self, path: str, row: Held, tree: Tree) -> None:
        """Read what was said in a session, the last entry first."""
        entries: list[Said] = []
        try:
            for index, raw in lines_at(path, tree.said_places()):
                facts = facts_of(raw, tools=False)
                if facts is not None and facts.text:
                    entries.append(Said(index, facts, literal(facts.text), tree.entry_id(index), tree.state(index)))
        except IndexError:
            # The file changed under us.
            return
        self._held[path] = (row, entries)

    def characters(self, path: str) -> int:
        """Return how much of a session is held."""
        held = self._held.get(path)
        return sum([len(entry.folded) for entry in held[1]]) if held is not None else 0

    def keep_only(self, paths: Collection[str]) -> None:
        """Hold no other sessions than these."""
        for path in [path for path in self._held if path not in paths]:
            del self._held[path]

    def likely(self, path: str, query: SearchQuery) -> list[Said]:
        """Return the entries of a session that is held which have the letters of every word and phrase."""
        entries = self._held[path][1]
        for wanted in (*query.words, *query.phrases):
            entries = [entry for entry in entries if wanted in entry.folded]
        return entries
