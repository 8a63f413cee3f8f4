"""The layout of the tables of paid requests, and the answers that take all files together, such as projects' costs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from sessionbrowse.store.index.rows import opened, sealed

USAGE_TABLES = """
CREATE TABLE usage (
    file INTEGER PRIMARY KEY, identities BLOB NOT NULL, sums BLOB NOT NULL, requests BLOB NOT NULL
);
"""
"""A row for each file, with its requests. Of two rows for one file, that of the main database counts: it is newer."""

SETTLED_TABLES = """
CREATE TABLE settled (name TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
"""
"""Answers that take all files together, all about the same versions of the files."""


def read_settled(connection: sqlite3.Connection, name: str) -> bytes | None:
    """Return a stored answer, None if there is none or it is damaged."""
    row = connection.execute("SELECT packed FROM settled WHERE name = ?", (name,)).fetchone()
    try:
        return bytes(opened(row[0], name)) if row is not None else None
    except (ValueError, TypeError):
        return None


def write_settled(connection: sqlite3.Connection, answers: Iterable[tuple[str, bytes]], *, instead: bool) -> None:
    """Store answers, with `instead` in place of all others; only the process with the index's lock may call it."""
    connection.execute("BEGIN IMMEDIATE")
    if instead:
        connection.execute("DELETE FROM settled")
    rows = [(name, sealed(packed, name)) for name, packed in answers]
    connection.executemany("INSERT OR REPLACE INTO settled VALUES (?, ?)", rows)
    connection.execute("COMMIT")
