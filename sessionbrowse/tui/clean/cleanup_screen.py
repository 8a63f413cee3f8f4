"""The clean-up screen lists sessions that could go to the trash, and why. One undo restores all moved sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sessionbrowse.errors import InUse, RefusedWrite
from sessionbrowse.model.clean.cleanup import KINDS, CleanupRow
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.delete import Deleted
from sessionbrowse.services.clean.cleanup import clean_up, find_cleanup
from sessionbrowse.services.transaction.change_context import Progress
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, plural, size
from sessionbrowse.tui.clean.findings_screen import FindingsScreen
from sessionbrowse.tui.commands.command import CLEANUP
from sessionbrowse.tui.data.jobs import Job
from sessionbrowse.tui.data.source import SessionUpdates
from sessionbrowse.tui.dialogs.dialogs import Choice, ask, paragraph
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.lists.rows import session_title
from sessionbrowse.tui.paint.spans import Line, agent_span, fit, one_line, pad, right_aligned
from sessionbrowse.tui.shell.change_plan import ChangePlan, ChangeRun, count_done, session_items, session_parts

_WHY = {
    "empty": "The session has no answer from a model.",
    "duplicate": "Nothing is lost: another file has the same bytes.",
    "copy": "Nothing is lost: another session has every entry, the name and the labels.",
    "large": "Shrinking the session keeps the text and drops the images.",
    "archived": "The agent no longer lists this session.",
    "old": "Nobody has written to this session for a year.",
}
"""For each kind of clean-up reason, a sentence that helps the user decide whether to trash the session."""
_KIND_CELLS = max(map(len, KINDS))


class CleanupScreen(FindingsScreen[CleanupRow]):
    """The screen that lists sessions to clean up, sorted by the kind of reason."""

    CONTEXTS = (CLEANUP,)
    HEADING = "Problems · what could go"

    def __init__(self) -> None:
        super().__init__([], name="cleanup")
        self._gone: set[str] = set()

    def on_mount(self) -> None:
        """Search all sessions for those to clean up."""
        self.do_reload()

    @property
    def nothing(self) -> str:
        """The sentence that the list shows if there is no session to clean up."""
        return "No session to clean up: none is empty, a copy, large, archived or untouched for a year."

    def key_of(self, finding: CleanupRow) -> str:
        """Return the key of a row: the path of the session file."""
        return finding.summary.path

    def session_of(self, finding: CleanupRow) -> Summary:
        """Return the summary of the session in a row."""
        return finding.summary

    def row_of(self, finding: CleanupRow, width: int) -> Line:
        """Return the screen row of a session to clean up: kind of reason, size, reason and title."""
        line: Line = [*pad([(finding.kind, "accent")], _KIND_CELLS), (" ", "")]
        line += [right_aligned(size(finding.summary.bytes), "dim", 7), ("  ", "")]
        line += [*pad([(one_line(finding.reason), "")], max(16, width * 2 // 5)), ("  ", "")]
        return fit([*line, agent_span(finding.summary.agent), (" ", ""), *session_title(finding.summary)], width)

    def parts_of(self, finding: CleanupRow) -> Sequence[Part]:
        """Return the lines of the details pane: the reason, the session's path, and the path of the copy to keep."""
        parts: list[Part] = [LinePart([(f"{clean(finding.reason)}. ", ""), (_WHY[finding.kind], "dim")])]
        parts.append(self.path_part(finding.summary.path))
        if finding.kept is not None:
            parts.append(self.path_part(finding.kept, "kept: "))
        return parts

    def sessions_changed(self, updates: SessionUpdates) -> None:
        """Remove the rows of deleted or changed sessions; if a deleted session was restored, search all sessions."""
        back = {one.path for one in updates.summaries} & self._gone
        left = [row for row in self.findings if not {row.summary.path, row.kept} & updates.paths]
        self._gone |= {row.summary.path for row in self.findings} & updates.gone
        if back:
            self.do_reload()
        elif len(left) < len(self.findings):
            self.show_findings(left)

    def do_reload(self) -> None:
        """Search all sessions again for sessions to clean up."""
        browser = self.browser
        summaries, context = browser.library.all(), browser.changes.context

        def look(job: Job, progress: Progress, _: list[CleanupRow]) -> list[CleanupRow]:
            pins, places = browser.source.pins(), browser.source.places
            return find_cleanup(summaries, context, pins, places, progress=progress, cancelled=job.cancelled)

        self.search(look)

    def do_delete(self) -> None:
        """Ask for consent, then move the chosen sessions to the trash."""
        rows, browser = self.chosen_findings, self.browser
        trash = "the demo's trash" if browser.changes.into == "own" else "the trash"
        chosen = [row.summary for row in rows]
        counts = Counter(row.kind for row in rows)
        kinds = ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind])
        total = size(sum(one.bytes for one in chosen))
        parts = [*session_parts(chosen, browser.home), *paragraph([(f"{kinds}; {total}", "")])]
        title = "Clean up session?" if len(rows) == 1 else f"Clean up {plural(len(rows), 'session')}?"
        keep = Choice("no", "Keep it" if len(rows) == 1 else "Keep them")
        ask(browser, title, parts, [Choice("trash", f"Move to {trash}", do=lambda: self._move(rows)), keep])

    def _move(self, rows: Sequence[CleanupRow]) -> None:
        chosen, by_path = [row.summary for row in rows], {row.summary.path: row for row in rows}

        def make(target: Target, run: ChangeRun) -> Deleted:
            try:
                return clean_up(by_path[target.path], target, into=run.into, context=run.context, group=run.group)
            except InUse as error:
                raise RefusedWrite(error.sentence) from error

        def describe(done: Sequence[Deleted]) -> str:
            return f"Moved {count_done(done, chosen)} to trash."

        items = session_items(self.browser.changes, chosen, make)
        self.browser.changes.make(
            # A session in use is not moved, and a toast says why; `force` only prevents a dialog that asks about it.
            ChangePlan(title="Cleaning up", items=items, describe=describe, force=True)
        )
