"""The losses of a conversion: changes of what the model sees, data not carried over, data that a provider may refuse.

To find changes for the model, the contexts of both sessions are built by the rules of their agents, and compared, at
the leaf and at the end of every other branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from sessionbrowse.format.entries import (
    BashExecutionMessage,
    Block,
    BranchSummary,
    Compaction,
    ImageBlock,
    Message,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from sessionbrowse.format.json_value import Json
from sessionbrowse.model.context.build import build
from sessionbrowse.model.context.message import Context
from sessionbrowse.model.session.session import Session

Seen = dict[tuple[str, bool], Json]
_MOST_COMPARED = 200_000
"""Maximum number of entries in all compared contexts; further branches are not compared."""


class Loss(Struct, frozen=True, kw_only=True):
    """A loss of one kind: number of entries, at most 20 ids; `context` is True if the model sees a difference."""

    kind: str
    count: int
    entries: tuple[str, ...] = ()
    context: bool = False


CHANGES = "Changes what the model sees"
_LEFT, _REFUSED, _ADDED = "Not carried over", "May be refused by a provider", "Added"
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
    "beginning": (CHANGES, "records of the beginning of the conversation, which is in another session or file"),
    "attachment": (CHANGES, "attachments, such as files and notes, that Claude Code adds to prompts"),
    "document": (
        CHANGES,
        "records with documents, such as PDF files, or images elsewhere, of which only the name is carried",
    ),
    "other": (CHANGES, "messages that the agents send in different ways"),
    "reasoning": (CHANGES, "answers without their reasoning and signatures, as asked for"),
    "artifacts": (_LEFT, "artifacts, which only omp reads (a new session gets copies of them)"),
    "subagent_files": (_LEFT, "sessions of subagents"),
    "sidechain": (_LEFT, "records of subagents in the same file"),
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
    "assistant": "unanswered_call",
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
_IN_TAIL = frozenset({"other", "compaction", "unanswered_call", "shell_command"})
"""Kinds of losses that, if one of the agents is atomic, are explained by the kept entries that atomic sends as text."""
_COMPARED: Mapping[type, tuple[str, ...]] = {
    TextBlock: ("text",),
    ThinkingBlock: ("thinking", "thinking_signature"),
    RedactedThinkingBlock: ("data",),
    ImageBlock: ("mime_type",),
    ToolCallBlock: ("id", "name", "arguments"),
    BashExecutionMessage: ("output", "exit_code", "cancelled", "truncated", "full_output_path", "images"),
}
"""The fields of messages and content blocks that are compared, beside the text of a message."""


def loss_lines(losses: Iterable[Loss]) -> list[str]:
    """Return the losses as lines: each heading is followed by its kinds of losses, with their numbers."""
    lines: dict[str, list[str]] = {heading: [f"{heading}:"] for heading in (CHANGES, _LEFT, _REFUSED, _ADDED)}
    for loss in losses:
        heading, sentence = _sentence(loss.kind)
        lines[heading].append(f"  {sentence}: {loss.count:,}")
    return [line for listed in lines.values() if len(listed) > 1 for line in listed]


def _sentence(kind: str) -> tuple[str, str]:
    return _SENTENCES.get(kind, (_LEFT, f"entries of the type {kind}, which have no effect there"))


class LossCount:
    """Collects losses by kind, each entry once."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str | None, int]] = {}

    def add(self, kind: str, entry_id: Json = None, count: int = 1) -> None:
        """Count a loss; an entry that was counted for this kind already is not counted again."""
        if count:
            counts = self._counts.setdefault(kind, {})
            known = entry_id if isinstance(entry_id, str) else None
            counts[known] = count if known is not None else counts.get(None, 0) + count

    def losses(self) -> tuple[Loss, ...]:
        """Return the losses, those that change what the model sees first."""
        order = [*dict.fromkeys((*_SENTENCES, *self._counts))]
        return tuple(
            Loss(
                kind=kind,
                count=sum(counts.values()),
                entries=tuple([one for one in counts if one is not None][:_MOST_ENTRIES]),
                context=_sentence(kind)[0] == CHANGES,
            )
            for kind, counts in sorted(self._counts.items(), key=lambda one: order.index(one[0]))
        )


def add_context_losses(
    source: Session, made: Session, into: LossCount, known: Mapping[str, str], until: int | None = None
) -> None:
    """Add the differences between what the model sees in a session and in the one made from it.

    `known` has the kinds of losses of entries by id. With `until`, only entries before that index count.
    """
    edited = {one.target_id or "": "context_edit" for one in source.envelopes if one.type == "context_edit"}
    compared = 0
    for at, there in _branch_ends(source, made, until):
        old, new = build(source, at), build(made, there)
        before, after = _seen(old), _seen(new)
        reasons = {one.entry_id: one.reason for one in (*old.left_out, *new.left_out)}
        for key in dict.fromkeys((*before, *after)):
            if before.get(key) != after.get(key):
                entry_id = key[0]
                reason = "" if key in before and key in after else reasons.get(entry_id, "")
                kind = edited.get(entry_id) or _kind(source, entry_id, reason)
                if "atomic" in (source.agent, made.agent) and kind in _IN_TAIL:
                    kind = "kept_tail"
                into.add(known.get(entry_id, kind), entry_id)
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
    inner = {leaf, *parents}
    for index in range(len(parents)):
        there = made.index_by_id.get(source.ids[index] or "")
        if index not in inner and there is not None:
            yield index, there


def _kind(source: Session, entry_id: str, reason: str) -> str:
    """Return the kind of loss for an entry that the model sees differently; `reason`: why one agent omits it."""
    known = next((kind for begin, kind in _REASONS.items() if reason.startswith(begin)), None)
    index = source.index_by_id.get(entry_id)
    if known is not None or index is None:
        return known or "other"
    envelope = source.envelopes[index]
    if envelope.type == "compaction":
        return "system_message" if source.fields(index).get("systemMessage") else "compaction"
    return _ROLES.get(envelope.role or "", "other") if envelope.type == "message" else "other"


def _seen(context: Context) -> Seen:
    """Map each entry to the content that the model sees, in a form that is the same for all agents."""
    return {
        (one.entry_id, one.role == "system"): (_fields(one.message), one.text, [*map(_fields, one.blocks)])
        for one in context.messages
        if one.sent and one.entry_id is not None
    }


def _fields(value: Message | Compaction | BranchSummary | Block) -> Json:
    if isinstance(value, ThinkingBlock) and value.redacted and value.thinking_signature is not None:
        value = RedactedThinkingBlock(data=value.thinking_signature)
    return type(value).__name__, [getattr(value, name) for name in _COMPARED.get(type(value), ())]
