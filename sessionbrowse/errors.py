"""Every failure that a user can meet; each carries the one sentence that the user reads.

The command line prints the sentence and ends with status 1; the interface shows it where the user is looking.
Whoever raises writes the sentence: it names the thing and, where something can be done, says what.
"""

from __future__ import annotations

from collections.abc import Iterable


class SessionBrowseError(Exception):
    """An expected failure; `str()` of it is the sentence."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


# ---- reading -----------------------------------------------------------------------------------------------


class NotASession(SessionBrowseError):
    """A path leads to no session that can be opened."""


class Unreadable(NotASession):
    """A file is missing, forbidden, no regular file, or fails while it is read."""


class UnsupportedFormat(NotASession):
    """A file is of a known format that is not read here (pi-agent-core's v4, event streams, other agents' files)."""


# ---- finding -----------------------------------------------------------------------------------------------


class NotFound(SessionBrowseError):
    """Something that the user named is not there."""


class NoSuchSession(NotFound):
    """No session has this path, id or prefix of an id."""


class NoSuchEntry(NotFound):
    """The session has no entry with this id, prefix or label."""


class AmbiguousReference(SessionBrowseError):
    """A prefix or label fits several; `candidates` are what the user can choose from."""

    def __init__(self, sentence: str, candidates: Iterable[str]) -> None:
        super().__init__(sentence)
        self.candidates = tuple(candidates)


# ---- resuming ----------------------------------------------------------------------------------------------


class CannotResume(SessionBrowseError):
    """The agent would refuse, overwrite or not find this session."""


class AgentMissing(CannotResume):
    """The agent's program is not on this machine."""


class DirectoryMissing(CannotResume):
    """The session's working directory is gone."""


class CommandFailed(SessionBrowseError):
    """A command of the user's own could not be started, or ended badly."""


# ---- changing ----------------------------------------------------------------------------------------------


class RefusedWrite(SessionBrowseError):
    """A change was not made because it could cost the user something; the file is as it was."""


class InUse(RefusedWrite):
    """Another program may be writing this session."""


class ChangedMeanwhile(RefusedWrite):
    """The file is not what was read a moment ago; trying again may do."""


class UnsafeEntry(RefusedWrite):
    """The agent cannot go on at this entry; `nearest` is the id of the nearest one where it can, if there is one."""

    def __init__(self, sentence: str, nearest: str | None) -> None:
        super().__init__(sentence)
        self.nearest = nearest


class CannotUndo(RefusedWrite):
    """A change cannot be taken back any more; the sentence says why and what can be done instead."""


class LostForGood(CannotUndo):
    """What a change took away is gone; `of_several` is the end of a sentence on several of which that is true."""

    def __init__(self, sentence: str, of_several: str) -> None:
        super().__init__(sentence)
        self.of_several = of_several


class WriteFailed(SessionBrowseError):
    """The disk refused a change; the sentence says what the file holds now."""
