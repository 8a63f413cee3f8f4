"""Count the model requests in the files of some directories; the index stores the results until a file changes."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial

import msgspec

from sessionbrowse.model.listing.families import families
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.usage.ownership import (
    Decision,
    Place,
    UsageFile,
    add_sums,
    decide,
    is_within,
    totals_by,
    totals_of,
)
from sessionbrowse.model.usage.request import (
    ALL_TIME,
    NO_USAGE,
    QUARTER_MS,
    FileRequests,
    FileSums,
    Span,
    Totals,
    sums_of,
)
from sessionbrowse.services.list.gather import completed
from sessionbrowse.services.usage.usage_listing import (
    VERSIONS,
    GroupKey,
    SummaryWithUsage,
    UsageListing,
    UsageRow,
    read_with_usage,
    stored_answer,
)
from sessionbrowse.store.index.index import write_settled
from sessionbrowse.store.index.rows import FileRow
from sessionbrowse.store.index.schema import IndexUnavailable, locked
from sessionbrowse.store.index.usage_tables import read_sums, read_usage
from sessionbrowse.text import local_time, model_name


def usage_files(
    found: UsageListing, summaries: Sequence[Summary], paths: Collection[str] | None = None
) -> list[UsageFile]:
    """Return all files, or only those in `paths`, each with the total tokens and cost of its model requests.

    `summaries` are the summaries of all files, with the paths of the parent sessions. If the requests of a file are
    damaged or missing in the index, they are read from the file.
    """
    by_path = {summary.path: summary for summary in summaries if paths is None or summary.path in paths}
    made: list[UsageFile] = []

    def add(path: str, sums: FileSums, identities: array[int], load: Callable[[], FileRequests]) -> None:
        summary = by_path.get(path)
        if summary is not None:
            about = (summary.created, summary.parent_path, summary.archived, summary.hidden)
            made.append(UsageFile(path, sums, identities, load, *about))

    def add_read(path: str, usage: FileRequests) -> None:
        if usage.requests:
            add(path, sums_of(usage), array("Q", usage.identities), lambda: usage)

    rows = [found.listing.rows.get(session.path) for session in found.listing.sessions if session.path in by_path]
    lost = {row.row: row for row in rows if row is not None}
    index = found.listing.index
    if index is not None:
        try:
            for row, held in read_sums(index.connection, dict(lost)):
                del lost[row.row]
                if held is not None:
                    identities, sums = held
                    add(row.path, sums, identities, partial(_requests_of, found, row))
        except sqlite3.Error:
            # The index is damaged. The files whose requests were not read from it stay in `lost`, and are read below.
            pass
    if lost:
        found.heal()
    for row in lost.values():
        add_read(row.path, _read(found, row.path))
    for summary in by_path.values():
        if isinstance(summary, SummaryWithUsage):
            add_read(summary.path, summary.usage)
    return made


def _requests_of(found: UsageListing, row: FileRow) -> FileRequests:
    """Return a file's model requests from the index, or from the file if they are damaged or missing in the index."""
    index = found.listing.index
    assert index is not None
    try:
        return read_usage(index.connection, row)
    except sqlite3.Error:
        found.heal()
        return _read(found, row.path)


def _read(found: UsageListing, path: str) -> FileRequests:
    summary = read_with_usage(found.listing.files[path])
    return summary.usage if isinstance(summary, SummaryWithUsage) else NO_USAGE


_NAME_CHARACTERS = 200
_DECISIONS = "decisions"
_OTHERS = "\0"
"""Key of the row that adds up all other model requests, if the cost of one provider or model is requested.

No other row has a key that contains a NUL.
"""
_encode = msgspec.msgpack.Encoder().encode
_decode_decided = msgspec.msgpack.Decoder(dict[str, list[Decision]]).decode


