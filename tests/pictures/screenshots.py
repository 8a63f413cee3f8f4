"""Make what the README shows and what the tests compare: pictures of every screen and dialog.

`make screenshots` runs it; `ARGS="60"` takes those of one size only. The pictures depend on nothing but the program:
the store, what its place is called, and the time are fixed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from tests.pictures.pictures import LOOKS, Album, album

ROOT = Path(__file__).resolve().parents[2]
DRAWINGS = ROOT / "screenshots"
"""The pictures of the README."""
TEXTS = ROOT / "tests" / "pictures" / "snapshots"
"""All pictures as text: a folder for each size, a file for each scene."""


def files_of(taken: Album) -> dict[Path, str]:
    """Return the files that hold the pictures of one size, and what each holds."""
    folder = TEXTS / taken.look.name
    files = {folder / f"{scene}.txt": text for scene, text in taken.texts.items()}
    files[folder / "colours.txt"] = taken.colours
    return files | {DRAWINGS / f"{name}.svg": drawing for name, drawing in taken.drawings.items()}


def main(sizes: list[str]) -> None:
    """Write the pictures; pictures of scenes that there are no longer go."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    for size in sizes or LOOKS:
        taken = asyncio.run(album(size))
        if taken.broken:
            sys.exit("\n".join(taken.broken))
        files = files_of(taken)
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for path in set((TEXTS / size).iterdir()) - set(files):
            path.unlink()
        print(f"{len(files)} pictures of {size} columns")


if __name__ == "__main__":
    main(sys.argv[1:])
