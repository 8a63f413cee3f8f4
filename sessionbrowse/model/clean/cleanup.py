"""The rules by which sessions are proposed for cleanup, and the values that the rules compare.

This module reads and moves no file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Literal

from msgspec import Struct

from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.format.lines import LineBlock
from sessionbrowse.format.splice import edited, without_member
from sessionbrowse.model.clean.plan import CleanPlan
from sessionbrowse.model.clean.shrink_content import shrunk
from sessionbrowse.model.listing.families import families, is_stub
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.text import iso_ms, plural, size

_IMAGES = CleanPlan(images=True)
_MEDIA_SIGNS = (b'"data":', b'"data" :', b";base64,")
# Entries of these types are not compared: a fork writes header, name and labels again with new ids, and changes of the
# model or the thinking level are no content.
_NOT_COMPARED = frozenset(
    {"session", "title", "session_info", "label", "model_change", "thinking_level_change", "title_change"}
)
_LEAST_MEDIA_LINE = 1024


class SessionContent(Struct, frozen=True, kw_only=True):
    """The content of one session file, for comparing: `digest` of all bytes, and one hash number for each entry.

    `media` and `media_bytes` are the number and the total size of the session's images. `is_whole` is False if a line
    was too long to be compared. `file` identifies the file on the disk.
    """

    digest: bytes
    entries: frozenset[int]
    media: int
    media_bytes: int
    is_whole: bool
    file: tuple[int, int]


class ContentReader:
    """Receives the lines of one session file, and computes its `SessionContent`."""

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=16)
        self._entries: set[int] = set()
        self._media = self._media_bytes = 0
        self._is_whole = True

    def add_lines(self, lines: list[bytes], offset: int) -> None:
        """Include the next complete lines of the session file, each with its newline, in the computed content."""
        for line in lines:
            self._digest.update(line)
            self._take(line)

    def add_block(self, block: LineBlock) -> None:
        """Include a very long line of the session file, or its last line without newline, in the computed content."""
        if block.reduced_from:
            self._is_whole = False
        for line in block.lines:
            self._digest.update(line if block.torn else line + b"\n")
            self._take(line)

    def content(self, file: tuple[int, int]) -> SessionContent:
        """Return the content of all lines added so far; `file` identifies the file on the disk."""
        return SessionContent(
            digest=self._digest.digest(),
            entries=frozenset(self._entries),
            media=self._media,
            media_bytes=self._media_bytes,
            is_whole=self._is_whole,
            file=file,
        )

    def _take(self, line: bytes) -> None:
        bare = line.strip()
        if not bare:
            return
        try:
            value = loads(bare)
            # Parents are not compared: a fork leaves out label entries, so the entries below them get other parents.
            compared = without_member(bare, "parentId")
        except BadJson:
            self._entries.add(_number(bare))
            return
        if len(bare) >= _LEAST_MEDIA_LINE and any(sign in bare for sign in _MEDIA_SIGNS):
            made = shrunk(value, _IMAGES, may_drop_thinking=False, new_call_id=None)
            self._media += made.images
            self._media_bytes += len(bare) - len(edited(bare, made.edits))
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in _NOT_COMPARED:
            self._entries.add(_number(compared))


def _number(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big")


Kind = Literal["empty", "duplicate", "copy", "large", "archived", "old"]
KINDS: tuple[Kind, ...] = ("empty", "duplicate", "copy", "large", "archived", "old")
"""The kinds of cleanup reasons in order of precedence: a session gets the first kind that applies."""
NOTHING_OWN: frozenset[Kind] = frozenset({"empty", "duplicate", "copy"})
"""The kinds of sessions without own content: at most one message, or only content that another session has too."""
EMPTY_BYTES = 64 * 1024
"""Maximum file size in bytes of an "empty" session, which has at most one message, no name and no label."""
LARGE_BYTES = 1024 * 1024
"""Minimum total size of a session's images, in bytes, for the cleanup reason "large"."""
DAY_MS = 24 * 3600 * 1000.0
OLD_MS = 365 * DAY_MS


_BY_TWO_MOUNTS = ", or is the same file by another mount"


