"""Sessions with the real programs' answers: asked afresh, packed into an archive, unpacked again.

An archive is a `.tar.xz` of `<set>/…/*.jsonl` (what the programs wrote), `answers/<set>.jsonl` (one line for each
file) and `sets.json` (the versions that answered, and the listings of whole folders). It holds made-up data only.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from . import real

# Larger files of the random kinds say nothing that smaller ones do not.
LARGEST_GOLDEN_BYTES = 300_000


class Listing(Struct, frozen=True):
    """A whole folder as the program lists it; `threads` is pi's threaded order.

    An archive has no threads: its sessions name their parents by paths that were true where they were written.
    """

    root: str
    flat: bool
    answer: dict[str, Any]
    threads: dict[str, Any] | None = None


class SessionSet(Struct, frozen=True):
    """Session files of one origin below `folder`, and what the program answered about each."""

    name: str
    agent: str
    version: str
    folder: Path
    answers: list[dict[str, Any]]
    listings: list[Listing]

    def path(self, answer: dict[str, Any]) -> Path:
        """Return the file an answer is about."""
        return self.folder / str(answer["key"])


# ---- asking afresh -------------------------------------------------------------------------------------------


def record_pi(folder: Path, roots: Iterable[tuple[str, bool]], versions: Sequence[str]) -> SessionSet:
    """Ask versions of pi, newest first, about every file below `folder`; `roots` are sessions roots (path, flat)."""
    files = sorted(folder.rglob("*.jsonl"))
    newest, *pinned = versions
    asked = {
        each: {answer["key"]: answer for answer in real.ask_pi(each, folder, files, trees=False)} for each in pinned
    }
    answers = []
    for answer in real.ask_pi(newest, folder, files):
        now = answer["oracle"]
        answer["older"] = {
            version: {
                key: value
                for key, value in older[answer["key"]]["oracle"].items()
                if key not in ("version", "module") and value != now.get(key)
            }
            for version, older in asked.items()
        }
        answers.append(_with_time(folder, answer))
    listings = []
    for root, flat in roots:
        if (folder / root).is_dir():
            listed = real.list_pi(newest, folder / root, flat=flat)
            threads = real.threads_pi(newest, folder / root, flat=flat)
            listings.append(Listing(root, flat, _without_times(listed), threads))
    return SessionSet(folder.name, "pi", newest, folder, answers, listings)


def record_omp(folder: Path, version: str) -> SessionSet:
    """Ask a version of omp about every file below `folder`, subagents' files included."""
    files = sorted(folder.rglob("*.jsonl"))
    answers = [_with_time(folder, answer) for answer in real.ask_omp(folder, files, version)]
    root = "agent/sessions"
    listings = []
    if (folder / root).is_dir():
        listings.append(Listing(root, False, _without_times(real.list_omp(folder / root, version))))
    return SessionSet(folder.name, "omp", version, folder, answers, listings)


def _with_time(folder: Path, answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"mtime_ns": (folder / answer["key"]).stat().st_mtime_ns}


def _without_times(listing: dict[str, Any]) -> dict[str, Any]:
    measured = {"ms", "runs", "coldMs", "warmMs", "rssMb", "progressive"}
    return {key: value for key, value in listing.items() if key not in measured}


# ---- the archive ---------------------------------------------------------------------------------------------


def pack(sets: list[SessionSet], archive: Path) -> None:
    """Write sets into an archive; the same sets give the same bytes."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:

        def add(name: str, content: bytes) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))

        index = [
            {
                "name": each.name,
                "agent": each.agent,
                "version": each.version,
                "listings": [{"root": one.root, "flat": one.flat, "answer": one.answer} for one in each.listings],
            }
            for each in sets
        ]
        add("sets.json", _json(index))
        for each in sets:
            add(f"answers/{each.name}.jsonl", b"".join(_json(answer) + b"\n" for answer in each.answers))
            for answer in each.answers:
                add(f"{each.name}/{answer['key']}", each.path(answer).read_bytes())


def unpack(archive: Path, into: Path) -> list[SessionSet]:
    """Unpack an archive into a folder, give the files their times back, and return the sets."""
    with tarfile.open(archive) as tar:
        # The first releases of Python 3.11 have no filters.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(into)
    sets = []
    for each in json.loads((into / "sets.json").read_bytes()):
        lines = (into / "answers" / f"{each['name']}.jsonl").read_bytes().split(b"\n")
        answers = [json.loads(line) for line in lines if line]
        folder = into / each["name"]
        for answer in answers:
            os.utime(folder / answer["key"], ns=(answer["mtime_ns"], answer["mtime_ns"]))
        listings = [Listing(one["root"], one["flat"], one["answer"]) for one in each["listings"]]
        sets.append(SessionSet(each["name"], each["agent"], each["version"], folder, answers, listings))
    return sets


def drop_giants(folder: Path) -> int:
    """Delete generated files that are too large for the archive and return how many; call it before asking."""
    giants = [file for file in folder.rglob("*.jsonl") if file.stat().st_size > LARGEST_GOLDEN_BYTES]
    for file in giants:
        file.unlink()
    return len(giants)


def _json(value: Any) -> bytes:
    # Escaped to ASCII: answers hold lone surrogates, which have no UTF-8.
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode("ascii")
