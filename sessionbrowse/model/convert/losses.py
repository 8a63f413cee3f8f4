"""The losses of a conversion: changes of what the model sees, data not carried over, data that a provider may refuse.

To find changes for the model, the contexts of both sessions are built by the rules of their agents, and compared, at
the leaf and at the end of every other branch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from sessionbrowse.format.entries import (
    AssistantMessage,
    BashExecutionMessage,
    Block,
    BranchSummary,
    Compaction,
    CustomRoleMessage,
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from sessionbrowse.format.json_value import Json
from sessionbrowse.model.context.build import build
from sessionbrowse.model.context.message import Context, ContextMessage
from sessionbrowse.model.session.session import Session

Seen = dict[tuple[str, str], Json]
_MOST_COMPARED = 200_000
"""Maximum number of entries in all compared contexts; further branches are not compared."""


class Loss(Struct, frozen=True, kw_only=True):
    """A loss of one kind: number of entries, at most 20 ids; `context` is True if the model sees a difference."""

    kind: str
    count: int
    entries: tuple[str, ...] = ()
    context: bool = False

    @property
    def heading(self) -> str:
        """The heading under which the loss is listed."""
        return CHANGES if self.context else _SENTENCES.get(self.kind, (_LEFT, ""))[0]

    @property
    def sentence(self) -> str:
        """The loss in words, without its number."""
        return _SENTENCES.get(self.kind, (_LEFT, f"entries of the type {self.kind}, which have no effect there"))[1]


CHANGES = "Changes what the model sees"
_LEFT, _REFUSED, _ADDED = "Not carried over", "May be refused by a provider", "Added"
HEADINGS = (CHANGES, _LEFT, _REFUSED, _ADDED)
_SENTENCES = {
    "context_edit": (CHANGES, "context edits, which only pi applies"),
    "failed_answer": (CHANGES, "aborted or failed answers and their results, which only one of the agents sends"),
    "unanswered_call": (CHANGES, "tool calls without a result, which only one of the agents sends"),
    "reset": (CHANGES, "entries that /clear had removed, and that come back"),
    "provider_history": (CHANGES, "histories that the provider compacted, of which only the short summary is read"),
    "compaction": (CHANGES, "entries around a compaction, which the agents read in different ways"),
    "kept_tail": (CHANGES, "entries around a compaction, which atomic sends as one message of text"),
    "system_message": (CHANGES, "system messages, which only pi sends"),
    "transient_note": (CHANGES, "notes that omp sends in one turn only"),
    "missing_image": (CHANGES, "images that are missing in omp's store, replaced by a note"),
    "developer": (CHANGES, "messages of the role developer, which become messages of the user"),
    "python": (CHANGES, "runs of Python, which become messages of an extension"),
    "file_mention": (CHANGES, "mentions of files, which become messages of an extension"),
    "hook_message": (CHANGES, "messages of hooks, which become messages of an extension"),
    "shell_command": (CHANGES, "shell commands, whose images or note of cut output differ"),
    "other": (CHANGES, "messages that the agents send in different ways"),
    "reasoning": (CHANGES, "answers without their reasoning and signatures, as asked for"),
    "artifacts": (_LEFT, "artifacts (copied beside the new session, but only omp reads them)"),
    "subagent_files": (_LEFT, "sessions of subagents"),
    "draft": (_LEFT, "unsent prompts"),
    "title": (_LEFT, "characters of a name that is too long for omp's title"),
    "full_output": (_LEFT, "paths to the whole output of shell commands, which omp does not read"),
    "output_file": (_LEFT, "files with the whole output of tools, which stay in the folder of the session"),
    "tools": (_LEFT, "tools that the agent may lack; their calls are only history"),
    "directories": (_LEFT, "additional directories of the workspace"),
    "parent_session": (_LEFT, "the link to the session from which this one was forked"),
    "workflow": (_LEFT, "the mark of a workflow's stage"),
    "unread": (_LEFT, "records of the program's own state, which are no part of the conversation"),
    "damaged_line": (_LEFT, "damaged lines"),
    "signature": (_REFUSED, "answers with signatures or encrypted reasoning, which only the same model accepts"),
    "made_whole": (_ADDED, "entries with fields that the agent needs, as empty values or zeros"),
}
_MOST_ENTRIES = 20
_ROLES = {"developer": "developer", "pythonExecution": "python", "fileMention": "file_mention"} | {
    "hookMessage": "hook_message",
    "bashExecution": "shell_command",
    "system": "system_message",
}
_REASONS = {
    "cleared by /clear": "reset",
    "the provider's compacted history": "provider_history",
    "a context edit": "context_edit",
    "an aborted answer": "failed_answer",
    "a failed answer": "failed_answer",
    "a tool result of": "failed_answer",
    "a tool call without": "unanswered_call",
    "a note that omp sends": "transient_note",
    "a system message": "system_message",
    "before the compaction": "compaction",
    "a summary that atomic": "compaction",
}
"""Maps the beginning of a reason why an agent omits an entry from the context, to a kind of loss."""


def loss_lines(losses: Iterable[Loss]) -> list[str]:
    """Return the losses as lines: each heading is followed by its kinds of losses, with their numbers."""
    among, lines = list(losses), []
    for heading in HEADINGS:
        listed = [f"  {loss.sentence}: {loss.count:,}" for loss in among if loss.heading == heading]
        lines += [f"{heading}:", *listed] if listed else []
    return lines


_IN_TAIL = frozenset({"other", "compaction", "unanswered_call", "shell_command"})
"""Kinds of losses that, if one of the agents is atomic, are explained by the kept entries that atomic sends as text."""


class LossCount:
    """Collects losses by kind, each entry once."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, bool], dict[str, None]] = {}
        self._counts: dict[tuple[str, bool], int] = {}

    def add(self, kind: str, entry_id: Json = None, *, context: bool = False, count: int = 1) -> None:
        """Count a loss; an entry that was counted for this kind already is not counted again."""
        key = kind, context
        ids = self._entries.setdefault(key, {})
        if isinstance(entry_id, str):
            if entry_id in ids:
                return
            ids[entry_id] = None
        self._counts[key] = self._counts.get(key, 0) + count

    def losses(self) -> tuple[Loss, ...]:
        """Return the losses, those that change what the model sees first."""
        order = {kind: number for number, kind in enumerate(_SENTENCES)}
        return tuple(
            Loss(kind=kind, count=count, entries=tuple(self._entries[kind, context])[:_MOST_ENTRIES], context=context)
            for (kind, context), count in sorted(
                self._counts.items(), key=lambda one: (not one[0][1], order.get(one[0][0], len(order)), one[0])
            )
        )


