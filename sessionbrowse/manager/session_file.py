"""The session file of a session manager: created as a whole, then extended line by line by `store.write.writer`.

No file stays open between two calls. Changes by other programs are detected by the file's inode and size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import UNSET, Struct

from sessionbrowse.agents import AGENTS
from sessionbrowse.agents.base import HEAD_BYTES
from sessionbrowse.agents.change_plans import AppendLine
from sessionbrowse.errors import ChangedMeanwhile, NotASession, RefusedWrite, WriteFailed
from sessionbrowse.format.json_value import json_line
from sessionbrowse.format.splice import with_member
from sessionbrowse.format.title_slot import Source, parse_slot, slot_line
from sessionbrowse.manager.environment import Environment
from sessionbrowse.manager.memory_session import EntryObject, MemorySession
from sessionbrowse.services.change.rename import refuse_slot
from sessionbrowse.services.transaction.change import consent_to_append, usage_at
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write import whole_files, writer
from sessionbrowse.store.write.journal import Fingerprint
from sessionbrowse.store.write.write_checks import Target, refuse_new_on_machine, refuse_old_version
from sessionbrowse.text import clean, iso_ms


class Placed(Struct, frozen=True):
    """The ids of an appended entry and its parent.

    `others_wrote` is True if another program may have written to the file at the same time.
    """

    entry_id: str
    parent_id: str | None
    others_wrote: bool


class SessionFile:
    """The file in which a manager saves its session; `exists` is False until the file is written."""

    def __init__(
        self,
        path: str,
        agent: str,
        environment: Environment,
        *,
        exists: bool,
        force: bool = False,
        like: str | None = None,
    ) -> None:
        self.path = path
        self._like = like
        self.exists = exists
        self.force = force
        self._agent = AGENTS[agent]
        self._environment = environment
        self._opened: writer.OpenedFile | None = None
        self._left: Fingerprint | None = None
        self._is_ours = False

    def create(self, pieces: Iterable[bytes]) -> None:
        """Write a new session file, completely or not at all.

        Raises:
            RefusedWrite: a file of that name exists and is not empty, or the path is in the mirror of another machine.
            WriteFailed: an I/O error occurred; no file was created.
        """
        directory = os.path.dirname(self.path)
        refuse_new_on_machine(self.path)
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as error:
            raise WriteFailed(f"{clean(directory)} cannot be made ({error.strerror}); no file was written.") from error
        if os.path.isfile(self.path) and os.path.getsize(self.path) == 0:
            self._fill(pieces)
        else:
            self._left = self._create(pieces)
        self.exists = self._is_ours = True
        self._opened = None

    def _create(self, pieces: Iterable[bytes]) -> Fingerprint:
        """Create the file; if it is made from another session, copy the owner, mode and access list of that file."""
        try:
            source = open_regular(self._like) if self._like is not None else None
        except NotASession:
            source = None
        if source is None:
            return whole_files.create_file(self.path, pieces)
        with closing(source):
            return whole_files.create_file(self.path, pieces, like=source, may_be_ours=True)

    def changed(self) -> bool:
        """Return True if another program changed or replaced the file since this process read or wrote it."""
        if self._left is None:
            return False
        try:
            now = Fingerprint.of(os.stat(self.path))
        except OSError:
            return True
        return (now.device, now.inode, now.size) != (self._left.device, self._left.inode, self._left.size)

    def read(self) -> None:
        """Remember device, inode and size of the file after the manager has read it; `changed` compares with them."""
        self._left = Fingerprint.of(os.stat(self.path))
        self._opened = None
        self._is_ours = False

    def append(self, plan: AppendLine, entry_id: str, timestamp_ms: float) -> Placed:
        """Append one entry to the file; `plan` has its type and other fields, and `plan.parent_id` is its parent's id.

        If `plan.parent_id` is UNSET, the parent is the last entry in the file at the time of writing.

        Raises:
            RefusedWrite, InUse: the file may not be changed.
            WriteFailed: an I/O error occurred; all bytes before the new line are unchanged.
        """
        file = self._open()
        descriptor = open_regular(self.path)
        file.descriptor = descriptor
        with closing(descriptor):
            appended = writer.append_line(
                file,
                plan,
                entry_id,
                now_ms=lambda: timestamp_ms,
                new_id=lambda: self._environment.random_bytes(4).hex(),
                under_lock=not self._agent.bears_appends,
            )
            status = os.fstat(descriptor)
            file.descriptor = -1
        parent_id = file.tail.last_id if plan.parent_id is UNSET else plan.parent_id
        # `file.tail` knows the ids in the file and the last entry. `append_line` has updated it for entries of other
        # programs, but not for the new entry.
        file.tail.last_id, file.tail.last_is_nameless = appended.entry_id, False
        file.tail.ids.add(appended.entry_id)
        self._left = Fingerprint.of(status)
        self._is_ours = True
        return Placed(appended.entry_id, parent_id, appended.left is None)

    def check_title(self) -> None:
        """Raise `RefusedWrite` if the file has no title slot and must not get one (omp).

        It must not get one if, for example, another agent may read the file.
        """
        with writer.opened(Target(self.path, self._agent.name)) as file:
            if parse_slot(file.first_bytes()) is None:
                refuse_slot(file, self._environment.around)

    def set_title(self, title: str, source: Source, updated_at: str) -> None:
        """Write omp's title slot: overwrite an existing slot, or insert a slot before the first line of the file.

        Raises:
            RefusedWrite, InUse: the file may not be changed.
            WriteFailed: an I/O error occurred; the message says what the slot contains.
        """
        new = slot_line(title, source, updated_at)
        with writer.opened(Target(self.path, self._agent.name)) as file:
            if self._left is not None and (file.found.device, file.found.inode) != (
                self._left.device,
                self._left.inode,
            ):
                raise ChangedMeanwhile(f"{file.name} was replaced by another program; its title was not changed.")
            if parse_slot(file.first_bytes()) is not None:
                writer.overwrite_slot(file, file.first_bytes(), new)
            else:
                pieces = _before(new, file.descriptor)
                self._rewrite(file, pieces, under_lock=True)
            self._opened = None
            self._left = Fingerprint.of(os.stat(self.path))

    def header_line(self) -> tuple[bytes, int]:
        """Return the header line (without newline) and its byte offset, after checking that the file may be rewritten.

        Raises:
            RefusedWrite, InUse: the file may not be rewritten.
        """
        with writer.opened(Target(self.path, self._agent.name)) as file:
            refuse_old_version(file.session)
            if not self._is_ours:
                self._ask(file)
            return _header_of(file)

    def set_header(self, members: Iterable[tuple[str, bytes]]) -> None:
        """Set keys of the header to JSON values; all other bytes and the modification time do not change.

        Raises:
            RefusedWrite, InUse: the file may not be changed.
            WriteFailed: an I/O error occurred; the file is unchanged.
        """
        with writer.opened(Target(self.path, self._agent.name)) as file:
            refuse_old_version(file.session)
            line, offset = _header_of(file)
            new_line = line
            for name, value in members:
                new_line = with_member(new_line, name, value)
            rest = file_blocks(file.descriptor, offset + len(line))
            pieces = chain(file_blocks(file.descriptor, 0, offset), [new_line], rest)
            self._rewrite(file, pieces)
            self._opened = None
            self._left = Fingerprint.of(os.stat(self.path))

    def _open(self) -> writer.OpenedFile:
        """Return the opened file; before this manager's first change to the file, check that changing it is allowed."""
        if self._opened is None:
            with writer.opened(Target(self.path, self._agent.name)) as file:
                refuse_old_version(file.session)
                if not self._is_ours:
                    self._ask(file)
            self._opened = file
        return self._opened

    def _ask(self, file: writer.OpenedFile) -> None:
        used = usage_at(file.path, self._agent.name, file.session.cwd, self._environment.context)
        consent_to_append(file, used, "the new entry", asks=False, force=self.force)

    def _fill(self, pieces: Iterable[bytes]) -> None:
        with closing(open_regular(self.path)) as descriptor:
            file = writer.OpenedFile(self.path, descriptor, open_session(self.path, self._agent.name))
            self._left = self._rewrite(file, pieces)

    def _rewrite(
        self, file: writer.OpenedFile, pieces: Iterable[bytes], *, under_lock: bool = False
    ) -> Fingerprint | None:
        keep = self._environment.context.journal.keep
        return whole_files.rewrite_file(
            file, pieces, whole_files.temporary_beside(self.path), keep, under_lock=under_lock
        )


