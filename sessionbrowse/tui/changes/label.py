"""The command that labels an entry of a session's tree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sessionbrowse.agents.change_plans import label_text
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.session import LabelMark
from sessionbrowse.model.tree.rows import row_text
from sessionbrowse.services.change.label import Labelled, label
from sessionbrowse.services.change.rename import MAX_NAME
from sessionbrowse.text import clean
from sessionbrowse.tui.dialogs.dialogs import prompt
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.paint.spans import Line, fit, one_line, quoted
from sessionbrowse.tui.reading.views import ViewedEntry
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_label(screen: CommandScreen[None]) -> None:
    """Ask for a label and set it on the entry under the cursor."""
    looked, entry_id = screen.viewed_entry, screen.entry_id
    if looked is None or looked.session is None or looked.index is None or entry_id is None:
        return
    browser = screen.browser
    mark = looked.session.labels.get(looked.index)
    before = mark.text if mark is not None else ""

    def answered(text: str) -> None:
        if text.strip() == clean(before).strip():
            browser.say("The label did not change.")
        else:
            _set_label(screen, looked.summary, entry_id, text)

    hint, parts = partial(hint_of_label, mark), entry_parts(looked, browser.home)
    prompt(browser, "Label", parts, answered, text=before, hint=hint, accepting="label")


def _set_label(screen: CommandScreen[None], summary: Summary, entry_id: str, text: str) -> None:
    target = screen.browser.changes.target(summary)

    def make(run: ChangeRun) -> Labelled:
        return label(target, entry_id, text, clear=not text.strip(), force=run.force, context=run.context)

    def describe(done: Sequence[Labelled]) -> str:
        return f"Labelled {quoted(one_line(done[0].label, 60))}." if done[0].label else "Cleared the label."

    plan = ChangePlan(title="Labelling", items=[ChangeItem(clean(entry_id), make)], describe=describe)
    screen.browser.changes.make(plan)


def entry_parts(looked: ViewedEntry, home: str) -> list[Part]:
    """Return the lines that show the text of an entry in a dialog that labels the entry or forks the path to it."""
    if looked.session is None or looked.index is None:
        return []
    shown = one_line(row_text(looked.session, looked.index, home), 200)
    return [FittedPart(lambda width: fit([(shown, "title")], width)), LinePart([])]


def hint_of_label(mark: LabelMark | None, text: str) -> Line:
    """Return the hint for a typed label: its effect, or the reason why it is invalid."""
    if len(text) > MAX_NAME:
        return [(f"A label has at most {MAX_NAME:,} characters.", "error")]
    if not text.strip():
        return [("An empty text clears the label.", "warning")] if mark is not None else []
    written = label_text(text)
    return [] if written == text.strip() else [(f"Becomes {quoted(one_line(written, 80))}.", "dim")]
