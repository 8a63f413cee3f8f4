"""Move a session together with the files that belong to it: all of them or none."""

from __future__ import annotations

import os

from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.store.write import trash
from sessionbrowse.text import clean

Move = tuple[str, str]
"""Source and target path."""


def move_all(moves: list[Move]) -> None:
    """Move all files or none of them; the session file is moved last.

    Raises:
        RefusedWrite: a target file exists; nothing was moved.
        WriteFailed: an I/O error occurred; nothing was moved, or the error names the files that were.
    """
    for _, target in moves:
        if os.path.lexists(target):
            raise RefusedWrite(f"There is a {clean(target)} already, which is never overwritten. Nothing was changed.")
    done: list[Move] = []
    try:
        for source, target in moves:
            done.append((source, target))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            trash.move(source, target)
    except OSError as error:
        left = bring_back(done)
        told = f" {' '.join(left)}" if left else " Everything is where it was."
        raise WriteFailed(f"{clean(moves[-1][0])} could not be moved ({error.strerror or error}).{told}") from error


def bring_back(moves: list[Move]) -> list[str]:
    """Undo moves in reverse order; return a sentence for each file that could not be moved back."""
    sentences = []
    for source, target in reversed(moves):
        try:
            if trash.drop_second_name(source, target):
                continue
            if os.path.lexists(target) and not os.path.lexists(source):
                os.makedirs(os.path.dirname(source), exist_ok=True)
                trash.move(target, source)
        except OSError as error:
            sentences.append(f"{clean(target)} could not be moved back ({error.strerror or error}).")
    return sentences
