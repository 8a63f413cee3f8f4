"""Make what the README shows and what the tests compare: pictures of every screen and dialog, and the table of keys.

`make screenshots` runs it; `ARGS="60"` takes those of one size only. The pictures depend on nothing but the program:
the store, what its place is called, and the time are fixed.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from sessionbrowse.tui.commands.command import GROUPS
from sessionbrowse.tui.commands.contexts import CONTEXT_NAMES
from sessionbrowse.tui.commands.keymap import Keys, key_label
from sessionbrowse.tui.commands.table import COMMANDS
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
    """Write the pictures and the table of keys; pictures of scenes that there are no longer go."""
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
    write_keys(ROOT / "README.md")


def write_keys(readme: Path) -> None:
    """Put the table of keys between its marks in the README."""
    before, begin, rest = readme.read_text().partition("<!-- keys -->")
    _, end, after = rest.partition("<!-- /keys -->")
    if begin and end:
        readme.write_text(f"{before}{begin}\n{key_table()}\n{end}{after}")


def key_table() -> str:
    """Return the table of keys for the README in Markdown, made from the command table."""
    keys = Keys()
    lines = ["| key | does | where |", "|---|---|---|"]
    for group in GROUPS:
        for command in COMMANDS:
            if command.group == group:
                shown = " ".join([f"`{key_label(key)}`" for key in keys.of(command)]).replace("|", "\\|")
                where = ", ".join([CONTEXT_NAMES[context] for context in command.where])
                lines.append(f"| {shown} | {command.help} | {where} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
