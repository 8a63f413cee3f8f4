"""Map a changed file's real path to the path that the browser lists; session directories may be symbolic links."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from sessionbrowse.tui.changes.reread import Known
from sessionbrowse.tui.shell.browser import Browser


class Listed:
    """Maps real paths of session files to the paths that the browser lists. Reads the disk: for background threads."""

    def __init__(self, known: Known, paths: Callable[[], Iterable[str]], roots: Sequence[str]) -> None:
        self._known = known
        self._paths = paths
        self._roots = [root.rstrip(os.sep) for root in roots]

    def at(self, path: str) -> str | None:
        """Return the path under which the browser would list a file; None for a file outside browsed directories."""
        if not self._roots or self._known(path) is not None or any(_is_below(path, root) for root in self._roots):
            return path
        for real, root in self._real_roots.items():
            if _is_below(path, real):
                return root + path[len(real) :]
        folder, name = os.path.split(path)
        listed = self._real_folders.get(folder)
        return os.path.join(listed, name) if listed is not None else None

    @cached_property
    def _real_roots(self) -> dict[str, str]:
        return {os.path.realpath(root): root for root in self._roots}

    @cached_property
    def _real_folders(self) -> dict[str, str]:
        return {os.path.realpath(folder): folder for folder in {os.path.dirname(path) for path in self._paths()}}


def listed_in(browser: Browser) -> Listed:
    """Return the map from real paths to listed paths, for the sessions that a browser lists."""
    library = browser.library
    roots = [place.root for place in browser.source.places]
    return Listed(library.get, lambda: [summary.path for summary in library.all()], roots)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)
