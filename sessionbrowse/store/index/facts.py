"""Values of the whole index, and stored results that were computed from all files, such as the cost of each project.

The table `facts` has one row: a flag for indexed tool calls, the generation, and the next free file id. The table
`settled` has the results; they are deleted when a file changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from sessionbrowse.store.index.rows import damaged, pack, unpack

_decode = msgspec.msgpack.Decoder(bytes).decode


def has_tools(connection: sqlite3.Connection) -> bool:
    """Return True if the index contains tool calls and results."""
    return _number(connection, "tools") == 1


def set_tools(connection: sqlite3.Connection, tools: bool) -> None:
    """Store whether the index contains tool calls and results."""
    connection.execute("UPDATE facts SET tools = ?", (int(tools),))


def generation(connection: sqlite3.Connection) -> int:
    """Return the number that identifies the index. It changes when texts are deleted: rows read earlier are invalid."""
    return _number(connection, "generation")


def begin_generation(connection: sqlite3.Connection) -> None:
    """Change the generation number of the index, so that rows which any process has read before become invalid."""
    connection.execute("UPDATE facts SET generation = generation + 1")


def take_ids(connection: sqlite3.Connection, count: int) -> int:
    """Reserve `count` consecutive file ids and return the first; no id is ever used twice."""
    first = _number(connection, "next_id")
    connection.execute("UPDATE facts SET next_id = ?", (first + count,))
    return first


def read_settled(connection: sqlite3.Connection, name: str) -> bytes | None:
    """Return the stored result with this name, such as the cost of each project; None if it is missing or damaged."""
    with suppress(sqlite3.DatabaseError):
        row = connection.execute("SELECT packed FROM settled WHERE name = ?", (name,)).fetchone()
        return unpack(row[0], _decode) if row is not None else None
    return None


def write_settled(connection: sqlite3.Connection, answers: Iterable[tuple[str, bytes]], *, instead: bool) -> None:
    """Store named results, such as the cost of each project; with `instead`, delete all results stored before.

    The caller must hold the lock of the index.
    """
    connection.execute("BEGIN IMMEDIATE")
    if instead:
        connection.execute("DELETE FROM settled")
    rows = [(name, pack(packed)) for name, packed in answers]
    connection.executemany("INSERT OR REPLACE INTO settled VALUES (?, ?)", rows)
    connection.execute("COMMIT")


def _number(connection: sqlite3.Connection, name: str) -> int:
    found = connection.execute(f"SELECT {name} FROM facts").fetchone()
    if found is None or not isinstance(found[0], int):
        raise damaged(f"the value of {name} in the index is not a number")
    return found[0]
