"""Make the `Source` (functions that read sessions from the real disk), and scan for sessions in the background."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.background.channel import Channel
from sessionbrowse.services.background.monitor_messages import ScanComplete, SessionsFound, SessionsGone
from sessionbrowse.services.background.programs import start_job
from sessionbrowse.services.background.search_messages import SearchAnswer, SearchSessions
from sessionbrowse.services.list.gather import Batch, scan
from sessionbrowse.services.resume import plan
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.store.find import repositories
from sessionbrowse.store.find.directories import resolved
from sessionbrowse.store.find.discover import Skipped
from sessionbrowse.store.find.repositories import moved, repositories_of
from sessionbrowse.store.find.roots import places_of
from sessionbrowse.store.find.slow_disks import exists_many
from sessionbrowse.store.own.mirrors import machines_dir, states
from sessionbrowse.store.own.pins import read_pins, set_pin
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.tui.data.jobs import Job, Lane
from sessionbrowse.tui.data.options import BrowseOptions
from sessionbrowse.tui.data.source import Cancelled, Exists, Source, place_of

if TYPE_CHECKING:
    from sessionbrowse.services.background.usage_program import UsageProgram
    from sessionbrowse.services.clean.secret_detector import SecretDetector


def source_of(options: BrowseOptions) -> Source:
    """Return the functions that read the sessions of this machine, or only those below `--root` directories.

    Raises:
        NotFound: a `--root` is not a directory, or an agent is unknown.
    """
    scope = options.scope().as_scope()
    around, agents, places = scope.around, scope.agents, places_of(scope)
    state = str(options.state)
    top = machines_dir(around.environ, Path(around.home))
    skipped: list[Skipped] = []

    def scan_all(cancelled: Cancelled, include_hidden: bool) -> Iterator[Batch]:
        skipped.clear()
        wanted_scope = replace(scope, hidden=include_hidden, archived=include_hidden)
        for batch in scan(wanted_scope, cancelled=cancelled, skipped=skipped.append):
            wanted = [summary for summary in batch.summaries if not agents or summary.agent in agents]
            yield Batch(wanted, batch.done, batch.total)

    def plan_resume(summary: Summary, directory: str | None = None, must_start: bool = True) -> ResumeCommand:
        return plan.plan(
            summary.path,
            summary.agent,
            around,
            # Machines can be added while the browser is open.
            place=place_of(summary, places if summary.machine is None else places_of(scope)),
            settings_command=options.settings.agents.get(summary.agent),
            directory=directory,
            must_start=must_start,
        )

    def open_search() -> Channel[SearchAnswer] | None:
        request = SearchSessions(**asdict(options.scope()), half_life_days=options.settings.search_half_life)
        return start_job("search", request, SearchAnswer)

    @functools.cache
    def usage_program() -> UsageProgram:
        from sessionbrowse.services.background.usage_program import UsageProgram

        return UsageProgram(options.scope())

    def make_detector() -> SecretDetector:
        from sessionbrowse.services.clean.secret_detector import detector_with

        return detector_with(options.settings.redact_patterns, options.problems, str(options.cache))

    def set_pin_of(summary: Summary, pinned: bool) -> None:
        if summary.id is not None:
            set_pin(state, summary.agent, summary.id, pinned)

    return Source(
        open_search=open_search,
        count_usage=lambda question: usage_program().ask(question),
        make_detector=make_detector,
        scan=scan_all,
        open_session=open_session,
        exists_many=_exist_now if scope.roots else noting_projects(_exist_now, state),
        repositories=repositories_of,
        resolved=resolved,
        moved=lambda missing, known: moved(missing, known, state),
        machines=lambda: {state.name: state for state in states(top)},
        pins=lambda: read_pins(state, places),
        set_pin=set_pin_of,
        plan_resume=plan_resume,
        resume_line=lambda summary: plan_resume(summary, must_start=False).line_to_copy(),
        places=places,
        skipped=lambda: tuple(skipped),
    )


def scan_into(lane: Lane, source: Source, known: Iterable[str], *, include_hidden: bool = False) -> None:
    """Scan the disk for sessions in a background job, which emits the same events as the disk monitor.

    `known` are the paths of the sessions found before.
    """

    def work(job: Job) -> ScanComplete:
        gone = set(known)
        for batch in source.scan(job.cancelled, include_hidden):
            gone.difference_update([summary.path for summary in batch.summaries])
            job.emit(SessionsFound(tuple(batch.summaries), batch.done, batch.total))
        job.emit(SessionsGone(tuple(gone)))
        return ScanComplete(tuple([(each.path, each.reason) for each in source.skipped()]))

    lane.ask(work)


def _exist_now(paths: Iterable[str]) -> dict[str, bool | None]:
    # Directories come and go while the browser is open; each scan asks the disk again.
    return exists_many(paths, fresh=True)


def noting_projects(exists_many: Exists, state: str) -> Exists:
    """Return a function that works like `exists_many`, and also records the repositories of existing directories.

    The function records, in the background, each repository's origin URL and first commit, by which a moved repository
    can be found later.
    """
    lane = Lane("noting", lambda outcome: None)

    def exists(paths: Iterable[str]) -> dict[str, bool | None]:
        answer = exists_many(paths)
        there = [path for path, is_there in answer.items() if is_there]
        lane.ask(lambda job: repositories.note(there, state, job.cancelled))
        return answer

    return exists
