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


def do_doctor(screen: BrowseScreen) -> None:
    """Search the selected sessions for damage; without a selection, search all sessions."""
    is_selected = bool(screen.sessions_list.marks)
    summaries = list(screen.chosen) if is_selected else screen.browser.library.all()
    none = f"No damage found in {plural(len(summaries), 'session')}."
    _examine(screen.browser, summaries, none, is_one=len(summaries) == 1)


def do_damage(screen: SessionScreen) -> None:
    """Search the open session for damage, and list the damage on a screen."""
    _examine(screen.browser, [screen.summary], "No damage found in this session.", is_one=True)


def _examine(browser: Browser, summaries: Sequence[Summary], none: str, *, is_one: bool) -> None:
    def show(findings: list[Finding]) -> None:
        if findings:
            browser.push_screen(DoctorScreen(findings, is_one=is_one))
        else:
            browser.say(none)

    browser.changes.run(lambda run: examine_all(summaries, run), show)
