"""Count the files of the package of which a function runs: in `sessionbrowse list --json`, or in a block of a test.

`python -m tests.files_run ROOT` lists the sessions below ROOT, with an index that is made first, and prints the files.
Modules and class bodies count as importing, not as running.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "sessionbrowse"

MOST_FILES = 20
MOST_FILES_BELOW_THE_SCREEN = 12
FLOORS_BELOW_THE_SCREEN = ("services", "store", "cli")
LIMIT_SECONDS = 120


def files_of_list(root: Path, cache: Path) -> list[str]:
    """Return the files of which a function runs, as `store/find/roots.py`; the index is made in `cache`."""
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    _run([sys.executable, "-m", "sessionbrowse", "index", "--root", str(root)], environ)
    found = cache / "files.txt"
    _run([sys.executable, "-m", "tests.files_run", "--traced", str(found), str(root)], environ)
    return found.read_text().splitlines()


def below_the_screen(files: Sequence[str]) -> list[str]:
    """Return those of services, store and cli."""
    return [file for file in files if file.split("/")[0] in FLOORS_BELOW_THE_SCREEN]


def _run(command: Sequence[str], environ: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, env=environ, cwd=PROJECT, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SECONDS
    )
    assert done.returncode == 0, done.stderr.decode()


@contextmanager
def files_entered() -> Iterator[set[str]]:
    """Yield a set that has, after the block, the files of which a function ran in it, threads begun in it included."""
    seen: set[str] = set()
    entered: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code, caller = frame.f_code, frame.f_back
        # Until Python 3.12 a comprehension is a function, also where a module computes a constant by one.
        of_module = code.co_name.startswith("<") and caller is not None and caller.f_code.co_name == "<module>"
        if code.co_flags & inspect.CO_OPTIMIZED and not of_module:
            seen.add(code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        entered |= {str(Path(file).relative_to(PACKAGE)) for file in seen if Path(file).is_relative_to(PACKAGE)}


def _trace(found: Path, root: str) -> None:
    """List the sessions in this process; write the files of which a function ran."""
    from sessionbrowse.cli import main

    with files_entered() as entered:
        status = main(["list", "--json", "--root", root])
    assert status == 0, status
    found.write_text("\n".join(sorted(entered)))


def main(arguments: Sequence[str]) -> None:
    """Print the files and their number; with `--traced FILE ROOT`, only list and write them to FILE."""
    if arguments[:1] == ["--traced"]:
        _trace(Path(arguments[1]), arguments[2])
        return
    with tempfile.TemporaryDirectory() as cache:
        files = files_of_list(Path(arguments[0]), Path(cache))
    print("\n".join(files))
    print(f"{len(files)} files, {len(below_the_screen(files))} of them in {', '.join(FLOORS_BELOW_THE_SCREEN)}")


if __name__ == "__main__":
    main(sys.argv[1:])