class Counting:
    """The counted model requests of all files in the listing `found`, or only of the files in `paths`.

    A fork contains copies of its parent's model requests, and only one copy counts. All files are needed to determine
    which copy counts. So `paths` has an effect only if the index already stores which copies count.
    """

    def __init__(self, found: UsageListing, paths: Collection[str] | None = None) -> None:
        self._found = found
        self._summaries: list[Summary] = completed(found.listing, found.listing.sessions)
        known = _decode_decisions(found)
        self.files: list[UsageFile] = usage_files(found, self._summaries, None if known is None else paths)
        self._by_path = {summary.path: summary for summary in self._summaries}
        self.decided: Mapping[str, Sequence[Decision]] = decide(self.files) if known is None else known
        self._is_new = known is None
        # The time zone may have changed since the last count, so cached names of days, weeks and months may be wrong.
        _period.cache_clear()

    def rows(
        self,
        by: str,
        span: Span = ALL_TIME,
        paths: Collection[str] | None = None,
        only: tuple[str, GroupKey] | None = None,
    ) -> list[UsageRow]:
        """Return the cost in unsorted rows; `by` "project" returns one row for each project, "day" one for each day.

        `paths` limits the rows to model requests that count for these files; a copied request counts only for one file.
        `only` limits the rows to one provider or model: it is a pair such as ("model", the key of the model's row).
        """
        rows: dict[GroupKey, UsageRow] = {}
        sums: dict[GroupKey, Totals] = {}
        family_of = self._families if by == "family" else {}
        for file in self.files:
            if paths is not None and file.path not in paths:
                continue
            summary = self._by_path[file.path]
            decided, key_of = self.decided.get(file.path), _KEYS.get(by)
            usage = file.load() if by == "branch" else None
            is_chain = usage is not None and len(usage.leaves) == 1
            if only is not None:
                key_of = _limited(key_of, _fixed_key(by, summary, family_of), *only)
            last = file.sums.last
            found: Mapping[GroupKey, Totals | None]
            if key_of is not None and decided is None and usage is None and is_within(file, span):
                # This file shares no model requests with other files, so the stored sums of the file are added.
                found = dict.fromkeys(add_sums(file, key_of, sums))
            elif key_of is not None and not (is_chain and only is None):
                found = totals_by(file, decided, span, key_of, usage=usage)
            else:
                alone = totals_of(file, decided, span)
                found = {} if alone is None else {0 if is_chain else _fixed_key(by, summary, family_of): alone}
            for key, totals in found.items():
                if key == _OTHERS:
                    continue
                if totals is not None and usage is not None and isinstance(key, int):
                    leaf = usage.leaves[key]
                    row = UsageRow(f"{file.path}:{leaf or ''}", totals, path=file.path, leaf_id=leaf)
                    rows[row.key] = row
                else:
                    row = rows.get(key) or rows.setdefault(key, UsageRow(key, sums.setdefault(key, Totals())))
                    if totals is not None:
                        row.totals.merge(totals)
                row.sessions += 1
                if last is not None and (row.latest is None or row.latest < last):
                    row.latest = last
                if by in ("session", "branch"):
                    row.path, row.id, row.name = file.path, summary.id, summary.title[:_NAME_CHARACTERS]
                if by == "session" and summary.problem is None:
                    row.agent_total = (summary.tokens, summary.cost)
                elif by == "family":
                    row.path = str(key)
                    row.name = self._by_path[str(key)].title[:_NAME_CHARACTERS]
        return list(rows.values())

    def store(self, rows: Mapping[str, Sequence[UsageRow]]) -> None:
        """Store rows of cost in the index; do nothing if the index cannot be written now.

        `rows` maps the name under which rows are stored, such as "project", to these rows. Which copy of each model
        request counts is stored too, if the index does not have that yet.
        """
        versions, index, is_new = self._found.versions, self._found.listing.index, self._is_new
        if versions is None or index is None or not (rows or is_new):
            return
        answers = [(name, _encode(each)) for name, each in rows.items()]
        if is_new:
            answers += [(_DECISIONS, _encode(self.decided)), (VERSIONS, versions)]
            self._is_new = False
        # If the index is full, read-only or being written by another process, the results are not stored.
        with suppress(IndexUnavailable, sqlite3.Error, OverflowError, OSError), locked(index.directory):
            write_settled(index.connection, answers, instead=is_new)

    def family_of(self, path: str) -> tuple[str, ...]:
        """Return the paths of a session and of its family (forks, subagents and so on); () if it has no relatives."""
        head = self._families.get(path)
        return () if head is None else tuple([member for member, other in self._families.items() if other == head])

    @cached_property
    def _families(self) -> dict[str, str]:
        """Map the path of each session with relatives (forks, subagents, …) to the path of its oldest relative."""
        numbers = families(self._summaries)
        oldest: dict[int, tuple[float, str]] = {}
        for summary in self._summaries:
            number = numbers.get(summary.path)
            if number is not None:
                created = float("inf") if summary.created is None else summary.created
                oldest[number] = min(oldest.get(number, (created, summary.path)), (created, summary.path))
        return {path: oldest[number][1] for path, number in numbers.items()}


def _decode_decisions(found: UsageListing) -> dict[str, list[Decision]] | None:
    packed = stored_answer(found, _DECISIONS)
    with suppress(msgspec.MsgspecError):
        return _decode_decided(packed) if packed is not None else None
    return None


def _fixed_key(by: str, summary: Summary, family_of: Mapping[str, str]) -> GroupKey:
    """Return the key of the row to which a session's whole cost belongs: its project, agent, family or path.

    A family (a session with its forks and subagents) has the path of its oldest session as key.
    """
    if by == "project":
        return summary.cwd
    if by == "agent":
        return summary.agent
    return family_of.get(summary.path, summary.path)


def _limited(
    key_of: Callable[[Place], GroupKey] | None, fixed: GroupKey, kind: str, wanted: GroupKey
) -> Callable[[Place], GroupKey]:
    """Return a function that returns the key of the row in which a model request is counted.

    `kind` is "model" or "provider"; requests to another model or provider than `wanted` are counted in `_OTHERS`.
    """
    source_of = _KEYS[kind]

    def key(place: Place) -> GroupKey:
        if source_of(place) != wanted:
            return _OTHERS
        return fixed if key_of is None else key_of(place)

    return key


def _model_of(place: Place) -> str | None:
    return model_name(place[1], place[2])


@cache
def _period(quarter: int | None, by: str) -> str | None:
    """Return the local day, ISO week or month as text. `quarter` is the time in quarters of an hour since 1970."""
    day = local_time(quarter * QUARTER_MS) if quarter is not None else None
    if day is None:
        return None
    if by == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return f"{day:%Y-%m-%d}" if by == "day" else f"{day:%Y-%m}"


_KEYS: dict[str, Callable[[Place], GroupKey]] = {
    "day": lambda place: _period(place[0], "day"),
    "week": lambda place: _period(place[0], "week"),
    "month": lambda place: _period(place[0], "month"),
    "provider": lambda place: place[1] or None,
    "model": _model_of,
    "branch": lambda place: place[3],
}
