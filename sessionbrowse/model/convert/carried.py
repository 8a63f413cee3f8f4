"""Helpers for converting entries. Data that the target format cannot hold is wrapped, so that it can be restored.

pi's format is the intermediate format: an entry of omp is first converted to pi's format, then to atomic's. An entry
whose type pi does not know becomes a `custom` entry of the type `AGENT.TYPE`, which pi keeps but never sends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Literal

from sessionbrowse.format.json_value import Json
from sessionbrowse.model.session.records import CONVERSION_KEY

Entry = dict[str, Json]
TargetAgent = Literal["pi", "omp", "atomic"]
TARGETS: tuple[TargetAgent, ...] = ("pi", "omp", "atomic")
"""The agents to which a session can be carried."""
ReadImage = Callable[[str], str | None]
"""A function that returns the base64 data of an image that omp stored as `blob:sha256:…`; None if it is missing."""
Rule = Callable[[Entry, ReadImage], Entry]
"""A function that converts an entry; it returns the same object if the entry fits both formats."""
_BASE = ("id", "parentId", "timestamp")


def based(entry: Entry, own: Entry) -> Entry:
    """Return an entry with the id, parent and time of `entry`, and the type and other fields of `own`."""
    kind: Entry = {"type": own["type"]} if "type" in own else {}
    return kind | {key: entry[key] for key in _BASE if key in entry} | own


def own_fields(entry: Entry) -> Entry:
    """Return all fields of an entry but its id, parent and time."""
    return {key: value for key, value in entry.items() if key not in _BASE}


def new_entry(seed: str, parent_id: Json, timestamp: Json, own: Entry) -> Entry:
    """Return a new entry with the fields `own`; equal seeds give equal ids."""
    made = hashlib.sha256(seed.encode("utf-8", "replace")).hexdigest()[:8]
    return based({"id": made, "parentId": parent_id, "timestamp": timestamp}, own)


def text_of(value: Entry, key: str) -> str:
    """Return the text under a key; "" if there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def nearest_outside(above: Mapping[str, Json], entry_id: Json) -> Json:
    """Return an entry's id, or that of its nearest ancestor that is no key of `above`, which maps ids to parents."""
    for _ in above:
        if not isinstance(entry_id, str) or entry_id not in above:
            break
        entry_id = above[entry_id]
    return entry_id


def message_of(entry: Entry) -> Entry:
    """Return the message of an entry; an empty object if it has none."""
    message = entry.get("message")
    return message if entry.get("type") == "message" and isinstance(message, dict) else {}


def wrapped(entry: Entry, agent: str) -> Entry:
    """Wrap an entry of a type that pi does not know into a `custom` entry."""
    own = own_fields(entry)
    kind = own.pop("type")
    return based(entry, {"type": "custom", "customType": f"{agent}.{kind}", "data": {**own, "_type": kind}})


def unwrapped(entry: Entry, agent: str) -> Entry | None:
    """Return the entry that `wrapped` put into a `custom` entry; None for any other entry."""
    data: Json = entry.get("data")
    kind = data.get("_type") if entry.get("type") == "custom" and isinstance(data, dict) else None
    if not isinstance(kind, str) or entry.get("customType") != f"{agent}.{kind}":
        return None
    return based(entry, {"type": kind} | {key: value for key, value in data.items() if key != "_type"})


def marked(entry: Entry, name: str, value: Json) -> Entry:
    """Return an entry with data for converting back: the original by agent, or a `title`'s source."""
    return {**entry, CONVERSION_KEY: {**notes_of(entry), name: value}}


def notes_of(entry: Entry) -> Entry:
    """Return the data for converting back that `marked` stored in an entry."""
    notes = entry.get(CONVERSION_KEY)
    return notes if isinstance(notes, dict) else {}


def kept_original(entry: Entry, agent: str) -> Entry | None:
    """Return the original of an agent that `marked` stored in a converted entry; None if it stored none."""
    kept = notes_of(entry).get(agent)
    return based(entry, kept) if isinstance(kept, dict) else None
