"""Errors that a user can meet; each contains the one sentence that the user reads.

The command line prints the sentence and exits with status 1; the browser shows it as a toast or in a pane. The code
that raises an error writes its sentence: it says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable


class SessionBrowseError(Exception):
    """An expected failure; `str(error)` is the sentence that the user reads."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


# ---- reading -----------------------------------------------------------------------------------------------


class NotASession(SessionBrowseError):
    """The path does not lead to a session file that can be opened."""


class Unreadable(NotASession):
    """A file is missing, is not a regular file, may not be read, or fails while it is read."""


class UnsupportedFormat(NotASession):
    """A file has a known format that sessionbrowse does not read, such as Codex's, or that of `pi --mode json`."""


# ---- finding -----------------------------------------------------------------------------------------------


class NotFound(SessionBrowseError):
    """A session, entry, directory or other thing that the user named does not exist."""


class NoSuchSession(NotFound):
    """No session has the given path, id or beginning of an id."""


class NoSuchEntry(NotFound):
    """The session has no entry with the given id, beginning of an id, or label."""


class AmbiguousReference(SessionBrowseError):
    """The beginning of an id, or a label, matches several sessions or entries; `candidates` lists them."""

    def __init__(self, sentence: str, candidates: Iterable[str]) -> None:
        super().__init__(sentence)
        self.candidates = tuple(candidates)


# ---- resuming ----------------------------------------------------------------------------------------------


class CannotResume(SessionBrowseError):
    """The session cannot be resumed safely: the agent would not find it, or would refuse or overwrite it."""


class CannotStart(CannotResume):
    """Something that the agent needs is missing on this machine; `short` is the sentence without advice."""

    def __init__(self, sentence: str, short: str) -> None:
        super().__init__(sentence)
        self.short = short


class AgentMissing(CannotStart):
    """The agent's program is not installed on this machine."""


class DirectoryMissing(CannotStart):
    """The session's working directory is gone, or its disk does not answer."""


class CommandFailed(SessionBrowseError):
    """A command from the user's settings could not be started, or failed."""


# ---- changing ----------------------------------------------------------------------------------------------


class RefusedWrite(SessionBrowseError):
    """A change was refused because it could lose data; the file is unchanged."""


class NeedsRepair(NotASession, CannotResume, RefusedWrite):
    """The session is too damaged for its agent, or for the requested action; a repair makes it possible."""


class OnlyRead(RefusedWrite):
    """A change was refused because the session belongs to a program whose files are never written."""


class EmptyText(RefusedWrite):
    """A new name or label is empty after cleaning; an empty text does not remove the old name or label."""


class NothingStays(RefusedWrite):
    """A change was refused because no message would remain in the new copy of the session."""


class InUse(RefusedWrite):
    """A change was refused because another program may be writing this session."""


class ChangedMeanwhile(RefusedWrite):
    """A change was refused because the file has changed since it was read; trying again may help."""


class SameFile(ChangedMeanwhile):
    """A session that was moved to the trash was the same file as the one to keep, and was put back.

    A bulk change stops at this error, because the same may be true of its other sessions.
    """


class UnsafeEntry(RefusedWrite):
    """The agent cannot resume at this entry; `nearest` is the id of the nearest entry at which it can, or None."""

    def __init__(self, sentence: str, nearest: str | None) -> None:
        super().__init__(sentence)
        self.nearest = nearest


class CannotUndo(RefusedWrite):
    """A change cannot be undone any more; the sentence says why and what to do instead.

    `earlier_id` is the undo id of the previous change, None if there is none. Undoing that change may be refused too.
    """

    def __init__(self, sentence: str, earlier_id: str | None = None) -> None:
        super().__init__(sentence)
        self.earlier_id = earlier_id


class NoSuchChange(CannotUndo):
    """The journal contains no change with this undo id."""


class LostForGood(CannotUndo):
    """The data that an undo would restore is gone.

    If this happens to several sessions, one sentence reports all of them. It begins with the number of sessions, and
    the text `of_several` follows.
    """

    def __init__(self, sentence: str, of_several: str) -> None:
        super().__init__(sentence)
        self.of_several = of_several


class WriteFailed(SessionBrowseError):
    """An I/O error occurred while writing a change; the sentence says what the file contains now."""


# ---- mistyped words ----------------------------------------------------------------------------------------


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return " Did you mean NAME?" with the name that a mistyped word may mean, or "" if no name is similar."""
    name = meant(word, names)
    return f" Did you mean {name}?" if name else ""


def meant(word: str, names: Iterable[str]) -> str:
    """Return the name among `names` that a mistyped word may mean, or "" if no name is similar."""
    from difflib import get_close_matches

    # All options begin with dashes, so the dashes must not count as similarity.
    bare = {name.lstrip("-").lower(): name for name in names}
    typed = word.lstrip("-").lower()
    begun = [name for name in bare if len(typed) > 1 and name.startswith(typed)]
    close = begun or get_close_matches(typed, bare, 1, 0.6)
    return bare[close[0]] if close else ""
