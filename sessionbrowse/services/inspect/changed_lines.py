"""The lines that a call of an edit or write tool adds and removes, as far as its arguments tell."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.entries import ToolCallBlock
from sessionbrowse.format.json_value import Json

CHANGING_TOOLS = frozenset({"edit", "write", "multi_edit", "multiedit", "notebook_edit", "ast_edit"})
_PATH_KEYS = ("path", "file_path", "filePath")
_OLD_KEYS, _NEW_KEYS = ("oldText", "old_string", "old_text"), ("newText", "new_string", "new_text")


class ChangedLines(Struct, frozen=True):
    """Numbers of lines added and removed; None if the arguments do not tell them."""

    added: int | None
    removed: int | None

    def __add__(self, other: ChangedLines) -> ChangedLines:
        """Return the sum; what is not known of one is not known of both."""
        return ChangedLines(_sum(self.added, other.added), _sum(self.removed, other.removed))


NO_LINES, NOT_KNOWN = ChangedLines(0, 0), ChangedLines(None, None)


def changed_files(call: ToolCallBlock) -> dict[str, ChangedLines]:
    """Return the files that a call changes; empty for a tool that changes none.

    A write adds all lines of its content; the lines that it replaces are not in the session. An edit counts the lines
    in which its old and new texts differ, without the equal lines around them.
    """
    arguments = call.arguments
    if call.name not in CHANGING_TOOLS or not isinstance(arguments, dict):
        return {}
    paths = [path for key in _PATH_KEYS if isinstance(path := arguments.get(key), str)]
    return dict.fromkeys(paths, _lines_of(arguments))


def changed_words(path: str, added: int | None, removed: int | None) -> str:
    """Return a path with the numbers of lines added and removed, or with the reason why there are none."""
    if added is None or removed is None:
        return f"{path} (lines not known)"
    if not added and not removed:
        return f"{path} (unchanged)"
    return path + (f" +{added:,}" if added else "") + (f" -{removed:,}" if removed else "")


def _lines_of(arguments: dict[str, Json]) -> ChangedLines:
    content = arguments.get("content")
    if isinstance(content, str):
        return ChangedLines(len(content.splitlines()), 0)
    edits = arguments.get("edits")
    counted = [_lines_of_edit(edit) for edit in (edits if isinstance(edits, list) else [arguments])]
    return sum(counted[1:], counted[0]) if counted else NOT_KNOWN


def _lines_of_edit(edit: Json) -> ChangedLines:
    old, new = (_text(edit, keys) for keys in (_OLD_KEYS, _NEW_KEYS))
    if old is None or new is None:
        return NOT_KNOWN
    before, after = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return ChangedLines(len(after) - start - end, len(before) - start - end)


def _text(edit: Json, keys: tuple[str, ...]) -> str | None:
    if not isinstance(edit, dict):
        return None
    return next((text for key in keys if isinstance(text := edit.get(key), str)), None)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