def _header_of(file: writer.OpenedFile) -> tuple[bytes, int]:
    line = file.session.header_line or b""
    head = b"".join(file_blocks(file.descriptor, 0, len(line) + HEAD_BYTES))
    offset = head.find(line) if line else -1
    if offset < 0:
        raise RefusedWrite(f"The header of {file.name} is not at the beginning of the file; nothing was changed.")
    return line, offset


def first_lines(memory: MemorySession, title_updated_at: str) -> Iterator[bytes]:
    """Yield the first lines of a file: the title slot (omp) and the header."""
    if memory.rules.reads_title_slot:
        title, source = memory.header.get("title"), memory.header.get("titleSource")
        yield slot_line(title if isinstance(title, str) else "", source, title_updated_at)
    yield json_line(memory.header)


def lines_of(memory: MemorySession, title_updated_at: str) -> Iterator[bytes]:
    """Yield the lines of a session's file: title slot (omp), header and entries."""
    yield from first_lines(memory, title_updated_at)
    for entry in memory.entries:
        yield json_line(entry)


def _before(first: bytes, descriptor: int) -> Iterator[bytes]:
    yield first
    yield from file_blocks(descriptor)


def entry_of(plan: AppendLine, entry_id: str, parent_id: str | None, timestamp_ms: float) -> EntryObject:
    """Return the JSON object of a new entry; `plan` (an `AppendLine`) contains the entry's type and other fields."""
    base: EntryObject = {"id": entry_id, "parentId": parent_id, "timestamp": iso_ms(timestamp_ms)}
    body = {**plan.fields, **base} if plan.own_first else {**base, **plan.fields}
    return {"type": plan.type, **body}
