"""The command that checks out an entry: the entry becomes the leaf, where the agent resumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.errors import UnsafeEntry
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.tree.rows import row_text
from sessionbrowse.services.change.checkout import CheckedOut, checkout, place_of
from sessionbrowse.text import clean
from sessionbrowse.tui.changes.label import entry_parts
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.paint.spans import one_line, quoted
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
    go = Choice("go", "Check out", do=lambda: check_out_shown(screen, summary, entry_id))
    ask(screen.browser, "Check out?", parts, [go, CANCEL])


def check_out_shown(screen: CommandScreen[None], summary: Summary, entry_id: str) -> None:
    """Check out an entry of the session on screen; the cursor follows to the entry that was checked out."""

    def describe(done: CheckedOut) -> str:
        if done.undo_id is None:
            return ""
        handed = " Copied the entry's text." if done.text else ""
        return f"{summary.agent} will resume at {_place(screen, done.at)}.{handed}"

    check_out(screen, summary, entry_id, describe, follow=True)


def _place(screen: CommandScreen[None], entry_id: str | None) -> str:
    """Return words for an entry in a toast: its quoted text; "its start" if `entry_id` is empty.

    If the screen shows no session that has the entry, return the first 8 characters of the entry's id.
    """
    viewed = screen.viewed_entry
    session = viewed.session if viewed is not None else None
    if not entry_id:
        return "its start"
    index = session.index_by_id.get(entry_id) if session is not None else None
    if session is None or index is None:
        return clean(entry_id)[:8]
    return quoted(one_line(row_text(session, index, screen.browser.home), 60))


def check_out(
    screen: CommandScreen[None],
    summary: Summary,
    entry_id: str,
    describe: Callable[[CheckedOut], str],
    then: Callable[[], None] | None = None,
    *,
    verb: str = "Check out",
    follow: bool = False,
    force: bool = False,
) -> None:
    """Check out an entry, copy its text to the clipboard if it is a user message, then call `then`.

    If the entry is between a tool call and its result, a dialog offers to check out the nearest safe entry instead;
    `verb` is the first word of this choice. With `follow`, the cursor moves to the safe entry.
    """
    browser = screen.browser
    target = browser.changes.target(summary)

    def make(run: ChangeRun) -> CheckedOut:
        return checkout(target, entry_id, force=run.force, context=run.context)

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
            if follow:
                screen.reveal(nearest)
            check_out(screen, summary, nearest, describe, then, verb=verb, follow=follow, force=force)

        choices = [Choice("instead", f"{verb} {clean(nearest)[:8]} instead", do=go), CANCEL]
        ask(browser, "Unsafe check out", paragraph([(clean(error.sentence), "")]), choices)

    browser.changes.make(
        ChangePlan(
            title="Checking out",
            items=[ChangeItem(clean(entry_id), make)],
            describe=lambda results: describe(results[0]),
            on_success=done,
            on_unsafe=unsafe,
            force=force,
        )
    )
