"""Parse the rows of session files that another machine sends; names are checked, because they may be hostile.

A row has the inode, size, two times (last change of the content, last change of the attributes) and path of a file.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from sessionbrowse.services.machines.script import Folder

MOST_FILES = 100_000
MOST_FILE_BYTES = 4 * 1024**3
MOST_PATH = 1024
_TIME = r"-?[0-9]{1,14}(?:\.[0-9]{1,12})?"
_ROW = re.compile(rf"([0-9]{{1,20}} ([0-9]{{1,18}}) {_TIME} {_TIME}) \./(.+)")
_SAFE = re.compile(rb"(?:/(?!\.\.?(?:/|\Z))[^/\x00-\x1f\x7f]{1,255})+")

ODD_NAME = "names with control characters, not UTF-8, or too long"
SAME_NAME = "names that differ only by case, or are those of folders elsewhere"
TOO_LARGE = "files over 4 GB, or more than 100,000 files"


class RemoteRow(Struct, frozen=True, array_like=True):
    """The row of a file on the other machine; `text` differs for each version of the file.

    `seen` is the time, by that machine's clock in s since 1970, at which the rows were requested. `cwd` is the working
    directory of the session, read from the received file.
    """

    text: str
    seen: int
    cwd: str = ""

    @property
    def size(self) -> int:
        """The size of the file on the other machine, in bytes."""
        return int(self.text.split(" ")[1])

    @property
    def mtime_ns(self) -> int:
        """The time of the last change of the content, in ns since 1970."""
        return int(Decimal(self.text.split(" ")[2]) * 10**9)

    def is_recent(self, recent_s: float) -> bool:
        """Return True if the file changed so shortly before `seen` that a later change may leave the row as it is."""
        return float(self.text.split(" ")[3]) >= self.seen - recent_s


def is_safe(path: str) -> bool:
    """Return True for an absolute path that is valid on this system, without `.` or `..`."""
    try:
        content = path.encode()
    except UnicodeEncodeError:
        return False
    return len(content) <= MOST_PATH and _SAFE.fullmatch(content) is not None


def parse_rows(folder: Folder, answer: bytes, seen: int, left_out: Counter[str]) -> dict[str, RemoteRow]:
    """Parse the lines that describe a folder's files on the other machine; return one row a file, by absolute path.

    Files that are not taken over are counted in `left_out`, by reason.
    """
    found: dict[str, RemoteRow] = {}
    for line in answer.decode("utf-8", "surrogateescape").split("\n"):
        row = _ROW.fullmatch(line)
        path = f"{folder.root}/{row[3]}" if row is not None else ""
        if row is None or not path.endswith(folder.suffixes) or not is_safe(path):
            left_out[ODD_NAME] += bool(line)
        elif int(row[2]) > MOST_FILE_BYTES:
            left_out[TOO_LARGE] += 1
        else:
            found[path] = RemoteRow(row[1], seen)
    return {path: row for path, row in found.items() if _may_be_session(folder, path, found)}


def sum_of_rows(folder: Folder, rows: Mapping[str, RemoteRow]) -> str:
    """Return the checksum that `Folder.sum` prints if the folder has exactly these rows."""
    below = len(folder.root)
    lines = sorted([f"{row.text} .{path[below:]}\n".encode() for path, row in rows.items()])
    return posix_sum([b"".join(lines)])


def without_clashes(rows: Mapping[str, RemoteRow], left_out: Counter[str], *, tells_case: bool) -> dict[str, RemoteRow]:
    """Return the rows without files whose paths clash on this disk; count the omitted files in `left_out`."""

    def key(path: str) -> str:
        return path if tells_case else unicodedata.normalize("NFC", path).casefold()

    keys: dict[str, str] = {}
    for path in rows:
        keys.setdefault(key(path), path)
    kept: dict[str, RemoteRow] = {}
    for path, row in rows.items():
        own = key(path)
        above = [own[:at] for at, character in enumerate(own) if character == "/" and at]
        if keys[own] != path or any(folder in keys for folder in above):
            left_out[SAME_NAME] += 1
        elif len(kept) == MOST_FILES:
            left_out[TOO_LARGE] += 1
        else:
            kept[path] = row
    return kept


def posix_sum(blocks: Iterable[bytes]) -> str:
    """Return the checksum and size of some content, given in blocks, as the program `cksum` prints them."""
    # The CRC of POSIX reads each byte from its highest bit and starts with 0; zlib's reads from the lowest and starts
    # inverted.
    crc, size = 0xFFFFFFFF, 0
    for block in blocks:
        crc, size = zlib.crc32(block.translate(_REVERSED), crc), size + len(block)
    length = size.to_bytes((size.bit_length() + 7) // 8, "little")
    crc = zlib.crc32(length.translate(_REVERSED), crc)
    return f"{int(f'{crc:032b}'[::-1], 2)} {size}"


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def _may_be_session(folder: Folder, path: str, found: Mapping[str, RemoteRow]) -> bool:
    """Return False for a file that no list shows: in a flat directory, only the folders of sessions are searched."""
    top, inner, _ = path[len(folder.root) + 1 :].partition("/")
    return not folder.is_flat or not inner or top == "archive" or f"{folder.root}/{top}.jsonl" in found
