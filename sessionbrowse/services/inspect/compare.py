"""Compare two branches of a session below their last common entry: messages, tools, changed lines of files, cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse import text
from sessionbrowse.format.entries import (
    AssistantMessage,
    MessageEntry,
    ToolCallBlock,
    ToolResultMessage,
    TranscriptNode,
)
from sessionbrowse.model.edits import (
    WRITTEN_KEYS,
    edits_of,
    paths_of,
    reported_changes,
    written_diff,
    written_diff_counts,
)
from sessionbrowse.model.session.session import Session
from sessionbrowse.model.tree import rows
from sessionbrowse.model.usage.branch_costs import BranchCosts, abandoned_share, branch_costs, dollars_of
from sessionbrowse.model.usage.request import PER_DOLLAR
from sessionbrowse.text import parse_time, time_ms

_CHANGING_TOOLS = frozenset({"edit", "write", "multi_edit", "multiedit", "notebook_edit", "ast_edit", "apply_patch"})
_TOOL_SCHEME = "xd://"
"""The beginning of a path that omp writes to in order to call another tool."""


class ChangedLines(Struct, frozen=True):
    """Numbers of lines added and removed; both are None if the session file does not contain them."""

    added: int | None
    removed: int | None

    def __add__(self, other: ChangedLines) -> ChangedLines:
        """Return the sum of two changes; the sum is unknown (None) if one of them is unknown."""
        if self.added is None or self.removed is None or other.added is None or other.removed is None:
            return NOT_KNOWN
        return ChangedLines(self.added + other.added, self.removed + other.removed)


NO_LINES, NOT_KNOWN = ChangedLines(0, 0), ChangedLines(None, None)


def changed_files(call: ToolCallBlock, result: ToolResultMessage | None) -> list[tuple[str, ChangedLines]]:
    """Return the files that a tool call changed, with their lines; an empty list for a tool that changes no file.

    omp's result names the files and their diffs. Otherwise the paths are those in the call's arguments.
    """
    reported = reported_changes(result)
    if reported:
        return [
            (path, NOT_KNOWN if diff is None else ChangedLines(*written_diff_counts(diff))) for path, diff in reported
        ]
    paths = paths_of(call.arguments) if call.name in _CHANGING_TOOLS else []
    lines = _changed_lines(call, result)
    if len(paths) > 1 and lines != NO_LINES:
        lines = NOT_KNOWN
    return [(path, lines) for path in paths if path and not path.startswith(_TOOL_SCHEME)]


def _changed_lines(call: ToolCallBlock, result: ToolResultMessage | None) -> ChangedLines:
    """Return the numbers of lines that a tool call added and removed; both are 0 if its `result` is an error.

    The numbers come from the diff in the result, if there is one. Otherwise a write counts all lines of its content as
    added, because the session does not contain the replaced lines. An edit counts the lines of its old and new text,
    without equal lines at the beginning and at the end.
    """
    if result is not None and result.is_error is True:
        return NO_LINES
    diff = written_diff(result)
    if diff is not None:
        return ChangedLines(*written_diff_counts(diff))
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    written = next((value for key in WRITTEN_KEYS if isinstance(value := arguments.get(key), str)), None)
    if written is not None:
        return ChangedLines(len(written.splitlines()), 0)
    counted = [_lines_of_edit(old, new) for old, new in edits_of(arguments)]
    return sum(counted, NO_LINES) if counted else NOT_KNOWN


def changed_words(path: str, added: int | None, removed: int | None) -> str:
    """Return a text such as `a.py +3 -1`: a path with the numbers of lines added and removed, or why there are none."""
    if added is None or removed is None:
        return f"{path} (lines not known)"
    if not added and not removed:
        return f"{path} (unchanged)"
    return path + (f" +{added:,}" if added else "") + (f" -{removed:,}" if removed else "")


def _lines_of_edit(old: str, new: str) -> ChangedLines:
    before, after = old.splitlines(), new.splitlines()
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    return ChangedLines(len(after) - start - end, len(before) - start - end)


class ComparedBranch(Struct, frozen=True, kw_only=True):
    """The part of a branch below the last common entry of two compared branches.

    `entries` are the indexes of its entries, oldest first, and `index` is the last entry of the branch. `messages`
    counts user and assistant messages, `tools` the calls of each tool, `failed` the tool results that are errors.
    `tokens` and `cost` are those of the entries. `branch_cost` is the cost of the whole branch to which the last entry
    belongs (see `branch_costs`), and `abandoned` the share of it on abandoned branches. Costs are in US dollars, None
    if no request has a price.
    `files` maps the paths in edit and write calls to the changed lines. `prompt` and `answer` are the indexes of the
    first prompt and the last answer. `span_ms` is the time from the first entry to the last, in milliseconds.
    """

    index: int
    entries: tuple[int, ...]
    messages: int
    tools: dict[str, int]
    files: dict[str, ChangedLines]
    tokens: int
    cost: float | None
    branch_cost: float | None
    abandoned: float
    failed: int = 0
    prompt: int | None = None
    answer: int | None = None
    span_ms: int | None = None


class Comparison(Struct, frozen=True, kw_only=True):
    """The comparison of two branches; `ancestor` is their last common entry, None if they have different roots.

    `shared` is the number of common entries.
    """

    ancestor: int | None
    shared: int
    left: ComparedBranch
    right: ComparedBranch


def compare_branch(session: Session, index: int, active: int) -> Comparison:
    """Compare the active branch, which ends at `active`, with the whole branch of the entry `index`, up to its leaf.

    If the entry is on the active branch, the path that ends at this entry is compared.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    costs = branch_costs(session)
    is_active = costs.leaf_of[index] == costs.leaf_of[active]
    return compare(session, active, index if is_active else costs.leaf_of[index], costs)


