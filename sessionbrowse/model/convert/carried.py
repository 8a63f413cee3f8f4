"""Helpers for converting entries. Data that the target format cannot hold is wrapped, so that it can be restored.

pi's format is the intermediate format: an entry of omp is first converted to pi's format, then to atomic's. An entry
whose type pi does not know becomes a `custom` entry of the type `AGENT.TYPE`, which pi keeps but never sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sessionbrowse.format.json_value import Json
from sessionbrowse.model.session.records import CONVERSION_KEY

Entry = dict[str, Json]
TargetAgent = Literal["pi", "omp", "atomic"]
TARGETS: tuple[TargetAgent, ...] = ("pi", "omp", "atomic")
"""The agents to which a session can be carried."""
Carry = Callable[[Entry], Entry]
_BASE = ("id", "parentId", "timestamp")


def based(entry: Entry, own: Entry) -> Entry:
    """Return an entry with the id, parent and time of `entry`, and the type and other fields of `own`."""
    return {"type": own.get("type")} | {key: entry[key] for key in _BASE if key in entry} | own


def own_fields(entry: Entry) -> Entry:
    """Return all fields of an entry but its id, parent and time."""
    return {key: value for key, value in entry.items() if key not in _BASE}


def wrapped(entry: Entry, agent: str) -> Entry:
    """Wrap an entry of a type that pi does not know into a `custom` entry."""
    own = own_fields(entry)
    kind = own.pop("type")
    return based(entry, {"type": "custom", "customType": f"{agent}.{kind}", "data": {**own, "_type": kind}})


def unwrapped(entry: Entry, agent: str) -> Entry | None:
    """Return the entry that `wrapped` put into a `custom` entry; None for any other entry."""
    data = entry.get("data")
    if entry.get("type") != "custom" or not isinstance(data, dict) or not isinstance(data.get("_type"), str):
        return None
    kind = data["_type"]
    if entry.get("customType") != f"{agent}.{kind}":
        return None
    return based(entry, {"type": kind} | {key: value for key, value in data.items() if key != "_type"})


def marked(entry: Entry, name: str, value: Json) -> Entry:
    """Return an entry with data for converting back: `added` paths, the original by agent, or a `title`'s source."""
    return {**entry, CONVERSION_KEY: {**notes_of(entry), name: value}}


def notes_of(entry: Entry) -> Entry:
    """Return the data for converting back that `marked` stored in an entry."""
    notes = entry.get(CONVERSION_KEY)
    return notes if isinstance(notes, dict) else {}


def with_way_back(entry: Entry, made: Entry, back: Carry, agent: str, *, same_as: Entry | None = None) -> Entry:
    """Return the converted entry `made`; if `back` cannot restore `entry` from it, store `entry` in it.

    `same_as` is a second form of the original that also counts as restored.
    """
    came_back = back(made)
    if came_back == entry or (same_as is not None and came_back == same_as):
        return made
    return marked(made, agent, own_fields(entry))


def added_paths(old: Json, new: Json, above: tuple[str, ...] = ()) -> list[list[str]] | None:
    """Return the paths of the keys that `new` has in addition to those of `old`; None if anything else differs."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [] if old == new else None
    if old.keys() - new.keys():
        return None
    found: list[list[str]] = []
    for key, value in new.items():
        below = added_paths(old[key], value, (*above, key)) if key in old else [[*above, key]]
        if below is None:
            return None
        found += below
    return found


def without_added(entry: Entry) -> Entry:
    """Return an entry without the fields that the conversion added, as recorded in its `added` paths."""
    paths = notes_of(entry).get("added")
    if not isinstance(paths, list):
        return entry
    made = {key: value for key, value in entry.items() if key != CONVERSION_KEY}
    for path in paths:
        made = _without(made, path)
    return made


def _without(value: Json, path: Json) -> Json:
    if not isinstance(value, dict) or not isinstance(path, list) or not path or path[0] not in value:
        return value
    rest = {key: member for key, member in value.items() if key != path[0]}
    return rest if len(path) == 1 else {**value, path[0]: _without(value[path[0]], path[1:])}


def kept_original(entry: Entry, agent: str) -> Entry | None:
    """Return the original that `with_way_back` stored in a converted entry; None if it stored none."""
    kept = notes_of(entry).get(agent)
    return based(entry, kept) if isinstance(kept, dict) and isinstance(kept.get("type"), str) else None
