"""Check an index for damage, and replace a damaged index with an empty one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from sessionbrowse.store.index.collector import State
from sessionbrowse.store.index.index import Index, Note
from sessionbrowse.store.index.rows import FileRow, damaged, opened, read_rows
from sessionbrowse.store.index.schema import IndexUnavailable, begin_anew, is_damage, locked
from sessionbrowse.store.index.texts import check
from sessionbrowse.store.index.usage_tables import check_requests, read_sums


def check_index(index: Index) -> None:
    """Check all rows and texts of an index.

    Raises:
        IndexBusy: another process is writing the index now.
        IndexUnavailable: the lock file cannot be opened.
        sqlite3.Error: the index is damaged.
    """
    with locked(index.directory):
        try:
            check(index.directory, index.connection, thorough=True)
            rows = read_rows(index.connection)
            for row in rows:
                _check_entries(index, row)
            _check_usage(index, rows)
        except ValueError as error:
            raise damaged(str(error)) from error


def discard_index(index: Index, error: Exception, note: Note) -> None:
    """Replace a damaged index with an empty one, which the next update fills; report the damage to `note`."""
    note(f"The index {index.directory} is damaged ({error}): it was deleted and will be built anew.")
    with suppress(IndexUnavailable, OSError), locked(index.directory):
        begin_anew(index.directory)


def discard_if_damaged(index: Index, note: Note) -> None:
    """Replace the index with an empty one if model requests in it are damaged or missing.

    Nothing happens while another process is writing the index.
    """
    try:
        # Without the lock, model requests that another process is replacing right now would look damaged.
        with locked(index.directory):
            try:
                _check_usage(index, read_rows(index.connection))
            except ValueError as error:
                raise damaged(str(error)) from error
    except IndexUnavailable:
        return
    except sqlite3.Error as error:
        if is_damage(error):
            discard_index(index, error, note)


def _check_usage(index: Index, rows: Sequence[FileRow]) -> None:
    by_id = {row.row: row for row in rows}
    if sum(1 for _ in read_sums(index.connection, by_id)) != len(by_id):
        raise ValueError("model requests are missing in the index")
    check_requests(index.connection, by_id)


def _check_entries(index: Index, row: FileRow) -> None:
    state = index.state(row)
    if state is not None:
        index.entry_parts(row)
        offsets = index.places(row).offsets
        last = msgspec.msgpack.decode(opened(state, row.path), type=State).last
        if (offsets[-1] if len(offsets) else 0) != last:
            raise ValueError("entries are missing")
