"""The journal of changes, for undo and recovery: a file in sessionbrowse's state directory with records as JSON lines.

One record is written before each change and one after it. A change without a second record was interrupted; before the
next change, recovery checks whether it reached the file. Records are only appended, never changed.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.format.json_value import BadJson, json_line, loads
from sessionbrowse.store.own.state_directory import append_record, make_private
from sessionbrowse.store.write.old_versions import OldVersion
from sessionbrowse.text import clean, iso_ms

Json = Any


class Fingerprint(Struct, frozen=True):
    """A file's identity and state: device, inode, size in bytes, modification time in nanoseconds."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Fingerprint:
        """Return the fingerprint of a file from its `os.stat` result."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class Change(Struct, frozen=True, kw_only=True):
    """One change of one file, as recorded in the journal.

    `before` has the values needed to undo the change, `plan` has the intended change (with a `kind`), and `after` has
    the change made. Changes made by one command have the same `group`. `undoes` is the id of the change that this
    change undid. `left` is the file's fingerprint after the change. `was_changed_ms` is the time of the last change by
    another program. `lost` is the reason why the change cannot be undone any more.
    """

    id: str
    time: str
    verb: str
    agent: str
    path: str
    session_id: str | None = None
    group: str | None = None
    undoes: str | None = None
    before: dict[str, Json] = {}
    plan: dict[str, Json] = {}
    after: dict[str, Json] = {}
    left: Fingerprint | None = None
    was_changed_ms: float | None = None
    state: str = "pending"
    undone_by: str | None = None
    reason: str | None = None
    lost: str | None = None

    @property
    def can_be_tried(self) -> bool:
        """True if undoing the change can be tried: it was made, is not undone, and is not itself an undo."""
        return self.state == "done" and self.undone_by is None and self.undoes is None


class Journal:
    """The journal in one state directory; code that adds records must hold the lock `state_directory.only_one`."""

    def __init__(
        self, directory: str, now_ms: Callable[[], float], new_id: Callable[[], str] = lambda: secrets.token_hex(4)
    ) -> None:
        self.path = os.path.join(directory, "journal.jsonl")
        self._directory = directory
        self._now_ms = now_ms
        self._new_id = new_id
        self._changes: dict[str, Change] = {}
        self._begun: set[str] = set()
        self._kept: dict[str, OldVersion] = {}
        self._read_to = 0

    def changes(self) -> dict[str, Change]:
        """Return all changes in the journal, oldest first, as a dictionary with their ids as keys."""
        for record in self._new_records():
            self._take(record, self._changes)
        return self._changes

    def kept(self) -> list[OldVersion]:
        """Return the old versions of replaced files that could not be removed yet: a program may have them open."""
        self.changes()
        return list(self._kept.values())

    def keep(self, old: OldVersion) -> bool:
        """Record an old version of a file that cannot be removed yet; return False if the record was not written."""
        return self._end({"record": "kept", **msgspec.to_builtins(old)})

    def removed(self, old: OldVersion) -> bool:
        """Record that an old version of a file, which could not be removed earlier, is gone."""
        return self._end({"record": "let go", "hidden": old.hidden})

    def begin(
        self,
        verb: str,
        agent: str,
        path: str,
        *,
        session_id: str | None = None,
        group: str | None = None,
        undoes: str | None = None,
        before: dict[str, Json] | None = None,
        plan: dict[str, Json] | None = None,
        was_changed_ms: float | None = None,
    ) -> Change:
        """Record a change before it is made, and wait until the record is on the disk.

        Raises:
            RefusedWrite: the change cannot be recorded, so it must not be made.
        """
        make_private(self._directory)
        change = Change(
            id=self._unused_id(),
            time=iso_ms(self._now_ms()),
            verb=verb,
            agent=agent,
            path=path,
            session_id=session_id,
            group=group,
            undoes=undoes,
            before=before or {},
            plan=plan or {},
            was_changed_ms=was_changed_ms,
        )
        document = msgspec.to_builtins(change)
        for later in ("state", "after", "left", "undone_by", "reason", "lost"):
            del document[later]
        try:
            append_record(self.path, json_line({"record": "begin", **document}))
        except OSError as error:
            reason = error.strerror or str(error)
            raise RefusedWrite(
                f"The change cannot be noted for undo in {clean(self._directory)} ({reason}). Nothing was changed."
            ) from error
        self._begun.add(change.id)
        return change

    def was_begun_here(self, change: Change) -> bool:
        """Return True if this object recorded the beginning of the change, False if another process or object did."""
        return change.id in self._begun

    def done(self, change: Change, after: dict[str, Json] | None = None, left: Fingerprint | None = None) -> bool:
        """Record that a change was made; return False if the record was not written (recovery completes it later)."""
        return self._end({"record": "done", "id": change.id, "after": after or {}, "left": msgspec.to_builtins(left)})

    def failed(self, change: Change, reason: str) -> bool:
        """Record that a change was not made, and why."""
        return self._end({"record": "failed", "id": change.id, "reason": reason})

    def lost(self, change: Change, reason: str) -> bool:
        """Record that a change cannot be undone any more, and why."""
        return self._end({"record": "lost", "id": change.id, "reason": reason})

    def pending(self) -> list[Change]:
        """Return the interrupted changes: those without a record that they were made or failed."""
        return [change for change in self.changes().values() if change.state == "pending"]

    def own_change(self, now: Fingerprint) -> Change | None:
        """Return the change by which sessionbrowse gave a file its present state `now`, even if it was moved since."""
        changes = reversed(self.changes().values())
        return next((change for change in changes if change.state == "done" and change.left == now), None)

    def own_entry_ids(self) -> set[str]:
        """Return the ids of the entries that changes appended to session files."""
        changes = [change for change in self.changes().values() if change.plan.get("kind") == "append"]
        return {str(one["entry_id"]) for change in changes for one in (change.plan, change.after) if "entry_id" in one}

    def _end(self, record: dict[str, Json]) -> bool:
        try:
            append_record(self.path, json_line({**record, "time": iso_ms(self._now_ms())}))
        except OSError:
            return False
        return True

    def _unused_id(self) -> str:
        taken = self.changes()
        while (made := self._new_id()) in taken:
            pass
        return made

    def _new_records(self) -> list[Json]:
        """Return the records that this or another process added to the journal since the last call."""
        try:
            with open(self.path, "rb", opener=_open_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise OSError(errno.EINVAL, "the path is not a file; move it away")
                if file.seek(0, os.SEEK_END) < self._read_to:
                    self._changes, self._kept, self._read_to = {}, {}, 0
                file.seek(self._read_to)
                added = file.read()
        except FileNotFoundError:
            self._changes, self._kept, self._read_to = {}, {}, 0
            return []
        except OSError as error:
            reason = error.strerror or str(error)
            raise RefusedWrite(f"The journal {clean(self.path)} cannot be read: {reason}.") from error
        whole = added[: added.rfind(b"\n") + 1]
        self._read_to += len(whole)
        records = []
        for line in whole.split(b"\n"):
            try:
                records.append(loads(line))
            except BadJson:
                continue  # The line is a record that a crash cut off, or the empty text after the last newline.
        return records

    def _take(self, record: Json, found: dict[str, Change]) -> None:
        if not isinstance(record, dict):
            return
        kind, change = record.get("record"), found.get(str(record.get("id")))
        try:
            if kind == "begin":
                begun = msgspec.convert(record, Change)
                # The journal may have this record twice; the second copy must not make the change pending again.
                found.setdefault(begun.id, msgspec.structs.replace(begun, state="pending"))
            elif kind == "done" and change is not None:
                left = msgspec.convert(record.get("left"), Fingerprint | None)
                after = msgspec.convert(record["after"], dict[str, Json])
                found[change.id] = msgspec.structs.replace(change, state="done", after=after, left=left)
                if change.undoes in found:
                    taken_back = msgspec.structs.replace(found[change.undoes], undone_by=change.id)
                    found[change.undoes] = taken_back
            elif kind == "failed" and change is not None:
                found[change.id] = msgspec.structs.replace(change, state="failed", reason=str(record.get("reason")))
            elif kind == "kept":
                old = msgspec.convert(record, OldVersion)
                self._kept[old.hidden] = old
            elif kind == "let go":
                self._kept.pop(str(record["hidden"]), None)
            elif kind == "lost" and change is not None:
                found[change.id] = msgspec.structs.replace(change, lost=str(record.get("reason")))
        except (msgspec.ValidationError, KeyError):
            return  # A newer sessionbrowse wrote this record, in a form that this version cannot read.


def _open_at_once(path: str, flags: int) -> int:
    # Without `O_NONBLOCK`, opening a named pipe at the journal's path would block all changes.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def moves_in(change: Change) -> Iterator[tuple[str, str]]:
    """Yield the old and the new path of every file and folder that a change moved."""
    plan = change.plan
    for source, target in plan.get("moves", ()):
        yield source, target
    for source, target in plan.get("folders", ()):
        yield source, target
    for source, target, *_ in plan.get("files", ()):
        if source != target:
            yield source, target
    for item in change.after.get("items", ()):
        if item["item"] is not None:
            yield item["original"], item["item"]


def now_at(journal: Journal, path: str) -> str:
    """Return the current path of the file that once had the given path, by all later moves in the journal.

    If several files had the given path one after another, the newest file is followed.
    """
    changes = [change for change in journal.changes().values() if change.state == "done"]
    start = 0
    for index, change in enumerate(changes):
        if any(target == path for _, target in moves_in(change)):
            start = index + 1
    for change in changes[start:]:
        restored = journal.changes().get(change.undoes or "") if change.plan.get("kind") == "restore" else None
        pairs = [(new, old) for old, new in moves_in(restored)] if restored is not None else list(moves_in(change))
        for source, target in pairs:
            if path == source or path.startswith(f"{source}/"):
                path = target + path.removeprefix(source)
                break
    return path


def left_for(journal: Journal, path: str) -> str | None:
    """Return the current path of the session that was last moved away from a path; None if no change moved one."""
    for change in reversed(journal.changes().values()):
        for source, target in moves_in(change):
            if source == path and change.state == "done":
                return now_at(journal, target)
    return None
