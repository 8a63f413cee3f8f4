"""Find an entry again after its session file was read again, because the file may have changed."""

from __future__ import annotations

from sessionbrowse.model.session.session import Session

ENTRY_IS_GONE = "The entry is gone: the session's file was changed meanwhile."


def find_again(session: Session, index: int | None, entry_id: str | None) -> int | None:
    """Return the new index of an entry, given its index and id before the file was read again; None if it is gone."""
    if entry_id is None:
        return index if index is not None and index < len(session.ids) else None
    if index is not None and index < len(session.ids) and session.ids[index] == entry_id:
        return index
    return session.index_by_id.get(entry_id)
