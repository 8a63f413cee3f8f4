"""Commands that prune or shrink the open session: they show a preview, then write a copy or replace the session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from sessionbrowse.services.clean.clean import Cleaned, MakePlan, Where, clean_session
from sessionbrowse.services.clean.prune import branches_plan, shrink_plan
from sessionbrowse.text import clean, plural, shorten_home, size
from sessionbrowse.tui.changes.session_titles import named, quoted, session_parts
from sessionbrowse.tui.clean.ask_for_file import ask_for_file
from sessionbrowse.tui.dialogs.dialogs import CANCEL, AskScreen, Choice
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.resume.questions import repair_first
from sessionbrowse.tui.session.screen import SessionScreen
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun

LARGE_RESULT = 16 * 1024
"""Size in bytes above which `shrink` drops the output of a tool."""
_DONE = {"prune": "Pruned", "shrink": "Shrunk"}


def do_prune(screen: SessionScreen) -> None:
    """Ask whether to drop the selected entries with all below them, or the abandoned branches; show a preview."""
    selected, entry_id = screen.tree_pane.selected_ids, screen.entry_id
    entries = plural(len(selected), "selected entry", "selected entries")
    choices = [Choice("selected", f"Drop {entries} and all below")] if selected else []
    choices += [
        Choice("unlabelled", "Drop abandoned branches, except labelled ones"),
        Choice("abandoned", "Drop all abandoned branches"),
    ]
    if not selected and entry_id is not None:
        choices.append(Choice("cursor", "Drop the entry at the cursor and all below it"))

    def answered(key: str | None) -> None:
        match key:
            case "selected":
                _preview(screen, "prune", branches_plan(selected))
            case "unlabelled" | "abandoned":
                keep_labelled = key == "unlabelled"
                _preview(screen, "prune", branches_plan((), all_abandoned=True, keep_labelled=keep_labelled))
            case "cursor" if entry_id is not None:
                _preview(screen, "prune", branches_plan([entry_id]))

    parts = session_parts([screen.summary], screen.browser.home)
    screen.browser.push_screen(AskScreen("Prune", parts, choices), answered)


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

    def answered(key: str | None) -> None:
        if key is not None:
            _preview(screen, "shrink", plans[key][0])

    parts = session_parts([screen.summary], screen.browser.home)
    choices = [Choice(key, words) for key, (_, words) in plans.items()]
    screen.browser.push_screen(AskScreen("Shrink", parts, choices), answered)


def _preview(screen: SessionScreen, verb: str, plan: MakePlan) -> None:
    """Compute a preview of the content to drop, show it, and ask where to write the copy without that content."""
    browser = screen.browser
    target = browser.changes.target(screen.summary)

    def look(run: ChangeRun) -> Cleaned:
        return clean_session(target, verb, plan, Where(), dry_run=True, context=run.context)

    def ask(seen: Cleaned) -> None:
        if seen.preview.changes_nothing:
            browser.say("This session has nothing to drop.")
            return
        choices = [
            Choice("beside", "Copy as a new session", "the original stays"),
            Choice("file", "Write a copy to a file …", "the original stays"),
            Choice("place", "Replace this session", "original moves to trash"),
            CANCEL,
        ]
        if seen.damage is not None:
            choices.insert(0, Choice("repair", "Repair the session first", "original moves to trash"))

        def answered(key: str | None) -> None:
            match key:
                case "repair":
                    again = partial(_preview, screen, verb, plan)
                    repair_first(screen, screen.summary, f"Repaired {quoted(named(screen.summary))}.", again)
                case "beside":
                    where = Where(to=os.path.dirname(screen.summary.path), new_id=True)
                    _make(screen, verb, plan, where, seen)
                case "file":
                    title = f"{_DONE[verb]} copy"
                    ask_for_file(
                        screen, screen.summary, title, lambda to: _make(screen, verb, plan, Where(to=to), seen)
                    )
                case "place":
                    _make(screen, verb, plan, Where(), seen)

        browser.push_screen(AskScreen(verb.capitalize(), preview_parts(seen), choices), answered)

    browser.changes.run(look, ask)


def preview_parts(seen: Cleaned) -> list[Part]:
    """Return the lines of the preview: the dropped content, the number of kept entries, and the side effects."""
    preview = seen.preview
    lines: list[Line] = [[(seen.damage, "warning")]] if seen.damage is not None else []
    lines.append([("Goes: ", "dim"), (preview.removed.words, "title")])
    lines.append([("Stays: ", "dim"), (f"{preview.kept_entries:,} entries", "")])
    if preview.reparented:
        lines.append([(f"{plural(len(preview.reparented), 'entry gets', 'entries get')} another parent.", "")])
    last = len(preview.sentences) - 1 if preview.leaf_moved else None
    lines += [[(one, "warning" if number == last else "")] for number, one in enumerate(preview.sentences)]
    lines += [[(clean(note), "dim")] for note in seen.notes]
    return [*[LinePart(line) for line in lines], LinePart([])]


def _make(screen: SessionScreen, verb: str, plan: MakePlan, where: Where, seen: Cleaned) -> None:
    """Write the copy or replace the session, unless the session changed since the preview."""
    browser, summary = screen.browser, screen.summary
    target = browser.changes.target(summary)

    def make(run: ChangeRun) -> Cleaned:
        return clean_session(
            target,
            verb,
            plan,
            where,
            force=run.force,
            expected=seen.seen,
            context=run.context,
            group=run.group,
        )

    def describe(done: Sequence[Cleaned]) -> str:
        gone = done[0].preview.removed.words
        if done[0].to is not None:
            return f"Wrote a copy without {gone} to {clean(shorten_home(done[0].to, browser.home))}."
        return f"{_DONE[verb]}: session {quoted(named(summary))} now lacks {gone}. The original is in the trash."

    def then(done: Sequence[Cleaned]) -> None:
        screen.tree_pane.row_list.clear_marks()

    browser.changes.carry_out(
        ChangePlan(title="Copying", items=[ChangeItem(named(summary), make)], describe=describe, on_success=then)
    )
