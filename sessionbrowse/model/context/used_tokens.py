"""Compute the size of a context from the usage of the last answer and an estimate for later messages, as pi does."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.entries import AssistantMessage, Compaction
from sessionbrowse.model.context.build import Context

_WITHOUT_USAGE = frozenset({"aborted", "error"})


class UsedTokens(Struct, frozen=True):
    """The size of a context in tokens, as the sum of two numbers.

    `counted` is the usage of the last answer, 0 if no answer has usable numbers. `estimated` is for later messages.
    """

    counted: int
    estimated: int

    @property
    def total(self) -> int:
        """The size of the whole context in tokens."""
        return self.counted + self.estimated


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
            return UsedTokens(int(counted), sum(message.tokens for message in messages[position + 1 :]))
    return UsedTokens(0, context.tokens)
