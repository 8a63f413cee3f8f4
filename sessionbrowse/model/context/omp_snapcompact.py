"""The content blocks that omp 18.2.3 sends with a compaction summary: old history as pictures (`snapcompact`)."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.entries import Block, ImageBlock, TextBlock
from sessionbrowse.format.json_value import Json

MAX_PAYLOAD = 3_000_000
"""Maximum total size of the pictures in a request, in base64 characters; omp omits old pictures that do not fit."""

BLOB_PAYLOAD = 170_000
"""Assumed size of a picture in omp's blob store, in base64 characters; this code does not read the blob store."""

_BLOB_PREFIX = "blob:sha256:"
# omp stores a part of the old history as text. In this text, the character `█` stands for a line end, and two control
# characters mark where dim text begins and ends.
_LINE_END = "█"
_INK_SWITCHES = str.maketrans("", "", "\x0e\x0f")
# omp draws old history as images (frames). Frames without the keys `font` and `variant` crashed omp, so it sends none
# of them if they are many or large.
_RISKY_FRAMES = 16
_RISKY_TEXT = 250_000
_RISKY_TRUNCATED = 1_000_000


class _Archive(Struct, frozen=True):
    frames: list[dict[str, Json]]
    head: str
    tail: str
    text: str
    truncated: float


def history_blocks(preserved: Json) -> tuple[Block, ...]:
    """Return the content blocks that omp sends after a compaction's summary, oldest first: text, pictures, text."""
    archive = _read(preserved)
    if archive is None:
        return ()
    middle = _pictures(archive)
    has_pictures = any(isinstance(block, ImageBlock) for block in middle)
    has_gaps = any(isinstance(block, TextBlock) for block in middle)
    texts: list[Block] = []
    if archive.head:
        mark = "\n-------------- imaged middle below\n" if has_pictures else ""
        texts.append(TextBlock(text=_plain(archive.head) + mark))
    texts += middle
    if archive.tail:
        mark = ""
        if has_pictures:
            mark = "-------------- imaged middle above\n"
        elif archive.truncated > 0 or has_gaps:
            mark = "\n-------------- middle history omitted above\n"
        tail = mark + _plain(archive.tail)
        last = texts[-1] if texts else None
        if isinstance(last, TextBlock):
            texts[-1] = TextBlock(text=(last.text or "") + tail)
        else:
            texts.append(TextBlock(text=tail))
    return tuple(texts)


def _read(preserved: Json) -> _Archive | None:
    found = preserved.get("snapcompact") if isinstance(preserved, dict) else None
    if not isinstance(found, dict):
        return None
    frames = found.get("frames")
    truncated = found.get("truncatedChars")
    archive = _Archive(
        frames=[frame for frame in frames if _is_frame(frame)] if isinstance(frames, list) else [],
        head=_word(found.get("textHead")),
        tail=_word(found.get("textTail")),
        text=_word(found.get("text")),
        truncated=truncated if isinstance(truncated, int | float) else 0,
    )
    return archive if archive.frames or archive.head or archive.tail or archive.text else None


def _is_frame(frame: Json) -> bool:
    if not isinstance(frame, dict) or not _word(frame.get("data")) or not isinstance(frame.get("mimeType"), str):
        return False
    sizes = [frame.get(key) for key in ("cols", "rows", "chars")]
    return all(isinstance(size, int | float) and not isinstance(size, bool) for size in sizes)


def _pictures(archive: _Archive) -> list[Block]:
    """Return the newest pictures that fit into a request as blocks; a notice replaces the pictures that do not fit."""
    room = 0 if _is_risky(archive) else MAX_PAYLOAD
    used = 0
    slots: list[ImageBlock | int] = []
    for frame in reversed(archive.frames):
        payload = _payload(frame)
        if used + payload > room:
            slots.append(payload)
            continue
        used += payload
        slots.append(ImageBlock(data=frame["data"], mime_type=frame["mimeType"]))
    blocks: list[Block] = []
    omitted: list[int] = []
    for slot in [*reversed(slots), None]:
        if isinstance(slot, int):
            omitted.append(slot)
            continue
        if omitted:
            blocks.append(TextBlock(text=_notice(len(omitted), sum(omitted))))
            omitted = []
        if slot is not None:
            blocks.append(slot)
    return blocks


def _is_risky(archive: _Archive) -> bool:
    has_old_shape = any(frame.get("font") is None and frame.get("variant") is None for frame in archive.frames)
    many = len(archive.frames) >= _RISKY_FRAMES
    heavy = sum(_payload(frame) for frame in archive.frames) >= MAX_PAYLOAD
    source = archive.text or _LINE_END.join([part for part in (archive.head, archive.tail) if part])
    large = archive.truncated >= _RISKY_TRUNCATED or len(source) >= _RISKY_TEXT
    return has_old_shape and (many or heavy) and (many or large)


def _payload(frame: dict[str, Json]) -> int:
    data: str = frame["data"]
    return BLOB_PAYLOAD if data.startswith(_BLOB_PREFIX) else len(data)


def _notice(count: int, payload: int) -> str:
    frames = f"{count:,} archived image frame{'' if count == 1 else 's'}"
    budget = f" {_size(payload)} of base64 exceeded the per-request snapcompact payload budget." if payload else ""
    return (
        "-------------- snapcompact image middle omitted\n"
        f"{frames} could not be included.{budget} The compacted summary and visible text edges remain available.\n"
        "--------------"
    )


def _size(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f} MB"
    return f"{count / 1000:.1f} KB" if count >= 1000 else f"{count} B"


def _plain(text: str) -> str:
    return text.translate(_INK_SWITCHES).replace(_LINE_END, "\n")


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""
