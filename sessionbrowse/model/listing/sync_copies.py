"""Names that programs for synchronising give to a session file's copies, after two machines have changed the file."""

from __future__ import annotations

import re
from functools import lru_cache

_SUFFIX = re.compile(r"\.(?:jsonl(?:\.gz)?|ndjson)\Z")
# Names that only such programs give, whatever name the original file has (the first group).
_CONFLICT = re.compile(
    r"(.+)(?:"
    r"\.sync-conflict-\d{8}-\d{6}-[0-9A-Z]{7}"  # Syncthing
    r"|~\d{8}-\d{6}"  # Syncthing's old versions
    r"| \([^()]*(?:conflicted copy|Case Conflict|SFConflict)\b[^()]*\)"  # Dropbox, Nextcloud, ownCloud, Seafile
    r"|_conflict-\d{8}-\d{6}.*"  # older ownCloud
    r")",
    re.DOTALL,
)
# Others add only a word, a number or the machine's name: `NAME 2`, `NAME (1)`, `NAME-LAPTOP`, `Copy of NAME`. That is
# told from a name that a user chose by the session's id, with which the agents' own names end.
_BEFORE_ID = re.compile(r"(.*[^0-9A-Za-z])?(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_)", re.DOTALL)
_OWN_CHARACTERS = len("2026-08-13T08-00-00-000Z_.jsonl")


def original_name(name: str, session_id: str | None) -> str | None:
    """Return the name of the session file of which a file is a copy by a program for synchronising; None for others.

    `session_id` is the id in the header of the file; if it is not in the name, only names count that no user chooses.
    """
    if session_id and len(name) == _OWN_CHARACTERS + len(session_id) and name.endswith(f"Z_{session_id}.jsonl"):
        return None  # Nearly all names are the agent's own, and lists ask for thousands.
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
        is_own = not made_by_agent[1] and not after
        return None if is_own else made_by_agent[2] + session_id + suffix[0]
    conflict = _CONFLICT.fullmatch(stem)
    return conflict[1] + suffix[0] if conflict is not None else None
