"""Change a session at an entry of its tree: label it, let the agent resume there, fork up to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sessionbrowse.agents.change_plans import label_text
from sessionbrowse.errors import UnsafeEntry
from sessionbrowse.model.session.session import LabelMark
from sessionbrowse.model.tree.rows import row_text
from sessionbrowse.services.change.checkout import CheckedOut, checkout
from sessionbrowse.services.change.label import Labelled, label
from sessionbrowse.services.change.rename import MAX_NAME
from sessionbrowse.text import clean
from sessionbrowse.tui.changes.fork import ask_directory
from sessionbrowse.tui.dialogs.dialogs import AskScreen, Choice, PromptScreen
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.lists.rows import one_line
from sessionbrowse.tui.paint.spans import Line, fit
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun

if TYPE_CHECKING:
    from sessionbrowse.tui.session.screen import SessionScreen


class Entries:
    """The commands that change a session at the entry under the cursor."""

    def __init__(self, screen: SessionScreen) -> None:
        self._screen = screen

    def do_label(self) -> None:
        """Ask for a label and set it."""
        entry_id, session, index = self._entry_id(), self._screen.session, self._screen.index
        if entry_id is None or session is None or index is None:
            return
        mark = session.labels.get(index)
        before = mark.text if mark is not None else ""

        def answered(text: str | None) -> None:
            if text is None:
                return
            if text.strip() == clean(before).strip():
                self._screen.browser.say("The label is as it was.")
                return
            self._set_label(entry_id, text)

        self._screen.browser.push_screen(
            PromptScreen(
                "Label",
                self._entry_parts(),
                before,
                placeholder="a label",
                hint=lambda text: hint_of_label(mark, text),
                accepting="label",
            ),
            answered,
        )

    def _set_label(self, entry_id: str, text: str) -> None:
        changes = self._screen.browser.changes
        target = changes.target(self._screen.summary)

        def make(run: ChangeRun) -> Labelled:
            return label(target, entry_id, text, clear=not text.strip(), force=run.force, context=run.context)

        def told(done: Sequence[Labelled]) -> str:
            return f"Labelled “{one_line(done[0].label, 60)}”." if done[0].label else "The entry has no label now."

        changes.carry_out(ChangePlan(doing="Labelling", items=[ChangeItem(clean(entry_id), make)], told=told))

    def do_checkout(self) -> None:
        """Make the agent resume at the entry."""
        entry_id = self._entry_id()
        if entry_id is not None:
            self.check_out(entry_id)

    def check_out(self, entry_id: str) -> None:
        """Make the agent resume at an entry; what the user said there goes to the clipboard."""
        screen, browser = self._screen, self._screen.browser
        target = browser.changes.target(screen.summary)

        def make(run: ChangeRun) -> CheckedOut:
            return checkout(target, entry_id, force=run.force, context=run.context)

        def told(done: Sequence[CheckedOut]) -> str:
            one = done[0]
            if one.undo_id is None:
                return ""
            where = f"at {clean(one.at)[:8]}" if one.at else "at its start"
            handed = " What was said there is on the clipboard." if one.text else ""
            return f"{screen.summary.agent} resumes {where}.{handed}"

        def then(done: Sequence[CheckedOut]) -> None:
            if done[0].text:
                browser.copy_to_clipboard(done[0].text)

        browser.changes.carry_out(
            ChangePlan(
                doing="Checking out",
                items=[ChangeItem(clean(entry_id), make)],
                told=told,
                then=then,
                unsafe=self._offer_nearest,
            )
        )

    def _offer_nearest(self, error: UnsafeEntry) -> None:
        nearest = error.nearest
        if nearest is None:
            self._screen.browser.say(error.sentence, "error")
            return
        choices = [Choice("yes", f"Check out {clean(nearest)[:8]} instead"), Choice("no", "Leave it as it is")]

        def answered(key: str | None) -> None:
            if key == "yes":
                self._screen.show_entry(nearest)
                self.check_out(nearest)

        parts: list[Part] = [LinePart([(clean(error.sentence), "")]), LinePart([])]
        self._screen.browser.push_screen(AskScreen("Between a call and its result", parts, choices), answered)

    def do_fork(self) -> None:
        """Fork the path up to the entry into a session of its own."""
        entry_id = self._entry_id()
        if entry_id is not None:
            ask_directory(self._screen, [self._screen.summary], at=entry_id, parts=self._entry_parts())

    def _entry_id(self) -> str | None:
        session, index = self._screen.session, self._screen.index
        return session.ids[index] or None if session is not None and index is not None else None

    def _entry_parts(self) -> list[Part]:
        session, index = self._screen.session, self._screen.index
        assert session is not None
        assert index is not None
        shown = one_line(row_text(session, index, self._screen.browser.home), 200)
        return [FittedPart(lambda width: fit([(shown, "title")], width)), LinePart([])]


def hint_of_label(mark: LabelMark | None, text: str) -> Line:
    """Return what labelling an entry so would do, or why it cannot be done."""
    if len(text) > MAX_NAME:
        return [(f"A label has at most {MAX_NAME:,} characters.", "error")]
    if not text.strip():
        return [("Empty: the label is taken away.", "warning") if mark is not None else ("Type a label.", "dim")]
    written = label_text(text)
    return [] if written == text.strip() else [(f"It will read “{one_line(written, 80)}”.", "dim")]
