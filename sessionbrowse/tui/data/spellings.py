"""Working directories as folders of the list: all spellings of a directory are one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sessionbrowse.model.listing.directories import normal_form, one_spelling, split


class Spellings:
    """The working directories of all sessions, and what is known of links in their paths.

    `stored` returns the directories as session files store them; call `forget` when its result has changed.
    """

    def __init__(self, stored: Callable[[], set[str]]) -> None:
        self._stored = stored
        self._links: Mapping[str, str] = {}
        self._known: dict[str, str] | None = None

    def learn(self, links: Mapping[str, str]) -> None:
        """Remember the paths without links, by stored directory."""
        self._links = {**self._links, **links}
        self.forget()

    def forget(self) -> None:
        """Compare the directories again when they are needed next."""
        self._known = None

    def known(self) -> dict[str, str]:
        """Return the one spelling of each stored directory; the paths without links are keys too."""
        if self._known is None:
            spelled = one_spelling(self._stored(), self._links)
            self._known = {**{self._path(each): one for each, one in spelled.items()}, **spelled}
        return self._known

    def of(self, directory: str) -> str:
        """Return the spelling that stands for all spellings of a directory."""
        known = self.known()
        return known.get(directory) or known.get(self._path(directory), directory)

    def text(self, directory: str) -> str:
        """Return the text in which a filter by project searches: all spellings of a directory."""
        same = [each for each, one in self.known().items() if one == self.of(directory)]
        return "\n".join([f"{each.rstrip('/')}/" for each in same or [directory]])

    def _path(self, directory: str) -> str:
        return self._links.get(directory) or normal_form(directory)


def same_names(directories: Iterable[str]) -> frozenset[str]:
    """Return the directories whose last path component occurs more than once among the given directories."""
    by_name: dict[str, list[str]] = {}
    for directory in directories:
        by_name.setdefault(split(directory)[1], []).append(directory)
    return frozenset([path for paths in by_name.values() if len(paths) > 1 for path in paths])
