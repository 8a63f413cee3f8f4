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


class Unreadable(SessionBrowseError):
    """A file or directory is missing, forbidden, or fails while it is read."""


class NotASession(SessionBrowseError):
    """A file holds no session header, so neither the agent nor we can open it."""


class UnsupportedFormat(SessionBrowseError):
    """A file is of a known format that is not read here (pi-agent-core's v4, event streams)."""


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


# ---- changing ----------------------------------------------------------------------------------------------


class RefusedWrite(SessionBrowseError):
    """A change was not made because it could cost the user something; the file is as it was."""


class InUse(RefusedWrite):
    """Another program may be writing this session."""


class WriteFailed(SessionBrowseError):
    """The disk refused a change; the sentence says what the file holds now."""
