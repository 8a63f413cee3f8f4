"""Collect the paid requests to models that a session file records, and find the branch of each request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from decimal import ROUND_HALF_EVEN, Context, Decimal
from hashlib import blake2b
from typing import Any, Protocol

from msgspec.structs import replace

from sessionbrowse.format.envelope import TASK_TOOL, Envelope
from sessionbrowse.format.json_value import BadJson, Json, loads
from sessionbrowse.format.ordinary_line import OrdinaryCustom
from sessionbrowse.model.session.parents import ROOT, is_move
from sessionbrowse.model.usage.request import (
    ABANDONED,
    ANSWER,
    BRANCH_SUMMARY,
    COMPACTION,
    COMPACTION_ENTRY,
    ENTRY_KINDS,
    KEPT,
    MODEL_USAGE,
    NO_USAGE,
    NOT_PRICED,
    RESULT,
    SESSION_SUMMARY,
    SUBAGENTS,
    USAGE,
    FileRequests,
    Request,
    price_of,
)
from sessionbrowse.text import is_time, parse_time

BOOKKEEPING = frozenset(
    {"credential_pin", "custom", "label", "model_usage", "session_exit", "session_info", "title_change", "usage"}
)
"""Entry types that programs append on their own: such entries do not show that the user moved in the tree."""

_TASK = f'"{TASK_TOOL}"'.encode()
_SUMMARIES = (COMPACTION_ENTRY, BRANCH_SUMMARY, SESSION_SUMMARY)
_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


class EntryTree(Protocol):
    """The facts about a file's entries, by index, that `RequestReader` needs: ids, parents, and flags for messages."""

    is_message: bytearray

    @property
    def ids(self) -> Sequence[str | None]:
        """The ids of all entries, in file order."""
        ...

    def parent(self, index: int) -> int:
        """Return the index of the parent of the entry at `index`, or `ROOT` if it has no parent."""
        ...

    def is_chain(self) -> bool:
        """Return True if the parent of every entry is the entry before it."""
        ...


