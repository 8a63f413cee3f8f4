"""Compute values by which session files are compared: digests of the file and of each entry, and sizes of images."""

from __future__ import annotations

from hashlib import blake2b

from msgspec import Struct

from sessionbrowse.format.json_value import BadJson, loads
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.splice import edited, without_member
from sessionbrowse.model.clean.plan import CleanPlan
from sessionbrowse.model.clean.shrunk import shrunk

_IMAGES = CleanPlan(images=True)
_MEDIA_SIGNS = (b'"data":', b'"data" :', b";base64,")
# Entries of these types are not compared: a fork writes header, name and labels again with new ids, and changes of the
# model or the thinking level are no content.
_NOT_COMPARED = frozenset(
    {"session", "title", "session_info", "label", "model_change", "thinking_level_change", "title_change"}
)
_LEAST_MEDIA_LINE = 1024


class SessionContent(Struct, frozen=True, kw_only=True):
    """The content of one session file, for comparing: `digest` of all bytes, and one hash number for each entry.

    `media` and `media_bytes` are the number and the total size of the session's images. `is_whole` is False if a line
    was too long to be compared. `file` identifies the file on the disk.
    """

    digest: bytes
    entries: frozenset[int]
    media: int
    media_bytes: int
    is_whole: bool
    file: tuple[int, int]


class ContentReader:
    """Receives the lines of one session file, and computes its `SessionContent`."""

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=16)
        self._entries: set[int] = set()
        self._media = self._media_bytes = 0
        self._is_whole = True

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Include the next complete lines of the session file, each with its newline, in the computed content."""
        for line in lines:
            self._digest.update(line)
            self._take(line)

    def add_block(self, block: LineBlock) -> None:
        """Include a very long line of the session file, or its last line without newline, in the computed content."""
        if block.reduced_from:
            self._is_whole = False
        for line in block.lines:
            self._digest.update(line if block.torn else line + b"\n")
            self._take(line)

    def content(self, file: tuple[int, int]) -> SessionContent:
        """Return the content of all lines added so far; `file` identifies the file on the disk."""
        return SessionContent(
            digest=self._digest.digest(),
            entries=frozenset(self._entries),
            media=self._media,
            media_bytes=self._media_bytes,
            is_whole=self._is_whole,
            file=file,
        )

    def _take(self, line: bytes) -> None:
        bare = line.strip()
        if not bare:
            return
        try:
            value = loads(bare)
            # Parents are not compared: a fork leaves out label entries, so the entries below them get other parents.
            compared = without_member(bare, "parentId")
        except BadJson:
            self._entries.add(_number(bare))
            return
        if len(bare) >= _LEAST_MEDIA_LINE and any(sign in bare for sign in _MEDIA_SIGNS):
            made = shrunk(value, _IMAGES, may_drop_thinking=False, new_call_id=None)
            self._media += made.images
            self._media_bytes += len(bare) - len(edited(bare, made.edits))
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in _NOT_COMPARED:
            self._entries.add(_number(compared))


def _number(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big")
