"""Images in documents: one row of text with type, width, height and size instead of the picture."""

from __future__ import annotations

import base64
import binascii
import struct

from sessionbrowse import text
from sessionbrowse.text import clean
from sessionbrowse.tui.layout.parts import RowPart
from sessionbrowse.tui.paint.spans import Line, fit

HEAD_CHARACTERS = 96 * 1024
"""Number of base64 characters of an image that are searched for its width and height.

A JPEG may begin with a large thumbnail, and contains width and height only after it.
"""

EXTENSIONS = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
"""The image types that the browser can open in another program, with their file extensions."""


class ImagePart(RowPart):
    """A row that represents an image; `data` is the image in base64, None if the session file does not contain it."""

    def __init__(self, mime_type: str | None, data: str | None, *, prefix: Line | None = None) -> None:
        self.mime_type = mime_type or "image"
        self.data = data
        self._prefix = prefix or []

    def rows(self, width: int) -> list[Line]:
        """Return the row that describes the image, cut to `width` cells."""
        return [fit([*self._prefix, *image_line(self.mime_type, self.data)], width)]

    def plain(self) -> str:
        """Return the text of the image's row, for the clipboard."""
        return "".join([piece for piece, _ in image_line(self.mime_type, self.data)])


def image_line(mime_type: str | None, data: str | None) -> Line:
    """Return the row that describes an image: type, width and height in pixels, size in bytes."""
    line: Line = [("▣ ", "accent"), (clean(mime_type or "image"), "")]
    if not data:
        # The session file lacks the image's data, or the context view leaves out the data of a large image. The entry
        # view shows the data of large images.
        return [*line, ("  no image data here; see the entry view", "dim")]
    if data.startswith("blob:"):
        return [*line, (f"  in omp's blobs, {clean(data.rsplit(':', 1)[-1][:8])}…", "dim")]
    area = dimensions(data)
    if area is not None:
        line.append((f"  {area[0]:,} × {area[1]:,}", ""))
    return [*line, (f"  {text.size(len(data) * 3 // 4)}", "dim")]


def image_bytes(data: str) -> bytes | None:
    """Decode an image from base64 text; return None if the text is not valid base64."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None


def kind_of(head: bytes) -> str | None:
    """Detect an image's MIME type from its first bytes; None unless it is PNG, JPEG, GIF or WebP."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def dimensions(data: str) -> tuple[int, int] | None:
    """Return the width and height in pixels of an image in base64; None if its first bytes do not contain them."""
    head = image_bytes(data[:HEAD_CHARACTERS][: len(data[:HEAD_CHARACTERS]) // 4 * 4])
    if head is None:
        return None
    try:
        found = _area(head)
    except struct.error:
        return None
    return found if found is not None and min(found) > 0 else None


def _area(head: bytes) -> tuple[int, int] | None:
    match kind_of(head):
        case "image/png":
            width, height = struct.unpack(">II", head[16:24])
            return width, height
        case "image/gif":
            width, height = struct.unpack("<HH", head[6:10])
            return width, height
        case "image/webp":
            return _webp(head)
        case "image/jpeg":
            return _jpeg(head)
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", head[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", head[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(head) >= 30:
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 < len(head) and head[position] == 0xFF:
        marker = head[position + 1]
        if marker in (0xFF, 0x01) or 0xD0 <= marker <= 0xD7:
            position += 1 if marker == 0xFF else 2
            continue
        # Markers C0 to CF begin a JPEG frame header, which contains height and width. C4, C8 and CC are exceptions:
        # they begin tables or are reserved for extensions.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[position + 5 : position + 9])
            return width, height
        (length,) = struct.unpack(">H", head[position + 2 : position + 4])
        position += 2 + max(2, length)
    return None
