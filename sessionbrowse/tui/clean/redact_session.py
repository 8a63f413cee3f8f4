"""Copy a session with secrets and user names masked: find them, let the user review them, write the copy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.services.clean.clean import Cleaned, Where
from sessionbrowse.services.clean.redact import Review, Suspect, redact, review_secrets
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.changes.session_titles import named, session_parts
from sessionbrowse.tui.clean.ask_for_file import ask_for_file
from sessionbrowse.tui.clean.review_screen import ReviewScreen
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask
from sessionbrowse.tui.layout.parts import LinePart
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen

IsMasked = Callable[[Suspect], bool]


def do_redact(screen: CommandScreen[None]) -> None:
    """Find the secrets of a session, let the user review them, and write a copy with the secrets masked."""
    summary = screen.subject
    if summary is None:
        return

    def accepted(review: Review, is_masked: IsMasked) -> None:
        if review.suspects:
            _ask_where(screen, summary, review, is_masked)
        else:
            screen.browser.say("No secret, home directory or user name was found.")

    review_session(screen, summary, accepted)


def review_session(screen: CommandScreen[None], summary: Summary, accepted: Callable[[Review, IsMasked], None]) -> None:
    """Find a session's secrets and let the user review them, then call `accepted`; without secrets, skip the review."""
    browser = screen.browser
    target, make_detector = browser.changes.target(summary), browser.source.make_detector

    def find(run: ChangeRun) -> Review:
        if make_detector is None:
            raise RefusedWrite("This browser has no secret detector, so it cannot search sessions for secrets.")
        run.report(0, 1, "for secrets and names")
        return review_secrets(target, make_detector())

    def show(review: Review) -> None:
        if review.suspects:
            browser.push_screen(ReviewScreen(summary, review, lambda is_masked: accepted(review, is_masked)))
        else:
            accepted(review, lambda suspect: True)

    browser.changes.run(find, show)


def _ask_where(screen: CommandScreen[None], summary: Summary, review: Review, is_masked: IsMasked) -> None:
    write = partial(_write, screen, summary, review, is_masked)
    to_file = partial(ask_for_file, screen, summary, "Masked copy", lambda to: write(Where(to=to)))
    beside = Where(to=os.path.dirname(summary.path), new_id=True)
    choices = [
        Choice("file", "Write a copy to a file …", "a session file (JSONL)", do=to_file),
        *(
            []
            if RULES[summary.agent].only_read
            else [Choice("beside", "Copy as a new session", do=lambda: write(beside))]
        ),
        CANCEL,
    ]
    browser = screen.browser
    other = f"{browser.keys.key_of('export')} writes a masked HTML page, Markdown or JSON."
    parts = [*session_parts([summary], browser.home), LinePart([(other, "dim")]), LinePart([])]
    ask(browser, "Mask secrets", parts, choices)


def _write(screen: CommandScreen[None], summary: Summary, review: Review, is_masked: IsMasked, where: Where) -> None:
    browser = screen.browser
    target = browser.changes.target(summary)

    def make(run: ChangeRun) -> Cleaned:
        return redact(target, review, is_masked, where, context=run.context)

    def describe(done: Sequence[Cleaned]) -> str:
        masked = sum(count for _, count in done[0].masks)
        path = clean(shorten_home(done[0].to or "", browser.home))
        return f"Masked {plural(masked, 'secret or name', 'secrets and names')}: {path}."

    browser.changes.carry_out(ChangePlan(title="Masking", items=[ChangeItem(named(summary), make)], describe=describe))