def add_context_losses(
    source: Session, made: Session, into: LossCount, without_image: Collection[str] = (), until: int | None = None
) -> None:
    """Add the differences between what the model sees in a session and in the one made from it.

    `without_image` are the ids of entries that lost an image. With `until`, only entries before that index count.
    """
    edited = {
        envelope.target_id
        for index, envelope in enumerate(source.envelopes)
        if source.envelopes[index].type == "context_edit"
    }
    compared = 0
    for at, there in _branch_ends(source, made, until):
        old, new = build(source, at), build(made, there)
        for entry_id, kind in _differences(source, made, old, new, edited):
            into.add("missing_image" if entry_id in without_image else kind, entry_id, context=True)
        compared += len(source.branch(at))
        if compared > _MOST_COMPARED:
            break


def _branch_ends(source: Session, made: Session, until: int | None) -> Iterator[tuple[int, int]]:
    """Yield the leaf, then the end of every other branch: each as a pair of the entry's indexes in both sessions."""
    leaf = source.leaf if until is None else until - 1
    if leaf is None or leaf < 0 or made.leaf is None:
        return
    yield leaf, made.leaf
    parents = source.parents[:until]
    inner = set(parents)
    for index in range(len(parents)):
        there = made.index_by_id.get(source.ids[index] or "")
        if index not in inner and index != leaf and there is not None:
            yield index, there


def _differences(
    source: Session, made: Session, old: Context, new: Context, edited: set[str | None]
) -> Iterator[tuple[str, str]]:
    before, after = _seen(old), _seen(new)
    reasons = _reasons(old) | _reasons(new)
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            entry_id = key[0]
            is_in_both = key in before and key in after
            kind = _kind(source, entry_id, edited, None if is_in_both else reasons.get(entry_id))
            is_tail = "atomic" in (source.agent, made.agent) and kind in _IN_TAIL
            yield entry_id, "kept_tail" if is_tail else kind


def _reasons(context: Context) -> dict[str, str]:
    return {one.entry_id: one.reason for one in context.left_out if one.entry_id is not None}


def _kind(source: Session, entry_id: str, edited: set[str | None], reason: str | None) -> str:
    """Return the kind of loss for an entry that the model sees differently; `reason`: why one agent omits it."""
    if entry_id in edited:
        return "context_edit"
    known = next((kind for begin, kind in _REASONS.items() if (reason or "").startswith(begin)), None)
    if known is not None:
        return known
    index = source.index_by_id.get(entry_id)
    if index is None:
        return "other"
    kind = source.envelopes[index]
    if kind.type == "compaction":
        entry = source.entry(index)
        return "system_message" if isinstance(entry, Compaction) and entry.system_message else "compaction"
    if kind.type == "message" and kind.role == "assistant":
        return "unanswered_call"
    return _ROLES.get(kind.role or "", "other") if kind.type == "message" else "other"


def _seen(context: Context) -> Seen:
    """Map each entry to the content that the model sees, in a form that is the same for all agents."""
    seen: Seen = {}
    for message in context.messages:
        if message.sent and message.entry_id is not None:
            role = "assistant" if isinstance(message.message, AssistantMessage) else message.role
            seen[message.entry_id, "system" if role == "system" else ""] = _content(role, message)
    return seen


def _content(role: str, message: ContextMessage) -> Json:
    body = message.message
    match body:
        case BashExecutionMessage():
            notice = body.full_output_path if body.truncated else None
            return role, body.command, body.output, body.exit_code, body.cancelled, notice, bool(body.images)
        case Compaction() | BranchSummary():
            return "summary", message.text, _blocks(message.blocks)
        case CustomRoleMessage():
            return "custom", message.text, _blocks(message.blocks)
    return role, message.text, _blocks(message.blocks)


def _blocks(blocks: Iterable[Block]) -> list[Json]:
    return [_block(block) for block in blocks]


def _block(block: Block) -> Json:
    match block:
        case TextBlock():
            return "text", block.text
        case ThinkingBlock() if block.redacted and block.thinking_signature is not None:
            return "redacted", block.thinking_signature
        case ThinkingBlock():
            return "thinking", block.thinking, block.thinking_signature
        case RedactedThinkingBlock():
            return "redacted", block.data
        case ImageBlock():
            return "image", block.mime_type
        case ToolCallBlock():
            return "call", block.id, block.name, block.arguments
    return "other", type(block).__name__
