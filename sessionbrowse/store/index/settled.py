"""Two tables of the index: the model requests of each file, and results computed from all files.

A result is, for example, the cost of each project. It is computed once and stored ("settled") until a file changes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from sessionbrowse.store.index.rows import opened, sealed

USAGE_TABLES = """
CREATE TABLE usage (
    file INTEGER PRIMARY KEY, identities BLOB NOT NULL, sums BLOB NOT NULL, requests BLOB NOT NULL
);
"""
"""SQL that creates the table `usage`: a row with the model requests of each file."""

SETTLED_TABLES = """
CREATE TABLE settled (name TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
"""
"""SQL that creates the table `settled`: results computed from all files, such as the cost of each project."""


def read_settled(connection: sqlite3.Connection, name: str) -> bytes | None:
    """Return the stored result with this name, such as the cost of each project; None if it is missing or damaged."""
    row = connection.execute("SELECT packed FROM settled WHERE name = ?", (name,)).fetchone()
    try:
        return bytes(opened(row[0], name)) if row is not None else None
    except (ValueError, TypeError):
        return None


def write_settled(connection: sqlite3.Connection, answers: Iterable[tuple[str, bytes]], *, instead: bool) -> None:
    """Store named results, such as the cost of each project; with `instead`, delete all results stored before.

    The caller must hold the lock of the index.
    """
    connection.execute("BEGIN IMMEDIATE")
    if instead:
        connection.execute("DELETE FROM settled")
    rows = [(name, sealed(packed, name)) for name, packed in answers]
    connection.executemany("INSERT OR REPLACE INTO settled VALUES (?, ?)", rows)
    connection.execute("COMMIT")
