"""Helpers for the demo's files: write files, convert entries to pi's format version 1, make an image."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def write(path: Path, lines: Iterable[bytes], time_ms: int) -> None:
    """Write a file with its parent folders, and set its modification time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    os.utime(path, (time_ms / 1000, time_ms / 1000))


def as_v1(entry: Json, entries: Sequence[Json]) -> Json:
    """Return an entry in pi's format version 1: without ids; a compaction names its first kept entry by line number."""
    v1 = {key: value for key, value in entry.items() if key not in ("id", "parentId", "firstKeptEntryId")}
    if "firstKeptEntryId" in entry:
        ids = [other["id"] for other in entries]
        v1["firstKeptEntryIndex"] = ids.index(entry["firstKeptEntryId"]) + 1  # Line 0 of the file is the header.
    return v1


def picture(width: int = 32, height: int = 20) -> str:
    """Return a small PNG image in base64, uncompressed, so that every zlib version gives the same bytes."""
    rows = b"".join(
        b"\0" + bytes(value for x in range(width) for value in (40 + 5 * x, 90 + 4 * y, 160)) for y in range(height)
    )

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    size = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")
    return base64.b64encode(png).decode()
