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


def do_cleanup(screen: BrowseScreen) -> None:
    """Find the sessions to clean up in the background, and list them on a screen."""
    browser = screen.browser

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
            browser.say(CleanupScreen.NOTHING)

    look(show)


def do_problems(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the open session, or of the selected sessions; without a selection, of all sessions."""
    is_all = isinstance(screen, BrowseScreen) and not screen.sessions_list.marks
    _examine(screen.browser, screen.browser.library.all() if is_all else screen.chosen)


def do_mend(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the chosen sessions, to repair them."""
    _examine(screen.browser, screen.chosen)


def _examine(browser: Browser, summaries: Sequence[Summary]) -> None:
    is_one = len(summaries) == 1

    def show(findings: list[Finding]) -> None:
        if findings:
            browser.push_screen(DoctorScreen(findings, is_one=is_one))
        else:
            browser.say(f"No damage found in {'this session' if is_one else plural(len(summaries), 'session')}.")

    browser.changes.run(lambda run: examine_all(summaries, run), show)
