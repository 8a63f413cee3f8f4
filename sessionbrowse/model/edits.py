"""Read the file edits of a tool call: path, old and new texts, the diff that the agent stored, and its line counts."""

from __future__ import annotations

from typing import Any

from sessionbrowse.format.entries import ToolResultMessage

EDIT_KEYS = (("oldText", "newText"), ("old_string", "new_string"), ("old_text", "new_text"))
WRITTEN_KEYS = ("content", "file_text")
_PATH_KEYS = ("path", "file_path", "filePath")


def path_of(arguments: Any) -> str:
    """Return the file path in the arguments of a tool call; "" if they contain no path."""
    if not isinstance(arguments, dict):
        return ""
    return next((value for key in _PATH_KEYS if isinstance(value := arguments.get(key), str)), "")


def edits_of(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the pairs of old and new text in the arguments of an edit tool; an empty list for other arguments."""
    pairs: list[tuple[str, str]] = []
    listed = arguments.get("edits")
    for edit in listed if isinstance(listed, list) else [arguments]:
        if not isinstance(edit, dict):
            return []
        for old_key, new_key in EDIT_KEYS:
            old, new = edit.get(old_key), edit.get(new_key, "" if old_key in edit else None)
            if isinstance(old, str) and isinstance(new, str):
                pairs.append((old, new))
                break
        else:
            return []
    return pairs


def written_diff(result: ToolResultMessage | None) -> str | None:
    """Return the diff that an edit tool stored in the details of its result; None if there is no diff."""
    details = result.details if result is not None else None
    diff = details.get("diff") if isinstance(details, dict) else None
    return diff if isinstance(diff, str) and diff.strip() else None


def written_diff_counts(diff: str) -> tuple[int, int]:
    """Return the numbers of added and removed lines in a diff that an edit tool stored."""
    lines = diff.split("\n")
    added = sum([line.startswith("+") and not line.startswith("+++") for line in lines])
    removed = sum([line.startswith("-") and not line.startswith("---") for line in lines])
    return added, removed
