"""The git repository of a directory, so that worktrees count as one project and a moved project is found again.

Lists only read files. git is run only to find a repository's first commit, which identifies the repository after a
move; it is recorded while the project's directory exists.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from sessionbrowse.agents.base import read_small_file
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.directories import is_absolute, split
from sessionbrowse.store.find.slow_disks import TIMEOUT_S, TimedReads
from sessionbrowse.store.own.state_directory import make_private, write_own_file

_MOST_LEVELS = 64


def repositories_of(directories: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, str]:
    """Map directories to git repositories; leave out directories without a repository or on an unresponsive disk."""
    return {path: found for path, found in _REPOSITORIES.read(directories, timeout_s).items() if found}


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
    recorded = noted(state)
    found: dict[str, str] = {}
    for old in missing:
        if old in recorded and (places := candidates(old, state, known)):
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


_REPOSITORIES: TimedReads[str] = TimedReads(lambda path: repository_of(path) or "")


FILE = "projects.json"
GIT_SECONDS = 3.0
"""Time limit in seconds for git to find a repository's first commit; on timeout only the remote's URL is recorded."""
MOST_LOOKED_AT = 2000
_AT_ONCE = 20
"""Number of new repository marks (identities of repositories) that are written to the file `FILE` at once."""

# The repository may be another person's, so git must not run or fetch anything that its settings name.
_QUIETLY = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.allow=never")
_REMOTE = re.compile(r'^\[remote "origin"\]\s*$(?:\n(?!\[).*)*?\n\s*url\s*=\s*(\S+)', re.MULTILINE)


class Mark(Struct, frozen=True):
    """The identity of a repository, independent of its path: the URL of its `origin`, and its first commit (`root`)."""

    remote: str | None = None
    root: str | None = None

    def fits(self, other: Mark) -> bool:
        """Return True if two marks have the same first commit, or the same remote URL if a first commit is unknown."""
        if self.root is not None and other.root is not None:
            return self.root == other.root
        return self.remote is not None and self.remote == other.remote


class Candidate(Struct, frozen=True):
    """A directory to which a project may have been moved, and why: the same repository or the same name."""

    path: str
    why: str


def mark_of(directory: str, ask_git: Callable[[str], str | None] | None = None) -> Mark | None:
    """Return the mark (remote URL, first commit) of the repository at a directory; None if no mark is found."""
    git = os.path.join(directory, ".git")
    if not is_absolute(directory) or not os.path.exists(git):
        return None
    try:
        with open(os.path.join(git, "config"), encoding="utf-8", errors="replace") as file:
            found = _REMOTE.search(file.read())
    except OSError:
        found = None
    root = (ask_git or _first_commit)(directory)
    mark = Mark(found[1] if found else None, root)
    return mark if mark != Mark() else None


def noted(state: str) -> dict[str, Mark]:
    """Return the marks (identities) of repositories in the file `FILE`, by directory; empty if it cannot be read."""
    try:
        with open(os.path.join(state, FILE), "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Mark])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def note(
    directories: Iterable[str],
    state: str,
    cancelled: Callable[[], bool] = lambda: False,
    git_seconds: float = GIT_SECONDS,
) -> None:
    """Record the mark (identity) of each directory's repository in the file `FILE`; ignore errors.

    Directories with a recorded mark are skipped. `cancelled` is called before each directory; if it returns True, the
    marks found so far are recorded. `git_seconds` is the time limit for git in each directory.
    """
    known = noted(state)
    found: dict[str, Mark] = {}
    for path in directories:
        if cancelled():
            break
        if path in known:
            continue
        mark = mark_of(path, lambda directory: _first_commit(directory, git_seconds))
        if mark is not None:
            found[path] = mark
        if len(found) == _AT_ONCE:
            _keep(found, state)
            found = {}
    if found:
        _keep(found, state)


def _keep(found: dict[str, Mark], state: str) -> None:
    with suppress(OSError, RefusedWrite):
        make_private(state)
        write_own_file(os.path.join(state, FILE), msgspec.json.encode(noted(state) | found))


def candidates(old: str, state: str, known: Sequence[str] = ()) -> list[Candidate]:
    """Return directories to which `old` may have been moved: with the same repository, else with the same folder name.

    The search covers the directories of other sessions (`known`), their neighbours, and directories near the old path.
    """
    wanted = noted(state).get(old)
    places = [path for path in _around(old, known) if path != old]
    if wanted is not None:
        same = [path for path in places if (mark := mark_of(path)) is not None and wanted.fits(mark)]
        if same:
            return [Candidate(path, "the same repository") for path in same]
    name = split(old)[1]
    return [Candidate(path, "the same name") for path in places if os.path.basename(path) == name]


def _around(old: str, known: Sequence[str]) -> Iterator[str]:
    """Yield existing directories near a missing path and near known projects: each once, at most `MOST_LOOKED_AT`."""
    above = os.path.dirname(old.rstrip("/"))
    while above != os.path.dirname(above) and not os.path.isdir(above):
        above = os.path.dirname(above)
    seen = dict.fromkeys(path for path in known if is_absolute(path) and os.path.isdir(path))
    nearest = _folders(above)
    seen |= dict.fromkeys(nearest)
    for folder in (*nearest, os.path.dirname(above), *(os.path.dirname(path) for path in list(seen))):
        if len(seen) > MOST_LOOKED_AT:
            break
        seen |= dict.fromkeys(_folders(folder))
    yield from list(seen)[:MOST_LOOKED_AT]


def _folders(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return sorted(
                entry.path
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _first_commit(directory: str, seconds: float = GIT_SECONDS) -> str | None:
    if os.path.exists(os.path.join(directory, ".git", "shallow")):
        return None  # A shallow clone does not contain the first commit.
    command = ["git", "-C", directory, *_QUIETLY, "rev-list", "--max-parents=0", "HEAD"]
    environ = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env=environ, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    roots = sorted(done.stdout.decode("ascii", "replace").split())
    return roots[0] if done.returncode == 0 and roots else None
