"""A question about cost, answered by a process of its own: counting many sessions would delay the browser's keys."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.usage.totals import Span
from sessionbrowse.services.usage.stats import Stats, counting_of, stats
from sessionbrowse.services.usage.usage_listing import open_usage
from sessionbrowse.store.find.roots import Scope, real_surroundings

PROGRAM = "sessionbrowse.services.usage"
PATIENCE_SECONDS = 600.0


class UsageScope(Struct, frozen=True):
    """The sessions that a question is about, as the browser was started."""

    cache: str
    home: str
    environ: Mapping[str, str]
    roots: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


class UsageQuestion(Struct, frozen=True):
    """A question: rows `by` one kind, and a chart by `period`.

    It is about all sessions, or those of the directories `cwds`, of the files `paths`, of one `agent`; and about all
    requests, or those from `since` to `until` (milliseconds), or `only` those of one provider or model, as a pair of
    "provider" or "model" and the key of its row.
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


class UsageAnswer(Struct, frozen=True):
    """The rows that were asked for, and those of the chart, oldest first."""

    question: UsageQuestion
    table: Stats
    chart: Stats


class CountingFailed(SessionBrowseError):
    """The process that counts has failed; the message says why."""


def answer(scope: UsageScope, question: UsageQuestion) -> UsageAnswer:
    """Answer a question in this process.

    Raises:
        NotFound: a root is no directory, or an agent is unknown.
    """
    around = replace(real_surroundings(), home=scope.home, environ=scope.environ)
    whole = Scope(around=around, roots=scope.roots, extra_roots=scope.extra_roots, agents=scope.agents)
    span, only, chosen = Span(question.since, question.until), question.only, _chosen(question)
    with open_usage(whole, Path(scope.cache), skipped=lambda _: None, note=lambda _: None) as found:
        counting = cache(partial(counting_of, found))
        return UsageAnswer(
            question,
            stats(found, question.by, span=span, chosen=chosen, only=only, sort=question.sort, counting=counting),
            stats(found, question.period, span=span, chosen=chosen, only=only, counting=counting),
        )


def _chosen(question: UsageQuestion) -> Callable[[Any], bool] | None:
    """Return the function that tells whether a session is asked for; None if all are."""
    cwds, agent = question.cwds, question.agent
    paths = frozenset(question.paths) if question.paths is not None else None
    if cwds is None and paths is None and agent is None:
        return None

    def chosen(session: Any) -> bool:
        return (
            (cwds is None or session.cwd in cwds)
            and (paths is None or session.path in paths)
            and (agent is None or session.agent == agent)
        )

    return chosen


def ask(scope: UsageScope, question: UsageQuestion) -> UsageAnswer:
    """Answer a question in another process.

    Raises:
        CountingFailed: it could not be answered.
    """
    asked = msgspec.msgpack.encode((scope, question))
    try:
        done = subprocess.run(
            [sys.executable, "-m", PROGRAM], input=asked, capture_output=True, timeout=PATIENCE_SECONDS, check=False
        )
        return msgspec.msgpack.decode(done.stdout, type=UsageAnswer)
    except (OSError, subprocess.TimeoutExpired, msgspec.MsgspecError) as error:
        raise CountingFailed("The sessions' cost could not be counted; F5 tries again.") from error


def main() -> None:
    """Answer the question on standard input."""
    # A process that soon ends leaves its memory to the system.
    gc.disable()
    scope, question = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[UsageScope, UsageQuestion])
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer(scope, question)))
