"""omp's title slot: the first line of a file, always 256 bytes, which contains the session's name (omp 16.3 … 18)."""

from __future__ import annotations

from typing import Literal

from sessionbrowse.format.codec import from_json
from sessionbrowse.format.entries import TitleSlot
from sessionbrowse.format.json_value import Json, json_line, json_object

SLOT_BYTES = 256
"""Size in bytes of omp's title slot, the first line of a file, in UTF-8 and with its newline."""

Source = Literal["auto", "user"]


def slot_line(title: str, source: Source | None, updated_at: str) -> bytes:
    """Return the 256 bytes of a title slot with this title.

    `source` tells whether the user or omp ("auto") chose the title; None if unknown. A title of more than 158 bytes
    (174 if `source` is None) is cut after a whole code point.
    """
    fits, too_long = 0, len(title) + 1
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if len(_line(title[:middle], source, updated_at, "")) <= SLOT_BYTES:
            fits = middle
        else:
            too_long = middle
    pad = " " * (SLOT_BYTES - len(_line(title[:fits], source, updated_at, "")))
    return _line(title[:fits], source, updated_at, pad)


def later_slot(slot: TitleSlot, title: object, source: object, timestamp: object) -> bytes | None:
    """Return the bytes of a newer title slot, made from the file's `title_change` entry; None if `slot` is up to date.

    omp first appends the entry and then overwrites the slot, so a crash between these steps leaves the older name.
    """
    if not (isinstance(title, str) and isinstance(timestamp, str)) or timestamp <= (slot.updated_at or ""):
        return None
    line = slot_line(title, "user" if source == "user" else "auto", timestamp)
    written = parse_slot(line)
    return line if written is not None and written.title != slot.title else None


def parse_slot(first_bytes: bytes) -> TitleSlot | None:
    """Return the title slot at the beginning of a file; None if omp would not accept the first 256 bytes as a slot."""
    line = first_bytes[:SLOT_BYTES]
    if len(line) != SLOT_BYTES or line.find(b"\n") != SLOT_BYTES - 1:
        return None
    value = json_object(line)
    slot = from_json(value) if value is not None and is_slot(value) else None
    return slot if isinstance(slot, TitleSlot) else None


def has_slot_size(line: bytes) -> bool:
    """Return True if a title slot's line, with or without its newline, has the fixed size that omp overwrites."""
    return len(line.rstrip(b"\r\n")) == SLOT_BYTES - 1


def resized(line: bytes) -> bytes:
    """Return a title slot's line, without its newline, padded or cut to omp's size."""
    value = json_object(line) or {}
    source: Source | None = "user" if value.get("source") == "user" else "auto" if "source" in value else None
    return slot_line(str(value.get("title")), source, str(value.get("updatedAt")))[:-1]


def is_slot(value: dict[str, Json]) -> bool:
    """Return True if omp accepts a JSON object as a title slot."""
    return (
        (value.get("type"), value.get("v")) == ("title", 1)
        and all(isinstance(value.get(key), str) for key in ("title", "updatedAt", "pad"))
        and value.get("source", "auto") in ("auto", "user")
    )


def _line(title: str, source: Source | None, updated_at: str, pad: str) -> bytes:
    slot = {"type": "title", "v": 1, "title": title}
    if source is not None:
        slot["source"] = source
    return json_line(slot | {"updatedAt": updated_at, "pad": pad})
