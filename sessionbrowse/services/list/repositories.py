"""Find the repository of a directory, so that worktrees count as one project; reads git's files, never runs git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from sessionbrowse.agents.base import read_small_file
from sessionbrowse.store.find import moved_projects
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, Asker

_MOST_LEVELS = 64


def repositories_of(directories: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, str]:
    """Return the repository of each directory; directories without one, or on an unresponsive disk, are left out."""
    return {path: found for path, found in _REPOSITORIES.many(directories, timeout_s).items() if found}


def repository_of(directory: str) -> str | None:
    """Return the main directory of the repository around a directory; None without repository or directory.

    A worktree belongs to the repository it was made from. A bare repository is its own main directory.
    """
    if not os.path.isabs(directory) or not os.path.isdir(directory):
        return None
    here = os.path.normpath(directory)
    home = os.path.expanduser("~")
    for _ in range(_MOST_LEVELS):
        git = os.path.join(here, ".git")
        if os.path.isdir(git):
            return here
        if os.path.isfile(git):
            return _main_directory(here, git)
        above = os.path.dirname(here)
        # A home directory under version control would turn all projects in it into one project.
        if above in (here, home):
            return None
        here = above
    return None


def moved(missing: Iterable[str], known: Sequence[str], state: str) -> dict[str, str]:
    """Return a map from missing directories to their new paths, for those whose repository was recorded."""
    noted = moved_projects.noted(state)
    found: dict[str, str] = {}
    for old in missing:
        if old in noted and (places := moved_projects.candidates(old, state, known)):
            found[old] = places[0].path
    return found


def _main_directory(worktree: str, git: str) -> str:
    """Return the main directory of a worktree, read from `gitdir:` in its `.git` file (gitrepository-layout(5))."""
    named = _line(git).removeprefix("gitdir:").strip()
    own = os.path.normpath(os.path.join(worktree, named))
    shared = _line(os.path.join(own, "commondir"))
    if not named or not shared:
        # This is a submodule or a repository with a separate git directory, and not a worktree.
        return worktree
    common = os.path.normpath(os.path.join(own, shared))
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _line(path: str) -> str:
    return os.fsdecode(read_small_file(path) or b"").strip()


_REPOSITORIES: Asker[str] = Asker(lambda path: repository_of(path) or "")
