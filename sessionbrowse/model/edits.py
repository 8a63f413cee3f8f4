"""Read the file edits of a tool call: paths, old and new texts, the diffs that the agent stored, their line counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sessionbrowse.format.entries import ToolResultMessage
from sessionbrowse.format.json_value import Json

EDIT_KEYS = (("oldText", "newText"), ("old_string", "new_string"), ("old_text", "new_text"))
WRITTEN_KEYS = ("content", "file_text")
_PATH_KEYS = ("path", "file_path", "filePath")
_SECTION = re.compile(
    r"^(?:\[(.+)#[0-9A-Fa-f]{4}\]|\*\*\* (?:(?:Add|Update|Delete) File: |Move to: |SM:EDIT )(.+?)(?: all)?)[ \t]*$",
    re.M,
)
"""The lines before the changes of a file in the `input` of omp's edit tool (modes hashline, apply_patch and sloppy)."""


def path_of(arguments: Any) -> str:
    """Return the first file path in the arguments of a tool call; "" if they contain no path."""
    return next(iter(paths_of(arguments)), "")


def paths_of(arguments: Any) -> list[str]:
    """Return the file paths in the arguments of a tool call: its path, or all paths in its patch."""
    if not isinstance(arguments, dict):
        return []
    given = next((value for key in _PATH_KEYS if isinstance(value := arguments.get(key), str)), None)
    if given is not None:
        return [given]
    patch = arguments.get("input")
    found = _SECTION.findall(patch) if isinstance(patch, str) else []
    return list(dict.fromkeys((tagged or named).strip('"') for tagged, named in found))


def reported_changes(result: ToolResultMessage | None) -> list[tuple[str, str | None]]:
    """Return the files that a tool's result says it changed, each with its diff or None.

    Only omp stores them, in the result's details. A moved file is listed with its old and its new path.
    """
    details = _object(result.details if result is not None else None)
    # If a write called another tool (`xd://…`), this is that tool's result.
    inner = _object(_object(details.get("xdev")).get("inner"))
    layers = (details, inner, _object(details.get("sourceResultDetails")), _object(inner.get("sourceResultDetails")))
    return [change for layer in layers for change in _changes(layer)]


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _changes(details: dict[str, Json]) -> Iterator[tuple[str, str | None]]:
    for key in ("perFileResults", "fileReplacements") if details.get("applied") is not False else ():
        listed = details.get(key)
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and one.get("isError") is not True:
                yield from _change(one)
    if "diff" in details:
        yield from _change(details)


def _change(one: dict[str, Json]) -> Iterator[tuple[str, str | None]]:
    moved, path, diff = one.get("sourcePath"), one.get("path"), one.get("diff")
    if isinstance(moved, str) and moved:
        yield moved, None
    if isinstance(path, str) and path:
        yield path, diff if isinstance(diff, str) else None


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
