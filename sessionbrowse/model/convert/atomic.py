"""Convert entries of atomic to entries of pi, and back (atomic 0.9.15).

atomic counts only its own compactions: it ignores pi's, so the old history would be in the context again. A compaction
of pi therefore becomes one of atomic's, with the original in its `details`.
"""

from __future__ import annotations

from sessionbrowse.model.convert.carried import (
    Entry,
    based,
    kept_original,
    own_fields,
    unwrapped,
    with_way_back,
    without_added,
    wrapped,
)
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, VERBATIM_STRATEGY


def to_pi(entry: Entry) -> Entry:
    """Convert an entry of atomic to pi's format; return the same object if nothing has to be changed."""
    entry = without_added(entry)
    kept = kept_original(entry, "pi") or _original(entry)
    if kept is not None:
        return kept
    made = _to_pi(entry)
    return entry if made is entry and from_pi(entry) is entry else with_way_back(entry, made, from_pi, "atomic")


def from_pi(entry: Entry) -> Entry:
    """Convert an entry of pi to atomic's format; return the same object if nothing has to be changed."""
    kept = kept_original(entry, "atomic") or unwrapped(entry, "atomic")
    if kept is not None:
        return kept
    if entry.get("type") != "compaction":
        return entry
    first = entry.get("firstKeptEntryId")
    base: Entry = {key: entry[key] for key in ("summary", "tokensBefore") if key in entry}
    return based(
        entry,
        {
            "type": "compaction",
            **base,
            "firstKeptEntryId": None if first == entry.get("id") else first,
            "details": {"strategy": VERBATIM_STRATEGY, "pi": own_fields(entry)},
        },
    )


def _to_pi(entry: Entry) -> Entry:
    kind = entry.get("type")
    if kind in ATOMIC_ONLY_TYPES or (kind == "custom_message" and entry.get("excludeFromContext") is True):
        return wrapped(entry, "atomic")
    if kind != "compaction":
        return entry
    details = entry.get("details")
    if not isinstance(details, dict) or details.get("strategy") != VERBATIM_STRATEGY:
        return wrapped(entry, "atomic")
    return entry if entry.get("firstKeptEntryId") is not None else {**entry, "firstKeptEntryId": entry.get("id")}


def _original(entry: Entry) -> Entry | None:
    details = entry.get("details")
    kept = details.get("pi") if entry.get("type") == "compaction" and isinstance(details, dict) else None
    return based(entry, kept) if isinstance(kept, dict) and kept.get("type") == "compaction" else None
