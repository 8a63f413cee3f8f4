"""The paid requests to models that a session file records, and their sums: tokens, price, time, kind of spending.

A request is one call of a model, or the usage of a subagent that a tool result reports. Each request has an identity, a
number that is equal for all its copies in other files. A part is a kind of spending. Sums are made by quarter of an
hour, provider, model and part; they are integers, so no result depends on the order of additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add as plus

import msgspec
from msgspec import Struct

from sessionbrowse.format.envelope import Envelope, Spending
from sessionbrowse.model.session.rules import Rules

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
    `reasoning` tokens are included in `output`. `call` is the tool call's id, or in an answer of Claude Code the
    request's id. Only tool results have `child`, the id of the subagent; and `began`, the time of the assistant message
    with the call.
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


# ---- sums --------------------------------------------------------------------------------------------------

QUARTER_MS = 15 * 60 * 1000
"""A quarter of an hour in milliseconds; in all time zones in use, days begin at a quarter of an hour in UTC."""

Key = tuple[int | None, str, str, int]
"""The facts by which paid requests are added up: quarter of an hour since 1970 or None, provider, model, part."""

REQUESTS, INPUT, OUTPUT, CACHE_READ, CACHE_WRITE, REASONING, COST, UNPRICED, UNRECORDED = range(9)
"""The positions of the nine sums in an `Amounts` list."""
Amounts = list[int]
"""Nine sums over paid requests to models.

They are the number of requests, four kinds of tokens, reasoning tokens, the cost in 10^-12 US dollars, the number of
requests without a price, and the number of compactions without recorded usage. The number of requests does not include
these compactions.
"""


class FileSums(Struct, array_like=True):
    """The sums of all paid model requests in one file. Requests that a fork copied from another file count too.

    `cells` are the sums by `Key`, `parts` the sums by part (see `PARTS`). `first` and `last` are the earliest
    and latest time of a request in milliseconds. `is_special` is True if the file has usage of subagents or a request
    without a time: such a file must be read to decide which requests count. `first_entry` is the id of the file's first
    entry.
    """

    cells: list[tuple[int | None, str, str, int, Amounts]]
    first: float | None = None
    last: float | None = None
    is_special: bool = False
    first_entry: str | None = None
    parts: list[tuple[int, Amounts]] = []


def amounts_of(request: Request, amount: int | None = None) -> Amounts:
    """Return the nine sums of one paid request; `amount`, in 10^-12 US dollars, replaces the request's own amount."""
    if not request.is_paid:
        return [*nothing()[:UNRECORDED], 1]
    cost = request.amount if amount is None else amount
    return [1, *request.counts, request.reasoning, max(cost, 0), int(cost == NOT_PRICED), 0]


def add(into: Amounts, other: Sequence[int]) -> None:
    """Add the sums in `other` to those in `into`."""
    into[:] = map(plus, into, other)


def nothing() -> Amounts:
    """Return nine sums that are all zero."""
    return [0] * 9


def tokens_of(amounts: Sequence[int]) -> int:
    """Return the number of all tokens (input, output, cache reads, cache writes) in the sums of `Amounts`."""
    return sum(amounts[INPUT : CACHE_WRITE + 1])


def cost_of(amounts: Sequence[int]) -> int | None:
    """Return the cost in nine sums (`Amounts`), in 10^-12 US dollars; None if no request had a price."""
    return amounts[COST] if amounts[REQUESTS] > amounts[UNPRICED] else None


