"""Move a session file together with the files that belong to it: all of these files or none."""

from __future__ import annotations

import os

from sessionbrowse.errors import RefusedWrite, WriteFailed
from sessionbrowse.store.write.copies import make_folder
from sessionbrowse.store.write.moves import Moves, in_the_way
from sessionbrowse.text import clean

Move = tuple[str, str]
"""The move of one file or folder: its source path and its target path."""


def move_all(pairs: list[Move], moves: Moves) -> None:
    """Move all files or none of them, in the given order, the session file last.

    The original of a file that was copied to another disk gets a hidden name. It is listed in `moves`, so that the
    caller removes it when no program has it open.

    Raises:
        RefusedWrite: a target file exists, or a copy would get another owner (user); nothing was moved.
        WriteFailed: an I/O error occurred. All files are at their old paths, except those that the message names.
    """
    for _, target in pairs:
        if os.path.lexists(target):
            raise in_the_way(target)
    done: list[Move] = []
    try:
        for source, target in pairs:
            done.append((source, target))
            make_folder(os.path.dirname(target), os.path.dirname(source))
            moves.move(source, target)
    except (OSError, RefusedWrite) as error:
        left = bring_back(done, moves)
        if isinstance(error, RefusedWrite) and not left:
            raise
        told = f" {' '.join(left)}" if left else " Nothing was moved."
        reason = error.sentence if isinstance(error, RefusedWrite) else error.strerror or error
        raise WriteFailed(f"{clean(pairs[-1][0])} could not be moved ({reason}).{told}") from error


def bring_back(pairs: list[Move], moves: Moves) -> list[str]:
    """Undo moves in reverse order; return an error sentence for each file that could not be moved back."""
    sentences = []
    for source, target in reversed(pairs):
        try:
            make_folder(os.path.dirname(source), os.path.dirname(target))
            moves.move_back(source, target)
        except (OSError, RefusedWrite) as error:
            reason = error.sentence if isinstance(error, RefusedWrite) else error.strerror or error
            sentences.append(f"{clean(target)} could not be moved back ({reason}).")
    return sentences
