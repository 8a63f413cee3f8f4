"""Run changes in the background, one at a time; report each in a toast and re-read the touched sessions.

A command passes a `ChangePlan` with one item for each session. If the change of a session needs the user's consent
(the session is in use, or there is no trash), a dialog asks for consent and the runner tries the change again.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from sessionbrowse.config import state_dir
from sessionbrowse.errors import InUse, SessionBrowseError, UnsafeEntry
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.delete import Into
from sessionbrowse.services.change.restore import Restored
from sessionbrowse.services.transaction.change import Bulk, ChangeResult, FailedItem, in_bulk, recover_interrupted
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.services.undo import Undone
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.write.journal import Change
from sessionbrowse.store.write.trash import NoTrash
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean
from sessionbrowse.tui.changes.reread import below, listed_in, read_again, touched
from sessionbrowse.tui.data.source import SessionUpdates, place_of
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.dialogs.progress import ProgressScreen
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun

T = TypeVar("T")
Take = Callable[[Any, Exception | None], None]
"""A function that receives the result of background work, or the error."""

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
    around = msgspec.structs.replace(real_surroundings(), home=home, environ=environ)
    return ChangeContext.at(around, str(state_dir(environ)), browser.now_ms)


def recover_at_start(browser: Browser) -> None:
    """Recover changes that a crash interrupted. For background threads; the disk monitor reports the changed files."""
    # An unusable journal is ignored here, because the next change reports it to the user.
    with suppress(SessionBrowseError):
        recover_interrupted(context_of(browser))


class ChangeQueue:
    """Runs work one by one in the background, and passes each result on before the next work begins.

    Unlike in `jobs.Lane`, new work never cancels older work. `deliver` calls a function in the thread of the user
    interface, in which also all methods but `_run` are called.
    """

    def __init__(self, deliver: Callable[..., object]) -> None:
        self._deliver = deliver
        self._waiting: deque[tuple[Callable[[], Any], Take]] = deque()
        self.when_idle: Callable[[], None] | None = None
        """A function to call once the queue of background work is empty."""

    def ask(self, work: Callable[[], Any], take: Take) -> None:
        """Add work to the queue; `take` receives the result or the error in the thread of the user interface."""
        self._waiting.append((work, take))
        if len(self._waiting) == 1:
            self._start()

    @property
    def busy(self) -> bool:
        """True if background work runs or waits, or its result is not delivered yet."""
        return bool(self._waiting)

    def _start(self) -> None:
        threading.Thread(
            target=self._run, args=(self._waiting[0][0],), name="sessionbrowse-changes", daemon=True
        ).start()

    def _run(self, work: Callable[[], Any]) -> None:
        value, error = None, None
        try:
            value = work()
        except Exception as raised:
            error = raised
        # The event loop may be closed: then the program is ending, and nobody will take the result.
        with suppress(RuntimeError):
            self._deliver(self._take, value, error)

    def _take(self, value: Any, error: Exception | None) -> None:
        try:
            self._waiting[0][1](value, error)
        finally:
            self._waiting.popleft()
            if self._waiting:
                self._start()
        if not self._waiting and self.when_idle is not None:
            self.when_idle()


class ChangeRunner(ChangeQueue):
    """Runs background work, and the changes of a `ChangePlan`, for the browser: one after the other."""

    def __init__(self, browser: Browser) -> None:
        super().__init__(browser.call_later)
        self._browser = browser
        self.places: dict[str, Hashable] = {}

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

        def taken(value: Any, error: Exception | None, has_stopped: bool) -> None:
            self._browser.release_keys()
            if has_stopped:
                self._browser.say("Stopped; nothing was changed.")
            elif error is not None:
                (on_error or self._say_error)(error)
            else:
                on_result(value)

        self._in_background("Looking", work, taken)

    def _in_background(
        self, title: str, work: Callable[[ChangeRun], Any], take: Callable[[Any, Exception | None, bool], None]
    ) -> None:
        """Run `work` in the background; if it takes long, show a progress window with the key that stops the work.

        `take` receives the result, the error, and True if the user stopped the work.
        """
        browser, stop = self._browser, threading.Event()
        screen = ProgressScreen(title, stop.set)

        def show() -> None:
            browser.release_keys()
            if not isinstance(browser.screen, ProgressScreen):
                browser.push_screen(screen)

        timer = browser.set_timer(PROGRESS_DELAY_S, show)

        shown_at = 0.0

        def report(finished: int, total: int, name: str) -> None:
            # Work may report thousands of times a second; drawing the window each time would block the keyboard.
            nonlocal shown_at
            if time.monotonic() - shown_at >= PROGRESS_STEP_S:
                shown_at = time.monotonic()
                browser.call_later(screen.report, finished, total, name)

        def taken(value: Any, error: Exception | None) -> None:
            timer.stop()
            screen.finish()
            take(value, error, stop.is_set())

        # The context is made in the thread, because making it reads the disk.
        self.ask(
            lambda: work(ChangeRun(context=self.context, into=self.into, report=report, stopped=stop.is_set)), taken
        )

    def target(self, summary: Summary) -> Target:
        """Return the target of a change to a session: the file, the agent, the directory of the agent's sessions."""
        place = place_of(summary, self._browser.source.places)
        if place is None:
            return Target(summary.path, summary.agent)
        root = os.path.dirname(summary.path) if place.kind == "registry" else place.root
        return Target(summary.path, summary.agent, (root,))

    # -- changes ------------------------------------------------------------------------------------------------

    def carry_out(self, plan: ChangePlan) -> None:
        """Make the changes of a `ChangePlan` in the background, show progress, update the screens and show a toast."""

        def taken(value: Any, error: Exception | None, has_stopped: bool) -> None:
            if error is not None:
                self._say_error(error)
            else:
                self._finished(plan, value)

        self._in_background(plan.title, partial(self._work, plan), taken)

    def _work(self, plan: ChangePlan, run: ChangeRun) -> Result:
        """Make the changes of a `ChangePlan` and return the results. For background threads."""
        group = plan.group or (secrets.token_hex(4) if len(plan.items) > 1 else None)
        run = msgspec.structs.replace(run, group=group, force=plan.force, into=plan.into or run.into)
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

        def on_progress(finished: int, total: int) -> None:
            if total > 1:
                run.report(finished, total, plan.items[min(finished, total - 1)].name)

        bulk = in_bulk(
            plan.items, change, context=run.context, on_progress=on_progress, cancelled=run.stopped, group=group
        )
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
            again = partial(self.carry_out, _again(plan, in_use, result.group, force=True))
            answers = [CANCEL, Choice("anyway", "Do it anyway", roles="warning", do=again)]
            ask(self._browser, "In use", _reasons(in_use), answers)
        elif no_trash:
            again = partial(self.carry_out, _again(plan, no_trash, result.group, into="own"))
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

    def _say_error(self, error: Exception) -> None:
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
    return msgspec.structs.replace(plan, items=[failure.item for failure in failed], group=group, **changes)


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
