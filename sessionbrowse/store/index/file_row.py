"""What a row of the index tells of a file: which file was read, whose it is, and where its entries and texts are."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from sessionbrowse.agents import Marks
from sessionbrowse.store.find.discover import FoundFile

ORDINARY, TRANSCRIPT, FOREIGN = 0, 1, 2
"""The kinds of files: sessions, indusagi's transcripts, and other programs' sessions, which are named only."""


class Held(Struct, frozen=True, gc=False):
    """A row of the index without its summary: the file as it was read, whose it is, and where the rest stands.

    `shard` is the number of the database beside the main one that holds its entries and texts too, 0 for none;
    `has_tools` tells whether tool calls and results are among the texts.
    """

    row: int
    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int
    agent: str
    marks: str
    kind: int
    shard: int
    has_tools: int

    def is_current(self, file: FoundFile, override: str | None) -> bool:
        """Tell whether the file is, by all that its directory entry tells, what was read, and the same program's."""
        return (
            self.size == file.size
            and self.mtime_ns == file.mtime_ns
            and self.ctime_ns == file.ctime_ns
            and self.inode == file.inode
            and self.device == file.device
            and (self.kind == TRANSCRIPT or self.agent == file.agent(self.found_marks(), override))
        )

    def found_marks(self) -> Marks | None:
        """What in the file only one program writes, None if nothing is."""
        return found_marks(self.marks)


def held_of(values: Sequence[Any]) -> Held:
    """Return a row by the values of its columns, in the order of the fields.

    Raises:
        sqlite3.DatabaseError: it is damaged.
    """
    return Held(values[0], path_of(values[1]), *values[2:])


def path_of(stored: bytes | None) -> str:
    """Return a path as it stands in a row.

    Raises:
        sqlite3.DatabaseError: the row is damaged; where a disk has lost what was written, nothing stands there.
    """
    if stored is None:
        raise sqlite3.DatabaseError("a row has no path")
    return os.fsdecode(stored)


def found_marks(words: str) -> Marks | None:
    """Return the marks that a row names, None if it names none."""
    return Marks(frozenset(words.split())) if words else None


def unread_bytes(known: Held | None, file: FoundFile) -> int:
    """Return about how many bytes of a file that changed have to be read."""
    return file.size - known.size if known is not None and file.size > known.size else file.size
