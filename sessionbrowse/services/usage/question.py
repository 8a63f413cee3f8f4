"""The browser's questions about the cost of sessions, and the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.model.usage.request import Span, Totals
from sessionbrowse.services.usage.stats import Stats, counting_of, stats
from sessionbrowse.services.usage.usage_listing import UsageListing, gather_usage
from sessionbrowse.store.find.directories import same_spelling
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.store.index.index import open_index

if TYPE_CHECKING:
    from sessionbrowse.services.usage.counting import Counting


class UsageQuestion(Struct, frozen=True, tag=True):
    """A question about cost: a table with one row for each project (or other `by`), and a chart over days (`period`).

    The question is about all sessions, or only those with a working directory in `cwds`, with a path in `paths`, or of
    one `agent`. `since` and `until` limit the time of the model requests, in milliseconds. `only` limits them to one
    provider or model: it is a pair such as ("model", the key of the model's row).

    With `family_of`, the path of a session, the table has one row: the cost of the session's family (its forks,
    subagent runs and so on). There is no row if the session has no family, or if so many files are missing in the
    index that reading them would take too long.
    """

    by: str = "project"
    period: str = "day"
    sort: str = "cost"
    since: float | None = None
    until: float | None = None
    cwds: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    agent: str | None = None
    only: tuple[str, str | None] | None = None
    family_of: str | None = None


class UsageAnswer(Struct, frozen=True):
    """The answer to a question about cost: the rows of its table, and those of its chart, oldest first."""

    question: UsageQuestion
    table: Stats
    chart: Stats


class UsageCounter:
    """Answers questions about the cost of sessions; keeps the counted model requests until a file changes.

    All calls must come from one thread.
    """

    def __init__(self, scope: Scope, index_directory: Path) -> None:
        self._scope = scope
        self._index_directory = index_directory
        self._kept: tuple[UsageListing, Callable[[], Counting]] | None = None

    def answer(self, question: UsageQuestion) -> UsageAnswer:
        """Return the answer to a question about cost, for the files in their present state.

        Raises:
            NotFound: a `--root` is not a directory, or a `--agent` is unknown.
        """
        if question.family_of is not None:
            # Files that are not in the index are not read: that would take too long for the one row of a family.
            found, counting = self._gather(replace(self._scope, most_unread=0))
            members = counting().family_of(question.family_of) if found.versions is not None else ()
            if not members:
                return UsageAnswer(question, Stats("family", [], Totals()), Stats(question.period, [], Totals()))
            question = replace(question, by="family", paths=members)
        else:
            found, counting = self._gather(self._scope)
        span, only, chosen = Span(question.since, question.until), question.only, _chosen(question, found)
        return UsageAnswer(
            question,
            stats(found, question.by, span=span, chosen=chosen, only=only, sort=question.sort, counting=counting),
            stats(found, question.period, span=span, chosen=chosen, only=only, counting=counting),
        )

    def close(self) -> None:
        """Close the index, if it is open."""
        kept, self._kept = self._kept, None
        if kept is not None and kept[0].listing.index is not None:
            kept[0].listing.index.close()

    def _gather(self, scope: Scope) -> tuple[UsageListing, Callable[[], Counting]]:
        index = open_index(self._index_directory)
        found = gather_usage(scope, index)
        if self._kept is not None and found.versions is not None and found.versions == self._kept[0].versions:
            if index is not None:
                index.close()
            return self._kept
        self.close()
        self._kept = found, cache(partial(counting_of, found))
        return self._kept


def _chosen(question: UsageQuestion, found: UsageListing) -> Callable[[Any], bool] | None:
    """Return a function that returns True for the sessions that a question is about; None if it is about all."""
    cwds, agent = question.cwds, question.agent
    paths = frozenset(question.paths) if question.paths is not None else None
    if cwds is None and paths is None and agent is None:
        return None

    spelled: Mapping[str, str] = {}
    if cwds is not None:
        spelled = same_spelling({*cwds, *[session.cwd for session in found.listing.sessions]})
        cwds = tuple({spelled[each] for each in cwds})

    def chosen(session: Any) -> bool:
        return (
            (cwds is None or spelled[session.cwd] in cwds)
            and (paths is None or session.path in paths)
            and (agent is None or session.agent == agent)
        )

    return chosen
