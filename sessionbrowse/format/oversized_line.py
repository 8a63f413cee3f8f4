"""Shorten a line that is too large or nested too deeply: cut long strings, close long or deep lists and objects early.

The line is streamed once; the result is a small record that is decoded like any other line. It keeps all keys of the
entry and of its message, with id, parent, role and usage; long texts, images and tool data lose their ends. A
container is a JSON list or object.
"""

from __future__ import annotations

import re
from itertools import accumulate

MAX_DEPTH = 200
"""Maximum depth of nesting; deeper lists and objects are emptied."""

KEPT_STRING_BYTES = 512 * 1024
"""Maximum number of bytes kept of a string; even if all of it is JSON escapes, that is over 64 KiB of text."""

SHORTEST_CUT_BYTES = 4096
"""Minimum number of bytes kept of a string that is cut."""

MAX_MEMBER_BYTES = 1024 * 1024
"""Size in bytes at which one value of the record, or of its message, is closed early."""

MAX_REDUCED_BYTES = 4 * 1024 * 1024
"""Size in bytes at which the record is closed early."""

# Matches text without brackets, including short strings; `bytes.find` skips long strings faster than a pattern.
# Possessive groups are matched wrongly before Python 3.11.5, so no pattern has one.
_FLAT = re.compile(rb'(?:[^"\[\]{}]+|"[^"\\]{0,512}(?:\\.[^"\\]{0,512}){0,64}")*', re.DOTALL)
_STRING_BODY = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
# Finds the strings in text without escaped quotes (see `_without_escaped_quotes`).
_STRING = re.compile(rb'"[^"]*"')
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
# Maps each bracket to the signed byte, +1 or -1, by which it changes the depth.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_PATTERN_REACH = 1024
_STEP_BYTES = 64 * 1024
_KEY_REACH = 32
_MESSAGE_KEY = re.compile(rb'"message"\s*:\s*$')
_IMAGE_KEY = re.compile(rb'"data"\s*:\s*$')
# Bytes kept of text after a complete record, so that the decoder can report the text.
_TAIL_BYTES = 1024
_WINDOW = 64 * 1024


class BigLine:
    """Receives the bytes of one line in pieces of any size; `reduced()` returns the small record.

    With `whole` nothing is cut except lists and objects that are nested too deeply.
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
        # For each open container: the end of its last member that is a container, else its own beginning.
        self._ends: list[int] = []
        self._skip_depth = 0
        # Number of bytes that may still be kept of text outside the record; None inside it.
        self._tail_room: int | None = None
        self._in_message = False
        self._member_start = 0
        self._member_is_full = False

    def feed(self, piece: bytes | bytearray, end: int | None = None) -> None:
        """Add the next bytes of the line: the bytes of `piece` before position `end`, without the line's newline."""
        end = len(piece) if end is None else end
        self.size += end
        if self._tail_room is None and self._string is None and end and piece.count(0, 0, end) == end:
            # A hole of the file: no JSON follows it, and it may have gigabytes.
            self._out += bytes(min(end, _TAIL_BYTES))
            self._tail_room = 0
        if self._tail_room == 0:
            return
        at = 0
        while at < end:
            at = self._past_unkept(piece, at, end)
            self._feed_step(bytes(piece[at : min(at + _STEP_BYTES, end)]))
            at += _STEP_BYTES

    def reduced(self) -> bytes:
        """Return the small record; it is not JSON if the line was not."""
        return bytes(self._out) + (bytes(self._string) if self._string is not None else b"")

    def _past_unkept(self, piece: bytes | bytearray, at: int, stop: int) -> int:
        """Return the position after the part of a string that is not kept, such as most of an image."""
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
            # The line is not a record: keep a few bytes, so that the error can describe them.
            self._tail_room = _TAIL_BYTES
            return end
        elif mark == b'"':
            self._begin_string()
        else:
            self._close(mark)
        return end + 1

    def _skips_all(self, piece: bytes, at: int) -> bool:
        """Tell whether the container being skipped ends after this piece; if so, skip the whole rest of the piece.

        This is fast, because only brackets are counted.
        """
        structure = _STRING.sub(b"", _without_escaped_quotes(piece[at:]))
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
        """Close the innermost container after its last whole member, and skip the rest of its members."""
        end = self._ends[-1]
        # Strings are masked by letters of the same length, so every comma that is left separates members.
        masked = _STRING.sub(lambda string: b"x" * len(string[0]), _without_escaped_quotes(bytes(self._out[end:])))
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
        """Return the number of bytes to keep of the next string: half of the room that the enclosing value has left."""
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
    """Tell whether a JSON value is nested deeper than `MAX_DEPTH`; this is fast for values with few brackets."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    steps = memoryview(_STRING.sub(b"", _without_escaped_quotes(line)).translate(_STEPS, _NO_BRACKETS)).cast("b")
    return max(accumulate(steps), default=0) > MAX_DEPTH


def without_deepest(line: bytes) -> bytes:
    """Return the line with the containers nested deeper than `MAX_DEPTH` emptied."""
    big = BigLine(whole=True)
    big.feed(line)
    return big.reduced()


def _without_escaped_quotes(text: bytes) -> bytes:
    """Return JSON text, which does not begin within an escape, with its escaped quotes and backslashes masked."""
    return text.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in text else text


def _string_end(piece: bytes, at: int) -> int:
    """Return the position where a string ends in this piece: its quote, a final backslash, or the end of the piece."""
    # Base64 has no backslash: two `bytes.find` are twenty times faster than the pattern.
    quote = piece.find(b'"', at)
    end = quote if quote >= 0 else len(piece)
    if piece.find(b"\\", at, end) < 0:
        return end
    end = _STRING_BODY.match(piece, at, at + _PATTERN_REACH).end()  # type: ignore[union-attr]
    if piece[end : end + 1] == b'"':
        return end
    while True:
        # In long text with escapes, mask the escaped quotes, so that `bytes.find` finds the closing quote.
        window = _without_escaped_quotes(piece[end : end + _WINDOW])
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
