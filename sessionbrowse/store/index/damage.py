"""Look for damage in an index, and begin a damaged one anew."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from sessionbrowse.store.index.index import Index, Note
from sessionbrowse.store.index.read_state import State
from sessionbrowse.store.index.rows import FileRow, damaged, opened, read_rows
from sessionbrowse.store.index.schema import TEXT_TABLES, IndexUnavailable, begin_anew, locked
from sessionbrowse.store.index.text_rows import read_row_entries, read_runs


def check_index(index: Index) -> None:
    """Check all rows and word lists of the database; shards were compared with their digests when it was opened.

    Raises:
        IndexBusy: another process writes the index now.
        IndexUnavailable: it cannot be locked.
        sqlite3.Error: the index is damaged.
    """
    with locked(index.directory):
        try:
            for table in TEXT_TABLES:
                for run in read_runs(index.connection, table):
                    read_row_entries(index.connection, table, run)
            for row in read_rows(index.connection):
                _check_entries(index, row)
        except ValueError as error:
            raise damaged(str(error)) from error
        for table in TEXT_TABLES:
            index.connection.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")


def discard_index(index: Index, error: Exception, note: Note) -> None:
    """Begin a damaged index anew: delete it and make an empty one, which the next update fills."""
    note(f"The index {index.directory} is damaged ({error}): it was deleted and will be built anew.")
    with suppress(IndexUnavailable, OSError), locked(index.directory):
        begin_anew(index.directory)


def _check_entries(index: Index, row: FileRow) -> None:
    state = index.state(row)
    if state is not None and not row.shard:
        index.entry_parts(row)
        offsets = index.places(row).offsets
        last = msgspec.msgpack.decode(opened(state, row.path), type=State).last
        if (offsets[-1] if len(offsets) else 0) != last:
            raise ValueError("entries are missing")
