"""Find the git repository of a directory, so that all worktrees count as one project; reads files, never runs git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from sessionbrowse.agents.base import read_small_file
from sessionbrowse.store.find import moved_projects
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, Asker

_MOST_LEVELS = 64


def repositories_of(directories: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, str]:
    """Map directories to git repositories; leave out directories without a repository or on an unresponsive disk."""
    return {path: found for path, found in _REPOSITORIES.many(directories, timeout_s).items() if found}


def repository_of(directory: str) -> str | None:
    """Return the main directory of the git repository that contains a directory, None if there is none.

    A worktree belongs to the repository from which it was made; for worktrees of a bare repository, return the bare
    repository.
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
        # A repository in the home directory is ignored, because it would make all projects one project.
        if above in (here, home):
            return None
        here = above
    return None


def moved(missing: Iterable[str], known: Sequence[str], state: str) -> dict[str, str]:
    """Map missing directories to their probable new paths, if sessionbrowse recorded their repositories before."""
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
        # A `.git` file without `commondir` belongs to a submodule or a separate git directory, not to a worktree.
        return worktree
    common = os.path.normpath(os.path.join(own, shared))
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _line(path: str) -> str:
    return os.fsdecode(read_small_file(path) or b"").strip()


_REPOSITORIES: Asker[str] = Asker(lambda path: repository_of(path) or "")