class Standing(Struct, frozen=True):
    """The position of a session file. Of several copies, the one that an agent itself would open is kept.

    `root` is the directory given by the user that contains the file, "" for the agents' own stores. `of_store` and
    `of_file` are ranks; the file with the smaller rank is kept. `of_store` ranks a file in an agent's own store, not
    archived, before others. `of_file` compares files of the same session: best is a file in the folder of its working
    directory, with its id in its name, and not damaged.
    """

    root: str = ""
    of_store: tuple[bool, ...] = ()
    of_file: tuple[bool, ...] = ()


class CleanupRow(Struct, frozen=True, kw_only=True):
    """A session proposed for cleanup, with its kind and the reason as text.

    For a duplicate or copy, `kept` is the path of the session to keep, `kept_file` identifies the file at this path on
    the disk, and `kept_bytes` is its size. `may_be_one` is True if both paths may lead to the same file, because its
    disk is mounted twice.
    """

    summary: Summary
    kind: Kind
    reason: str
    kept: str | None = None
    kept_file: tuple[int, int] | None = None
    kept_bytes: int = 0
    may_be_one: bool = False

    def document(self) -> dict[str, Json]:
        """Return the cleanup row as a JSON document."""
        one = self.summary
        return {
            "path": one.path,
            "id": one.id,
            "agent": one.agent,
            "kind": self.kind,
            "reason": self.reason,
            "bytes": one.bytes,
            "kept": self.kept,
        }


def considered(summaries: Iterable[Summary]) -> list[Summary]:
    """Return the sessions that a cleanup may propose: all except transcripts and sessions that atomic hides.

    atomic hides the sessions of a workflow's stages; they are removed together with the session that started them.
    Sessions that omp hides because they are empty are included. A transcript is a file without header.
    """
    wanted = [one for one in summaries if not one.is_transcript and not RULES[one.agent].only_read]
    return [one for one in wanted if not (one.hidden and one.agent == "atomic")]


def contents_needed(summaries: Sequence[Summary]) -> list[Summary]:
    """Return the sessions that must be read to find copies, duplicates and large sessions, smallest first."""
    family_of = families([one for one in summaries if not _is_empty(one)])
    of_size: dict[tuple[str, int], int] = defaultdict(int)
    for one in summaries:
        of_size[one.agent, one.bytes] += 1
    needed = [
        one
        for one in summaries
        if not _is_empty(one)
        and (one.path in family_of or one.bytes >= LARGE_BYTES or of_size[one.agent, one.bytes] > 1)
    ]
    return sorted(needed, key=lambda one: (one.bytes, one.path))


def cleanup_rows(
    summaries: Sequence[Summary],
    contents: Mapping[str, SessionContent],
    now_ms: float,
    standing: Mapping[str, Standing],
    *,
    across_roots: bool = False,
) -> list[CleanupRow]:
    """Return the sessions to clean up, sorted by kind and then by size, largest first.

    `contents` has, by path, the contents of the sessions that `contents_needed` returns. A session without content
    is never reported as copy, duplicate or large. Sessions changed during the last day are left out, because a
    new fork is a copy until its first message. `standing` has the position of each file; files of different roots,
    such as a backup, are compared only with `across_roots`.
    """

    def may_keep(other: Summary, one: Summary) -> bool:
        kept, gone = standing[other.path], standing[one.path]
        is_better = kept.of_store <= gone.of_store and (other.id != one.id or kept.of_file <= gone.of_file)
        return is_better and (across_roots or kept.root == gone.root)

    def keeping_order(one: Summary) -> tuple[object, ...]:
        """Return a sort key: the session with the most entries first, then by rank, originals, the newest."""
        rank = standing[one.path].of_store, one.parent_session is not None, standing[one.path].of_file
        order = *rank, not one.name, -(one.modified or 0), -one.mtime_ns, len(one.path), one.path
        return -len(contents[one.path].entries), *order

    same = _same(summaries, contents, keeping_order, may_keep)
    settled = [one for one in summaries if _last_ms(one) < now_ms - DAY_MS]
    rows = [row for one in settled if (row := _row(one, same, contents, now_ms)) is not None]
    return sorted(rows, key=lambda row: (KINDS.index(row.kind), -row.summary.bytes, row.summary.path))