def compare(session: Session, left: int, right: int, costs: BranchCosts | None = None) -> Comparison:
    """Compare the two branches that end at the entries `left` and `right`, below their last common entry.

    `costs` are the costs of the session, if they are known.

    Raises:
        Unreadable: the file is gone or cannot be read.
    """
    left_path, right_path = session.branch(left), session.branch(right)
    shared = 0
    for one, other in zip(left_path, right_path, strict=False):
        if one != other:
            break
        shared += 1
    costs = costs or branch_costs(session)
    return Comparison(
        ancestor=left_path[shared - 1] if shared else None,
        shared=shared,
        left=_side(session, costs, left, left_path[shared:]),
        right=_side(session, costs, right, right_path[shared:]),
    )


def cost_words(cost: float | None, branch_cost: float, abandoned: float) -> str:
    """Return the costs of a compared branch as text: the whole branch, its abandoned share, the part after the split.

    `cost` is the cost of the part after the split. All arguments are in US dollars.
    """
    whole, part, lost = text.cost(branch_cost), text.cost(cost) if cost else "$0", text.cost(abandoned)
    share = "" if not abandoned else ", abandoned" if lost == whole else f", {lost} of it abandoned"
    return f"whole branch {whole}{share}" + (f" · {part} after the split" if part != whole else "")


def compare_document(session: Session, comparison: Comparison, home: str = "") -> dict[str, Any]:
    """Return the comparison of two branches as a JSON document."""
    ancestor = comparison.ancestor
    return {
        "path": session.path,
        "id": session.id,
        "agent": session.agent,
        "ancestor": session.ids[ancestor] if ancestor is not None else None,
        "shared_entries": comparison.shared,
        "left": _side_document(session, comparison.left, home),
        "right": _side_document(session, comparison.right, home),
    }


