"""The review screen: one row for each secret found, to mask or to keep, before a masked copy is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.clean.redact import Review, Suspect, context_of
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.clean.findings_screen import FindingsScreen
from sessionbrowse.tui.commands.contexts import REVIEW
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, fit, pad, right_aligned
from sessionbrowse.tui.paint.words import one_line

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
        super().on_mount()

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