def quarter_of(time: float | None) -> int | None:
    """Return the number, since 1970, of the quarter of an hour that contains a time; None for None."""
    return None if time is None else int(time // QUARTER_MS)


def sums_of(usage: FileRequests) -> FileSums:
    """Return the sums of all paid requests in one file."""
    cells: dict[Key, Amounts] = {}
    for request in usage.requests:
        provider, model = usage.sources[request.source]
        key = (quarter_of(request.time), provider, model, request.part)
        add(cells.setdefault(key, nothing()), amounts_of(request))
    parts: dict[int, Amounts] = {}
    for (_, _, _, part), amounts in cells.items():
        add(parts.setdefault(part, nothing()), amounts)
    times = [request.time for request in usage.requests if request.time is not None]
    special = any(request.time is None or request.is_child_usage for request in usage.requests)
    return FileSums(
        [(*key, amounts) for key, amounts in cells.items()],
        min(times, default=None),
        max(times, default=None),
        special,
        usage.first_entry,
        list(parts.items()),
    )


# ---- totals of spans ---------------------------------------------------------------------------------------


class Span(Struct, frozen=True):
    """A span of time in milliseconds since 1970: `since` ≤ time < `until`; None means no limit."""

    since: float | None = None
    until: float | None = None

    @property
    def is_all(self) -> bool:
        """True if the span has no limits, so that it includes all paid requests, even those without a time."""
        return self.since is None and self.until is None

    def holds(self, time: float | None) -> bool:
        """Return True if a time is within the span; the time None is only in a span without limits."""
        if time is None:
            return self.is_all
        return (self.since is None or self.since <= time) and (self.until is None or time < self.until)

    def touches(self, first: float | None, last: float | None) -> bool:
        """Return True if the period from `first` to `last` overlaps the span."""
        if first is None or last is None:
            return False
        return (self.until is None or first < self.until) and (self.since is None or self.since <= last)


ALL_TIME = Span()


class Totals(Struct, array_like=True):
    """The sums of a group of paid requests to models: for each part, for possible duplicates, and for copies.

    `parts` has the sums for each kind of spending in `PARTS`. `undecided` are the sums of requests that may be
    duplicates, and `copies` those of requests that count in another file.
    """

    parts: list[Amounts] = msgspec.field(default_factory=lambda: [nothing() for _ in PARTS])
    undecided: Amounts = msgspec.field(default_factory=nothing)
    copies: Amounts = msgspec.field(default_factory=nothing)

    @property
    def total(self) -> Amounts:
        """The sums over all parts, without copies and possible duplicates of requests."""
        found = nothing()
        for part in self.parts:
            add(found, part)
        return found

    @property
    def is_empty(self) -> bool:
        """True if all sums are zero."""
        return not any(map(any, (*self.parts, self.undecided, self.copies)))

    def merge(self, other: Totals) -> None:
        """Add the sums of the totals `other` to the sums of this object."""
        for part, amounts in zip(self.parts, other.parts, strict=True):
            add(part, amounts)
        add(self.undecided, other.undecided)
        add(self.copies, other.copies)


# pi 1.5.2 (`/session`) counts assistant messages, tool results, summaries and `usage` entries of all branches.
_PI_ENTRY_TYPES = frozenset({"compaction", "branch_summary", "usage"})
# omp 18.2.3 counts assistant messages, `model_usage` entries, and the usage of `task` subagents.
_OMP_ENTRY_TYPES = frozenset({"model_usage"})
# atomic 0.9.15 and indusagi 0.12 are forks of older versions of pi, which counted no `usage` entries.
_OLDER_ENTRY_TYPES = frozenset({"compaction", "branch_summary"})
_ENTRY_TYPES = {
    "pi": _PI_ENTRY_TYPES,
    "omp": _OMP_ENTRY_TYPES,
    "atomic": _OLDER_ENTRY_TYPES,
    "indusagi": _OLDER_ENTRY_TYPES,
    "claude": _PI_ENTRY_TYPES,
    "codex": _PI_ENTRY_TYPES,
}


def counted(rules: Rules, envelope: Envelope) -> Spending | None:
    """Return the tokens and cost that an entry adds to the totals of its session, None if it adds nothing.

    The entry types that count depend on the agent program.
    """
    if envelope.type != "message":
        return envelope.spent if envelope.type in _ENTRY_TYPES[rules.agent] else None
    if envelope.role == "toolResult":
        return envelope.task_spent if rules.agent == "omp" else envelope.spent
    return envelope.spent if envelope.role == "assistant" else None
