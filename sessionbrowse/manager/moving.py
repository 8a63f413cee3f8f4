"""The part of `SessionManager` that changes whole files: forks, moves, backups, marks of atomic's workflow stages."""

from __future__ import annotations

import os
import re

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import NotASession, RefusedWrite
from sessionbrowse.format.json_value import json_bytes, trim
from sessionbrowse.format.splice import with_member
from sessionbrowse.manager.appending import SessionAppender
from sessionbrowse.manager.environment import default_session_dir, resolved, sessions_root
from sessionbrowse.manager.memory_session import memory_session_of
from sessionbrowse.manager.session_file import SessionFile
from sessionbrowse.services.change import fork as forking
from sessionbrowse.services.change import relocate
from sessionbrowse.services.change.delete import is_lock
from sessionbrowse.services.transaction.change import changing
from sessionbrowse.store.read.content import closing, file_blocks, open_regular
from sessionbrowse.store.read.session_file import open_session, refuse_damaged
from sessionbrowse.store.write import whole_files
from sessionbrowse.store.write.replace_many import Replacement
from sessionbrowse.text import iso_ms

_WORKFLOW = ("runId", "stageId", "stageName")


class SessionMover(SessionAppender):
    """The part of `SessionManager` that forks, moves and backs up the session, or marks it as a workflow stage.

    Every method raises:
        RefusedWrite: the program has no such operation, or the file may not be changed.
        InUse: a running omp may have the session open; `force` on opening skips this check.
        WriteFailed: an I/O error occurred; file and memory are unchanged.
    """

    def fork(self) -> str | None:
        """Copy the whole session, switch to the copy, and return its path; None for a session without a file (omp).

        The copy has a new id, and its header names the old session's id as parent session. The user can undo the fork.
        """
        self._only("fork", "omp")
        file = self._file
        if file is None or not file.exists:
            return None
        made = forking.fork(
            file.path,
            self.agent,
            cwd=self._cwd,
            session_dir=os.path.dirname(file.path),
            context=self._environment.context,
            random_bytes=self._environment.random_bytes,
        )
        self._go_over(made.path)
        return made.path

    def move_to(self, new_cwd: str | os.PathLike[str]) -> str | None:
        """Move the session to another working directory, and return its new path (omp's `/move`).

        The files that belong to the session are moved with it, and the header records the old path. The user can undo
        the move.
        """
        self._only("move_to", "omp")
        cwd = resolved(new_cwd, self._environment.around)
        file = self._file
        # A file in a folder that the user chose stays there; then only the directory in the header changes.
        stays = os.path.dirname(self._dir) != sessions_root(self.agent, self._environment.around)
        folder = self._dir if stays else default_session_dir(cwd, self.agent, self._environment.around)
        if file is None or not file.exists:
            self._memory.header["cwd"] = cwd
            if file is not None:
                path = os.path.join(folder, os.path.basename(file.path))
                self._file = SessionFile(path, self.agent, self._environment, exists=False)
        else:
            target = os.path.join(folder, os.path.basename(file.path))
            self._move_file(file, target, cwd)
            self._go_over(target)
        self._cwd, self._dir = cwd, folder
        return self.get_session_file()

    def mark_session_internal(self, workflow: dict[str, str]) -> None:
        """Mark the session as a workflow stage, which atomic's list hides; only the header changes (atomic).

        `workflow` has `runId`, `stageId` and `stageName`.
        """
        self._only("mark_session_internal", "atomic")
        names = {name: workflow.get(name, "") for name in _WORKFLOW}
        if not all(map(trim, names.values())):
            raise RefusedWrite("A workflow stage needs runId, stageId and stageName, none of them empty.")
        file = self._file
        if file is not None and file.exists:
            file.set_header([("internal", b"true"), ("workflow", json_bytes(names))])
            self._memory = memory_session_of(open_session(file.path, self.agent))
        else:
            self._memory.header |= {"internal": True, "workflow": names}

    def write_backup_snapshot(self, label: str) -> str | None:
        """Copy the session's file into the same folder, and return the copy's path; None without a file (atomic).

        atomic makes such a copy before every compaction; no list shows the copy.
        """
        self._only("write_backup_snapshot", "atomic")
        file = self._file
        if file is None or not file.exists:
            return None
        stamp = iso_ms(self._environment.now_ms()).replace(":", "-").replace(".", "-")
        path = f"{file.path}.{stamp}.{re.sub('[^a-z0-9_-]', '-', label)}.bak"
        with closing(open_regular(file.path)) as descriptor:
            whole_files.create_file(path, file_blocks(descriptor), like=descriptor)
        return path

    def _move_file(self, file: SessionFile, target: str, cwd: str) -> None:
        line, offset = file.header_line()
        new_line = with_member(line, "cwd", json_bytes(cwd))
        if target != file.path:
            earlier = self._memory.header.get("previousSessionFiles")
            former = [*(earlier if isinstance(earlier, list) else []), file.path]
            new_line = with_member(new_line, "previousSessionFiles", json_bytes(former))
        own = AGENTS[self.agent].companions(file.path) if target != file.path else ()
        here = os.path.dirname(target)
        folders = [(path, os.path.join(here, os.path.basename(path))) for path in own if not is_lock(path)]
        one = Replacement(file.path, target, offset, line, new_line)
        context = self._environment.context
        with changing(context):
            relocate.replace_and_move([one], folders, self._cwd, cwd, context, "relocate", self.agent)

    def _go_over(self, path: str) -> None:
        """Make this manager load another session file and continue with that session."""
        session = open_session(path, self.agent)
        if session.refusal is not None:
            refuse_damaged(session, NotASession)
        self._memory = memory_session_of(session)
        self._file = SessionFile(path, self.agent, self._environment, exists=True, force=True)
        self._file.read()