class RequestReader:
    """Collects the paid requests to models that a session file records, entry by entry.

    `known` are the requests that an earlier reader found in the first `entries` entries of the file.
    """

    def __init__(self, known: FileRequests = NO_USAGE, entries: int = 0) -> None:
        # The earlier reader may have met an unfinished last line. This line is read again, so its requests are dropped.
        kept = [number for number, request in enumerate(known.requests) if request.entry < entries]
        self._requests = [known.requests[number] for number in kept]
        self._identities = [known.identities[number] for number in kept]
        self._sources = {source: number for number, source in enumerate(known.sources)}
        self._last_move = known.last_move if known.last_move < entries else ROOT

    def add_ordinary(self, index: int, entries: Sequence[Any], kinds: bytes, answer: int, other: int) -> None:
        """Add the paid requests in consecutive entries, which are structs of `format.ordinary_line`.

        `index` is that of the first entry. `kinds` has one byte for each entry: the byte `answer` stands for an
        assistant message, the byte `other` for an entry without a message.
        """
        for number, kind in enumerate(kinds):
            if kind == answer:
                message = entries[number].message
                usage = message.usage
                if usage is not None:
                    self._add(
                        index + number,
                        ANSWER,
                        (message.provider or "", message.model or ""),
                        (usage.input, usage.output, usage.cacheRead, usage.cacheWrite),
                        usage.reasoning if usage.reasoning is not None else usage.reasoningTokens,
                        usage.cost.total if usage.cost is not None else None,
                        _moment(message.timestamp, entries[number].timestamp),
                        message.sourceRequest,
                    )
            elif kind == other:
                entry = entries[number]
                if entry.__class__ is not OrdinaryCustom or is_move("custom", entry.customType):
                    self._last_move = index + number

    def add(self, index: int, envelope: Envelope, raw: bytes) -> None:
        """Add the paid request that an entry records, if any; `raw` are the bytes of the entry's line."""
        kind = ENTRY_KINDS.get(envelope.type)
        if envelope.type == "message":
            kind = {"assistant": ANSWER, "toolResult": RESULT}.get(envelope.role)
            if kind is None or (envelope.spent is None and kind == ANSWER):
                return
        elif is_user_move(envelope.type, envelope.custom_type):
            self._last_move = index
        if kind is None:
            return
        if envelope.spent is None and kind != COMPACTION_ENTRY and (kind != RESULT or _TASK not in raw):
            return
        try:
            value = loads(raw)
        except BadJson:
            return
        if not isinstance(value, dict):
            return
        message = value.get("message")
        body = message if envelope.type == "message" and isinstance(message, dict) else value
        details = body.get("details")
        moment = _moment(envelope.message_ms, envelope.timestamp)
        source = (envelope.provider or "", envelope.model or "")
        if kind == RESULT and body.get("toolName") == TASK_TOOL and isinstance(details, dict):
            self._add_tasks(index, details, moment, envelope.tool_call_id)
        elif isinstance(body.get("usage"), dict):
            request = body.get("sourceRequest") if kind == ANSWER else envelope.tool_call_id
            self._add_usage(index, kind, source, body["usage"], moment, request if isinstance(request, str) else None)
        elif kind == COMPACTION_ENTRY:
            self._add(index, kind, source, (0, 0, 0, 0), None, None, moment, unrecorded=True)

    def finish(self, tree: EntryTree, leaf: int | None = None) -> FileRequests:
        """Return all paid requests with their identities, branches and parts (see `request.PARTS`).

        `leaf` is the index of the session's leaf; None means the last entry.
        """
        if not self._requests:
            return FileRequests([], [], [], [], tree.ids[0] if tree.ids else None, self._last_move)
        self._identify(tree.ids)
        end = len(tree.ids) - 1 if leaf is None else leaf
        place = branch_places(tree, end, self._last_move)
        answers = {each.entry: each.time for each in self._requests if each.kind == ANSWER}
        notes = {each.entry for each in self._requests if each.kind in (USAGE, MODEL_USAGE)}
        leaves: dict[int, int] = {}
        requests = []
        for request in self._requests:
            is_active, at = place(carrier(tree, request.entry, notes))
            part = (
                SUBAGENTS
                if request.kind == RESULT
                else COMPACTION
                if request.kind in _SUMMARIES
                else KEPT
                if is_active
                else ABANDONED
            )
            began = _began(tree, request.entry, answers) if request.kind == RESULT else request.began
            number = leaves.setdefault(at, len(leaves))
            if (part, number, began) != (request.part, request.leaf, request.began):
                request = replace(request, part=part, leaf=number, began=began)
            requests.append(request)
        ids = [tree.ids[at] for at in leaves]
        return FileRequests(requests, self._identities, list(self._sources), ids, tree.ids[0], self._last_move)

    def _add_tasks(self, index: int, details: dict[str, Json], moment: float | None, call: str | None) -> None:
        """Add a paid request for each subagent that a call of omp's `task` tool started.

        If the tool result has only the total usage of all subagents, add one request for all of them.
        """
        results = details.get("results")
        named = [each for each in results if isinstance(each, dict)] if isinstance(results, list) else []
        told = [each for each in named if isinstance(each.get("usage"), dict)]
        for result in told:
            model = result.get("resolvedModel")
            provider, _, name = (model if isinstance(model, str) else "").partition("/")
            child = result.get("id")
            self._add_usage(
                index,
                RESULT,
                (provider, name) if name else ("", provider),
                result["usage"],
                moment,
                call,
                child if isinstance(child, str) else None,
            )
        if not told and isinstance(details.get("usage"), dict):
            child = next((each["id"] for each in named if isinstance(each.get("id"), str)), None)
            self._add_usage(index, RESULT, ("", ""), details["usage"], moment, call, child)

    def _add_usage(
        self,
        index: int,
        kind: int,
        source: tuple[str, str],
        usage: Json,
        moment: float | None,
        call: str | None = None,
        child: str | None = None,
    ) -> None:
        assert isinstance(usage, dict)
        cost = usage.get("cost")
        reasoning = _number(usage.get("reasoning"))
        self._add(
            index,
            kind,
            source,
            tuple(_number(usage.get(name)) for name in _COUNTS),
            reasoning if reasoning is not None else _number(usage.get("reasoningTokens")),
            _number(cost.get("total")) if isinstance(cost, dict) else None,
            moment,
            call if kind in (RESULT, ANSWER) else None,
            child,
            unrecorded=kind == COMPACTION_ENTRY,
        )

    def _add(
        self,
        index: int,
        kind: int,
        source: tuple[str, str],
        counts: Sequence[float | None],
        reasoning: float | None,
        dollars: float | None,
        moment: float | None,
        call: str | None = None,
        child: str | None = None,
        *,
        unrecorded: bool = False,
    ) -> None:
        used, written, cache_read, cache_write = map(token_count, counts)
        amount = amount_of(dollars, used + written + cache_read + cache_write)
        if not amount and not unrecorded:
            # Without tokens and price, the call of the model failed or was aborted: it is no paid request.
            return
        number = self._sources.setdefault(source, len(self._sources))
        reason = min(token_count(reasoning), written)
        tokens = (used, written, cache_read, cache_write, reason)
        self._requests.append(Request(index, kind, number, *tokens, amount, moment, call=call, child=child))

    def _identify(self, ids: Sequence[str | None]) -> None:
        """Compute the identities of new paid requests; if an entry occurs twice in the file, keep only one request."""
        sources, known = list(self._sources), len(self._identities)
        requests, self._requests = self._requests, []
        occurrences: dict[int, int] = {}
        entry_of: dict[tuple[int, str | None], int] = {}
        for number, request in enumerate(requests):
            first, entry_id = identity_of(request, sources[request.source], 0), ids[request.entry]
            entry = entry_of.setdefault((first, entry_id), request.entry)
            if number >= known:
                if entry_id is not None and entry != request.entry:
                    continue
                again = occurrences.get(first, 0)
                self._identities.append(identity_of(request, sources[request.source], again) if again else first)
            occurrences[first] = occurrences.get(first, 0) + 1
            self._requests.append(request)


