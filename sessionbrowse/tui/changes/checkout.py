"""The command that checks out an entry: the entry becomes the leaf, where the agent resumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.errors import UnsafeEntry
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.checkout import CheckedOut, checkout, place_of
from sessionbrowse.text import clean
from sessionbrowse.tui.changes.label import entry_parts
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_checkout(screen: CommandScreen[None]) -> None:
    """Ask, then check out the entry under the cursor: make it the leaf, where the agent resumes."""
    summary, entry_id, viewed = screen.subject, screen.entry_id, screen.viewed_entry
    if summary is None or entry_id is None or viewed is None or viewed.session is None:
        return
    place = place_of(viewed.session, viewed.session.index_by_id[entry_id])
    where = "there" if place.text is None else "before this message, whose text is copied"
    effect = f"{summary.agent} will resume {where}: a line is added to the session's file. No entry is removed."
    parts = [*entry_parts(viewed, screen.browser.home), *paragraph([(effect, "")])]
    go = Choice("go", "Check out", do=lambda: check_out(screen, summary, entry_id))
    ask(screen.browser, "Check out?", parts, [go, CANCEL])


def check_out(
    screen: CommandScreen[None],
    summary: Summary,
    entry_id: str,
    then: Callable[[], None] | None = None,
    *,
    verb: str = "Check out",
) -> None:
    """Check out an entry, copy its text to the clipboard if it is a user message, then call `then`.

    If the entry is between a tool call and its result, a dialog offers to check out the nearest safe entry instead;
    `verb` is the first word of this choice. Without `then`, the cursor moves to the safe entry.
    """
    browser = screen.browser
    target = browser.changes.target(summary)

    def make(run: ChangeRun) -> CheckedOut:
        return checkout(target, entry_id, force=run.force, context=run.context)

    def describe(results: Sequence[CheckedOut]) -> str:
        copied = " Copied the entry's text." if results[0].text else ""
        said = f"Checked out the entry where {summary.agent} will resume.{copied}"
        return said if results[0].undo_id is not None else ""

    def done(results: Sequence[CheckedOut]) -> None:
        if results[0].text:
            browser.copy_to_clipboard(results[0].text)
        if then is not None:
            then()

    def unsafe(error: UnsafeEntry) -> None:
        nearest = error.nearest
        if nearest is None:
            browser.say(error.sentence, "error")
            return

        def go() -> None:
            if then is None:
                screen.reveal(nearest)
            check_out(screen, summary, nearest, then, verb=verb)

        choices = [Choice("instead", f"{verb} {clean(nearest)[:8]} instead", do=go), CANCEL]
        ask(browser, "Unsafe check out", paragraph([(clean(error.sentence), "")]), choices)

    browser.changes.make(
        ChangePlan(
            title="Checking out",
            items=[ChangeItem(clean(entry_id), make)],
            describe=describe,
            on_success=done,
            on_unsafe=unsafe,
        )
    )
