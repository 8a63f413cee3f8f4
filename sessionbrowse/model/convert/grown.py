"""Compare a conversion with the session that an earlier conversion made, to find the entries to add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from sessionbrowse.format.json_value import json_line, json_object
from sessionbrowse.model.convert import omp
from sessionbrowse.model.convert.carried import Entry
from sessionbrowse.model.convert.omp import ReadImage

State = Literal["same", "grown", "went on", "changed"]
_NAMES = frozenset({"session_info", "title_change"})
_SETTINGS = frozenset({"model_change", "thinking_level_change", "service_tier_change", "mode_change"})
_QUIET = _NAMES | _SETTINGS | {"label", "custom", "usage", "model_usage", "credential_pin", "session_summary"}
"""Types of entries that an agent or a user adds to a session without continuing its conversation."""


class Grown(Struct, frozen=True):
    """The difference between the session made by an earlier conversion and its source now, with the lines to add.

    `renamed` is True if the user has named the made session since; it keeps that name. `longer` is the complete line of
    an answer that was unfinished at the earlier conversion; it replaces the shorter line.
    """

    state: State
    lines: tuple[bytes, ...] = ()
    renamed: bool = False
    longer: bytes | None = None


def growth(lines: Sequence[bytes], made_lines: Sequence[bytes], read_image: ReadImage) -> Grown:
    """Compare the lines of a conversion with the entries of the session made before.

    "same": nothing is to be added. "grown": lines are to be added. "went on": the made session was continued, so
    nothing can be added. "changed": the source's old entries changed, so nothing can be added. `read_image` reads
    images that omp has moved into its blob store meanwhile.
    """
    given = [(raw, value) for raw in lines if (value := json_object(raw)) is not None]
    wanted = [(raw, value) for raw, value in given if not omp.is_name_line(value)]
    ids = {value.get("id") for _, value in wanted}
    made = [value for raw in made_lines if (value := json_object(raw)) is not None]
    others = [one for one in made if one.get("id") not in ids or omp.is_name_line(one)]
    ours = [one for one in made if one.get("id") in ids and not omp.is_name_line(one)]
    since = [one for one in others if not omp.is_name_line(one)]
    above = {one.get("id"): one.get("parentId") for one in others}
    known = {one.get("id") for one in ours}
    new = [(raw, value) for raw, value in wanted if value.get("id") not in known]
    names = [one for one in since if one.get("type") in _NAMES]
    name = next((value for _, value in given if omp.is_name_line(value)), None)
    if name is not None and (names or name.get("id") in above):
        name = None
    if any(value.get("type") == "session_info" for _, value in new) and names[-1:]:
        # The made session keeps the name that the user gave it.
        name = omp.name_line(str(names[-1].get("name") or ""), None, None, names[-1].get("timestamp"), str(len(made)))
    went_on = any(one.get("type") not in _QUIET for one in since)
    pairs = list(zip(ours, wanted, strict=False))
    other = [pair for pair in pairs if not _is_same(pair[0], pair[1][1], above, read_image)]
    answers = [pair for pair in pairs if _role(pair[1][1]) == "assistant"]
    longer = None
    if other and other == answers[-1:] and _is_longer(other[0][1][1], other[0][0]):
        longer, other = json_line({**other[0][1][1], "parentId": other[0][0].get("parentId")}), []
    is_beginning = len(ours) + len(new) == len(wanted) and not other
    if not new and name is None and longer is None:
        return Grown("same")
    if went_on or not is_beginning:
        is_quiet = all(value.get("type") in _QUIET for _, value in new)
        return Grown("same" if is_quiet else "went on" if went_on else "changed")
    appended = _appended(new, ours, made)
    if name is not None:
        last = new[-1][1] if new else made[-1]
        appended.append(json_line({**name, "parentId": last.get("id")}))
    return Grown("grown", tuple(appended), bool(names), longer)


def _role(entry: Entry) -> object:
    message = entry.get("message")
    return message.get("role") if isinstance(message, dict) else None


def _is_longer(entry: Entry, older: Entry) -> bool:
    """Return True if an answer has all content of its older version, and more."""
    now, then = entry["message"].get("content"), (older.get("message") or {}).get("content")
    if entry.get("id") != older.get("id") or not isinstance(now, list) or not isinstance(then, list):
        return False
    return now[: len(then)] == then


def _is_same(one: Entry, expected: Entry, above: dict[object, object], read_image: ReadImage) -> bool:
    parent = one.get("parentId")
    for _ in range(len(above)):
        if parent == expected.get("parentId") or parent not in above:
            break
        parent = above[parent]
    return omp.inlined({**one, "parentId": parent}, read_image) == expected


def _appended(new: Sequence[tuple[bytes, Entry]], ours: Sequence[Entry], made: Sequence[Entry]) -> list[bytes]:
    """Return the lines to append; the first child of the old leaf becomes a child of the last line, as agents do."""
    leaf = ours[-1].get("id") if ours else None
    last = made[-1].get("id") if made else None
    lines = [raw for raw, _ in new]
    for at, (_, value) in enumerate(new):
        if value.get("parentId") == leaf and leaf != last:
            lines[at] = json_line({**value, "parentId": last})
            break
    return lines
