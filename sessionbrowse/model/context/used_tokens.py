"""The size of a context: by the usage in the last answer, and an estimate of what came after it, as in pi."""

from __future__ import annotations

from msgspec import Struct

from sessionbrowse.format.entries import AssistantMessage, Compaction
from sessionbrowse.model.context.build import Context

_WITHOUT_USAGE = frozenset({"aborted", "error"})


class UsedTokens(Struct, frozen=True):
    """Tokens of a context: `counted` by the last answer (0 if no answer tells), `estimated` by text after it."""

    counted: int
    estimated: int

    @property
    def total(self) -> int:
        """The size of the whole context."""
        return self.counted + self.estimated


def used_tokens(context: Context) -> UsedTokens:
    """Return the size of a context.

    The usage of an answer holds all that was sent for it, so only later messages are estimated. Answers that a
    compaction kept tell the size before it, and answers that were cut short tell nothing (pi's `getContextUsage`).
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
