"""The paid requests to models that one session file records, as values: tokens, price, time, kind of spending.

A request is one call of a model, or the usage of a subagent that a tool result reports. Each request has an identity, a
number that is equal for all its copies in other files.
"""

from __future__ import annotations

from msgspec import Struct

ANSWER, RESULT, COMPACTION_ENTRY, BRANCH_SUMMARY, SESSION_SUMMARY, USAGE, MODEL_USAGE = range(7)
"""The kinds of entries that record a paid request to a model: assistant message, tool result, and other entry types."""

ENTRY_KINDS = {
    "compaction": COMPACTION_ENTRY,
    "branch_summary": BRANCH_SUMMARY,
    "session_summary": SESSION_SUMMARY,
    "usage": USAGE,
    "model_usage": MODEL_USAGE,
}
"""Maps entry types to the values of `Request.kind`, for paid requests to models that are not recorded in messages.

For example, a `compaction` entry records the request with which its summary was written.
"""

KEPT, ABANDONED, COMPACTION, SUBAGENTS = range(4)
PARTS = ("kept", "abandoned", "compaction", "subagents")
"""The four parts into which all costs are divided.

They are model calls on the active branch, those on other branches, those for summaries, and those of subagents.
"""

NOT_PRICED = -1
"""The value of `Request.amount` if the agent program recorded no price, for example because of a subscription."""
PER_DOLLAR = 10**12
MAX_DOLLARS = 1e6
"""The highest credible price of one request to a model in US dollars; a higher price is a mistake and is ignored."""


def price_of(dollars: float | None) -> float:
    """Return the price of one request in US dollars; 0 for a price that is missing, negative, NaN or too high.

    All sums and screens use this check, so that a mistake in one request spoils no total: the request is "not priced".
    """
    # This is False for NaN, too.
    return dollars if dollars is not None and 0 < dollars <= MAX_DOLLARS else 0.0


class Request(Struct, frozen=True, array_like=True, gc=False):
    """One paid call of a model, or the usage of a subagent that a tool result reports.

    `entry` is the index of the entry in the file; `source` and `leaf` are positions in the lists of `FileRequests`.
    `amount` is in 10^-12 US dollars, or `NOT_PRICED`. `time` is milliseconds since 1970, or None if missing.
    `reasoning` tokens are included in `output`. Only tool results have `call`, the tool call's id; `child`, the id of
    the subagent; and `began`, the time of the assistant message with the call.
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
        """The number of all tokens: input, output, cache reads and cache writes."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The numbers of input, output, cache read and cache write tokens."""
        return self.input, self.output, self.cache_read, self.cache_write

    @property
    def is_paid(self) -> bool:
        """False for a compaction for which the agent program stored neither tokens nor a price."""
        return self.tokens > 0 or self.amount > 0

    @property
    def is_child_usage(self) -> bool:
        """True if a subagent used the tokens, and a tool result of the parent session reports them."""
        return self.kind == RESULT


class FileRequests(Struct, frozen=True, array_like=True):
    """The paid requests to models in one file, in file order, with numbers (`identities`) that are equal for copies.

    `sources` are pairs of provider and model, "" if unknown. `leaves` are the ids of the leaves of the requests'
    branches. Two requests without a time may be different although their identities are equal. `first_entry`
    is the id of the file's first entry. `last_move` is the index of the last entry, other than messages, that may show
    that the user moved in the tree.
    """

    requests: list[Request]
    identities: list[int]
    sources: list[tuple[str, str]]
    leaves: list[str | None]
    first_entry: str | None = None
    last_move: int = -1


NO_USAGE = FileRequests([], [], [], [])
