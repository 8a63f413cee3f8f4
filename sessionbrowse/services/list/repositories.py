"""Which repository a directory belongs to, so that its worktrees are one project: read from files, git is not run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from sessionbrowse.agents.base import read_small_file
from sessionbrowse.store.find import moved_projects
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, Asker

_MOST_LEVELS = 64


def repositories_of(directories: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, str]:
    """Return the directory of the repository by directory, for those that lie in one; what hangs is left out."""
    return {path: found for path, found in _REPOSITORIES.many(directories, timeout_s).items() if found}


def repository_of(directory: str) -> str | None:
    """Return the main directory of the repository that a directory lies in; None where it lies in none, or is gone.

    A worktree's is that of the repository it was made from; a bare repository stands for itself.
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
        # A home directory under version control does not make one project of all that lies in it.
        if above in (here, home):
            return None
        here = above
    return None


def moved(missing: Iterable[str], known: Sequence[str], state: str) -> dict[str, str]:
    """Return to where directories were moved, for those of which was noted what they look like to git."""
    noted = moved_projects.noted(state)
    found: dict[str, str] = {}
    for old in missing:
        if old in noted and (places := moved_projects.candidates(old, state, known)):
            found[old] = places[0].path
    return found


def _main_directory(worktree: str, git: str) -> str:
    """Follow the `gitdir:` of a worktree to what it shares with others (gitrepository-layout(5))."""
    named = _line(git).removeprefix("gitdir:").strip()
    own = os.path.normpath(os.path.join(worktree, named))
    shared = _line(os.path.join(own, "commondir"))
    if not named or not shared:
        # A submodule, or a repository kept elsewhere: nobody shares it.
        return worktree
    common = os.path.normpath(os.path.join(own, shared))
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _line(path: str) -> str:
    return os.fsdecode(read_small_file(path) or b"").strip()


_REPOSITORIES: Asker[str] = Asker(lambda path: repository_of(path) or "")
