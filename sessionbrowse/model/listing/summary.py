"""The summary of a session, and the text of its first message as lists show it. This module reads no file."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from sessionbrowse.model.listing.directories import stored

if TYPE_CHECKING:
    from sessionbrowse.format.json_value import Json

SessionStatus = Literal["complete", "interrupted", "aborted", "error", "pending"]
"""The status names of omp's session list; omp displays "complete" as "done"."""
MAX_FIRST_MESSAGE_BYTES = 64 * 1024


class Summary(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """The facts of one session that a list shows; times are in milliseconds since 1970, None if unknown.

    `modified`, `message_count`, `first_message`, `name` and `hidden` are as in the list of the session's agent.
    `left_behind` is True if the agent resumes the session without its newest message. `status` is None if unknown.
    `newest_label` is the greatest time of a label, as text (no label is newer), "" if there is none.
    `machine` is the name of the other machine on which the session is, None for this one. `cwd` has the form of lists
    (see `directories.listed`), so that equal paths on two machines differ.
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
    newest_label: str = ""
    tokens: int = 0
    cost: float = 0.0
    model: str | None = None
    problem: str | None = None
    problem_count: int = 0
    mtime_ns: int = 0
    is_transcript: bool = False
    left_behind: bool = False
    status: SessionStatus | None = None
    machine: str | None = None

    @property
    def own_cwd(self) -> str:
        """The working directory, as a path on the session's own machine."""
        return stored(self.cwd, self.machine)

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


class Sketch(Struct, frozen=True):
    """The facts from which the summary of a session without branches is made when its entries are not built.

    `header` is the JSON object of the session's header, `first` is the text of the first prompt with text, and
    `active_ms` the time of the newest prompt or answer.
    """

    header: dict[str, Json]
    entries: int
    messages: int
    first: str | None
    active_ms: float | None
    tokens: int
    model: str | None
    status: SessionStatus | None


class SummaryState(Struct, frozen=True, array_like=True):
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
    labels: dict[str, tuple[str, str]]
    is_message: bytes
    models: dict[int, tuple[str, bool]]
    moves: set[int]


_SUFFIX = re.compile(r"\.(?:jsonl(?:\.gz|\.zst)?|ndjson)\Z")
# Names of conflict copies that only synchronising programs make; the first group is the original's name.
_CONFLICT = re.compile(
    r"(.+)(?:"
    r"\.sync-conflict-\d{8}-\d{6}-[0-9A-Z]{7}"  # Syncthing
    r"|~\d{8}-\d{6}"  # Syncthing's old versions
    r"| \([^()]*(?:conflicted copy|Case Conflict|SFConflict)\b[^()]*\)"  # Dropbox, Nextcloud, ownCloud, Seafile
    r"|_conflict-\d{8}-\d{6}.*"  # older ownCloud
    r")",
    re.DOTALL,
)
# Other programs only add a word, a number or the machine's name: `NAME 2`, `NAME (1)`, `NAME-LAPTOP`, `Copy of NAME`. A
# user may choose such a name too. It counts as a copy only if it contains the agent's own name, which ends with the
# session's id.
_BEFORE_ID = re.compile(
    r"(.*[^0-9A-Za-z])?(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_|rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-)", re.DOTALL
)
_REVISION = re.compile(r"_[0-9a-f-]+")
"""The end of the name of a second file of one session of Codex."""
_OWN_CHARACTERS = len("2026-08-13T08-00-00-000Z_.jsonl")


def original_name(name: str, session_id: str | None) -> str | None:
    """Return the original's name if a file is a copy that a program such as Dropbox or Syncthing made, else None.

    `session_id` is the id in the header of the file. If the name does not contain it, only names that no user would
    choose count as copies.
    """
    if session_id and len(name) == _OWN_CHARACTERS + len(session_id) and name.endswith(f"Z_{session_id}.jsonl"):
        # A fast check, because lists call this for thousands of files, nearly all with the agent's own names.
        return None
    return _original_name(name, session_id)


@lru_cache(maxsize=1024)
def _original_name(name: str, session_id: str | None) -> str | None:
    suffix = _SUFFIX.search(name)
    stem = name[: suffix.start()] if suffix is not None else ""
    if suffix is None or not stem:
        return None
    before, at_id, after = stem.rpartition(session_id) if session_id else ("", "", "")
    made_by_agent = _BEFORE_ID.fullmatch(before) if at_id else None
    if session_id and made_by_agent is not None and not after[:1].isalnum():
        is_revision = made_by_agent[2].startswith("rollout-") and _REVISION.fullmatch(after) is not None
        is_own = not made_by_agent[1] and (not after or is_revision)
        return None if is_own else made_by_agent[2] + session_id + suffix[0]
    conflict = _CONFLICT.fullmatch(stem)
    return conflict[1] + suffix[0] if conflict is not None else None


def joined_text(raw: bytes) -> str:
    """Return the text of the message in a line, as the agents' session lists show it: text blocks joined by blanks."""
    # Imported late, because the browser's first rows need only what is in a summary.
    from sessionbrowse.format.json_value import json_object

    message = (json_object(raw) or {}).get("message")
    content: Json = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return " ".join(text if isinstance(text, str) else "" for text in texts)


def first_message_of(raw: bytes) -> tuple[str | None, bool]:
    """Return the text of the message in a line, cut to `MAX_FIRST_MESSAGE_BYTES`, and True if it was cut.

    The text is None if the message has no text.
    """
    text = joined_text(raw)
    return cut_to_bytes(text) if text else (None, False)


def cut_to_bytes(text: str) -> tuple[str, bool]:
    """Return the beginning of a text, at most `MAX_FIRST_MESSAGE_BYTES` bytes, and True if the text is longer."""
    if len(text) <= MAX_FIRST_MESSAGE_BYTES // 4:
        return text, False
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= MAX_FIRST_MESSAGE_BYTES:
        return text, False
    return encoded[:MAX_FIRST_MESSAGE_BYTES].decode("utf-8", "ignore"), True
