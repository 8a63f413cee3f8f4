"""Make a clean copy of a session, and its preview, in one pass over the lines, according to a `CleanPlan`.

An unaffected line is copied byte for byte; in a changed line, only the changed JSON values are replaced. Kept entries
keep their ids and their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from sessionbrowse.errors import NeedsRepair
from sessionbrowse.format.codec import decode_line
from sessionbrowse.format.entries import BranchSummary, Compaction, CustomMessage, MessageEntry
from sessionbrowse.format.json_value import Json, json_bytes, json_line, json_object, loads
from sessionbrowse.format.splice import edited, with_member
from sessionbrowse.model.clean.blocks import short_call_id
from sessionbrowse.model.clean.drop_branches import CopyShape, shape_of
from sessionbrowse.model.clean.masker import Masker
from sessionbrowse.model.clean.plan import CleanPlan, CopyPreview, Removed, Reparented
from sessionbrowse.model.clean.shrink_content import drops_thinking, recent_answers, shrunk
from sessionbrowse.model.context.message import custom_message
from sessionbrowse.model.context.token_estimate import estimate
from sessionbrowse.model.session.parents import CHECKOUT_TYPE, ROOT
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.usage.branch_costs import branch_costs
from sessionbrowse.model.usage.request import PER_DOLLAR

ReadBytes = Callable[[int, int], bytes]
"""A callback that returns `size` bytes of the original file, beginning at `offset`."""
_BLOCK_BYTES = 1024 * 1024
_MARGIN = b" \t\r\n\xef\xbb\xbf"


class ByteRange(Struct, frozen=True):
    """A range of bytes of the original file that the copy contains unchanged."""

    offset: int
    size: int


class Copy(Struct, frozen=True):
    """A clean copy of a session: its parts in order (ranges of the original, or new bytes), and its preview."""

    parts: tuple[ByteRange | bytes, ...]
    preview: CopyPreview

    def pieces(self, read: ReadBytes) -> Iterator[bytes]:
        """Yield the content of the copy in pieces; `read` reads bytes of the original."""
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
                continue
            end = part.offset + part.size
            for offset in range(part.offset, end, _BLOCK_BYTES):
                yield read(offset, min(_BLOCK_BYTES, end - offset))


def clean_copy(
    session: Session, plan: CleanPlan, size: int, read: ReadBytes, new_id: Callable[[set[str]], str], now: str
) -> Copy:
    """Return the clean copy of a session, with its preview, as `plan` describes it; an empty plan copies every byte.

    `size` is the size of the file in bytes. `now` is the ISO 8601 time of the entry that is appended if the
    copy's last entry is not the copy's leaf. `new_id` returns an entry id that is not in the given set.

    Raises:
        RefusedWrite: entries have repeated or missing ids, or the copy would contain no message.
    """
    shape = shape_of(session, plan.drop)
    writing = _Writing(session, plan, read)
    at = 0
    for index in range(len(session.ids)):
        start, length = session.offsets[index], session.sizes[index]
        if start < at:
            continue  # This line has several entries: it was already copied or left out with its first entry.
        writing.keep(at, start)
        at = min(start + length + 1, size)
        writing.entry(index, shape, at)
    writing.keep(at, size)
    appended = _appended(session, shape, new_id, now)
    if appended and not writing.ends_with_newline(size):
        writing.parts.append(b"\n")
    writing.parts += appended
    removed = writing.removed(size, shape)
    preview = CopyPreview(
        removed=removed,
        kept_entries=len(session.ids) - len(shape.out),
        reparented=tuple(
            Reparented(session.ids[index] or "", _id(session, session.parents[index]), _id(session, parent))
            for index, parent in sorted(shape.parents.items())
        ),
        labels=tuple(str(again.fields["targetId"]) for again in shape.again if again.type == "label"),
        labels_gone=shape.labels_gone,
        name_again=any(again.type == "session_info" for again in shape.again),
        compactions=tuple(session.ids[index] or "" for index in sorted(shape.links)),
        changed_lines=writing.changed_lines,
        added_lines=len(appended),
        leaf_id=_id(session, shape.leaf),
        leaf_moved=session.leaf is not None and shape.leaf != session.leaf,
    )
    return Copy(tuple(writing.parts), preview)


class _Writing:
    """Collects the parts of a clean copy, and counts the entries, tokens and images that the copy leaves out."""

    def __init__(self, session: Session, plan: CleanPlan, read: ReadBytes) -> None:
        self.parts: list[ByteRange | bytes] = []
        self.changed_lines = 0
        self._session = session
        self._plan = plan
        self._read = read
        self._recent = recent_answers(session) if plan.thinking else set()
        self._short_calls: dict[int, set[str]] = {}
        self._entries = self._tokens = self._images = 0
        self._header_done = plan.header is None

    def keep(self, start: int, end: int) -> None:
        """Add bytes of the original that contain no entry to the copy: the header, or lines that are no entries.

        The header and the text of the lines are changed as the plan says.
        """
        if start >= end:
            return
        if self._plan.masker is not None:
            self.parts += self._masked_between(self._read(start, end - start), self._plan.masker)
            return
        if self._header_done or self._session.header_line is None:
            self._span(start, end)
            return
        between = self._read(start, end - start)
        at = between.find(self._session.header_line)
        if at < 0:
            self._span(start, end)
            return
        assert self._plan.header is not None
        after = at + len(self._session.header_line)
        self.parts += (between[:at], self._plan.header, between[after:])
        self._header_done = True

    def entry(self, index: int, shape: CopyShape, end: int) -> None:
        """Copy, change or leave out the line of one entry; `end` is the offset after the line."""
        session = self._session
        start = session.offsets[index]
        if index in shape.out:
            self._leave_out(index, end - start)
            return
        old = self._read(start, end - start) if self._may_change(index, shape) else b""
        new = self._changed(index, old, shape)
        if new == old:
            self._span(start, end)
            return
        self.changed_lines += 1
        self._tokens += _tokens(old) - _tokens(new)
        self.parts.append(new)

    def ends_with_newline(self, size: int) -> bool:
        """Return True if the copy so far ends with a newline, or is empty."""
        if not self.parts:
            return True
        last = self.parts[-1]
        if isinstance(last, bytes):
            return last.endswith(b"\n")
        return self._read(last.offset + last.size - 1, 1) == b"\n"

    def removed(self, size: int, shape: CopyShape) -> Removed:
        """Return how much the copy leaves out (entries, bytes, …); the original file has `size` bytes."""
        costs = branch_costs(self._session) if shape.out else None
        requests = costs.requests_in(shape.out) if costs is not None else []
        return Removed(
            entries=self._entries,
            bytes=size - sum(len(part) if isinstance(part, bytes) else part.size for part in self.parts),
            tokens=self._tokens,
            images=self._images,
            requests=len(requests),
            cost=round(sum([max(request.amount, 0) for request in requests]) / PER_DOLLAR, 6),
            branches=len({costs.leaf_of[request.entry] for request in requests}) if costs is not None else 0,
        )

    def _span(self, start: int, end: int) -> None:
        last = self.parts[-1] if self.parts else None
        if isinstance(last, ByteRange) and last.offset + last.size == start:
            self.parts[-1] = ByteRange(last.offset, end - last.offset)
        else:
            self.parts.append(ByteRange(start, end - start))

    def _leave_out(self, index: int, size: int) -> None:
        line = self._read(self._session.offsets[index], size).strip(_MARGIN)
        self._entries += 1
        self._tokens += _tokens(line)
        self._images += line.count(b'"type":"image"')

    def _may_change(self, index: int, shape: CopyShape) -> bool:
        return self._plan.shrinks or self._plan.masker is not None or index in shape.parents or index in shape.links

    def _changed(self, index: int, line: bytes, shape: CopyShape) -> bytes:
        session = self._session
        if index in shape.parents:
            line = with_member(line, "parentId", json_bytes(_id(session, shape.parents[index])))
        for key, named in shape.links.get(index, {}).items():
            line = with_member(line, key, json_bytes(_id(session, named)))
        if self._plan.masker is not None:
            return self._masked(index, line, self._plan.masker)
        return self._shrunk(index, line) if self._plan.shrinks and line else line

    def _masked(self, index: int, line: bytes, masker: Masker) -> bytes:
        done = masker.line(line)
        if not done.line.strip(_MARGIN):
            raise NeedsRepair(
                "A line of the session contains incomplete entries. Repair the session first. Nothing was written."
            )
        value = loads(line.strip(_MARGIN))
        if done.lost_reasoning:
            self._short_calls[index] = _long_call_ids(value)
        answered = self._shortened_call(index, value)
        if answered is None:
            return done.line
        return edited(done.line, {("message", "toolCallId"): json_bytes(masker.text(answered))})

    def _masked_between(self, content: bytes, masker: Masker) -> list[bytes]:
        header = self._session.header_line
        if not self._header_done and header is not None and header in content:
            assert self._plan.header is not None
            content = content.replace(header, self._plan.header, 1)
            self._header_done = True
        return [masker.line(line).line for line in content.splitlines(keepends=True)]

    def _shrunk(self, index: int, line: bytes) -> bytes:
        value = json_object(line.strip(_MARGIN))
        if value is None:
            return line
        may_drop = self._plan.thinking and index not in self._recent
        if may_drop and drops_thinking(value):
            self._short_calls[index] = _long_call_ids(value)
        answered = self._shortened_call(index, value) if self._plan.thinking else None
        done = shrunk(value, self._plan, may_drop_thinking=may_drop, new_call_id=answered)
        self._images += done.images
        return edited(line, done.edits)

    def _shortened_call(self, index: int, value: dict[str, Json]) -> str | None:
        """Return the shortened id of the tool call that a tool result answers; None if this copy did not shorten it."""
        message = value.get("message")
        call_id = message.get("toolCallId") if isinstance(message, dict) else None
        if not isinstance(call_id, str) or short_call_id(call_id) == call_id:
            return None
        at = self._session.parents[index]
        while at != ROOT:
            if call_id in self._short_calls.get(at, ()):
                return short_call_id(call_id)
            at = self._session.parents[at]
        return None


def _long_call_ids(value: dict[str, Json]) -> set[str]:
    return {
        block["id"]
        for block in value["message"]["content"]
        if isinstance(block, dict) and isinstance(block.get("id"), str) and short_call_id(block["id"]) != block["id"]
    }


def _appended(session: Session, shape: CopyShape, new_id: Callable[[set[str]], str], now: str) -> list[bytes]:
    """Return the lines to append to the copy: the labels and the name that were set by entries which are left out.

    If there are no such lines, but agents would not resume the copy at its leaf, append one entry below the leaf. Each
    appended entry is the parent of the next.
    """
    taken = {entry_id for entry_id in session.ids if entry_id is not None} if shape.out else set()
    parent = _id(session, shape.leaf)
    lines: list[bytes] = []
    for again in shape.again:
        made = new_id(taken)
        taken.add(made)
        base = {"type": again.type, "id": made, "parentId": parent, "timestamp": again.timestamp}
        lines.append(json_line(base | again.fields))
        parent = made
    if shape.needs_leaf_line:
        data: dict[str, Json] = {"checkout": parent}
        own: dict[str, Json] = {"type": "custom", "customType": CHECKOUT_TYPE, "data": data}
        lines.append(json_line(own | {"id": new_id(taken), "parentId": parent, "timestamp": now}))
    return lines


def _tokens(line: bytes) -> int:
    """Estimate the tokens of an entry's line; 0 for an entry that the model never receives."""
    match decode_line(line.strip(_MARGIN)):
        case MessageEntry(message=message) if message is not None:
            return estimate(message)
        case CustomMessage() as entry:
            return estimate(custom_message(entry))
        case Compaction() | BranchSummary() as entry:
            return estimate(entry)
    return 0


def _id(session: Session, index: int) -> str | None:
    return None if index == ROOT else session.ids[index]
