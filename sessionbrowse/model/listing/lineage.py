"""A reduced tree of a session's entries, from which a list gets the number of branches and the model at the leaf."""

from __future__ import annotations

from collections.abc import Collection

from sessionbrowse.model.session.parents import count_branches
from sessionbrowse.model.session.stranded_messages import is_left_behind


class Lineage:
    """The tree of one session file: ids, parent ids, and flags for messages, by entry index.

    `models` maps the index of an entry that names a model to a pair: the model, and True if the user chose the model
    explicitly. `moves` are the indexes of entries that an agent writes when the user moves to another branch, such as
    branch summaries.
    """

    def __init__(self) -> None:
        self.ids: list[str | None] = []
        self.parents: list[str | None] = []
        self.is_message = bytearray()
        self.models: dict[int, tuple[str, bool]] = {}
        self.moves: set[int] = set()
        # Format version 1 has no ids: the parent of each entry is the entry before it.
        self.is_linear = False
        self._chain: bool | None = None
        self._index_by_id: dict[str | None, int] | None = None

    def append(self, entry_id: str | None, parent_id: str | None, is_message: bool) -> None:
        """Add the next entry of the file to the tree."""
        self.ids.append(entry_id)
        self.parents.append(parent_id)
        self.is_message.append(is_message)

    def known(self, entry_ids: Collection[str]) -> list[str]:
        """Return those of the given entry ids that exist in the file."""
        return list(filter(self._by_id().__contains__, entry_ids)) if entry_ids else []

    def leaf_model(self, *, explicit_first: bool) -> str | None:
        """Return the model in use at the leaf: the last model named on the path from the root to the leaf.

        With `explicit_first`, the last model that the user chose explicitly is preferred to all other models.
        """
        nearest: str | None = None
        index = len(self.ids) - 1
        for _ in range(len(self.ids)):
            found = self.models.get(index)
            if found is not None:
                if found[1] or not explicit_first:
                    return found[0]
                nearest = nearest or found[0]
            index = self.parent(index)
            if index < 0:
                break
        return nearest

    def branches(self) -> int:
        """Return the number of branches, at least 1; see `count_branches`."""
        return 1 if self.is_chain() else count_branches(self.is_message, self.parent)

    def is_left_behind(self) -> bool:
        """Return True if the last message of the file is not on the branch of the file's last entry.

        Return False if a later checkout or branch summary shows that the user left the message's branch on purpose.
        """
        newest = self.is_message.rfind(1)
        if newest < 0:
            return False
        index = len(self.ids) - 1
        passed: set[str | None] = {None}
        # Usually the parent of an entry after the newest message is the previous entry; this loop follows such parents
        # without looking up ids.
        while index > newest and index not in self.moves:
            passed.add(self.ids[index])
            above = self.ids[index - 1]
            if above in passed or self.parents[index] != above:
                break
            index -= 1
        return index != newest and is_left_behind(newest, index, len(self.ids), self.parent, self.moves.__contains__)

    def is_chain(self) -> bool:
        """Return True if every entry's parent is the previous entry; the result is cached, so add all entries first."""
        if self._chain is None:
            self._chain = self._found_chain()
        return self._chain

    def _found_chain(self) -> bool:
        ids, parents = self.ids, self.parents
        if self.is_linear or parents[:1] != [None] or parents[1:] != ids[:-1]:
            return False
        known = set(ids)
        return len(known) == len(ids) and None not in known

    def parent(self, index: int) -> int:
        """Return the index of the parent of the entry at `index`; -1 if the entry has no parent in the file."""
        if self.is_linear or self.is_chain():
            return index - 1
        parent = self.parents[index]
        return -1 if parent is None else self._by_id().get(parent, -1)

    def _by_id(self) -> dict[str | None, int]:
        if self._index_by_id is None:
            self._index_by_id = dict(zip(self.ids, range(len(self.ids)), strict=True))
            self._index_by_id.pop(None, None)
        return self._index_by_id