def is_user_move(entry_type: str, custom_type: str | None) -> bool:
    """Return True for an entry, other than a message, that may show that the user moved in the tree."""
    return entry_type not in BOOKKEEPING or is_move(entry_type, custom_type)


def branch_places(tree: EntryTree, leaf: int, last_move: int) -> Callable[[int], tuple[bool, int]]:
    """Return a function from an entry index to (True if the entry is on the active path, index of its branch's leaf).

    For costs, the active path is the path to the leaf. The path to the newest message is active too, if no entry after
    this message shows that the user moved in the tree: `last_move` is the index of the last entry that may show this.
    """
    if tree.is_chain() and leaf == len(tree.ids) - 1:
        return lambda index: (True, leaf)
    count = len(tree.ids)
    parents = [tree.parent(index) for index in range(count)]
    newest = tree.is_message.rfind(1)
    active: set[int] = set()
    starts = [leaf] + ([newest] if newest > last_move else [])
    for start in starts:
        index = start
        while index != ROOT and index not in active:
            active.add(index)
            index = parents[index]
    below = list(range(count))
    for index in range(count - 1, -1, -1):
        above = parents[index]
        if ROOT != above < index:
            below[above] = max(below[above], below[index])
    resumes = newest if newest > last_move and newest != ROOT else leaf
    return lambda index: (True, resumes) if index in active else (False, below[index])


def carrier(tree: EntryTree, entry: int, notes: Set[int]) -> int:
    """Return the index of the entry to whose branch the cost of a paid request is added.

    This is the entry that records the request. For a `usage` or `model_usage` entry, which only records a cost, it is
    the nearest entry of another type above.
    """
    index = entry
    for _ in range(len(tree.ids)):
        if index not in notes:
            return index
        above = tree.parent(index)
        if above == ROOT:
            return index
        index = above
    return entry


def _began(tree: EntryTree, entry: int, answers: Mapping[int, float | None]) -> float | None:
    """Return the time of the nearest assistant message above a tool result in the tree; None without such a message."""
    index = entry
    for _ in range(len(tree.ids)):
        index = tree.parent(index)
        if index == ROOT:
            return None
        if index in answers:
            return answers[index]
    return None


def _moment(own: float | None, entry: str | float | None) -> float | None:
    """Return the time of a message in milliseconds since 1970, else the time of its entry; None if both are invalid."""
    if own is not None and is_time(own):
        return own
    moment = parse_time(entry) if isinstance(entry, str) else entry
    return moment if moment is not None and is_time(moment) else None


def _number(value: Json) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


MAX_TOKENS = 2**53

_CONTEXT = Context(prec=60, Emax=10**6, Emin=-(10**6))


def amount_of(dollars: float | None, tokens: int) -> int:
    """Convert a price in US dollars to an integer of 10^-12 dollars, rounded half to even.

    For a price that is 0 or not credible (see `price_of`), return `NOT_PRICED` if tokens were used, else 0.
    """
    price = price_of(dollars)
    if not price:
        return NOT_PRICED if tokens else 0
    # Python's `repr` of a float gives the same decimal digits that JSON.stringify wrote into the file.
    exact = Decimal(repr(price)).scaleb(12, _CONTEXT)
    return int(exact.to_integral_value(ROUND_HALF_EVEN)) or (NOT_PRICED if tokens else 0)


def token_count(number: float | None) -> int:
    """Return a number of tokens as an integer; 0 if the number is missing, negative or at least 2^53."""
    return int(number) if number is not None and 0 < number < MAX_TOKENS else 0


def identity_of(request: Request, source: tuple[str, str], occurrence: int) -> int:
    """Return a 64-bit hash that is equal for all copies of one paid request to a model, for example in forks.

    Copies agree in kind, provider, model, four token counts and time, and for tool results in the ids of the call and
    the subagent. An answer with the id of its request is identified by that alone. `occurrence` (0, 1, …) distinguishes
    different requests of one file that agree in all of these.
    """
    if request.kind == ANSWER and request.call is not None:
        key = f"{request.call}\0{occurrence}"
    else:
        time = request.time
        moment = "" if time is None else str(int(time)) if time == int(time) else repr(time)
        key = f"{request.kind}\0{source[0]}\0{source[1]}\0{request.input}\0{request.output}\0{request.cache_read}\0"
        key += f"{request.cache_write}\0{moment}\0{request.call or ''}\0{request.child or ''}\0{occurrence}"
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
