"""Split the bytes that a terminal sends into keys, escape sequences and pastes; no byte is an error.

Broken input is common: another encoding, noise on a line, binary text in a paste, replies of the terminal that nobody
asked for. This module drops what is no key: bytes that are not UTF-8, strings of the terminal (OSC, DCS, APC), and
sequences that never end. It knows no key and no event.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import Literal

from msgspec import Struct

PAUSE_SECONDS = 0.4
"""After this number of seconds without a byte, an unfinished sequence or string counts as broken off."""
MOST_BYTES = 64
"""Maximum length of a sequence that can be a key; longer ones are dropped when they end."""

_ESCAPE = b"\x1b"
_PASTE_BEGIN, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_SEQUENCE = re.compile(
    rb"\x1b(?:"
    rb"\[M[ -\xff]{3}"  # a mouse report of X10: three bytes of any value from 32 on
    rb"|\[\[[ -~]"  # F1 to F5 of Linux's console
    rb"|\[[0-9]{1,2}\$"  # keys with Shift of rxvt
    rb"|\[(?![M[])[0-?]*[ -/]*[@-~]"
    rb"|O[0-9;]*[@-~]"
    rb"|[\x00-\x1a\x1c-NP-Z\\-\x7f]"  # Alt and a key
    rb"|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
    rb")"
)
_UNFINISHED = re.compile(
    rb"\x1b(?:\[(?:M[ -\xff]{0,2}|\[|[0-?]*[ -/]*)?|O[0-9;]*|[]P_]|[\xc2-\xf4][\x80-\xbf]{0,2})?\Z"
)
_BROKEN = re.compile(rb"\x1b\[M[ -\xff]*|\x1b\[[0-?]*[ -/]*|\x1bO[0-9;]*")
"""Matches the start of a sequence that is interrupted by a byte that cannot belong to it."""
_STRING = re.compile(rb"\x1b(?:\][0-9]|P[!-?]|_G)")
"""The start of a string that a terminal sends (OSC, DCS, APC); Alt and a sign begin alike, but end there."""
_MAY_BE_KEYS = frozenset((b"\x1b", b"\x1b[", b"\x1bO", b"\x1b]", b"\x1bP", b"\x1b_"))
"""Starts of sequences and strings that are a key (Escape, Alt and a sign) if no byte follows."""


class Piece(Struct, frozen=True):
    """A part of the terminal's input: typed keys, one escape sequence, or a whole paste."""

    kind: Literal["keys", "sequence", "paste"]
    text: str


class InputSplitter:
    """Splits bytes in the order in which they arrive; keeps unfinished sequences until they end or time is over."""

    def __init__(self, escape_seconds: float) -> None:
        """Set how long a lone Escape waits for the rest of a sequence."""
        self._escape_seconds = escape_seconds
        self._decoder = getincrementaldecoder("utf-8")("ignore")
        self._held = b""
        """The start of a sequence whose end has not arrived."""
        self._paste: bytearray | None = None
        self._in_string = False
        self._last_read = b""
        self._last_time = 0.0

    @property
    def deadline(self) -> float | None:
        """The time at which `expire` must be called if no byte arrives until then; None if nothing is unfinished."""
        if self._held in _MAY_BE_KEYS and self._paste is None:
            return self._last_time + self._escape_seconds
        is_unfinished = self._held or self._in_string or self._paste is not None
        return self._last_time + PAUSE_SECONDS if is_unfinished else None

    def feed(self, data: bytes, now: float) -> list[Piece]:
        """Return the complete parts of the input, with the bytes that were read at the time `now`."""
        self._last_read, self._last_time = data, now
        found: list[Piece] = []
        data = self._held + data
        self._held = b""
        while data:
            if self._paste is not None:
                data = self._take_paste(self._paste, data, found)
            elif self._in_string:
                data = self._skip_string(data)
            elif not data.startswith(_ESCAPE):
                data = self._take_keys(data, found)
            else:
                data = self._take_sequence(data, found)
        return found

    def expire(self, now: float) -> list[Piece]:
        """Return what unfinished input becomes if its end did not arrive in time.

        A lone Escape is a key. An unfinished sequence is dropped. In an unfinished string the last byte is a key that
        was typed after it. A paste goes on, unless its last bytes are one key.
        """
        if self.deadline is None or now < self.deadline:
            return []
        held, self._held = self._held, b""
        if self._paste is not None:
            return self._leave_paste(self._paste, now)
        if held in _MAY_BE_KEYS:
            self._in_string = False
            return [Piece("sequence", held.decode())]
        if self._in_string:
            self._in_string = False
            return self.feed(self._last_read[-1:], now)
        return []

    def _take_keys(self, data: bytes, found: list[Piece]) -> bytes:
        end = data.find(_ESCAPE)
        text = self._decoder.decode(data if end < 0 else data[:end], final=end >= 0)
        if text:
            found.append(Piece("keys", text))
        return data[end:] if end >= 0 else b""

    def _take_sequence(self, data: bytes, found: list[Piece]) -> bytes:
        # Keys before this sequence may have left a torn character in the decoder.
        self._decoder.reset()
        if _STRING.match(data):
            self._in_string = True
            return data[2:]
        if data.startswith(_PASTE_BEGIN):
            self._paste = bytearray()
            return data[len(_PASTE_BEGIN) :]
        if _UNFINISHED.match(data):
            self._held = data[:MOST_BYTES]
            return b""
        if sequence := _SEQUENCE.match(data):
            if sequence.end() <= MOST_BYTES:
                found.append(Piece("sequence", sequence[0].decode(errors="replace")))
            return data[sequence.end() :]
        if broken := _BROKEN.match(data):
            return data[broken.end() :]
        found.append(Piece("sequence", "\x1b"))
        return data[1:]

    def _skip_string(self, data: bytes) -> bytes:
        control = re.search(rb"[\x00-\x1f]", data)
        if control is None:
            return b""
        rest = data[control.start() :]
        if rest == _ESCAPE:
            self._held = rest
            return b""
        # A string ends with BEL or with ESC and a backslash; another control character is a key, so the string was
        # broken off.
        self._in_string = False
        return rest[1:] if rest[:1] == b"\a" else rest[2:] if rest[:2] == b"\x1b\\" else rest

    def _take_paste(self, paste: bytearray, data: bytes, found: list[Piece]) -> bytes:
        begin = max(0, len(paste) - len(_PASTE_END))
        paste += data
        end = paste.find(_PASTE_END, begin)
        if end < 0:
            return b""
        self._paste = None
        found.append(Piece("paste", paste[:end].decode(errors="replace")))
        return bytes(paste[end + len(_PASTE_END) :])

    def _leave_paste(self, paste: bytearray, now: float) -> list[Piece]:
        """Leave a paste that does not end if its last bytes are one key, else wait for the rest of the paste."""
        self._last_time = now
        # Terminals remove ESC from what is pasted, so a sequence at the end is a key, and so is a byte on its own.
        sequence = bytes(paste[max(0, paste.rfind(_ESCAPE)) :])
        key = self._last_read if len(self._last_read) == 1 else sequence
        if len(key) > 1 and not _SEQUENCE.fullmatch(key):
            return []
        self._paste = None
        pasted = paste.removesuffix(key).decode(errors="replace")
        return [Piece("paste", pasted), *self.feed(key, now)]