def _side_document(session: Session, side: ComparedBranch, home: str) -> dict[str, Any]:
    mark = session.labels.get(side.index)
    return {
        "entry_id": session.ids[side.index],
        "label": mark.text if mark is not None else None,
        "messages": side.messages,
        "tools": side.tools,
        "files": list(side.files),
        "changed": [
            {"path": path, "added": lines.added, "removed": lines.removed} for path, lines in side.files.items()
        ],
        "tokens": side.tokens,
        "cost": side.cost or 0.0,
        "branch_cost": side.branch_cost,
        "abandoned_cost": side.abandoned,
        "failed": side.failed,
        "seconds": side.span_ms / 1000 if side.span_ms is not None else None,
        "prompt": rows.row_text(session, side.prompt, home) if side.prompt is not None else None,
        "answer": rows.row_text(session, side.answer, home) if side.answer is not None else None,
        "stop_reason": session.envelopes[side.answer].stop_reason if side.answer is not None else None,
        "entries": [
            {
                "id": session.ids[index],
                "type": session.envelopes[index].type or None,
                "role": session.envelopes[index].role,
                "text": rows.row_text(session, index, home),
            }
            for index in side.entries
        ],
    }


def _side(session: Session, costs: BranchCosts, index: int, entries: list[int]) -> ComparedBranch:
    envelopes = session.envelopes
    tools: dict[str, int] = {}
    files: dict[str, ChangedLines] = {}
    results = _results(session, entries)
    requests = costs.requests_in(frozenset(entries))
    priced = [request.amount for request in requests if request.amount > 0]
    branch = costs.of(index)
    by_call = {result.tool_call_id: result for result in results if result.tool_call_id is not None}
    for at in entries:
        if session.envelopes[at].role == "assistant" and envelopes[at].tool_calls:
            for call in _calls(session, at):
                name = call.name or "(no name)"
                tools[name] = tools.get(name, 0) + 1
                for path, lines in changed_files(call, by_call.get(call.id) if call.id is not None else None):
                    # A result of omp has an absolute path; the model's call may give the same path as a relative one.
                    below = path.removeprefix(f"{(session.cwd or '').rstrip('/')}/")
                    files[below] = files.get(below, NO_LINES) + lines
    return ComparedBranch(
        index=index,
        entries=tuple(entries),
        messages=sum([session.envelopes[at].role in ("user", "assistant") for at in entries]),
        tools=dict(sorted(tools.items(), key=lambda counted: (-counted[1], counted[0]))),
        files=files,
        tokens=sum([request.tokens for request in requests]),
        cost=sum(priced) / PER_DOLLAR if priced else None,
        branch_cost=dollars_of(branch),
        abandoned=abandoned_share(branch),
        failed=sum([result.is_error is True for result in results]),
        prompt=next((at for at in entries if session.envelopes[at].role == "user"), None),
        answer=next((at for at in reversed(entries) if session.envelopes[at].role == "assistant"), None),
        span_ms=_span_ms(session, entries),
    )


def _results(session: Session, entries: list[int]) -> list[ToolResultMessage]:
    """Return the tool results among some entries, without their contents, which may be large."""
    found = []
    for at in entries:
        if session.envelopes[at].role == "toolResult":
            entry = session.entry(at)
            message = entry.message if isinstance(entry, MessageEntry | TranscriptNode) else None
            if isinstance(message, ToolResultMessage):
                found.append(replace(message, content=None))
    return found


def _span_ms(session: Session, entries: list[int]) -> int | None:
    stamps = [session.envelopes[at].timestamp for at in entries]
    times = [ms for stamp in stamps if isinstance(stamp, str) and (ms := parse_time(stamp)) is not None]
    return max(times) - min(times) if times else None


def _calls(session: Session, index: int) -> list[ToolCallBlock]:
    entry = session.entry(index)
    message = entry.message if isinstance(entry, MessageEntry | TranscriptNode) else None
    content = message.content if isinstance(message, AssistantMessage) else None
    return [block for block in content if isinstance(block, ToolCallBlock)] if isinstance(content, tuple) else []


def apart_since(copies: Sequence[Session]) -> float | None:
    """Return the time in ms of the first entry that not all copies of a session have; None if all are the same."""
    shared = 0
    while all(shared < len(one.ids) for one in copies) and len({one.ids[shared] for one in copies}) == 1:
        shared += 1
    times = [
        time
        for one in copies
        if shared < len(one.ids) and (time := time_ms(one.envelopes[shared].timestamp)) is not None
    ]
    return min(times) if times else None
