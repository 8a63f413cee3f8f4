"""Paid requests of one session file as values: tokens, amount, time, part, and the identity that copies share."""

from __future__ import annotations

from msgspec import Struct

ANSWER, RESULT, COMPACTION_ENTRY, BRANCH_SUMMARY, SESSION_SUMMARY, USAGE, MODEL_USAGE = range(7)
"""The kinds of records that hold a request: an answer, a tool result, and the entry types of the same names."""

ENTRY_KINDS = {
    "compaction": COMPACTION_ENTRY,
    "branch_summary": BRANCH_SUMMARY,
    "session_summary": SESSION_SUMMARY,
    "usage": USAGE,
    "model_usage": MODEL_USAGE,
}
"""The kind of request by the type of an entry that is no message."""

KEPT, ABANDONED, COMPACTION, SUBAGENTS = range(4)
PARTS = ("kept", "abandoned", "compaction", "subagents")
"""The names of the parts; each request is in exactly one."""

NOT_PRICED = -1
"""The amount of a request with tokens for which no price was written, such as that of a subscription."""
PER_DOLLAR = 10**12


class Request(Struct, frozen=True, array_like=True, gc=False):
    """One request. `entry` is the number of its entry in the file, `source` and `leaf` are numbers in `FileRequests`.

    `amount` is in 10^-12 US dollars, or `NOT_PRICED`. `time` is milliseconds since 1970, None if nobody wrote it.
    `reasoning` is part of `output`. Only tool results have `call`, the tool call's id; `child`, the id of the subagent
    that used the tokens; and `began`, the time of the answer that called the tool.
    """

    entry: int
    kind: int
    source: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int
    amount: int
    time: float | None
    part: int = KEPT
    leaf: int = 0
    call: str | None = None
    child: str | None = None
    began: float | None = None

    @property
    def tokens(self) -> int:
        """Sum of the four token counts."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The four token counts."""
        return self.input, self.output, self.cache_read, self.cache_write

    @property
    def is_paid(self) -> bool:
        """False for a compaction whose usage nobody wrote down."""
        return self.tokens > 0 or self.amount > 0

    @property
    def is_child_usage(self) -> bool:
        """True if a subagent used the tokens, and its parent's tool result tells of them."""
        return self.kind == RESULT


class FileRequests(Struct, frozen=True, array_like=True):
    """The requests of one file in file order, and their identities, which are equal in copies of the same request.

    `sources` are pairs of provider and model, "" if unknown. `leaves` are the ids of the entries at which the requests'
    branches end. A request without a time has an identity too, but nothing else can have the same. `first_entry` is
    the id of the file's first entry. `last_move` is the number of the last entry that is neither a message nor
    bookkeeping.
    """

    requests: list[Request]
    identities: list[int]
    sources: list[tuple[str, str]]
    leaves: list[str | None]
    first_entry: str | None = None
    last_move: int = -1


NO_USAGE = FileRequests([], [], [], [])
