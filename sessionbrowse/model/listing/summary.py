"""The data class for the summary of a session; this module imports none of the modules that read sessions."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sessionbrowse.model.listing.sync_copies import original_name

SessionStatus = Literal["complete", "interrupted", "aborted", "error", "pending"]
"""The status names of omp's session list; omp displays "complete" as "done"."""


class Summary(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The facts of one session that a list shows; times are in milliseconds since 1970, None if unknown.

    `modified`, `message_count`, `first_message`, `name` and `hidden` are as in the list of the session's agent.
    `left_behind` is True if the agent resumes the session without its newest message. `status` is None if unknown.
    """

    agent: str
    path: str
    id: str | None = None
    cwd: str = ""
    name: str | None = None
    created: float | None = None
    modified: float | None = None
    message_count: int = 0
    first_message: str | None = None
    first_message_cut: bool = False
    parent_session: str | None = None
    parent_path: str | None = None
    bytes: int = 0
    hidden: bool = False
    archived: bool = False
    entry_count: int = 0
    branch_count: int = 1
    labels: tuple[str, ...] = ()
    tokens: int = 0
    cost: float = 0.0
    model: str | None = None
    problem: str | None = None
    problem_count: int = 0
    mtime_ns: int = 0
    is_transcript: bool = False
    left_behind: bool = False
    status: SessionStatus | None = None

    @property
    def label_count(self) -> int:
        """The number of entries that have a label."""
        return len(self.labels)

    @property
    def copy_of(self) -> str | None:
        """The name of the session file of which this file is a conflict copy; None for other files."""
        return original_name(self.path.rpartition("/")[2], self.id)

    @property
    def title(self) -> str:
        """The title in lists: the session's name, else its first message, else "". Control characters are included."""
        return self.name or self.first_message or ""


class SummaryProgress(Struct, frozen=True, array_like=True):
    """The state of a `SummaryBuilder`; from this state, a new builder can continue when the file has grown.

    The index stores the state. The first message in it may be cut.
    """

    messages: int
    name: str | None
    first: str | None
    first_of_others: str | None
    first_at: tuple[int, int] | None
    active_ms: float | None
    tokens: int
    cost: float
    short_summary: str | None
    answered: bool
    labels: dict[str, str]
    is_message: bytes
    models: dict[int, tuple[str, bool]]
    moves: set[int]
