"""Decide in which one of many session files each paid request to a model counts, and add up the requests of files.

Forks, clones, merges and other programs copy entries with their requests. A copied request counts only in the file with
the oldest header. Among equally old files the parent session comes first, then files that are neither archived nor in
the folder of another session, then the first path.

Copies and possible duplicates of requests get sums of their own (see `Totals`).
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from msgspec import Struct

from sessionbrowse.model.usage.request import (
    ABANDONED,
    KEPT,
    SUBAGENTS,
    FileRequests,
    FileSums,
    Request,
    Span,
    Totals,
    add,
    amounts_of,
    quarter_of,
)

OWN, COPY, UNDECIDED, ELSEWHERE = range(4)
"""The four possible decisions: whether and where a paid request counts.

OWN: it counts in its file. COPY: it is a copy and counts in another file. UNDECIDED: it may be a duplicate and does not
count. ELSEWHERE: it is the usage of a subagent and counts in the subagent's file.
"""

Decision: TypeAlias = tuple[int, int, int]
"""The decision on a paid request (such as `OWN`), the request's part, and its amount in 10^-12 US dollars.

The part is the kind of spending to which the request belongs (see `request.PARTS`), as a number. If copies differ in
their amounts, the amount is the largest of them.
"""

_Place: TypeAlias = tuple[int, int]
"""The number of a file in the sorted list of files (see `_owner_order`), and the position of a request in the file."""


class UsageFile(Struct, frozen=True, gc=False):
    """A session file with the sums of its paid requests to models; `load` reads the requests themselves.

    `created` is the time in the file's header. `nested` is True if the file is in the folder of another session, like
    the files of subagents.
    """

    path: str
    sums: FileSums
    identities: array[int]
    load: Callable[[], FileRequests]
    created: float | None = None
    parent_path: str | None = None
    archived: bool = False
    nested: bool = False


def decide(files: Sequence[UsageFile]) -> dict[str, list[Decision]]:
    """Return the decision on each paid request, by file path, for files that may have copies or usage of subagents.

    In a file that is not in the result, all requests count: as usage of subagents if the file is in the folder of
    another session.
    """
    return _Deciding(files).decisions()


class _Deciding:
    def __init__(self, files: Sequence[UsageFile]) -> None:
        self._files = sorted(files, key=_owner_order(files))
        self._shared = _shared(self._files)
        self._by_path = {file.path: number for number, file in enumerate(self._files)}
        self._loaded: dict[int, FileRequests] = {}
        self._status: dict[int, list[int]] = {}
        self._holders: dict[int, list[_Place]] = {}
        self._subagents = {number for number, file in enumerate(self._files) if file.nested}
        self._children_of = _children(self._files)

    def decisions(self) -> dict[str, list[Decision]]:
        """Return the decisions on paid requests by file path, for the files whose requests had to be loaded."""
        for number in self._to_look_into():
            self._look_into(number)
        self._settle_children()
        self._settle_timeless()
        return {self._files[number].path: list(self._decided(number)) for number in sorted(self._loaded)}

    def _to_look_into(self) -> list[int]:
        """Return the numbers of the files whose paid requests must be loaded to decide where they count.

        These are files with requests that other files also have, with usage of subagents, or with requests without
        time; and the files of the subagents.
        """
        special = {number for number, file in enumerate(self._files) if file.sums.is_special}
        looked_into = set(special)
        for number in special:
            requests = self._files[number].load().requests
            if any(request.time is None for request in requests):
                # Any file may contain a copy of a request without time, so all files must be loaded.
                return list(range(len(self._files)))
            if any(request.is_child_usage and request.child is None for request in requests):
                looked_into.update(self._children(number))
        if self._shared:
            looked_into.update(
                number for number, file in enumerate(self._files) if not self._shared.isdisjoint(file.identities)
            )
        return sorted(looked_into)

    def _look_into(self, number: int) -> None:
        usage = self._loaded[number] = self._files[number].load()
        status = self._status[number] = []
        for position, identity in enumerate(usage.identities):
            # Two requests without a time may be different, even if their identities are equal.
            is_shared = identity in self._shared and usage.requests[position].time is not None
            holders: list[_Place] = self._holders.setdefault(identity, []) if is_shared else []
            status.append(COPY if holders else OWN)
            if holders and usage.requests[position].tokens > self._request(holders[0]).tokens:
                # The other copy was made in the middle of the answer.
                self._status[holders[0][0]][holders[0][1]] = COPY
                status[-1] = OWN
                holders.insert(0, (number, position))
            else:
                holders.append((number, position))

    def _decided(self, number: int) -> Iterator[Decision]:
        usage = self._loaded[number]
        for position, request in enumerate(usage.requests):
            status = self._status[number][position]
            part, amount = request.part, request.amount
            if status == COPY:
                yield status, part, amount
                continue
            if number in self._subagents:
                part = SUBAGENTS
            holders = self._holders.get(usage.identities[position], ())
            if (number, position) in holders:
                copies = [self._loaded[file].requests[at] for file, at in holders]
                amount = max(copy.amount for copy in copies)
                if part == ABANDONED and any(copy.part == KEPT for copy in copies):
                    part = KEPT
            yield status, part, amount

    # ---- children ------------------------------------------------------------------------------------------------

    def _settle_children(self) -> None:
        """Count the usage of each subagent in its own file, or in the parent's tool result if that file is missing."""
        results = [
            (number, position, request)
            for number, usage in self._loaded.items()
            for position, request in enumerate(usage.requests)
            if request.is_child_usage and self._status[number][position] == OWN
        ]
        waiting = []
        for number, position, request in results:
            parents = self._holding(number, position)
            if request.child is not None:
                # A result of omp's `task` tool names the session file of each subagent.
                named = [_folder_of(self._files[parent].path) + request.child + ".jsonl" for parent in parents]
                if any(path in self._by_path for path in named):
                    self._status[number][position] = ELSEWHERE
            elif request.time is not None:
                children = sorted({child for parent in parents for child in self._children(parent)})
                within = {child: self._between(child, request) for child in children}
                waiting.append((number, position, request, within))
        # Other tool results report tokens without naming the subagent. First, look for one subagent whose requests have
        # the same sums of tokens as the tool result; then, add up the requests of all subagents. A request may belong
        # to one tool result only: `taken` has the identities of the requests that belong to one already.
        taken: set[int] = set()
        for number, position, request, within in waiting:
            for child, inside in within.items():
                free = {identity: each for identity, each in inside.items() if identity not in taken}
                if free and _sum(free.values()) == request.counts:
                    taken.update(free)
                    self._subagents.add(child)
                    self._status[number][position] = ELSEWHERE
                    break
        for number, position, request, within in waiting:
            free = {key: each for inside in within.values() for key, each in inside.items() if key not in taken}
            if self._status[number][position] == OWN and free:
                self._subagents.update(child for child, inside in within.items() if not free.keys().isdisjoint(inside))
                is_equal = _sum(free.values()) == request.counts
                self._status[number][position] = ELSEWHERE if is_equal else UNDECIDED
                if is_equal:
                    taken.update(free)

    def _holding(self, number: int, position: int) -> list[int]:
        """Return the numbers of all files that contain a certain paid request, or a copy of this request.

        The request is at `position` in the file with the number `number`.
        """
        holders = self._holders.get(self._loaded[number].identities[position], [])
        return [file for file, _ in holders] if (number, position) in holders else [number]

    def _children(self, number: int) -> list[int]:
        """Return the numbers of the files of a session's subagents.

        These are the files in the session's folder, and the files that name the session as parent but, unlike forks,
        share neither the first entry nor a request with it.
        """
        parent = self._files[number]
        return [
            child
            for child in self._children_of.get(parent.path, ())
            if self._files[child].parent_path != parent.path
            or self._files[child].nested
            or not _share(self._files[child], parent)
        ]

    def _between(self, child: int, result: Request) -> dict[int, Request]:
        """Return, by identity, the paid requests in a subagent's file made while its parent's tool call was running.

        `child` is the position of that file; `result` is the parent's request with the result of the call.
        """
        begin = result.began if result.began is not None else float("-inf")
        usage = self._loaded[child]
        return {
            identity: request
            for identity, request in zip(usage.identities, usage.requests, strict=True)
            if request.time is not None and result.time is not None and begin <= request.time <= result.time
            if request.is_paid and not request.is_child_usage
        }

    # ---- requests without a time -----------------------------------------------------------------------------------

    def _settle_timeless(self) -> None:
        """Mark paid requests as undecided if they may be copies of a request in another file, but a time is missing.

        Two requests may be copies if they agree in model and tokens and at least one has no time. Only the request in
        the later file, in the order of `_owner_order`, becomes undecided.
        """
        if not any(request.time is None for usage in self._loaded.values() for request in usage.requests):
            return
        equal: dict[tuple[object, ...], list[_Place]] = {}
        for number, usage in self._loaded.items():
            for position, request in enumerate(usage.requests):
                if request.tokens and self._status[number][position] == OWN:
                    equal.setdefault((usage.sources[request.source], request.counts), []).append((number, position))
        for places in equal.values():
            timeless = [place for place in places if self._request(place).time is None]
            for place in timeless:
                others = [other for other in places if other[0] != place[0] and self._status[other[0]][other[1]] == OWN]
                if self._status[place[0]][place[1]] != OWN or not others:
                    continue
                doubtful = max(place, others[0])
                self._status[doubtful[0]][doubtful[1]] = UNDECIDED

    def _request(self, place: _Place) -> Request:
        return self._loaded[place[0]].requests[place[1]]


