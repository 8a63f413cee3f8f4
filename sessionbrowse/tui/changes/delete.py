"""The command that deletes sessions: ask for consent, then move them to the trash or delete them permanently."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from sessionbrowse import text
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.delete import Deleted, DeletePlan, Into, delete, outermost, plan_delete
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.dialogs.dialogs import Choice, ask, paragraph, prompt
from sessionbrowse.tui.paint.spans import Line, named
from sessionbrowse.tui.shell.change_plan import ChangePlan, ChangeRun, count_done, session_items, session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen

WORD = "permanent"
"""The word that the user types to delete sessions permanently."""
_MOST_NAMED = 3


def do_delete(screen: CommandScreen[None]) -> None:
    """Find the files that deleting the chosen sessions would remove, list them, and ask for consent."""
    browser, chosen = screen.browser, outermost(list(screen.chosen), lambda summary: summary.path)
    if not chosen:
        return
    forks = [summary for summary in browser.library.all() if summary.parent_session is not None]
    targets = [browser.changes.target(summary) for summary in chosen]

    def plan_all(run: ChangeRun) -> list[DeletePlan | SessionBrowseError]:
        found: list[DeletePlan | SessionBrowseError] = []
        for number, (summary, target) in enumerate(zip(chosen, targets, strict=True)):
            if run.cancelled():
                break
            run.progress(number, len(targets), named(summary))
            try:
                found.append(plan_delete(target, run.context, forks, targets))
            except SessionBrowseError as reason:
                found.append(reason)
        return found

    def show(found: list[DeletePlan | SessionBrowseError]) -> None:
        for reason in [one for one in found if not isinstance(one, DeletePlan)][:_MOST_NAMED]:
            browser.say(reason.sentence, "error")
        there = [(one, unit) for one, unit in zip(chosen, found, strict=True) if isinstance(unit, DeletePlan)]
        if there:
            _ask_delete(screen, [one for one, _ in there], [unit for _, unit in there])

    browser.changes.run(plan_all, show)


def _ask_delete(screen: CommandScreen[None], chosen: Sequence[Summary], units: Sequence[DeletePlan]) -> None:
    browser = screen.browser
    trash = "the demo's trash" if browser.changes.into == "own" else "the trash"
    keep = Choice("no", "Keep it" if len(chosen) == 1 else "Keep them")
    move = Choice("trash", f"Move to {trash}", do=lambda: _delete(screen, chosen, units, None))
    for_good = partial(_ask_for_good, screen, chosen, units)
    remove = Choice("nowhere", "Delete permanently …", roles="error", do=for_good)
    # Enter chooses the first answer of the dialog, so a session that may be in use is kept by default.
    choices = [keep, move, remove] if any(unit.is_taken for unit in units) else [move, keep, remove]
    title = "Delete session?" if len(chosen) == 1 else f"Delete {plural(len(chosen), 'session')}?"
    parts = [*session_parts(chosen, browser.home), *paragraph(*unit_lines(units))]
    ask(browser, title, parts, choices)


def _ask_for_good(screen: CommandScreen[None], chosen: Sequence[Summary], units: Sequence[DeletePlan]) -> None:
    def hint(typed: str) -> Line:
        if typed.strip() == WORD:
            return [("Deleting permanently cannot be undone.", "error")]
        return [(f"Type the word {WORD} to delete permanently.", "dim")]

    def answered(typed: str) -> None:
        if typed.strip() == WORD:
            _delete(screen, chosen, units, "nowhere")
        else:
            screen.browser.say(f"Nothing was deleted: the typed word was not {WORD}.")

    parts = session_parts(chosen, screen.browser.home)
    prompt(screen.browser, "Delete permanently", parts, answered, placeholder=WORD, hint=hint, accepting="delete")


def _delete(
    screen: CommandScreen[None], chosen: Sequence[Summary], units: Sequence[DeletePlan], into: Into | None
) -> None:
    changes = screen.browser.changes
    # The delete dialog already named the programs that have these sessions open, so the user is not asked again.
    asked = {one.path for one, unit in zip(chosen, units, strict=True) if unit.is_taken}

    def make(target: Target, run: ChangeRun) -> Deleted:
        force = run.force or target.path in asked
        return delete(target, into=run.into, force=force, context=run.context, group=run.group)

    def describe(done: Sequence[Deleted]) -> str:
        what = count_done(done, chosen)
        if done[0].into == "nowhere":
            return f"Deleted {what} permanently."
        own = "the demo's trash" if changes.into == "own" else "sessionbrowse's own trash"
        return f"Moved {what} to {'trash' if done[0].into == 'trash' else own}."

    items = session_items(changes, chosen, make)
    changes.make(ChangePlan(title="Deleting", items=items, describe=describe, into=into))


def unit_lines(units: Sequence[DeletePlan]) -> list[Line]:
    """Return the lines of the delete dialog: size, companion files, forks, programs that have the sessions open."""
    lines: list[Line] = [[(text.size(sum([unit.size for unit in units])), "")]]
    companions = [path for unit in units for path in unit.companions]
    if companions:
        names = ", ".join([clean(os.path.basename(path)) for path in companions[:_MOST_NAMED]])
        more = f" and {len(companions) - _MOST_NAMED} more" if len(companions) > _MOST_NAMED else ""
        files = plural(sum([unit.files for unit in units]), "file")
        lines.append([(f"Also deleted: {names}{more} ({files}).", "")])
        lines += [[(sentence, "")] for unit in units for sentence in unit.copies_told]
    children = sum([len(unit.children) for unit in units])
    if children:
        source = "it" if len(units) == 1 else "them"
        stay = (
            f"was forked from {source}; the fork stays."
            if children == 1
            else f"were forked from {source}; the forks stay."
        )
        lines.append([(f"{plural(children, 'session')} {stay}", "")])
    in_use = [unit for unit in units if unit.is_taken]
    for unit in in_use[:_MOST_NAMED]:
        reasons = clean("; ".join(unit.used.reasons))
        lines.append(
            [(f"Session may be in use: {reasons}. {unit.agent} would keep writing to a deleted file.", "warning")]
        )
    if len(in_use) > _MOST_NAMED:
        lines.append([(f"{len(in_use) - _MOST_NAMED} more chosen sessions may be in use.", "warning")])
    return lines
