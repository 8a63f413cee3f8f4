"""Check an index for damage, and replace a damaged index with an empty one."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from sessionbrowse.store.index.index import Index, Note
from sessionbrowse.store.index.rows import damaged
from sessionbrowse.store.index.schema import IndexUnavailable, begin_anew, is_damage, locked
from sessionbrowse.store.index.texts import check
from sessionbrowse.store.index.usage_tables import read_sums, read_usage


def check_index(index: Index) -> None:
    """Check all rows and texts of an index.

    Raises:
        IndexBusy: another process is writing the index now.
        IndexUnavailable: the lock file cannot be opened.
        sqlite3.Error: the index is damaged.
    """
    with locked(index.directory):
        check(index.directory, index.connection, thorough=True)
        rows = {row.row: row for row in index.rows()}
        for row in rows.values():
            index.state(row)
            index.entries(row)
            read_usage(index.connection, row)
        if sum(1 for _ in read_sums(index.connection, rows)) != len(rows):
            raise damaged("model requests are missing in the index")


def discard_index(index: Index, error: Exception, note: Note) -> None:
    """Replace a damaged index with an empty one, which the next update fills; report the damage to `note`."""
    note(f"The index {index.directory} is damaged ({error}): it was deleted and will be built anew.")
    with suppress(IndexUnavailable, OSError), locked(index.directory):
        begin_anew(index.directory)


def discard_if_damaged(index: Index, note: Note) -> None:
    """Replace the index with an empty one if it is damaged; do nothing while another process is writing it."""
    try:
        check_index(index)
    except IndexUnavailable:
        return
    except sqlite3.Error as error:
        if is_damage(error):
            discard_index(index, error, note)