def _owner_order(files: Sequence[UsageFile]) -> Callable[[UsageFile], tuple[object, ...]]:
    """Return a sort key for files: a copied request counts in the file that sorts first among those that contain it."""
    by_path = {file.path: file for file in files}
    parents = {file.parent_path for file in files}

    def depth(file: UsageFile) -> int:
        """Return 1 plus the number of the file's ancestors (parent sessions) created at the same time as the file."""
        passed = {file.path}
        above = by_path.get(file.parent_path or "")
        while above is not None and above.created == file.created and above.path not in passed:
            passed.add(above.path)
            above = by_path.get(above.parent_path or "")
        return len(passed)

    def key(file: UsageFile) -> tuple[object, ...]:
        created = float("inf") if file.created is None else file.created
        is_parent = file.path in parents
        return created, depth(file), not is_parent, file.archived, file.nested, os.fsencode(file.path)

    return key


def _sum(requests: Iterable[Request]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*[request.counts for request in requests], strict=True)))


def _shared(files: Iterable[UsageFile]) -> set[int]:
    """Return the identities of the paid requests that occur in more than one file."""
    seen: set[int] = set()
    shared: set[int] = set()
    for file in files:
        own = set(file.identities)
        if not seen.isdisjoint(own):
            shared |= seen & own
        seen |= own
    return shared


