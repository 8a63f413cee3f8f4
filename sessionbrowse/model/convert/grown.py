"""Compare a conversion with the session that an earlier conversion made, to find the entries to add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from sessionbrowse.format.json_value import Json, json_line, json_object
from sessionbrowse.model.convert import omp
from sessionbrowse.model.convert.carried import (
    Entry,
    ReadImage,
    marked,
    message_of,
    nearest_outside,
    new_entry,
    own_fields,
    text_of,
)

State = Literal["same", "grown", "went on", "changed"]
_NO_NAME = {("session_info", ""): marked({"type": "session_info", "name": ""}, "title", None)}
_SETTINGS = frozenset({"model_change", "thinking_level_change", "service_tier_change", "mode_change"})
_NAMES = frozenset({"session_info", "title_change", "label", "session_summary"})
_QUIET = _SETTINGS | _NAMES | {"custom", "usage", "model_usage", "credential_pin"}
"""Types of entries that an agent or a user adds to a session without continuing its conversation."""


class Grown(Struct, frozen=True):
    """The difference between the session made by an earlier conversion and its source now, with the lines to add.

    `longer` is the complete line of an answer that was unfinished at the earlier conversion; it replaces the shorter
    line.
    """

    state: State
    lines: tuple[bytes, ...] = ()
    longer: bytes | None = None


def growth(lines: Sequence[bytes], made_lines: Sequence[bytes], read_image: ReadImage) -> Grown:
    """Compare the lines of a conversion with the entries of the session made before.

    "same": nothing is to be added. "grown": lines are to be added. "went on": the made session was continued, so
    nothing can be added. "changed": the source's old entries changed, so nothing can be added. `read_image` reads
    images that omp has moved into its blob store meanwhile.
    """
    given = [(raw, value) for raw in lines if (value := json_object(raw)) is not None]
    made = [value for raw in made_lines if (value := json_object(raw)) is not None]
    wanted = given[:-1] if given and omp.is_name_line(given[-1][1]) else given
    ids = {text_of(value, "id") for _, value in wanted}
    ours, others = [[one for one in made if (text_of(one, "id") in ids) is is_ours] for is_ours in (True, False)]
    above = {text_of(one, "id"): one.get("parentId") for one in others}
    known = {text_of(one, "id") for one in ours}
    new = [(raw, value) for raw, value in wanted if text_of(value, "id") not in known]
    since = [one for one in others if not omp.is_name_line(one)]
    pairs = [(one, value) for one, (_, value) in zip(ours, wanted, strict=False)]
    other = [pair for pair in pairs if not _is_same(*pair, above, read_image)]
    longer = None
    answers = [pair for pair in pairs if message_of(pair[1]).get("role") == "assistant"]
    if other and other == answers[-1:] and _is_longer(*other[0]):
        longer, other = json_line({**other[0][1], "parentId": other[0][0].get("parentId")}), []
    after = [*made, *(value for _, value in new)]
    # The name and the labels that the user set in the made session stay in force, before those of the source.
    said, marks = _marks(after), _NO_NAME | _marks([value for _, value in given]) | _own_marks(made, ids)
    again = [one for key, one in marks.items() if _text(one) != _text(said.get(key, {}))]
    went_on = any(text_of(one, "type") not in _QUIET for one in since)
    if went_on or other or len(ours) + len(new) != len(wanted):
        is_quiet = not other and longer is None and all(text_of(value, "type") in _QUIET for _, value in new)
        return Grown("same" if is_quiet else "went on" if went_on else "changed")
    if not new and not again and longer is None:
        return Grown("same")
    added = [raw for raw, _ in new]
    last, leaf = (of[-1].get("id") if of else None for of in (made, ours))
    # The first child of the old leaf becomes a child of the last line, as if the agent had gone on itself; unless the
    # user has checked out another entry since.
    first = next((at for at, (_, value) in enumerate(new) if value.get("parentId") == leaf != last), None)
    if first is not None and nearest_outside(above, last) == leaf:
        added[first] = json_line({**new[first][1], "parentId": last})
    for number, one in enumerate(again):
        end = after[-1]
        seed = f"{len(made)}\0{number}\0{end.get('id')}"
        after.append(new_entry(seed, end.get("id"), end.get("timestamp"), own_fields(one)))
        added.append(json_line(after[-1]))
    return Grown("grown", tuple(added), longer)


def _marks(entries: Sequence[Entry]) -> dict[tuple[str, str], Entry]:
    """Return the last entry that names a session, and the last label of each entry."""
    kinds = ("session_info", "label")
    return {(kind, text_of(one, "targetId")): one for one in entries if (kind := text_of(one, "type")) in kinds}


def _own_marks(made: Sequence[Entry], ids: set[str]) -> dict[tuple[str, str], Entry]:
    """Return the name and the labels that the user set in the made session.

    A name or label that the user set back to that of the conversion is left out: it follows the source again.
    """
    gave: dict[tuple[str, str], Entry] = {}
    own: dict[tuple[str, str], Entry] = {}
    for key, one in [(key, mark) for mark in made for key in _marks([mark])]:
        if text_of(one, "id") in ids or omp.is_name_line(one):
            gave[key] = one
        elif _text(one) != _text(gave.get(key, {})):
            own[key] = one
        else:
            own.pop(key, None)
    return own


def _text(mark: Entry) -> str:
    return text_of(mark, "name" if mark.get("type") == "session_info" else "label")


def _is_longer(older: Entry, entry: Entry) -> bool:
    """Return True if an answer has all content of its older version, and more."""
    contents: list[Json] = [message_of(one).get("content") for one in (older, entry)]
    then, now = contents
    is_list = isinstance(then, list) and isinstance(now, list)
    return is_list and older.get("id") == entry.get("id") and now[: len(then)] == then


def _is_same(one: Entry, expected: Entry, above: dict[str, Json], read_image: ReadImage) -> bool:
    made = {**one, "parentId": nearest_outside(above, one.get("parentId"))}
    wanted = {**expected, "parentId": expected.get("parentId")}
    return made == wanted or omp.with_images(made, read_image) == omp.with_images(wanted, read_image)
