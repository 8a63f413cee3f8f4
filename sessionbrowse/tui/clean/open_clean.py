"""The commands that open the doctor and clean-up screens, after reading session files in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.model.clean.cleanup import CleanupRow
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.clean.cleanup import find_cleanup
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.clean.cleanup_screen import CleanupScreen
from sessionbrowse.tui.clean.doctor_screen import DoctorScreen, Finding, examine_all
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.change_plan import ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_cleanup(screen: BrowseScreen) -> None:
    """Find the sessions to clean up in the background, and list them on a screen."""
    _find_cleanup(screen.browser)


def do_other_problems(screen: CommandScreen[None]) -> None:
    """Show the sessions to clean up instead of the damage in all sessions, or the damage instead of these."""
    below = screen.app.screen_stack[-2]
    if isinstance(below, DoctorScreen | CleanupScreen):
        screen.dismiss(None)
    elif isinstance(screen, DoctorScreen):
        _find_cleanup(screen.browser)
    else:
        _examine(screen.browser, screen.browser.library.all())


def _find_cleanup(browser: Browser, none: str = "") -> None:
    """List the sessions to clean up; if there are none, say so after the sentence `none`."""

    def work(run: ChangeRun) -> list[CleanupRow]:
        def report(done: int, total: int, path: str) -> None:
            run.report(done, total, clean(path.rpartition("/")[2]))

        summaries, pins = browser.library.all(), browser.source.pins()
        places = browser.source.places
        return find_cleanup(summaries, run.context, pins, places, progress=report, cancelled=run.stopped)

    def look(take: Callable[[list[CleanupRow]], None]) -> None:
        browser.changes.run(work, take)

    def show(rows: list[CleanupRow]) -> None:
        if rows:
            browser.push_screen(CleanupScreen(rows, look))
        else:
            browser.say(f"{none} {CleanupScreen.NOTHING}".strip())

    look(show)


def do_problems(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the open session, or of the selected sessions; without a selection, of all sessions.

    If no session is damaged, list the sessions to clean up.
    """
    browser = screen.browser
    if isinstance(screen, BrowseScreen) and not screen.sessions_list.marks:
        _examine(browser, browser.library.all(), lambda none: _find_cleanup(browser, none))
    else:
        _examine(browser, screen.chosen)


def do_mend(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the chosen sessions, to repair them."""
    _examine(screen.browser, screen.chosen)


def _examine(
    browser: Browser, summaries: Sequence[Summary], without_damage: Callable[[str], object] | None = None
) -> None:
    """List the damage in sessions; if there is none, pass the sentence that says so to `without_damage`, or say it."""
    is_one = len(summaries) == 1

    def show(findings: list[Finding]) -> None:
        if findings:
            browser.push_screen(DoctorScreen(findings, is_one=is_one))
        else:
            none = f"No damage found in {'this session' if is_one else plural(len(summaries), 'session')}."
            (without_damage or browser.say)(none)

    browser.changes.run(lambda run: examine_all(summaries, run), show)
