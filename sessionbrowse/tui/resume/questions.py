"""The dialog before an agent resumes a session that is in use, stops the agent, or hides its newest message."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.checkout import CheckedOut
from sessionbrowse.services.clean.clean import Cleaned, Where
from sessionbrowse.services.clean.doctor import repair
from sessionbrowse.services.resume.before_resume import (
    CHECKED_BYTES,
    BeforeResume,
    LeftBehind,
    before_resume,
    used_before_resume,
)
from sessionbrowse.store.write.admission import Target
from sessionbrowse.text import clean
from sessionbrowse.tui.changes.checkout import check_out
from sessionbrowse.tui.changes.session_titles import quoted, session_items
from sessionbrowse.tui.dialogs.dialogs import Choice, ask
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.words import one_line
from sessionbrowse.tui.shell.change_plan import ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen


def before_resuming(screen: CommandScreen[None], summary: Summary, go: Callable[[], None]) -> None:
    """Call `go`, which starts the agent that resumes a session; if there is a risk, show a dialog first.

    The risks: the session is in use, its newest message is not on the active branch, or the agent would stop with an
    error when it draws the session.
    """
    browser = screen.browser

    def start() -> None:
        try:
            go()
        except SessionBrowseError as error:
            browser.say(error.sentence, "error")

    def check(run: ChangeRun) -> BeforeResume:
        context = run.context
        if summary.left_behind or summary.bytes <= CHECKED_BYTES:
            return before_resume(summary.path, summary.agent, context)
        return BeforeResume(used_before_resume(summary.path, summary.agent, summary.own_cwd, context), None)

    def show(before: BeforeResume) -> None:
        if before.warning is None and before.left_behind is None and before.stops is None:
            start()
        else:
            _ask(screen, summary, before, start)

    def on_error(error: Exception) -> None:
        if isinstance(error, SessionBrowseError):
            start()  # The check of the session failed; `go` will fail for the same reason, with a better message.
        else:
            browser.say(repr(error), "error")

    browser.changes.run(check, show, on_error)


def _ask(screen: CommandScreen[None], summary: Summary, before: BeforeResume, go: Callable[[], None]) -> None:
    parts: list[Part] = []
    choices: list[Choice] = []
    left = before.left_behind
    if left is not None:
        parts += [LinePart([(clean(left.sentence), "warning")]), LinePart([])]
    if before.stops is not None:
        parts += [LinePart([(before.stops, "warning")]), LinePart([])]
        repair = partial(repair_first, screen, summary, f"Repaired. {summary.agent} resumes it.", go)
        choices.append(Choice("repair", "Repair the session, then resume", do=repair))
    if before.warning is not None:
        parts += [LinePart([(before.warning, "warning")]), LinePart([])]
        choices.append(Choice("no", "Do not resume"))
    if left is not None and left.entry_id is not None:
        newest = partial(_check_out, screen, summary, left, go, force=before.warning is not None)
        choices.append(Choice("checkout", "Check out the newest message, then resume", do=newest))
    is_risky = before.warning is not None or before.stops is not None
    choices.append(Choice("anyway", "Resume anyway" if is_risky else "Resume without it", do=go))
    ask(screen.browser, f"Resume in {summary.agent}", parts, choices)


def repair_first(screen: CommandScreen[None], summary: Summary, said: str, go: Callable[[], None]) -> None:
    """Repair a session in place, say `said`, and go on."""

    def make(target: Target, run: ChangeRun) -> Cleaned:
        return repair(target, Where(), force=run.force, context=run.context)

    changes = screen.browser.changes
    items = session_items(changes, [summary], make)
    changes.carry_out(
        ChangePlan(title="Repairing", items=items, describe=lambda done: said, on_success=lambda done: go())
    )


def _check_out(
    screen: CommandScreen[None], summary: Summary, left: LeftBehind, go: Callable[[], None], *, force: bool
) -> None:
    def describe(done: CheckedOut) -> str:
        handed = " Copied the entry's text." if done.text else ""
        return f"{summary.agent} will resume at {quoted(one_line(left.text, 60))}.{handed}"

    # The user has already confirmed to resume a session in use, so do not ask again before the checkout. With omp, ask
    # again, because a running omp stops saving its session when the checkout appends a line to the file.
    force = force and AGENTS[summary.agent].bears_appends
    check_out(screen, summary, left.entry_id or "", describe, go, force=force)
