"""The command that pins a session to the top of the session list."""

from __future__ import annotations

from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.store.own.pins import Pins
from sessionbrowse.text import clean
from sessionbrowse.tui.data.jobs import Job
from sessionbrowse.tui.lists.screen import BrowseScreen


class NotPinned(SessionBrowseError):
    """Error: the file of pins could not be written."""


def do_pin(screen: BrowseScreen) -> None:
    """Pin the session under the cursor, or unpin it."""
    browser, summary, pins = screen.browser, screen.subject, screen.state.library.pins
    if summary is None:
        return
    if summary.id is None:
        browser.say("This session has no id, so it cannot be pinned.", "warning")
        return
    is_ours = (summary.agent, summary.id) in pins.own
    if not is_ours and pins.holds(summary):
        browser.say("This session is pinned in omp. To unpin it, type /pin in omp.", "warning")
        return
    source = browser.source

    def change(job: Job) -> Pins:
        try:
            source.set_pin(summary, not is_ours)
        except OSError as error:
            raise NotPinned(f"The pin cannot be saved: {error.strerror or error}.") from error
        return source.pins()

    screen.lane("pins", screen.updates.take_pins).ask(change)
    browser.say("No longer pinned." if is_ours else f"Pinned: {clean(summary.title)[:60] or 'the session'}.")
