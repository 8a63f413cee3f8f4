"""Reduce a line that is too large or nested too deeply: cut long strings, end long and very deep containers early.

The line is streamed once; the result is a small record that is decoded like any other line. All keys of the record and
of its message survive, and so do id, parent, role and usage; the ends of texts, images and tool data are cut.
"""

from __future__ import annotations

import re
from itertools import accumulate

MAX_DEPTH = 200
"""Containers nested deeper than this come empty."""

KEPT_STRING_BYTES = 512 * 1024
"""The most that is kept of a string: as JSON escapes, at least 64 KiB of text."""

SHORTEST_CUT_BYTES = 4096
"""No string is cut below this."""

MAX_MEMBER_BYTES = 1024 * 1024
"""How large one value of the record, or of its message, may get before it is ended."""

MAX_REDUCED_BYTES = 4 * 1024 * 1024
"""How large the record may get before it is ended."""

# Text between brackets with its strings, except long ones: `bytes.find` skips those faster than a pattern.
_FLAT = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]{0,512}+(?:\\.[^"\\]{0,512}+){0,64}+")*+', re.DOTALL)
_STRING_BODY = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
# Each bracket as the signed byte by which it changes the depth.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_PATTERN_REACH = 1024
_STEP_BYTES = 64 * 1024
_KEY_REACH = 32
_MESSAGE_KEY = re.compile(rb'"message"\s*:\s*$')
_IMAGE_KEY = re.compile(rb'"data"\s*:\s*$')
# How much is kept of text behind a complete record: enough to see that there is some.
_TAIL_BYTES = 1024
_WINDOW = 64 * 1024


class BigLine:
    """Takes the bytes of one line in pieces of any size; `reduced()` gives the small record.

    `whole` keeps everything but what is nested too deeply.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self.size = 0
        self._whole = whole
        self._out = bytearray()
        self._string: bytearray | None = None
        self._string_room = 0
        self._string_was_cut = False
        self._pending_escape = b""
        self._depth = 0
        # For each open container: where its last member that is a container ends, or where it begins.
        self._ends: list[int] = []
        self._skip_depth = 0
        # How much is still kept of text before or behind a record.
        self._tail_room: int | None = None
        self._in_message = False
        self._member_start = 0
        self._member_is_full = False

    def feed(self, piece: bytes | bytearray, end: int | None = None) -> None:
        """Take the next bytes of the line (without its newline): those of a piece up to `end`."""
        end = len(piece) if end is None else end
        self.size += end
        at = 0
        while at < end:
            at = self._past_unkept(piece, at, end)
            self._feed_step(bytes(piece[at : min(at + _STEP_BYTES, end)]))
            at += _STEP_BYTES

    def reduced(self) -> bytes:
        """Return the small record; it is no JSON if the line was none."""
        return bytes(self._out) + (bytes(self._string) if self._string is not None else b"")

    def _past_unkept(self, piece: bytes | bytearray, at: int, stop: int) -> int:
        """Return the position behind the part of a string that is not kept, which is most of an image."""
        string = self._string
        if string is None or len(string) < self._string_room or self._pending_escape:
            return at
        quote = piece.find(b'"', at, stop)
        end = quote if quote >= 0 else stop
        if end == at or piece[end - 1 : end] == b"\\":
            return at
        self._string_was_cut = True
        return end

    def _feed_step(self, piece: bytes) -> None:
        if self._pending_escape:
            piece = self._pending_escape + piece
            self._pending_escape = b""
        at = 0
        if self._skip_depth and self._string is not None:
            at = self._in_string(piece, at)
        if self._skip_depth and self._string is None and self._skips_all(piece, at):
            return
        while at < len(piece):
            if self._string is not None:
                at = self._in_string(piece, at)
            elif self._tail_room is not None:
                self._out += piece[at : at + self._tail_room]
                self._tail_room = max(0, self._tail_room - (len(piece) - at))
                return
            else:
                at = self._in_structure(piece, at)

    def _in_structure(self, piece: bytes, at: int) -> int:
        end = _FLAT.match(piece, at).end()  # type: ignore[union-attr]
        if not self._skip_depth:
            self._take_flat(piece[at:end])
        if end == len(piece):
            return end
        mark = piece[end : end + 1]
        if mark in b"[{":
            self._open(mark)
        elif not self._depth:
            # This is no record: keep a few bytes, so that the error can name it.
            self._tail_room = _TAIL_BYTES
            return end
        elif mark == b'"':
            self._begin_string()
        else:
            self._close(mark)
        return end + 1

    def _skips_all(self, piece: bytes, at: int) -> bool:
        """Skip the rest of the piece at once if the skipped container does not end in it: brackets are only counted."""
        structure = _STRING.sub(b"", piece[at:])
        quote = structure.find(b'"')
        open_string = b"" if quote < 0 else structure[quote + 1 :]
        brackets = structure[: quote if quote >= 0 else None].translate(_STEPS, _NO_BRACKETS)
        steps = memoryview(brackets).cast("b")
        if self._depth + min(accumulate(steps), default=0) < self._skip_depth:
            return False
        self._depth += sum(steps)
        if quote >= 0:
            self._begin_string()
            self._in_string(open_string, 0)
        return True

    def _begin_string(self) -> None:
        self._string = bytearray(b'"')
        self._string_room = 0 if self._skip_depth else self._room()
        self._string_was_cut = False

    def _in_string(self, piece: bytes, at: int) -> int:
        string = self._string
        assert string is not None
        end = _string_end(piece, at)
        room = self._string_room - len(string)
        if room > 0:
            string += piece[at : min(end, at + room)]
        self._string_was_cut |= end - at > room
        if end == len(piece):
            return end
        if piece[end : end + 1] == b"\\":
            # The piece ends in a backslash: the character that it escapes comes with the next piece.
            self._pending_escape = b"\\"
            return len(piece)
        if not self._skip_depth:
            if self._string_was_cut:
                _trim_cut_string(string)
            self._out += string + b'"'
        self._string = None
        return end + 1

    def _take_flat(self, flat: bytes) -> None:
        if not self._ends:
            self._out += flat[: max(0, _TAIL_BYTES - len(self._out))]
            return
        self._out += flat
        if self._is_full():
            self._end_here()

    def _end_here(self) -> None:
        """End the innermost container behind its last whole member, and skip what else it holds."""
        end = self._ends[-1]
        # Strings are masked by their length: every comma that is left is between members.
        masked = _STRING.sub(lambda string: b"x" * len(string[0]), bytes(self._out[end:]))
        comma = masked.rfind(b",")
        del self._out[end + max(0, comma) :]
        self._skip_depth = self._depth

    def _open(self, mark: bytes) -> None:
        self._depth += 1
        if self._skip_depth:
            return
        if self._depth == 2:
            self._in_message = bool(_MESSAGE_KEY.search(self._out, max(0, len(self._out) - _KEY_REACH)))
        if self._depth == self._member_depth:
            self._member_start = len(self._out)
            self._member_is_full = False
        self._out += mark
        self._ends.append(len(self._out))
        if self._depth > MAX_DEPTH or self._is_full():
            self._skip_depth = self._depth

    def _close(self, mark: bytes) -> None:
        if not self._skip_depth or self._depth == self._skip_depth:
            self._skip_depth = 0
            self._out += mark
            self._ends.pop()
            if self._ends:
                self._ends[-1] = len(self._out)
            else:
                self._tail_room = _TAIL_BYTES
        self._depth -= 1

    @property
    def _member_depth(self) -> int:
        return 3 if self._in_message else 2

    def _is_full(self) -> bool:
        if self._whole:
            return False
        if self._depth >= self._member_depth:
            self._member_is_full |= len(self._out) - self._member_start > MAX_MEMBER_BYTES
            if self._member_is_full:
                return True
        return len(self._out) > MAX_REDUCED_BYTES

    def _room(self) -> int:
        """Return how much of the next string is kept: half of the room that its member has left."""
        if self._whole:
            return 1 << 62
        left = MAX_REDUCED_BYTES - len(self._out)
        if self._depth >= self._member_depth:
            left = min(left, MAX_MEMBER_BYTES - (len(self._out) - self._member_start))
        # The data of an image is not needed.
        is_image = _IMAGE_KEY.search(self._out, max(0, len(self._out) - _KEY_REACH))
        return SHORTEST_CUT_BYTES if is_image else min(KEPT_STRING_BYTES, max(SHORTEST_CUT_BYTES, left // 2))


def reduce_line(line: bytes) -> bytes:
    """Return the small record of a line that is already in memory."""
    big = BigLine()
    big.feed(line)
    return big.reduced()


def is_deep(line: bytes) -> bool:
    """Tell whether a JSON value is nested deeper than `MAX_DEPTH`; cheap for those that hold few brackets."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    steps = memoryview(_STRING.sub(b"", line).translate(_STEPS, _NO_BRACKETS)).cast("b")
    return max(accumulate(steps), default=0) > MAX_DEPTH


def without_deepest(line: bytes) -> bytes:
    """Return the line with the containers nested deeper than `MAX_DEPTH` emptied."""
    big = BigLine(whole=True)
    big.feed(line)
    return big.reduced()


def _string_end(piece: bytes, at: int) -> int:
    """Return where a string's text ends in this piece: at its quote, at a last backslash, or at the piece's end."""
    # Base64 has no backslash: two `bytes.find` are twenty times faster than the pattern.
    quote = piece.find(b'"', at)
    end = quote if quote >= 0 else len(piece)
    if piece.find(b"\\", at, end) < 0:
        return end
    end = _STRING_BODY.match(piece, at, at + _PATTERN_REACH).end()  # type: ignore[union-attr]
    if piece[end : end + 1] == b'"':
        return end
    while True:
        # Long text with escapes: with escaped quotes masked, `bytes.find` finds the closing one.
        window = piece[end : end + _WINDOW].replace(b"\\\\", b"__").replace(b'\\"', b"__")
        quote = window.find(b'"')
        if quote >= 0:
            return end + quote
        end += len(window) - window.endswith(b"\\")
        if len(window) < _WINDOW:
            return end


def _trim_cut_string(string: bytearray) -> None:
    """Drop half an escape or half a character at the end of a string that was cut."""
    backslash = string.rfind(b"\\", max(0, len(string) - 6))
    if backslash >= 0 and _is_cut_escape(string, backslash):
        del string[backslash:]
    for back in range(1, min(4, len(string)) + 1):
        byte = string[-back]
        if byte < 0x80:
            return
        if byte >= 0xC0:
            if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4):
                del string[-back:]
            return


def _is_cut_escape(string: bytearray, backslash: int) -> bool:
    before = len(string[: backslash + 1]) - len(string[: backslash + 1].rstrip(b"\\"))
    if before % 2 == 0:
        return False
    escape = string[backslash + 1 :]
    return not escape or (escape[:1] == b"u" and len(escape) < 5)
