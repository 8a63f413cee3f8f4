"""The tokens of a context by part: texts, thinking, calls, results, images, summaries."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Literal

from sessionbrowse.format.entries import (
    AssistantMessage,
    Block,
    BranchSummary,
    Compaction,
    ImageBlock,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolCallBlock,
    UserMessage,
)
from sessionbrowse.model.context.message import SUMMARY_ROLES, ContextMessage
from sessionbrowse.model.context.token_estimate import estimate

Part = Literal["system", "summary", "user", "assistant", "thinking", "calls", "results", "images", "other"]

PARTS: tuple[Part, ...] = (
    "system",
    "summary",
    "user",
    "assistant",
    "thinking",
    "calls",
    "results",
    "images",
    "other",
)
_PART_OF_ROLE: dict[str, Part] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "toolResult": "results",
    "bashExecution": "results",
    "pythonExecution": "results",
}


def tokens_by_part(messages: Iterable[ContextMessage]) -> dict[Part, int]:
    """Return the estimated tokens of each part that has any; their sum is the estimate for all the messages."""
    totals: dict[Part, int] = dict.fromkeys(PARTS, 0)
    for message in messages:
        for part, tokens in _split(message):
            totals[part] += tokens
    return {part: tokens for part, tokens in totals.items() if tokens}


def _split(message: ContextMessage) -> list[tuple[Part, int]]:
    """Share a message's tokens among its blocks, in proportion to the estimate of each block alone."""
    own: Part = "summary" if message.role in SUMMARY_ROLES else _PART_OF_ROLE.get(message.role, "other")
    if not message.blocks or isinstance(message.message, Compaction | BranchSummary):
        return [(own, message.tokens)]
    is_answer = isinstance(message.message, AssistantMessage)
    weights = [(_part_of(block, own), _alone(block, is_answer)) for block in message.blocks]
    whole = sum([weight for _, weight in weights])
    # All tokens may come from fields outside of the blocks, such as a command and its output.
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
