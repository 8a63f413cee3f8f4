"""Where the interface has changes made: in the background, one after another, told in a sentence, read back from disk.

A verb is a `Plan` of items. What needs the user's word first (a session in use, no trash) is asked and done again.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from sessionbrowse.config import state_dir
from sessionbrowse.errors import InUse, SessionBrowseError, UnsafeEntry
from sessionbrowse.model.session_facts import Summary
from sessionbrowse.services.bench import Bench
from sessionbrowse.services.changes import Changed
from sessionbrowse.services.delete import Into
from sessionbrowse.services.undo import Undone
from sessionbrowse.store.admission import Target
from sessionbrowse.store.journal import Change
from sessionbrowse.store.roots import real_surroundings
from sessionbrowse.store.trash import NoTrash
from sessionbrowse.text import clean
from sessionbrowse.tui.actions.fresh import Fresh, read_again, touched
from sessionbrowse.tui.actions.queue import ChangeQueue
from sessionbrowse.tui.parts import LinePart, Part
from sessionbrowse.tui.render import one_line, plural
from sessionbrowse.tui.screens.base import CommandScreen
from sessionbrowse.tui.screens.dialogs import AskScreen, Choice
from sessionbrowse.tui.screens.progress import ProgressScreen
from sessionbrowse.tui.sources import place_of

if TYPE_CHECKING:
    from sessionbrowse.tui.app import BrowseApp

PROGRESS_DELAY_S = 0.3
"""How long a change of several sessions may take before it is shown how far it is."""
MOST_REASONS = 3


class How(Struct, frozen=True, kw_only=True):
    """With what a change is made, and what the user said to it."""

    bench: Bench
    group: str | None = None
    force: bool = False
    into: Into = "trash"


class Item(Struct, frozen=True):
    """One change: the clean name of what is changed, and what makes it (in the background)."""

    name: str
    make: Callable[[How], Changed]


class Plan(Struct, frozen=True, kw_only=True):
    """What shall be done: what it is called while it runs, its items, and the sentence when it is done.

    `then` is called with what was done, after the screens know of it; `unsafe` with the id of an entry to offer.
    """

    doing: str
    items: Sequence[Item]
    told: Callable[[Sequence[Any]], str]
    then: Callable[[Sequence[Any]], None] | None = None
    unsafe: Callable[[UnsafeEntry], None] | None = None
    force: bool = False
    into: Into | None = None
    group: str | None = None


class Failure(Struct, frozen=True):
    """An item that could not be changed, and why."""

    item: Item
    error: SessionBrowseError


class Report(Struct, frozen=True, kw_only=True):
    """What came of a plan."""

    done: Sequence[Changed]
    failed: Sequence[Failure]
    left: int
    fresh: Fresh
    group: str | None


class Desk:
    """Has plans carried out for the browser."""

    def __init__(self, browser: BrowseApp) -> None:
        self._browser = browser
        self._queue = ChangeQueue(browser.call_later)
        self._bench: Bench | None = None

    @property
    def busy(self) -> bool:
        """Whether a change is being made."""
        return self._queue.busy

    def drain(self, then: Callable[[], None]) -> None:
        """Have `then` called when no change is being made any more."""
        self._queue.drain(then)

    @property
    def into(self) -> Into:
        """Where deleted sessions go: in the demo to its own trash, which is gone with it."""
        return "own" if self._browser.options.demo is not None else "trash"

    @property
    def bench(self) -> Bench:
        """What changes are made with. The journal is read by one thread only: use it in the background."""
        if self._bench is None:
            self._bench = self._browser.options.bench or self._own_bench()
        return self._bench

    def _own_bench(self) -> Bench:
        browser = self._browser
        environ, home = browser.options.environ, browser.home
        if browser.options.demo is not None:
            # What is tried out in the demo is noted, and trashed, in the demo.
            kept = os.path.join(browser.options.demo, "sessionbrowse")
            environ = {
                **environ,
                **{f"XDG_{kind}_HOME": os.path.join(kept, kind.lower()) for kind in ("DATA", "STATE")},
            }
        around = msgspec.structs.replace(real_surroundings(), home=home, environ=environ)
        return Bench.at(around, str(state_dir(environ)), browser.now_ms)

    def forget_bench(self) -> None:
        """Make changes with another bench from now on: other sessions are browsed."""
        self._bench = None

    # -- asking in the background -------------------------------------------------------------------------------

    def ask(self, work: Callable[[Bench], Any], take: Callable[[Any], None]) -> None:
        """Find something out for a question to the user; what goes wrong is said."""

        def taken(value: Any, error: Exception | None) -> None:
            if error is not None:
                self._say_error(error)
            else:
                take(value)

        self._queue.ask(lambda: work(self.bench), taken)

    def target(self, summary: Summary) -> Target:
        """Return what may be changed of a listed session."""
        place = place_of(summary, self._browser.source.places)
        if place is None:
            return Target(summary.path, summary.agent)
        root = os.path.dirname(summary.path) if place.kind == "registry" else place.root
        return Target(summary.path, summary.agent, (root,))

    # -- doing --------------------------------------------------------------------------------------------------

    def carry_out(self, plan: Plan) -> None:
        """Do what a plan says, show how far it is where that takes long, and tell what came of it."""
        browser = self._browser
        stop = threading.Event()
        screen = ProgressScreen(plan.doing, stop.set)
        several = len(plan.items) > 1
        timer = browser.set_timer(PROGRESS_DELAY_S, lambda: browser.push_screen(screen)) if several else None

        def report(done: int, name: str) -> None:
            browser.call_later(screen.report, done, len(plan.items), name)

        def taken(value: Any, error: Exception | None) -> None:
            if timer is not None:
                timer.stop()
            if screen.is_attached:
                screen.dismiss(None)
            if error is not None:
                self._say_error(error)
            else:
                self._finished(plan, value)

        self._queue.ask(lambda: self._work(plan, stop, report), taken)

    def _work(self, plan: Plan, stop: threading.Event, report: Callable[[int, str], None]) -> Report:
        """Make the changes of a plan. In the background."""
        bench = self.bench
        group = plan.group or (secrets.token_hex(4) if len(plan.items) > 1 else None)
        how = How(bench=bench, group=group, force=plan.force, into=plan.into or self.into)
        done: list[Changed] = []
        failed: list[Failure] = []
        paths: set[str] = set()
        number = 0
        for number, item in enumerate(plan.items, 1):
            if stop.is_set():
                number -= 1
                break
            report(number - 1, item.name)
            try:
                changed, more = self._make(item, how)
            except SessionBrowseError as error:
                failed.append(Failure(item, error))
                continue
            done.append(changed)
            paths |= touched(changed) | more
        fresh = read_again(sorted(paths), self._browser.library.get)
        return Report(done=done, failed=failed, left=len(plan.items) - number, fresh=fresh, group=group)

    def _make(self, item: Item, how: How) -> tuple[Changed, set[str]]:
        changed = item.make(how)
        if not isinstance(changed, Undone):
            return changed, set()
        # An undo names the changes' own files; where these came from stands in the journal.
        changes = how.bench.journal.changes().values()
        taken_back = [change for change in changes if change.path in changed.paths and change.undone_by is not None]
        return changed, {path for change in taken_back for path in paths_of(change)}

    def _finished(self, plan: Plan, report: Report) -> None:
        self.publish(report.fresh)
        if any(isinstance(one, Undone) and one.verb == "relocate" for one in report.done):
            self._browser.start_scan()
        if report.done:
            self._tell(plan, report)
        ask = [failure for failure in report.failed if isinstance(failure.error, InUse) and not plan.force]
        full = [failure for failure in report.failed if isinstance(failure.error, NoTrash) and plan.into is None]
        unsafe = next((f.error for f in report.failed if isinstance(f.error, UnsafeEntry)), None)
        if ask:
            self._ask_anyway(plan, ask, report.group)
        elif full:
            self._ask_own_trash(plan, full, report.group)
        elif unsafe is not None and plan.unsafe is not None:
            plan.unsafe(unsafe)
        rest = [failure for failure in report.failed if failure not in ask and failure not in full]
        if unsafe is None or plan.unsafe is None:
            self._tell_failures(plan, rest)
        if report.left:
            self._browser.say(f"Stopped: {report.left:,} of {len(plan.items):,} are as they were.", "warning")
        if report.done and plan.then is not None:
            plan.then(report.done)

    def publish(self, fresh: Fresh) -> None:
        """Tell the library and every open screen what a change touched."""
        if not fresh.paths:
            return
        self._browser.library.replace(fresh.summaries, fresh.gone)
        for screen in list(self._browser.screen_stack):
            if isinstance(screen, CommandScreen):
                screen.sessions_changed(fresh)

    # -- telling and asking -------------------------------------------------------------------------------------

    def _tell(self, plan: Plan, report: Report) -> None:
        sentences = [plan.told(report.done)]
        if any(one.undo_id is not None for one in report.done) and not isinstance(report.done[0], Undone):
            sentences.append(f"{self._browser.keys.key_of('undo')} undoes.")
        for note in dict.fromkeys(note for one in report.done for note in one.notes):
            sentences.append(note)
        self._browser.say(" ".join(sentences[: 2 + MOST_REASONS]))

    def _tell_failures(self, plan: Plan, failed: Sequence[Failure]) -> None:
        if len(plan.items) == 1:
            for failure in failed:
                self._say_error(failure.error)
        elif failed:
            reasons = list(dict.fromkeys([failure.error.sentence for failure in failed]))[:MOST_REASONS]
            self._browser.say(
                f"{len(failed):,} of {len(plan.items):,} were left as they are. {' '.join(reasons)}", "error"
            )

    def _say_error(self, error: Exception) -> None:
        self._browser.say(str(error) if isinstance(error, SessionBrowseError) else repr(error), "error")

    def _ask_anyway(self, plan: Plan, failed: Sequence[Failure], group: str | None) -> None:
        choices = [Choice("no", "Leave it as it is"), Choice("yes", "Do it anyway", roles="warning")]

        def answered(key: str | None) -> None:
            if key == "yes":
                self.carry_out(_again(plan, failed, group, force=True))

        self._browser.push_screen(AskScreen("In use", _reasons(failed), choices), answered)

    def _ask_own_trash(self, plan: Plan, failed: Sequence[Failure], group: str | None) -> None:
        choices = [
            Choice("own", "Keep it in sessionbrowse's own trash folder"),
            Choice("no", "Leave it where it is"),
        ]

        def answered(key: str | None) -> None:
            if key == "own":
                self.carry_out(_again(plan, failed, group, into="own"))

        self._browser.push_screen(AskScreen("The trash does not take it", _reasons(failed), choices), answered)


def paths_of(change: Change) -> set[str]:
    """Return the paths of sessions that a change of the journal had to do with."""
    paths = {change.path}
    paths |= {path for path in (change.before.get("path"), change.after.get("path")) if isinstance(path, str)}
    items = change.after.get("items")
    if isinstance(items, list):
        paths |= {
            item["original"] for item in items if isinstance(item, dict) and isinstance(item.get("original"), str)
        }
    return paths


def named(summary: Summary) -> str:
    """Return what a session is called, as clean text to be quoted in a sentence."""
    return one_line(summary.title, 60) or clean(os.path.basename(summary.path))


def sessions_named(summaries: Sequence[Summary]) -> str:
    """Return one session's name in quotes, or how many there are."""
    return f"“{named(summaries[0])}”" if len(summaries) == 1 else plural(len(summaries), "session")


def _again(
    plan: Plan, failed: Sequence[Failure], group: str | None, *, force: bool | None = None, into: Into | None = None
) -> Plan:
    return msgspec.structs.replace(
        plan,
        items=[failure.item for failure in failed],
        force=plan.force if force is None else force,
        into=into or plan.into,
        group=group,
    )


def _reasons(failed: Sequence[Failure]) -> list[Part]:
    parts: list[Part] = []
    for failure in failed[:MOST_REASONS]:
        if parts:
            parts.append(LinePart([]))
        if len(failed) > 1:
            parts.append(LinePart([(failure.item.name, "title")]))
        parts.append(LinePart([(clean(failure.error.sentence), "")]))
    if len(failed) > MOST_REASONS:
        parts.append(LinePart([(f"… and {len(failed) - MOST_REASONS:,} more", "dim")]))
    return [*parts, LinePart([])]