def _share(one: UsageFile, other: UsageFile) -> bool:
    """Return True if two files have their first entry or a paid request in common, like a session and its fork."""
    first = one.sums.first_entry
    if first is not None and first == other.sums.first_entry:
        return True
    return not set(one.identities).isdisjoint(other.identities)


def _children(files: Sequence[UsageFile]) -> dict[str, list[int]]:
    """Return, by session path, the numbers of the files in the session's folder or with the session as parent."""
    folders = {_folder_of(file.path): file.path for file in files}
    found: dict[str, list[int]] = {}
    for number, file in enumerate(files):
        above = {file.parent_path} if file.parent_path is not None else set()
        if file.nested:
            place = file.path.rpartition("/")[0]
            while place:
                above |= {folders[f"{place}/"]} if f"{place}/" in folders else set()
                place = place.rpartition("/")[0]
        for path in above - {file.path}:
            found.setdefault(path, []).append(number)
    return found


def _folder_of(path: str) -> str:
    """Return the folder in which a session's subagents keep their files, with a slash at its end."""
    return path.rpartition(".")[0] + "/"


KeyT = TypeVar("KeyT")
Place = tuple[int | None, str, str, int]
"""The facts by which paid requests to models are grouped: quarter of an hour since 1970, provider, model, branch.

The branch is given as the position of its leaf in `FileRequests.leaves`.
"""


