"""A line too large to hold: streamed once, its long strings cut, its deepest values dropped.

What comes out is the same record in small, to be decoded like any other line. Images are base64 text of megabytes;
nothing that a list or a tree shows lies behind the first 4 KiB of a string.
"""

from __future__ import annotations

import re

KEPT_STRING_BYTES = 4096
MAX_DEPTH = 200
MAX_REDUCED_BYTES = 8 * 1024 * 1024

_STRING_BODY = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_STRUCTURE = re.compile(rb'[^"\[\]{}]*+')
_CUT_ESCAPE = re.compile(rb"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$")


class BigLine:
    """Takes the bytes of one line in pieces of any size; `reduced()` gives the small record."""

    def __init__(self) -> None:
        self.size = 0
        self._out = bytearray()
        self._string: bytearray | None = None
        self._string_was_cut = False
        self._pending_escape = b""
        self._depth = 0
        self._overflown = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the line (without its newline)."""
        self.size += len(piece)
        if self._pending_escape:
            piece = self._pending_escape + piece
            self._pending_escape = b""
        at = 0
        while at < len(piece):
            at = self._in_string(piece, at) if self._string is not None else self._in_structure(piece, at)

    def reduced(self) -> bytes:
        """Return the small record; it is no JSON if the line was none, or could not be made small."""
        if self._overflown:
            return b"{"
        return bytes(self._out) + (bytes(self._string) if self._string is not None else b"")

    def _in_structure(self, piece: bytes, at: int) -> int:
        end = _STRUCTURE.match(piece, at).end()  # type: ignore[union-attr]
        self._emit(piece[at:end])
        if end == len(piece):
            return end
        mark = piece[end : end + 1]
        if mark == b'"':
            self._string = bytearray(mark)
            self._string_was_cut = False
        elif mark in b"[{":
            self._depth += 1
            # The dropped value still has to be a value: null stands for it.
            if self._depth == MAX_DEPTH:
                self._emit_raw(b"null")
            self._emit(mark)
        else:
            self._emit(mark)
            self._depth -= 1
        return end + 1

    def _in_string(self, piece: bytes, at: int) -> int:
        string = self._string
        assert string is not None
        end = _string_end(piece, at)
        room = KEPT_STRING_BYTES - len(string)
        if room > 0:
            string += piece[at : min(end, at + room)]
        if end - at > room:
            self._string_was_cut = True
        if end == len(piece):
            return end
        if piece[end : end + 1] == b"\\":
            # A lone backslash ends the piece: what it escapes comes with the next one.
            self._pending_escape = b"\\"
            return len(piece)
        if self._string_was_cut:
            _trim_cut_string(string)
        self._emit(bytes(string) + b'"')
        self._string = None
        return end + 1

    def _emit(self, piece: bytes) -> None:
        if self._depth < MAX_DEPTH:
            self._emit_raw(piece)

    def _emit_raw(self, piece: bytes) -> None:
        if len(self._out) + len(piece) > MAX_REDUCED_BYTES:
            self._overflown = True
            return
        self._out += piece


def reduce_line(line: bytes) -> bytes:
    """Return the small record of a line that is already in memory."""
    big = BigLine()
    big.feed(line)
    return big.reduced()


def _string_end(piece: bytes, at: int) -> int:
    """Return where the string's text ends in this piece: at its quote, at a lone last backslash, or at the end."""
    # Base64 has no backslash: two searches of memory run ten times faster than the pattern.
    quote = piece.find(b'"', at)
    end = quote if quote >= 0 else len(piece)
    if piece.find(b"\\", at, end) < 0:
        return end
    return _STRING_BODY.match(piece, at).end()  # type: ignore[union-attr]


def _trim_cut_string(string: bytearray) -> None:
    """Drop half an escape or half a character at the end of a string that was cut."""
    escape = _CUT_ESCAPE.search(string, max(0, len(string) - 64))
    if escape:
        del string[escape.start(1) :]
    for back in range(1, min(4, len(string)) + 1):
        byte = string[-back]
        if byte < 0x80:
            return
        if byte >= 0xC0:
            if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4):
                del string[-back:]
            return
