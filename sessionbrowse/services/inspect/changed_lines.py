"""Compute the numbers of lines that a tool call adds to and removes from files (edit and write tools)."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.entries import ToolCallBlock, ToolResultMessage
from sessionbrowse.model.edits import (
    WRITTEN_KEYS,
    edits_of,
    paths_of,
    reported_changes,
    written_diff,
    written_diff_counts,
)

_CHANGING_TOOLS = frozenset({"edit", "write", "multi_edit", "multiedit", "notebook_edit", "ast_edit", "apply_patch"})
_TOOL_SCHEME = "xd://"
"""The beginning of a path that omp writes to in order to call another tool."""


class ChangedLines(Struct, frozen=True):
    """Numbers of lines added and removed; both are None if the session file does not contain them."""

    added: int | None
    removed: int | None

    def __add__(self, other: ChangedLines) -> ChangedLines:
        """Return the sum of two changes; the sum is unknown (None) if one of them is unknown."""
        if self.added is None or self.removed is None or other.added is None or other.removed is None:
            return NOT_KNOWN
        return ChangedLines(self.added + other.added, self.removed + other.removed)


NO_LINES, NOT_KNOWN = ChangedLines(0, 0), ChangedLines(None, None)


def changed_files(call: ToolCallBlock, result: ToolResultMessage | None) -> list[tuple[str, ChangedLines]]:
    """Return the files that a tool call changed, with their lines; an empty list for a tool that changes no file.

    omp's result names the files and their diffs. Otherwise the paths are those in the call's arguments.
    """
    reported = reported_changes(result)
    if reported:
        return [
            (path, NOT_KNOWN if diff is None else ChangedLines(*written_diff_counts(diff))) for path, diff in reported
        ]
    paths = paths_of(call.arguments) if call.name in _CHANGING_TOOLS else []
    lines = _changed_lines(call, result)
    if len(paths) > 1 and lines != NO_LINES:
        lines = NOT_KNOWN
    return [(path, lines) for path in paths if path and not path.startswith(_TOOL_SCHEME)]


def _changed_lines(call: ToolCallBlock, result: ToolResultMessage | None) -> ChangedLines:
    """Return the numbers of lines that a tool call added and removed; both are 0 if its `result` is an error.

    The numbers come from the diff in the result, if there is one. Otherwise a write counts all lines of its content as
    added, because the session does not contain the replaced lines. An edit counts the lines of its old and new text,
    without equal lines at the beginning and at the end.
    """
    if result is not None and result.is_error is True:
        return NO_LINES
    diff = written_diff(result)
    if diff is not None:
        return ChangedLines(*written_diff_counts(diff))
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    written = next((value for key in WRITTEN_KEYS if isinstance(value := arguments.get(key), str)), None)
    if written is not None:
        return ChangedLines(len(written.splitlines()), 0)
    counted = [_lines_of_edit(old, new) for old, new in edits_of(arguments)]
    return sum(counted, NO_LINES) if counted else NOT_KNOWN


def changed_words(path: str, added: int | None, removed: int | None) -> str:
    """Return a text such as `a.py +3 -1`: a path with the numbers of lines added and removed, or why there are none."""
    if added is None or removed is None:
        return f"{path} (lines not known)"
    if not added and not removed:
        return f"{path} (unchanged)"
    return path + (f" +{added:,}" if added else "") + (f" -{removed:,}" if removed else "")


def _lines_of_edit(old: str, new: str) -> ChangedLines:
    before, after = old.splitlines(), new.splitlines()
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    return ChangedLines(len(after) - start - end, len(before) - start - end)
