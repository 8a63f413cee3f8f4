"""Shorten a JSON line that is too large or nested too deeply, so that it can be decoded like any other line.

The line is read once, as a stream. Long strings are cut; a list or object that is too large loses its last items, and
one that is too deep becomes empty. The short line keeps the keys of the entry and of its message, with id, parent, role
and usage; long texts, images and tool data lose their ends.
"""

from __future__ import annotations

import re
from itertools import accumulate

MAX_DEPTH = 200
"""Maximum depth of nested lists and objects in a line; deeper lists and objects become empty."""

KEPT_STRING_BYTES = 512 * 1024
"""Maximum number of bytes kept of one JSON string: over 64 KiB of text, even if `\\uXXXX` stands for each character."""

SHORTEST_CUT_BYTES = 4096
"""Number of bytes kept of a JSON string that is an image, or is in a list or object of over `MAX_MEMBER_BYTES`."""

MAX_MEMBER_BYTES = 1024 * 1024
"""Size in bytes above which a list or object in an entry, or in an entry's message, loses its last items."""

MAX_REDUCED_BYTES = 4 * 1024 * 1024
"""Size in bytes above which a shortened line gets no further keys and items."""

# This pattern matches JSON text up to the next bracket or long string. It excludes long strings because `_string_end`
# reads them faster. No pattern here uses possessive groups, because Python before 3.11.5 matches them wrongly.
_FLAT = re.compile(rb'(?:[^"\[\]{}]+|"[^"\\]{0,512}(?:\\.[^"\\]{0,512}){0,64}")*', re.DOTALL)
_STRING_BODY = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
# This pattern finds the strings in JSON text from which `_without_escaped_quotes` removed escaped quotes.
_STRING = re.compile(rb'"[^"]*"')
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
# This table maps each bracket to a signed byte: +1 if the bracket opens a list or object, -1 if it closes one.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_PATTERN_REACH = 1024
_STEP_BYTES = 64 * 1024
_KEY_REACH = 32
_MESSAGE_KEY = re.compile(rb'"message"\s*:\s*$')
_IMAGE_KEY = re.compile(rb'"data"\s*:\s*$')
# This many bytes are kept of text that follows a complete JSON object, so that an error message can report the text.
_TAIL_BYTES = 1024
_WINDOW = 64 * 1024


class BigLine:
    """Shortens one JSON line: `feed()` takes the line in pieces of any size, `reduced()` returns the short line.

    If `whole` is True, only lists and objects that are nested too deeply are emptied, and nothing else is cut.
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
        # `_out` is the short line so far. For each list or object that is still open, `_ends` has the position in
        # `_out` after the last list or object directly inside it, or after its opening bracket.
        self._ends: list[int] = []
        self._skip_depth = 0
        # This is the number of bytes that may still be kept of text after the JSON object; None within the object.
        self._tail_room: int | None = None
        self._in_message = False
        self._member_start = 0
        self._member_is_full = False

    def feed(self, piece: bytes | bytearray, end: int | None = None) -> None:
        """Process the next bytes of the line: `piece` up to position `end`; the line's newline must not be included."""
        end = len(piece) if end is None else end
        self.size += end
        if self._tail_room is None and self._string is None and end and piece.count(0, 0, end) == end:
            # The piece has only NUL bytes. It may be part of a hole of gigabytes in the file, and no JSON follows it.
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
        """Return the shortened line; it is JSON if the line was JSON."""
        return bytes(self._out) + (bytes(self._string) if self._string is not None else b"")

    def _past_unkept(self, piece: bytes | bytearray, at: int, stop: int) -> int:
        """Return the position in `piece` after those bytes that are dropped because their string is too long.

        Most of an image is dropped in this way. Return `at` if no bytes at `at` are to be dropped.
        """
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
            # The line is not a JSON object. A few of its bytes are kept, so that the error can describe the line.
            self._tail_room = _TAIL_BYTES
            return end
        elif mark == b'"':
            self._begin_string()
        else:
            self._close(mark)
        return end + 1

    def _skips_all(self, piece: bytes, at: int) -> bool:
        """Return True if the list or object that is being dropped goes on beyond the end of `piece`.

        All of `piece` from `at` is then dropped fast: only brackets are counted. If False is returned, nothing has
        changed, and the caller must find the end of the list or object in `piece`.
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
            # The piece ends in a backslash, and the character that it escapes is in the next piece.
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
        """Shorten the innermost list or object: drop its last, incomplete member, and skip all further members."""
        end = self._ends[-1]
        # In `masked`, each string is replaced by as many letters, so every comma separates two members.
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
        """Return the number of bytes to keep of the next string.

        This is half of the bytes by which the list or object around the string may still grow, but at most
        `KEPT_STRING_BYTES` and at least `SHORTEST_CUT_BYTES`.
        """
        if self._whole:
            return 1 << 62
        left = MAX_REDUCED_BYTES - len(self._out)
        if self._depth >= self._member_depth:
            left = min(left, MAX_MEMBER_BYTES - (len(self._out) - self._member_start))
        # Few bytes are kept of the data of an image, because nobody needs the image in a shortened line.
        is_image = _IMAGE_KEY.search(self._out, max(0, len(self._out) - _KEY_REACH))
        return SHORTEST_CUT_BYTES if is_image else min(KEPT_STRING_BYTES, max(SHORTEST_CUT_BYTES, left // 2))


def reduce_line(line: bytes) -> bytes:
    """Return a shortened JSON line: long strings are cut, and large lists and objects lose their last items.

    Lists and objects nested deeper than `MAX_DEPTH` become empty.
    """
    big = BigLine()
    big.feed(line)
    return big.reduced()


def is_deep(line: bytes) -> bool:
    """Return True if the lists and objects of a JSON line are nested deeper than `MAX_DEPTH`."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    steps = memoryview(_STRING.sub(b"", _without_escaped_quotes(line)).translate(_STEPS, _NO_BRACKETS)).cast("b")
    return max(accumulate(steps), default=0) > MAX_DEPTH


def without_deepest(line: bytes) -> bytes:
    """Return a JSON line in which lists and objects nested deeper than `MAX_DEPTH` are empty."""
    big = BigLine(whole=True)
    big.feed(line)
    return big.reduced()


def _without_escaped_quotes(text: bytes) -> bytes:
    """Return JSON text with escaped quotes and backslashes replaced by `__`, so that every quote delimits a string.

    The text must not begin in the middle of an escape.
    """
    return text.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in text else text


def _string_end(piece: bytes, at: int) -> int:
    """Return the position of the closing quote of a JSON string in a piece of a line.

    If the quote is not in the piece, return the position of a backslash at the end of the piece, else the piece's end.
    """
    # Long strings are often base64 without backslashes. Two calls of `bytes.find` are twenty times faster than `re`.
    quote = piece.find(b'"', at)
    end = quote if quote >= 0 else len(piece)
    if piece.find(b"\\", at, end) < 0:
        return end
    end = _STRING_BODY.match(piece, at, at + _PATTERN_REACH).end()  # type: ignore[union-attr]
    if piece[end : end + 1] == b'"':
        return end
    while True:
        # The escaped quotes are replaced, so that `bytes.find` finds the closing quote of a long string with escapes.
        window = _without_escaped_quotes(piece[end : end + _WINDOW])
        quote = window.find(b'"')
        if quote >= 0:
            return end + quote
        end += len(window) - window.endswith(b"\\")
        if len(window) < _WINDOW:
            return end


def _trim_cut_string(string: bytearray) -> None:
    """Remove an incomplete escape or UTF-8 character from the end of a JSON string that was cut."""
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
