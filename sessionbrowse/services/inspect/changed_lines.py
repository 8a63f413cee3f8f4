"""Numbers of lines that a call of an edit or write tool adds and removes."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.entries import ToolCallBlock, ToolResultMessage
from sessionbrowse.model.edits import WRITTEN_KEYS, edits_of, path_of, written_diff, written_diff_counts

_CHANGING_TOOLS = frozenset({"edit", "write", "multi_edit", "multiedit", "notebook_edit", "ast_edit"})


class ChangedLines(Struct, frozen=True):
    """Numbers of lines added and removed; both are None if the session does not tell them."""

    added: int | None
    removed: int | None

    def __add__(self, other: ChangedLines) -> ChangedLines:
        """Return the sum; it is not known if one of the two is not known."""
        if self.added is None or self.removed is None or other.added is None or other.removed is None:
            return NOT_KNOWN
        return ChangedLines(self.added + other.added, self.removed + other.removed)


NO_LINES, NOT_KNOWN = ChangedLines(0, 0), ChangedLines(None, None)


def changed_file(call: ToolCallBlock) -> str:
    """Return the path of the file that a call changes; empty for a tool that changes none."""
    return path_of(call.arguments) if call.name in _CHANGING_TOOLS else ""


def changed_lines(call: ToolCallBlock, result: ToolResultMessage | None) -> ChangedLines:
    """Return the lines that a call changed; none if its `result` is an error.

    The agent's own diff counts if the result has one. Else a write adds all lines of its content, because the session
    does not hold the lines that it replaces, and an edit counts old and new text without the equal lines around them.
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
    """Return a path with the numbers of lines added and removed, or with the reason why there are none."""
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
