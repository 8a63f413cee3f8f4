"""Commands that prune or shrink the open session: they show a preview, then write a copy or replace the session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial

from sessionbrowse.services.clean.clean import Cleaned, MakePlan, Where, branches_plan, clean_session, shrink_plan
from sessionbrowse.text import clean, plural, shorten_home, size
from sessionbrowse.tui.clean.ask_for_file import ask_for_file
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.paint.spans import Line, named, quoted
from sessionbrowse.tui.resume.resume import repair_first
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun, session_parts

LARGE_RESULT = 16 * 1024
"""Size in bytes above which `shrink` drops the output of a tool."""
_DONE = {"prune": "Pruned", "shrink": "Shrunk"}


def do_prune(screen: SessionScreen) -> None:
    """Ask whether to drop the selected entries with all below them, or the abandoned branches; show a preview."""
    selected, entry_id = screen.tree_pane.selected_ids, screen.entry_id
    entries = plural(len(selected), "selected entry", "selected entries")
    unlabelled, abandoned = [branches_plan((), all_abandoned=True, keep_labelled=keeps) for keeps in (True, False)]
    plans = {"selected": (branches_plan(selected), f"Drop {entries} and all below")} if selected else {}
    plans |= {
        "unlabelled": (unlabelled, "Drop abandoned branches, except labelled ones"),
        "abandoned": (abandoned, "Drop all abandoned branches"),
    }
    if not selected and entry_id is not None:
        plans["cursor"] = (branches_plan([entry_id]), "Drop the entry at the cursor and all below it")
    _ask_which(screen, "prune", plans)


def do_shrink(screen: SessionScreen) -> None:
    """Ask which content to drop (images, large tool output, reasoning), then show a preview."""
    plans = {
        "images": (shrink_plan(images=True), "Drop images"),
        "results": (shrink_plan(results_over=LARGE_RESULT), f"Drop tool output over {size(LARGE_RESULT)}"),
        "thinking": (shrink_plan(thinking=True), "Drop reasoning before the last turn"),
        "everything": (
            shrink_plan(images=True, results_over=LARGE_RESULT, thinking=True),
            "Drop images, large output and reasoning",
        ),
    }
    _ask_which(screen, "shrink", plans)


def _ask_which(screen: SessionScreen, verb: str, plans: Mapping[str, tuple[MakePlan, str]]) -> None:
    """Ask which of the `plans` to carry out, then show its preview; each plan is paired with its text in the dialog."""
    choices = [Choice(key, words, do=partial(_preview, screen, verb, plan)) for key, (plan, words) in plans.items()]
    ask(screen.browser, verb.capitalize(), session_parts([screen.summary], screen.browser.home), choices)


def _preview(screen: SessionScreen, verb: str, plan: MakePlan) -> None:
    """Compute a preview of the content to drop, show it, and ask where to write the copy without that content."""
    browser = screen.browser
    target = browser.changes.target(screen.summary)

    def look(run: ChangeRun) -> Cleaned:
        return clean_session(target, verb, plan, Where(), dry_run=True, context=run.context)

    def show(seen: Cleaned) -> None:
        if seen.preview.changes_nothing:
            browser.say("This session has nothing to drop.")
            return

        make = partial(_make, screen, verb, plan, seen)
        to_file = partial(ask_for_file, screen, screen.summary, f"{_DONE[verb]} copy", lambda to: make(Where(to=to)))

        def mend() -> None:
            said, again = f"Repaired {quoted(named(screen.summary))}.", partial(_preview, screen, verb, plan)
            repair_first(screen, screen.summary, said, again)

        beside = Where(to=os.path.dirname(screen.summary.path), new_id=True)
        choices = [
            Choice("beside", "Copy as a new session", "the original stays", do=partial(make, beside)),
            Choice("file", "Write a copy to a file …", "the original stays", do=to_file),
            Choice("place", "Replace this session", "original moves to trash", do=partial(make, Where())),
            CANCEL,
        ]
        if seen.damage is not None:
            choices.insert(0, Choice("repair", "Repair the session first", "original moves to trash", do=mend))
        ask(browser, verb.capitalize(), [*session_parts([screen.summary], browser.home), *preview_parts(seen)], choices)

    browser.changes.run(look, show)


def preview_parts(seen: Cleaned) -> list[Part]:
    """Return the lines of the preview: the dropped content, the number of kept entries, and the side effects."""
    preview = seen.preview
    lines: list[Line] = [[(seen.damage, "warning")]] if seen.damage is not None else []
    lines.append([("Goes: ", "dim"), (preview.removed.words, "title")])
    lines.append([("Stays: ", "dim"), (plural(preview.kept_entries, "entry", "entries"), "")])
    if preview.reparented:
        lines.append([(f"{plural(len(preview.reparented), 'entry gets', 'entries get')} another parent.", "")])
    last = len(preview.sentences) - 1 if preview.leaf_moved else None
    lines += [[(one, "warning" if number == last else "")] for number, one in enumerate(preview.sentences)]
    lines += [[(clean(note), "dim")] for note in seen.notes]
    return paragraph(*lines)


def _make(screen: SessionScreen, verb: str, plan: MakePlan, seen: Cleaned, where: Where) -> None:
    """Write the copy or replace the session, unless the session changed since the preview."""
    browser, summary = screen.browser, screen.summary
    target = browser.changes.target(summary)

    def make(run: ChangeRun) -> Cleaned:
        return clean_session(
            target, verb, plan, where, force=run.force, expected=seen.seen, context=run.context, group=run.group
        )

    def describe(done: Sequence[Cleaned]) -> str:
        gone = done[0].preview.removed.words
        if done[0].to is not None:
            return f"Wrote a copy without {gone} to {clean(shorten_home(done[0].to, browser.home))}."
        return f"{_DONE[verb]}: session {quoted(named(summary))} now lacks {gone}. The original is in the trash."

    def then(done: Sequence[Cleaned]) -> None:
        screen.tree_pane.row_list.clear_marks()

    browser.changes.make(
        ChangePlan(title="Copying", items=[ChangeItem(named(summary), make)], describe=describe, on_success=then)
    )
