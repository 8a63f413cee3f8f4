"""Hints that follow an error message: the command or option that helps the user."""

from __future__ import annotations

from sessionbrowse.errors import EmptyText, NeedsRepair, NoSuchEntry, NoSuchSession, SessionBrowseError

_HINTS: dict[type[SessionBrowseError], str] = {
    NoSuchSession: "`sessionbrowse list` shows the sessions.",
    NoSuchEntry: "`sessionbrowse tree --ids` shows a session's entries, `sessionbrowse labels` all labels.",
    EmptyText: "--clear takes it away.",
    NeedsRepair: "`sessionbrowse doctor REF --repair-to FILE` writes a repaired copy, `--in-place` repairs it.",
}


def with_hint(error: SessionBrowseError) -> str:
    """Return an error's sentence, followed by the hint for this type of error if there is one."""
    hint = _HINTS.get(type(error))
    return error.sentence if hint is None else f"{error.sentence} {hint}"
