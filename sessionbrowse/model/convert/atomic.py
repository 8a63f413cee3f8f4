"""Convert entries of atomic to entries of pi, and back (atomic 0.9.15).

atomic counts only its own compactions: it ignores pi's, so the old history would be in the context again. A compaction
of pi therefore becomes one of atomic's, with the original in its `details`.
"""

from __future__ import annotations

from sessionbrowse.model.convert.carried import Entry, ReadImage, based, own_fields, text_of, unwrapped, wrapped
from sessionbrowse.model.session.rules import ATOMIC_ONLY_TYPES, VERBATIM_STRATEGY


def to_pi(entry: Entry, _: ReadImage) -> Entry:
    """Convert an entry of atomic to pi's format."""
    kind, details = text_of(entry, "type"), entry.get("details")
    if kind in ATOMIC_ONLY_TYPES or (kind == "custom_message" and entry.get("excludeFromContext") is True):
        return wrapped(entry, "atomic")
    if kind != "compaction":
        return entry
    if not isinstance(details, dict) or details.get("strategy") != VERBATIM_STRATEGY:
        return wrapped(entry, "atomic")
    original = details.get("pi")
    if isinstance(original, dict) and original.get("type") == "compaction":
        return based(entry, original)
    return entry if entry.get("firstKeptEntryId") is not None else {**entry, "firstKeptEntryId": entry.get("id")}


def from_pi(entry: Entry, _: ReadImage) -> Entry:
    """Convert an entry of pi to atomic's format."""
    if entry.get("type") != "compaction":
        return unwrapped(entry, "atomic") or entry
    first = entry.get("firstKeptEntryId")
    kept: Entry = {key: entry[key] for key in ("type", "summary", "tokensBefore") if key in entry}
    details = {"strategy": VERBATIM_STRATEGY, "pi": own_fields(entry)}
    return based(entry, {**kept, "firstKeptEntryId": None if first == entry.get("id") else first, "details": details})
