"""Run changes in the background, one at a time; report each in a toast and re-read the touched sessions.

A command passes a `ChangePlan` with one item for each session. If the change of a session needs the user's consent
(the session is in use, or there is no trash), a dialog asks for consent and the runner tries the change again.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from textual.timer import Timer

from sessionbrowse.agents.base import own_folder
from sessionbrowse.config import state_dir
from sessionbrowse.errors import InUse, SessionBrowseError, UnsafeEntry
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.archive import Archived
from sessionbrowse.services.change.delete import Deleted, Into
from sessionbrowse.services.change.relocate import Relocated
from sessionbrowse.services.change.restore import Restored
from sessionbrowse.services.transaction.change import Bulk, ChangeResult, FailedItem, in_bulk, recover_interrupted
from sessionbrowse.services.transaction.change_context import ChangeContext, Progress
from sessionbrowse.services.undo import Undone
from sessionbrowse.store.find.discover import agent_of_path, sessions_below
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.read.archive import is_archived
from sessionbrowse.store.read.summarise import summaries_of, summarise_path
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean
from sessionbrowse.tui.data.jobs import at_most_every
from sessionbrowse.tui.data.source import SessionUpdates, place_of
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.dialogs.text_window import ProgressScreen
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun

T = TypeVar("T")
Take = Callable[[Any, Exception | None, bool], None]
"""A function that receives the result of background work, or the error, and True if the user stopped the work."""

PROGRESS_DELAY_S = 0.3
"""Seconds that background work runs before a window shows the progress."""
PROGRESS_STEP_S = 0.05
"""Seconds between two updates of the progress window."""
MOST_REASONS = 3


class Result(Struct, frozen=True, kw_only=True):
    """The results of a `ChangePlan`, and the new state on disk of the sessions that the changes touched."""

    bulk: Bulk[ChangeItem, ChangeResult]
    updates: SessionUpdates
    group: str | None


def context_of(browser: Browser) -> ChangeContext:
    """Return a new change context (home, clock, journal, …) for changes to the sessions that the browser shows."""
    given = browser.options.context
    if given is not None:
        return ChangeContext.at(given.around, given.state, given.now_ms, given.new_id, given.proc)
    environ, home = browser.options.environ, browser.home
    if browser.options.demo is not None:
        # The demo gets its own journal and trash, so that it never touches the user's.
        kept = os.path.join(browser.options.demo, "sessionbrowse")
        environ = {**environ, **{f"XDG_{kind}_HOME": os.path.join(kept, kind.lower()) for kind in ("DATA", "STATE")}}
    around = replace(real_surroundings(), home=home, environ=environ)
    return ChangeContext.at(around, str(state_dir(environ)), browser.now_ms)


def recover_at_start(browser: Browser) -> None:
    """Recover changes that a crash interrupted. For background threads; the disk monitor reports the changed files."""
    # An unusable journal is ignored here, because the next change reports it to the user.
    with suppress(SessionBrowseError):
        recover_interrupted(context_of(browser))


class Task:
    """Work in the background, as the user sees it: once it takes long, a window shows its progress and can stop it."""

    def __init__(self, browser: Browser, title: str, work: Callable[[ChangeRun], Any], take: Take) -> None:
        self.work, self.take = work, take
        self._browser, self._title = browser, title
        self._stop = threading.Event()
        self._window: ProgressScreen | None = None
        self._timer: Timer | None = None
        self._so_far = (0, 0, "…")
        # Work may report thousands of times a second; drawing the window each time would block the keyboard.
        self.progress: Progress = at_most_every(PROGRESS_STEP_S, partial(browser.call_later, self._show_progress))

    def is_stopped(self) -> bool:
        """Return True if the user has stopped the work."""
        return self._stop.is_set()

    def begin(self) -> None:
        """Show the window soon, unless the work ends before."""
        self._timer = self._browser.set_timer(PROGRESS_DELAY_S, self._show)

    def end(self) -> None:
        """Close the window, or never show it, because the work has ended."""
        if self._timer is not None:
            self._timer.stop()
        if self._window is not None:
            self._window.finish()

    def _show(self) -> None:
        self._browser.release_keys()
        if not isinstance(self._browser.screen, ProgressScreen):
            self._window = ProgressScreen(self._title, self._stop.set)
            self._window.report(*self._so_far)
            self._browser.push_screen(self._window)

    def _show_progress(self, done: int, total: int, name: str) -> None:
        self._so_far = (done, total, name)
        if self._window is not None:
            self._window.report(done, total, name)


class ChangeRunner:
    """Runs background work, and the changes of a `ChangePlan`, for the browser: one after the other.

    Unlike in `jobs.Lane`, new work never cancels older work: it begins when the result of the older work is handled.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._tasks: deque[Task] = deque()
        self.places: dict[str, Hashable] = {}
        self.when_idle: Callable[[], None] | None = None
        """A function to call once the queue of background work is empty."""

    @property
    def busy(self) -> bool:
        """True if background work runs or waits, or its result is not handled yet."""
        return bool(self._tasks)

    @property
    def into(self) -> Into:
        """The trash for deleted sessions: the system's trash; in the demo, a folder that is removed with the demo."""
        return "own" if self._browser.options.demo is not None else "trash"

    @cached_property
    def context(self) -> ChangeContext:
        """The change context (home, clock, journal). Only the thread that makes changes may use its journal."""
        return self._browser.options.context or context_of(self._browser)

    # -- work in the background ---------------------------------------------------------------------------------

    def run(
        self,
        work: Callable[[ChangeRun], T],
        on_result: Callable[[T], None],
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run `work` in the background; pass its result to `on_result`, an error to `on_error` or to a toast.

        If the user stops the work, neither function is called.
        """
        self._browser.hold_keys()

        def taken(value: Any, error: Exception | None, is_stopped: bool) -> None:
            self._browser.release_keys()
            if is_stopped:
                self._browser.say("Stopped; nothing was changed.")
            elif error is not None:
                (on_error or self.say_error)(error)
            else:
                on_result(value)

        self._ask(Task(self._browser, "Looking", work, taken))

    def _ask(self, task: Task) -> None:
        self._tasks.append(task)
        if len(self._tasks) == 1:
            self._begin(task)

    def _begin(self, task: Task) -> None:
        task.begin()
        threading.Thread(target=self._work, args=(task,), name="sessionbrowse-changes", daemon=True).start()

    def _work(self, task: Task) -> None:
        """Do the work of a task. For background threads."""
        value, error = None, None
        try:
            # The context is made in the thread, because making it reads the disk.
            run = ChangeRun(context=self.context, into=self.into, progress=task.progress, cancelled=task.is_stopped)
            value = task.work(run)
        except Exception as raised:
            error = raised
        # The event loop may be closed: then the program is ending, and nobody will take the result.
        with suppress(RuntimeError):
            self._browser.call_later(self._end, task, value, error)

    def _end(self, task: Task, value: Any, error: Exception | None) -> None:
        task.end()
        try:
            task.take(value, error, task.is_stopped())
        finally:
            self._tasks.popleft()
            if self._tasks:
                self._begin(self._tasks[0])
        if not self._tasks and self.when_idle is not None:
            self.when_idle()

    def target(self, summary: Summary) -> Target:
        """Return the target of a change to a session: the file, the agent, the directory of the agent's sessions."""
        place = place_of(summary, self._browser.source.places)
        if place is None:
            return Target(summary.path, summary.agent)
        root = os.path.dirname(summary.path) if place.kind == "registry" else place.root
        return Target(summary.path, summary.agent, (root,))

    # -- changes ------------------------------------------------------------------------------------------------

    def make(self, plan: ChangePlan) -> None:
        """Make the changes of a `ChangePlan` in the background, show progress, update the screens and show a toast."""

        def taken(value: Any, error: Exception | None, is_stopped: bool) -> None:
            if error is not None:
                self.say_error(error)
            else:
                self._finished(plan, value)

        self._ask(Task(self._browser, plan.title, partial(self._make_all, plan), taken))

    def _make_all(self, plan: ChangePlan, run: ChangeRun) -> Result:
        """Make the changes of a `ChangePlan` and return the results. For background threads."""
        group = plan.group or (secrets.token_hex(4) if len(plan.items) > 1 else None)
        run = replace(run, group=group, force=plan.force, into=plan.into or run.into)
        listed = listed_in(self._browser)
        paths: set[str] = set()

        def change(item: ChangeItem, _: ChangeContext, __: str | None) -> ChangeResult:
            changed = item.make(run)
            # An undo or a restore may touch sessions outside the browsed directories; the screens must not list these.
            is_ours = not isinstance(changed, Undone | Restored)
            for path in touched(changed) | _moved_back(changed, run):
                at = listed.at(path)
                if at is not None or is_ours:
                    paths.add(at or path)
            return changed

        def progress(done: int, total: int, _: str) -> None:
            if total > 1:
                run.progress(done, total, plan.items[min(done, total - 1)].name)

        bulk = in_bulk(plan.items, change, context=run.context, progress=progress, cancelled=run.cancelled, group=group)
        library = self._browser.library
        paths |= below({*paths}, [one.path for one in library.all() if one.hidden])
        updates = read_again(sorted(paths), library.get, subagents=self._browser.scans_hidden)
        return Result(bulk=bulk, updates=updates, group=group)

    def _finished(self, plan: ChangePlan, result: Result) -> None:
        bulk = result.bulk
        made = [one.undo_id for one in bulk.done if one.undo_id is not None]
        self.places |= dict.fromkeys([*made, *([result.group] if result.group else [])], self._browser.place)
        self._browser.publish(result.updates)
        if any(isinstance(one, Undone) and one.verb == "relocate" for one in bulk.done):
            self._browser.start_scan()
        in_use = [failed for failed in bulk.failed if isinstance(failed.error, InUse) and not plan.force]
        no_trash = [failed for failed in bulk.failed if isinstance(failed.error, NoTrash) and plan.into is None]
        rest = [failed for failed in bulk.failed if failed not in in_use and failed not in no_trash]
        if in_use:
            again = partial(self.make, _again(plan, in_use, result.group, force=True))
            answers = [CANCEL, Choice("anyway", "Do it anyway", roles="warning", do=again)]
            ask(self._browser, "In use", _reasons(in_use), answers)
        elif no_trash:
            again = partial(self.make, _again(plan, no_trash, result.group, into="own"))
            answers = [Choice("own", "Move to sessionbrowse's own trash", do=again), CANCEL]
            ask(self._browser, "The trash refused the file", _reasons(no_trash), answers)
        unsafe = [failed.error for failed in rest if isinstance(failed.error, UnsafeEntry)]
        if unsafe and plan.on_unsafe is not None:
            plan.on_unsafe(unsafe[0])
            rest = []
        sentences = [*self._done_sentences(plan, bulk), *_failure_sentences(plan, rest)]
        if bulk.left:
            sentences.append(f"Stopped: {len(bulk.left):,} of {len(plan.items):,} sessions were not changed.")
        # A second message would replace the first, so all sentences are shown as one message.
        if said := " ".join([sentence for sentence in sentences if sentence]):
            self._browser.say(said, "error" if rest else "warning" if bulk.left else "information")
        if bulk.done and plan.on_success is not None:
            plan.on_success(bulk.done)

    # -- messages and dialogs -----------------------------------------------------------------------------------

    def _done_sentences(self, plan: ChangePlan, bulk: Bulk[ChangeItem, ChangeResult]) -> list[str]:
        if not bulk.done:
            return []
        sentences = [plan.describe(bulk.done)]
        if any(one.undo_id is not None for one in bulk.done) and not isinstance(bulk.done[0], Undone | Restored):
            keys, screen = self._browser.keys, self._browser.screen
            # While a text line has the focus, pressing the key of the undo would type a letter.
            leave = f"{keys.key_of('back')} " if getattr(screen, "typing", False) and not keys.types else ""
            sentences.append(f"{leave}{keys.key_of('undo')} undoes.")
        return [*sentences, *bulk.notes[:MOST_REASONS]]

    def say_error(self, error: Exception) -> None:
        """Show an error as a toast; an unexpected one by its type and text."""
        self._browser.say(str(error) if isinstance(error, SessionBrowseError) else repr(error), "error")


def paths_of(change: Change) -> set[str]:
    """Return the paths of the sessions that a change in the journal touched."""
    paths = {change.path}
    paths |= {path for path in (change.before.get("path"), change.after.get("path")) if isinstance(path, str)}
    items = change.after.get("items")
    if isinstance(items, list):
        paths |= {
            item["original"] for item in items if isinstance(item, dict) and isinstance(item.get("original"), str)
        }
    return paths


def _moved_back(changed: ChangeResult, run: ChangeRun) -> set[str]:
    """Return, from the journal, the paths from which an undo moved files; the undo's result has only the new paths."""
    if not isinstance(changed, Undone):
        return set()
    changes = run.context.journal.changes().values()
    taken_back = [change for change in changes if change.path in changed.paths and change.undone_by is not None]
    return {path for change in taken_back for path in paths_of(change)}


def _failure_sentences(plan: ChangePlan, failed: Sequence[FailedItem[ChangeItem]]) -> list[str]:
    """Return the sentences about sessions that were not changed: the reasons, and the number of several sessions."""
    reasons = list(dict.fromkeys([failure.error.sentence for failure in failed]))[:MOST_REASONS]
    several = failed and len(plan.items) > 1
    return [f"{len(failed):,} of {len(plan.items):,} sessions were not changed.", *reasons] if several else reasons


def _again(plan: ChangePlan, failed: Sequence[FailedItem[ChangeItem]], group: str | None, **changes: Any) -> ChangePlan:
    return replace(plan, items=[failure.item for failure in failed], group=group, **changes)


def _reasons(failed: Sequence[FailedItem[ChangeItem]]) -> list[Part]:
    lines: list[Line] = []
    for failure in failed[:MOST_REASONS]:
        if lines:
            lines.append([])
        if len(failed) > 1:
            lines.append([(failure.item.name, "title")])
        lines.append([(clean(failure.error.sentence), "")])
    if len(failed) > MOST_REASONS:
        lines.append([(f"… and {len(failed) - MOST_REASONS:,} more", "dim")])
    return paragraph(*lines)


# ---- the changed sessions, read again by the paths that the lists have for them ---------------------------------

Known = Callable[[str], Summary | None]
"""A function that returns the browser's summary of the session at a path; None if the browser does not list it."""


def touched(changed: ChangeResult) -> set[str]:
    """Return the paths of all sessions that a change created, moved, changed or removed."""
    match changed:
        case Deleted() | Restored():
            return set(changed.paths)
        case Archived():
            return {changed.path, changed.was}
        case Relocated():
            moved = {path for one in changed.sessions for path in (one.source, one.target)}
            return moved | set(changed.mended)
    return {changed.path}


def below(paths: Iterable[str], others: Iterable[str]) -> set[str]:
    """Return those of the sessions `others` that are in the folders of the sessions `paths`, with which they moved."""
    folders = {own_folder(path) for path in paths} - {None}
    return {other for other in others if not folders.isdisjoint(map(str, PurePath(other).parents))}


def read_again(paths: Iterable[str], known: Known, *, subagents: bool = False) -> SessionUpdates:
    """Read the session files at these paths; `known` gives a listed session's agent and the parent session's path.

    `subagents` adds the sessions in the folders of sessions that were not listed, such as those of a restored session.
    """
    summaries: list[Summary] = []
    gone: set[str] = set()
    for path in paths:
        if not path.endswith((".jsonl", ".ndjson", ".gz")):
            continue
        before = known(path)
        summary = _read(path, before)
        if summary is None:
            gone.add(path)
        else:
            summaries.append(summary)
            if subagents and before is None:
                children = sessions_below(path, summary.agent, archived=summary.archived)
                summaries += filter(None, summaries_of(list(children)))
    return SessionUpdates(summaries=tuple(summaries), gone=frozenset(gone))


def _read(path: str, before: Summary | None) -> Summary | None:
    if before is not None:
        agent = before.agent
        summary = summarise_path(path, lambda _: agent)
        if summary is None:
            return None
        hidden = summary.hidden or before.hidden
        return replace(summary, parent_path=before.parent_path, hidden=hidden, archived=before.archived)
    summary = summarise_path(path, lambda marks: agent_of_path(path, marks))
    if summary is None:
        return None
    parent = summary.parent_session if os.path.isfile(summary.parent_session or "") else None
    # Lists hide archived sessions by default.
    return replace(summary, parent_path=parent, archived=is_archived(path))


class Listed:
    """Maps real paths of session files to the paths that the browser lists. Reads the disk: for background threads."""

    def __init__(self, known: Known, paths: Callable[[], Iterable[str]], roots: Sequence[str]) -> None:
        self._known = known
        self._paths = paths
        self._roots = [root.rstrip(os.sep) for root in roots]

    def at(self, path: str) -> str | None:
        """Return the path under which the browser would list a file; None for a file outside browsed directories."""
        if not self._roots or self._known(path) is not None or any(_is_below(path, root) for root in self._roots):
            return path
        for real, root in self._real_roots.items():
            if _is_below(path, real):
                return root + path[len(real) :]
        folder, name = os.path.split(path)
        listed = self._real_folders.get(folder)
        return os.path.join(listed, name) if listed is not None else None

    @cached_property
    def _real_roots(self) -> dict[str, str]:
        return {os.path.realpath(root): root for root in self._roots}

    @cached_property
    def _real_folders(self) -> dict[str, str]:
        return {os.path.realpath(folder): folder for folder in {os.path.dirname(path) for path in self._paths()}}


def listed_in(browser: Browser) -> Listed:
    """Return the map from real paths to listed paths, for the sessions that a browser lists."""
    library = browser.library
    roots = [place.root for place in browser.source.places]
    return Listed(library.get, lambda: [summary.path for summary in library.all()], roots)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)