def totals_by(
    file: UsageFile,
    decided: Sequence[Decision] | None,
    span: Span,
    key_of: Callable[[Place], KeyT],
    *,
    usage: FileRequests | None = None,
) -> dict[KeyT, Totals]:
    """Return totals of one file's paid requests within a span of time, grouped by the key that `key_of` returns.

    `decided` says for each request whether it counts in this file (see `decide`); None means that all count. `usage`
    are the file's requests. Without `usage`, `key_of` must not use the branch of the `Place` that it gets, because the
    branch may be missing (0).
    """
    found: dict[KeyT, Totals] = {}
    first, last = file.sums.first, file.sums.last
    if not span.is_all and not span.touches(first, last):
        return found
    if decided is None and usage is None and is_within(file, span):
        add_sums(file, key_of, found)
        return found
    usage = usage or file.load()
    for request, decision in with_decisions(usage, decided, nested=file.nested):
        if span.holds(request.time):
            place = (quarter_of(request.time), *usage.sources[request.source], request.leaf)
            key = key_of(place)
            _count(found.get(key) or found.setdefault(key, Totals()), request, decision)
    return found


def is_within(file: UsageFile, span: Span) -> bool:
    """Return True if all paid requests of a file are within a span of time."""
    return span.is_all or (span.holds(file.sums.first) and span.holds(file.sums.last))


def add_sums(file: UsageFile, key_of: Callable[[Place], KeyT], into: dict[KeyT, Totals]) -> set[KeyT]:
    """Add the sums of all paid requests of a file, copies included, to the totals in `into`.

    Return the keys of the totals to which something was added.
    """
    keys = set()
    nested = file.nested
    for quarter, provider, model, part, amounts in file.sums.cells:
        key = key_of((quarter, provider, model, 0))
        keys.add(key)
        totals = into.get(key)
        if totals is None:
            totals = into[key] = Totals()
        add(totals.parts[SUBAGENTS if nested else part], amounts)
    return keys


def totals_of(file: UsageFile, decided: Sequence[Decision] | None, span: Span) -> Totals | None:
    """Return the totals of one file's paid requests within a span of time; None if there are none in the span."""
    if decided is not None or not is_within(file, span):
        return totals_by(file, decided, span, lambda _: None).get(None)
    found = Totals()
    for part, amounts in file.sums.parts:
        add(found.parts[SUBAGENTS if file.nested else part], amounts)
    return found


def with_decisions(
    usage: FileRequests, decided: Sequence[Decision] | None, *, nested: bool
) -> Iterator[tuple[Request, Decision]]:
    """Yield each paid request of a file with the decision whether it counts in this file (see `decide`).

    If `decided` is None, all requests count in this file.
    """
    for position, request in enumerate(usage.requests):
        if decided is not None:
            yield request, decided[position]
        else:
            yield request, (OWN, SUBAGENTS if nested else request.part, request.amount)


def _count(into: Totals, request: Request, decision: Decision) -> None:
    status, part, amount = decision
    if status == OWN:
        add(into.parts[part], amounts_of(request, amount))
    elif request.is_paid and status == COPY:
        add(into.copies, amounts_of(request))
    elif request.is_paid and status == UNDECIDED:
        add(into.undecided, amounts_of(request, amount))
