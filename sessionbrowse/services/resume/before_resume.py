"""Warnings before resuming: a program may have the session open, the newest messages are on another branch, or the
agent stops with an error when it draws the session."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from sessionbrowse.model.clean.damage import stopping_damage
from sessionbrowse.model.session.session import Session, left_behind, messages_left_behind
from sessionbrowse.model.tree.row_text import row_text
from sessionbrowse.services.change.checkout import safe_place
from sessionbrowse.services.transaction.change import usage_at
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.own.mirrors import machine_of, machines_dir
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.in_use import RECENT_MS, FileUsage
from sessionbrowse.text import clean


class LeftBehind(Struct, frozen=True):
    """The newest messages, which the agent would not see because it would resume on another branch.

    `messages` is the number of these messages. After a checkout of the entry `entry_id` the agent resumes on their
    branch; None if no entry can be checked out. `text` is the text of the entry `entry_id` in the tree.
    """

    newest_id: str | None
    messages: int
    entry_id: str | None
    text: str = ""

    @property
    def sentence(self) -> str:
        """A sentence that warns the user that messages are not on the branch where the session resumes."""
        count = "1 message is" if self.messages == 1 else f"{self.messages} messages are"
        return f"{count} not on the branch where the session resumes, including the newest message."


class BeforeResume(Struct, frozen=True):
    """Reasons to ask the user before resuming: a program may be writing the file, or the agent would miss messages.

    `stops` is a sentence if the agent would refuse the file, stop with an error or hang; a repair may prevent it.
    """

    used: FileUsage
    left_behind: LeftBehind | None
    stops: str | None = None

    @property
    def warning(self) -> str | None:
        """The warning that a program may be writing the session; None if there is no sign of such a program."""
        if not self.used.in_use:
            return None
        reasons = "; ".join(map(clean, self.used.reasons))
        return f"The session may be in use: {reasons}. Two programs on one session lose each other's messages."


def before_resume(path: str, agent: str, context: ChangeContext | None = None) -> BeforeResume:
    """Return the reasons to ask the user before a session is resumed; reads the whole file.

    The fields of all entries are checked in files of up to `CHECKED_BYTES`.

    Raises:
        NotASession: the file cannot be read, or is not a session.
    """
    context = context or ChangeContext.real()
    session = open_session(path, agent)
    used = used_before_resume(path, agent, session.cwd, context)
    return BeforeResume(used, left_behind_of(session, context.around.home), _stops(session))


def used_before_resume(path: str, agent: str, cwd: str, context: ChangeContext) -> FileUsage:
    """Return the signs that a program may be writing a session; if it is on another machine, that machine is asked."""
    machine = machine_of(path)
    if machine is None:
        return usage_at(path, agent, cwd, context)
    # Imported here because most sessions that are resumed are on this machine.
    from sessionbrowse.services.machines.one_file import changed_there

    seconds = changed_there(path, machines_dir(context.around.environ, Path(context.around.home)))
    if seconds is None or seconds * 1000 >= RECENT_MS:
        return FileUsage("free")
    return FileUsage("may-be-in-use", (f"it changed less than {max(1, round(seconds / 60))} min ago on {machine}",))


CHECKED_BYTES = 100_000_000
"""Checking the fields of a larger file would take more than a second."""


def _stops(session: Session) -> str | None:
    if session.refusal is not None:
        return f"{session.agent} {clean(session.refusal)}."
    damage = stopping_damage(session) if session.size <= CHECKED_BYTES else None
    if damage is None:
        return None
    return f"{damage.agent_does}: {clean(damage.reason)} in line {damage.line:,}."


def left_behind_of(session: Session, home: str = "") -> LeftBehind | None:
    """Return the messages that the agent would not see when it resumes; None if it resumes at the newest message."""
    newest = left_behind(session)
    if newest is None:
        return None
    place = safe_place(session, newest)
    return LeftBehind(
        newest_id=session.ids[newest] or None,
        messages=messages_left_behind(session, newest),
        entry_id=session.ids[place] or None if place is not None else None,
        text=row_text(session, place, home) if place is not None else "",
    )
