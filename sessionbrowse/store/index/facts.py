"""Values in the index's table `facts`: a flag for indexed tool calls, the generation number, the next free file id."""

from __future__ import annotations

import sqlite3

from sessionbrowse.store.index.rows import damaged


def has_tools(connection: sqlite3.Connection) -> bool:
    """Return True if the index contains tool calls and results."""
    return fact(connection, "tools") == "1"


def set_tools(connection: sqlite3.Connection, tools: bool) -> None:
    """Store whether the index contains tool calls and results."""
    set_fact(connection, "tools", int(tools))


def generation(connection: sqlite3.Connection) -> int:
    """Return the number that identifies the index. It changes when texts are deleted: rows read earlier are invalid."""
    return _number(connection, "generation", 0)


def begin_generation(connection: sqlite3.Connection) -> None:
    """Change the generation number of the index, so that rows which any process has read before become invalid."""
    set_fact(connection, "generation", generation(connection) + 1)


def next_id(connection: sqlite3.Connection) -> int:
    """Return a file id that was never used; the index may still contain texts of deleted files under old ids."""
    highest = connection.execute("SELECT max(id) FROM files").fetchone()[0] or 0
    return max(_number(connection, "next_id", 1), highest + 1)


def reserve_ids_below(connection: sqlite3.Connection, limit: int) -> None:
    """Reserve all file ids below `limit`, so that no new file gets one of them."""
    if limit > _number(connection, "next_id", 1):
        set_fact(connection, "next_id", limit)


def _number(connection: sqlite3.Connection, name: str, otherwise: int) -> int:
    try:
        return int(fact(connection, name) or otherwise)
    except ValueError as error:
        raise damaged(f"the value of {name} in the index is not a number") from error


def fact(connection: sqlite3.Connection, name: str) -> str | None:
    """Return a stored value, None if there is none."""
    found = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return found[0] if found is not None else None


def set_fact(connection: sqlite3.Connection, name: str, value: int) -> None:
    """Store a value."""
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, str(value)))
