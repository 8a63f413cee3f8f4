"""Copy a session with secrets and user names masked: find them, let the user review them, write the copy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.services.clean.clean import Cleaned, Where
from sessionbrowse.services.clean.redact import Review, Suspect, context_of, redact, review_secrets
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.clean.ask_for_file import ask_for_file
from sessionbrowse.tui.clean.findings_screen import FindingsScreen
from sessionbrowse.tui.commands.command import REVIEW
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, fit, named, one_line, pad, right_aligned
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun, session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen

_MASK_CELLS = 22


class ReviewScreen(FindingsScreen[Suspect]):
    """The screen that lists secrets and names in a session. Marked rows are masked; at first all are marked."""

    CONTEXTS = (REVIEW,)
    HEADING = "Redact"

    def __init__(self, summary: Summary, review: Review, accept: Callable[[Callable[[Suspect], bool]], None]) -> None:
        """Make the screen; after the review, call `accept` with a function that returns True for a secret to mask."""
        super().__init__(review.suspects, name="review")
        self._summary = summary
        self._accept = accept

    def on_mount(self) -> None:
        """Mark all secrets, so that all are masked by default."""
        self.sessions_list.marks = {self.key_of(one) for one in self.findings}

    def key_of(self, finding: Suspect) -> tuple[bool, str]:
        """Return the key that identifies a secret's row: (whether only whole words are masked, the secret's text)."""
        return finding.mask.is_word, finding.mask.secret

    def session_of(self, finding: Suspect) -> Summary:
        """Return the summary of the session whose secrets the user reviews."""
        return self._summary

    def amount(self, sessions: Sequence[Summary]) -> str:
        """Return the text of the header: the number of secrets found, and the session's title."""
        return f"{plural(len(self.findings), 'finding')} in {one_line(self._summary.title, 40)}"

    def selected_words(self) -> Line:
        """Return the numbers of secrets to mask and to keep, for the right end of the header."""
        masked = sum(self._is_masked(one) for one in self.findings)
        kept = len(self.findings) - masked
        line: Line = [(f"{masked:,} masked", "accent")]
        return [*line, (f", {kept:,} kept", "warning")] if kept else line

    def row_of(self, finding: Suspect, width: int) -> Line:
        """Return the screen row of a secret: replacement, count, line of the first occurrence, text around it."""
        line: Line = [*pad([(one_line(finding.mask.text), "accent")], _MASK_CELLS), (" ", "")]
        line += [right_aligned(f"{finding.count:,}×", "dim", 5), ("  ", "")]
        if width >= 70:
            line += [*pad([(f"line {finding.line:,}", "dim")], 9), (" ", "")]
        return fit([*line, (context_of(finding), "")], width)

    def parts_of(self, finding: Suspect) -> Sequence[Part]:
        """Return the details of a secret: surrounding text, number of occurrences, and its replacement if masked."""
        becomes = f"masked as {clean(finding.mask.text)}" if self._is_masked(finding) else "kept unmasked"
        places = f"{plural(finding.count, 'place')}, the first on line {finding.line:,}; {becomes}"
        roles = "dim" if self._is_masked(finding) else "warning"
        return [LinePart([(context_of(finding), "")]), LinePart([(places, roles)])]

    def _is_masked(self, finding: Suspect) -> bool:
        return self.key_of(finding) in self.sessions_list.marks

    def do_mask(self) -> None:
        """Accept the review: mask the marked secrets and keep the others."""
        masked = set(self.sessions_list.marks)
        self.dismiss(None)
        self._accept(lambda suspect: self.key_of(suspect) in masked)

    def do_open(self) -> None:
        """Switch the secret under the cursor between masked and kept; a double click on a row does this."""
        self.sessions_list.toggle_mark()

    def do_back(self) -> None:
        """Close the review without writing a copy."""
        self.browser.say("Nothing was written.")
        self.dismiss(None)


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
        run.progress(0, 0, "Loading the rules, and searching for secrets and names …")
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
    choices = [Choice("file", "Write a copy to a file …", "a session file (JSONL)", do=to_file)]
    if not RULES[summary.agent].only_read:
        beside = partial(write, Where(to=os.path.dirname(summary.path), new_id=True))
        choices.append(Choice("beside", "Copy as a new session", do=beside))
    browser = screen.browser
    other = f"{browser.keys.key_of('export')} writes a masked HTML page, Markdown or JSON."
    parts = [*session_parts([summary], browser.home), *paragraph([(other, "dim")])]
    ask(browser, "Mask secrets", parts, [*choices, CANCEL])


def _write(screen: CommandScreen[None], summary: Summary, review: Review, is_masked: IsMasked, where: Where) -> None:
    browser = screen.browser
    target = browser.changes.target(summary)

    def make(run: ChangeRun) -> Cleaned:
        return redact(target, review, is_masked, where, context=run.context)

    def describe(done: Sequence[Cleaned]) -> str:
        masked = sum(count for _, count in done[0].masks)
        path = clean(shorten_home(done[0].to or "", browser.home))
        return f"Masked {plural(masked, 'secret or name', 'secrets and names')}: {path}."

    browser.changes.make(ChangePlan(title="Masking", items=[ChangeItem(named(summary), make)], describe=describe))
