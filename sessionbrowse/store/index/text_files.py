"""The files of one text directory: stamps and checksums, numbers of documents, moving them to another directory."""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path
from typing import Any

import msgspec

from sessionbrowse.store.index.schema import remove_tree

META, _MANAGED = "meta.json", ".managed.json"
"""Files of the engine in a text directory: the list of segments, and the list of files that the engine may delete."""
_FOOTER_END = 8

Stamps = list[tuple[str, int, int, int, int, int]]
"""For each file: name, size in bytes, mtime and ctime in ns, inode, and checksum (CRC-32) of the content."""


def stamps(path: Path, known: dict[tuple[Any, ...], int] | None = None) -> Stamps:
    """Return the stamps of the files that a directory's `meta.json` names; checksums are computed if not in `known`.

    Raises:
        ValueError, OSError: a file is missing or not a regular file, or its checksum is wrong.
    """
    # The engine opens every file here, not only those in `meta.json`, and would wait for ever at a named pipe.
    for each in os.scandir(path):
        if not each.is_file():
            raise ValueError(f"{each.name} is no file")
    meta = (path / META).read_bytes()
    segments = _segment_ids(msgspec.json.decode(meta))
    names = [name for name in sorted(os.listdir(path)) if name.partition(".")[0] in segments]
    if {name.partition(".")[0] for name in names} != segments:
        raise ValueError("a file is missing")
    found: Stamps = []
    for name in [*names, META]:
        status = os.lstat(path / name)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{name} is no file")
        stamp = (name, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        checksum = known.get(stamp) if known is not None else None
        if checksum is None:
            checksum = zlib.crc32(meta) if name == META else _checksum(path / name, check=known is not None)
        found.append((*stamp, checksum))
    return found


def adopt(path: Path, made: Path) -> None:
    """Move the segments of one text directory into another, and remove the first."""
    if not (made / META).exists():
        return
    path.mkdir(mode=0o700, exist_ok=True)
    adopted = msgspec.json.decode((made / META).read_bytes())
    held, managed = adopted | {"segments": []}, [META]
    if (path / META).exists():
        held, managed = [msgspec.json.decode((path / name).read_bytes()) for name in (META, _MANAGED)]
    ids = _segment_ids(adopted)
    moved = [name for name in os.listdir(made) if name.partition(".")[0] in ids]
    segments, opstamp = held["segments"] + adopted["segments"], max(held["opstamp"], adopted["opstamp"])
    # The files are listed before they are moved, so that the engine later deletes those that a killed process moved.
    _write(path / _MANAGED, managed + moved)
    for name in moved:
        os.replace(made / name, path / name)
    _write(path / META, held | {"segments": segments, "opstamp": opstamp})
    remove_tree(made)


def _write(path: Path, value: Any) -> None:
    temporary = path.with_name("adopted.tmp")
    temporary.write_bytes(msgspec.json.encode(value))
    os.replace(temporary, path)


def _segment_ids(meta: Any) -> set[str]:
    return {named["segment_id"].replace("-", "") for named in meta["segments"]}


def _checksum(path: Path, *, check: bool) -> int:
    """Return the checksum in the footer of one of the engine's files; with `check`, compare it with the content."""
    content = path.read_bytes() if check else b""
    with open(path, "rb") as file:
        file.seek(-_FOOTER_END, os.SEEK_END)
        size = int.from_bytes(file.read(4), "little")
        file.seek(-_FOOTER_END - size, os.SEEK_END)
        footer = msgspec.json.decode(file.read(size))
    checksum: int = footer["crc"]
    if check and zlib.crc32(content[: -_FOOTER_END - size]) != checksum:
        raise ValueError(f"{path.name} has a wrong checksum")
    return checksum


def documents(path: Path) -> tuple[int, int]:
    """Return the number of documents in a directory, and the number of deleted ones among them."""
    segments = msgspec.json.decode((path / META).read_bytes())["segments"]
    deleted = [each["deletes"]["num_deleted_docs"] for each in segments if each["deletes"]]
    return sum(each["max_doc"] for each in segments), sum(deleted)
