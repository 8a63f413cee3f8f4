"""The tokens of a context: its size by usage and estimate, its parts such as texts and images, its largest items.

Screens and the command line show the same total, and the same parts of it, by the functions of this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import accumulate
from typing import Literal, get_args

from msgspec import Struct

from sessionbrowse.format.entries import (
    AssistantMessage,
    Block,
    BranchSummary,
    Compaction,
    ImageBlock,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
    UserMessage,
)
from sessionbrowse.model.context.build import Context
from sessionbrowse.model.context.message import SUMMARY_ROLES, ContextMessage
from sessionbrowse.model.context.token_estimate import estimate
from sessionbrowse.model.edits import path_of

Part = Literal["outside", "system", "summary", "user", "assistant", "thinking", "calls", "results", "images", "other"]

PART_WORDS: dict[str, str] = {"outside": "system prompt and tools", "calls": "tool calls", "results": "tool results"}
"""Names of parts for users; the other parts are called as in the code."""
_PART_OF_ROLE: dict[str, Part] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "toolResult": "results",
    "bashExecution": "results",
    "pythonExecution": "results",
}

_READ = "read"
"""The name of the tool that reads files; it is the same in all four agent programs."""


class ContextItem(Struct, frozen=True):
    """The estimated tokens of one entry for one part of the context, such as "thinking" or "results".

    For a tool result, `tool` is the tool's name, and `file` the path of the file that the tool read.
    """

    part: Part
    tokens: int
    entry_id: str | None
    index: int | None
    tool: str | None = None
    file: str | None = None


def context_items(messages: Sequence[ContextMessage]) -> list[ContextItem]:
    """Return the items of a context in the order of its messages; the items' tokens add up to the context's."""
    files = _files_read(messages)
    items: list[ContextItem] = []
    for message in messages:
        shares: dict[Part, int] = {}
        for part, tokens in _split(message):
            shares[part] = shares.get(part, 0) + tokens
        tool, file = None, None
        if isinstance(message.message, ToolResultMessage):
            tool, file = message.message.tool_name, files.get(message.message.tool_call_id)
        items += [
            ContextItem(part, tokens, message.entry_id, message.index, tool, file)
            for part, tokens in shares.items()
            if tokens
        ]
    return items


def tokens_by_part(items: Iterable[ContextItem]) -> dict[Part, int]:
    """Return the number of tokens of each part of a context, without parts that have no tokens."""
    totals: dict[Part, int] = dict.fromkeys(get_args(Part), 0)
    for item in items:
        totals[item.part] += item.tokens
    return {part: tokens for part, tokens in totals.items() if tokens}


def largest_items(items: Iterable[ContextItem], limit: int = 20) -> list[ContextItem]:
    """Return the `limit` items of a context with the most tokens, largest first; equal items keep their order."""
    return nlargest(limit, items, key=lambda item: item.tokens)


def _files_read(messages: Iterable[ContextMessage]) -> dict[str | None, str]:
    """Map the id of each tool call that reads a file to the file's path, as the model wrote the path."""
    files: dict[str | None, str] = {}
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolCallBlock) and block.id is not None and block.name == _READ:
                path = path_of(block.arguments)
                if path:
                    files[block.id] = path
    return files


def _split(message: ContextMessage) -> list[tuple[Part, int]]:
    """Divide the tokens of a message among its content blocks, in proportion to the estimate for each block alone."""
    own: Part = "summary" if message.role in SUMMARY_ROLES else _PART_OF_ROLE.get(message.role, "other")
    if not message.blocks or isinstance(message.message, Compaction | BranchSummary):
        return [(own, message.tokens)]
    is_answer = isinstance(message.message, AssistantMessage)
    weights = [(_part_of(block, own), _alone(block, is_answer)) for block in message.blocks]
    whole = sum([weight for _, weight in weights])
    # The blocks have no tokens if all text is in other fields of the message, such as a command and its output.
    if whole == 0:
        return [(own, message.tokens)]
    if not is_answer and whole < message.tokens:
        weights.append((own, message.tokens - whole))
        whole = message.tokens
    ends = [seen * message.tokens // whole for seen in accumulate([weight for _, weight in weights])]
    return [(part, end - start) for (part, _), start, end in zip(weights, [0, *ends], ends, strict=False)]


def _part_of(block: Block, own: Part) -> Part:
    match block:
        case ThinkingBlock() | RedactedThinkingBlock():
            return "thinking"
        case ToolCallBlock():
            return "calls"
        case ImageBlock():
            return "images"
    return own


def _alone(block: Block, is_answer: bool) -> int:
    return estimate(AssistantMessage(content=(block,)) if is_answer else UserMessage(content=(block,)))


# ---- the size of the context -------------------------------------------------------------------------------

_WITHOUT_USAGE = frozenset({"aborted", "error"})


class UsedTokens(Struct, frozen=True):
    """The size of a context in tokens, as the sum of two numbers.

    `counted` is the usage of the last answer, 0 if no answer has usable numbers. `estimated` is for later messages.
    `held` is the estimate for those messages of the session whose tokens are included in `counted`.
    """

    counted: int
    estimated: int
    held: int = 0

    @property
    def total(self) -> int:
        """The size of the whole context in tokens."""
        return self.counted + self.estimated

    @property
    def outside(self) -> int | None:
        """The counted tokens of other things than the session's messages, such as tools; None if none are counted.

        Negative if the estimate for the session's messages is larger than the usage.
        """
        return self.counted - self.held if self.counted else None


def used_tokens(context: Context) -> UsedTokens:
    """Return the size of a context in tokens, as pi's `getContextUsage` does.

    The usage of an answer includes all older messages, so only later messages are estimated. Answers from before the
    compaction are not used, because their usage includes the replaced history. Aborted and failed answers are not used.
    """
    messages = context.messages
    compacted = max((m.index or 0 for m in messages if isinstance(m.message, Compaction)), default=-1)
    for position in range(len(messages) - 1, -1, -1):
        answer, index = messages[position].message, messages[position].index
        if (
            not isinstance(answer, AssistantMessage)
            or answer.usage is None
            or (index is not None and index < compacted)
        ):
            continue
        usage = answer.usage
        counted = sum(part or 0 for part in (usage.input, usage.output, usage.cache_read, usage.cache_write))
        if answer.stop_reason not in _WITHOUT_USAGE and counted >= 1:
            later = sum(message.tokens for message in messages[position + 1 :])
            return UsedTokens(int(counted), later, context.tokens - later)
    return UsedTokens(0, context.tokens)


def parts_of_context(context: Context) -> dict[Part, int]:
    """Return the tokens of each part of a context, without empty parts.

    "outside" is what the last answer counts beyond the messages of the session; the other parts are plain estimates.
    """
    outside = used_tokens(context).outside or 0
    parts = tokens_by_part(context_items(context.messages))
    return {"outside": outside, **parts} if outside > 0 else parts