def _row(
    one: Summary, same: Mapping[str, tuple[Kind, Summary]], contents: Mapping[str, SessionContent], now_ms: float
) -> CleanupRow | None:
    if _is_empty(one):
        return CleanupRow(summary=one, kind="empty", reason="one message only" if one.message_count else "no message")
    if one.path in same:
        kind, kept = same[one.path]
        words = "the file is identical to the session" if kind == "duplicate" else "every entry is also in the session"
        if one.copy_of is not None:
            words = f"conflict copy: {words}"
        may_be_one = _may_be_one_file(one, kept, contents)
        return CleanupRow(
            summary=one,
            kind=kind,
            reason=f"{words} {_short_name(kept)}{_BY_TWO_MOUNTS if may_be_one else ''}",
            kept=kept.path,
            kept_file=contents[kept.path].file,
            kept_bytes=kept.bytes,
            may_be_one=may_be_one,
        )
    content = contents.get(one.path)
    if content is not None and content.media_bytes >= LARGE_BYTES:
        images = plural(content.media, "image")
        return CleanupRow(summary=one, kind="large", reason=f"{images} of {size(content.media_bytes)}")
    if one.archived:
        return CleanupRow(summary=one, kind="archived", reason="archived")
    last = _last_ms(one)
    if 0 < last < now_ms - OLD_MS:
        return CleanupRow(summary=one, kind="old", reason=f"untouched since {iso_ms(last)[:10]}")
    return None


def _last_ms(one: Summary) -> float:
    return max(one.modified or 0, one.mtime_ns / 1e6)


def _is_empty(one: Summary) -> bool:
    return is_stub(one) and one.bytes <= EMPTY_BYTES and not one.archived


def _same(
    summaries: Sequence[Summary],
    contents: Mapping[str, SessionContent],
    keeping_order: Callable[[Summary], tuple[object, ...]],
    may_keep: Callable[[Summary, Summary], bool],
) -> dict[str, tuple[Kind, Summary]]:
    """Map the path of each duplicate or copy to its kind and a session to keep, which has the same or more content.

    `may_keep` returns True if its first argument may be kept instead of the second one.
    """
    known = [one for one in summaries if one.path in contents and contents[one.path].is_whole and not _is_empty(one)]
    known.sort(key=keeping_order)
    found: dict[str, tuple[Kind, Summary]] = {}
    equal: dict[tuple[str, bytes], list[Summary]] = defaultdict(list)
    for one in known:
        before = equal[one.agent, contents[one.path].digest]
        first = next(
            (other for other in before if may_keep(other, one) and not _is_one_file(one, other, contents)), None
        )
        if first is None:
            before.append(one)
        else:
            found[one.path] = "duplicate", first
    family_of = families(known)
    kept_of: dict[tuple[int, str], list[Summary]] = defaultdict(list)
    for one in known:
        family = family_of.get(one.path)
        if family is None or one.path in found:
            continue
        kept = kept_of[family, one.agent]
        holder = next((other for other in kept if may_keep(other, one) and _holds(other, one, contents)), None)
        if holder is None:
            kept.append(one)
        else:
            found[one.path] = "copy", holder
    return found


def _holds(other: Summary, one: Summary, contents: Mapping[str, SessionContent]) -> bool:
    """Return True if `other` contains all entries, the name and the labels of `one`; both are sessions."""
    return (
        bool(contents[one.path].entries)
        and contents[one.path].entries <= contents[other.path].entries
        and one.name in (None, other.name)
        and set(one.labels) <= set(other.labels)
        and not _is_one_file(one, other, contents)
    )


def _is_one_file(one: Summary, other: Summary, contents: Mapping[str, SessionContent]) -> bool:
    return contents[one.path].file == contents[other.path].file


def _may_be_one_file(one: Summary, other: Summary, contents: Mapping[str, SessionContent]) -> bool:
    """Return True if two files on different devices have the same size and time, so that both may be one file.

    A disk may be mounted twice. Times are compared in seconds, because some network mounts round them.
    """
    is_elsewhere = contents[one.path].file[0] != contents[other.path].file[0]
    return is_elsewhere and one.bytes == other.bytes and one.mtime_ns // 10**9 == other.mtime_ns // 10**9


def _short_name(one: Summary) -> str:
    return f'"{one.name}"' if one.name else one.path.rsplit("/", 1)[-1]
