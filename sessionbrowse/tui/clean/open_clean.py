"""The commands that open the two screens of problems: damage in sessions, and sessions that could go."""

from __future__ import annotations

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.tui.clean.cleanup_screen import CleanupScreen
from sessionbrowse.tui.clean.doctor_screen import DoctorScreen, Finding, findings_of
from sessionbrowse.tui.lists.screen import BrowseScreen
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_cleanup(screen: BrowseScreen) -> None:
    """List the sessions that could go."""
    screen.browser.push_screen(CleanupScreen())


def do_other_problems(screen: CommandScreen[None]) -> None:
    """Show the sessions that could go instead of the damage in sessions, or the damage instead of these."""
    below = screen.app.screen_stack[-2]
    if isinstance(below, DoctorScreen | CleanupScreen):
        screen.dismiss(None)
    elif isinstance(screen, DoctorScreen):
        screen.browser.push_screen(CleanupScreen())
    else:
        screen.browser.push_screen(DoctorScreen(_here(screen)))


def do_problems(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the open session, or of the selected sessions; without a selection, of all sessions."""
    if isinstance(screen, BrowseScreen) and not screen.sessions_list.marks:
        screen.browser.push_screen(DoctorScreen(_here(screen)))
    else:
        do_mend(screen)


def _here(screen: CommandScreen[None]) -> list[Summary]:
    """Return the sessions of this machine: those of others are repaired there."""
    return [one for one in screen.browser.library.all() if one.machine is None]


def do_mend(screen: BrowseScreen | SessionScreen) -> None:
    """List the problems of the chosen sessions, to repair them."""
    if len(screen.chosen) == 1:
        _examine_one(screen.browser, screen.chosen[0])
    else:
        screen.browser.push_screen(DoctorScreen(screen.chosen))


def _examine_one(browser: Browser, summary: Summary) -> None:
    def show(findings: list[Finding]) -> None:
        if findings:
            browser.push_screen(DoctorScreen([summary], findings))
        else:
            browser.say("No damage found in this session.")

    browser.changes.run(lambda run: findings_of(summary, is_one=True), show)
