"""The layout of the index's tables of paid requests; a module of its own, because lists need nothing else of them."""

from __future__ import annotations

USAGE_TABLES = """
CREATE TABLE usage (
    file INTEGER PRIMARY KEY, identities BLOB NOT NULL, sums BLOB NOT NULL, requests BLOB NOT NULL
);
"""
"""The requests of files, a row for each; the main database's row wins over that of a shard, as it is newer."""

SETTLED_TABLES = """
CREATE TABLE settled (name TEXT PRIMARY KEY, packed BLOB NOT NULL) WITHOUT ROWID;
"""
"""Answers that take all files together, all about the same versions of the files."""
