"""Compute the size of a context from the usage of the last answer and an estimate for later messages, as pi does.

Screens and the command line show the same total, and the same parts of it, by the functions of this module.
"""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.entries import AssistantMessage, Compaction
from sessionbrowse.model.context.build import Context
from sessionbrowse.model.context.token_parts import Part, context_items, tokens_by_part

_WITHOUT_USAGE = frozenset({"aborted", "error"})


class UsedTokens(Struct, frozen=True):
    """The size of a context in tokens, as the sum of two numbers.

    `counted` is the usage of the last answer, 0 if no answer has usable numbers. `estimated` is for later messages.
    `held` is the estimate for the messages of the session that `counted` includes.
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
        """The counted tokens that the session does not hold, such as those of tools; None if none are counted.

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
