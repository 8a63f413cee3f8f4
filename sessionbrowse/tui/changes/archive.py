"""The command that archives sessions, or unarchives them, after a question."""

from __future__ import annotations

from collections.abc import Sequence

from sessionbrowse.services.change.archive import Archived, archive, unarchive
from sessionbrowse.services.change.delete import outermost
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph
from sessionbrowse.tui.shell.change_plan import (
    ChangePlan,
    ChangeRun,
    count_done,
    session_items,
    session_parts,
    sessions_named,
)
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_archive(screen: CommandScreen[None]) -> None:
    """Ask, then archive the selected sessions, or the one under the cursor; unarchive archived sessions."""
    changes, chosen = screen.browser.changes, outermost(list(screen.chosen), lambda summary: summary.path)

    archived = {summary.path for summary in chosen if summary.archived}

    def make(target: Target, run: ChangeRun) -> Archived:
        change = unarchive if target.path in archived else archive
        return change(target, force=run.force, context=run.context, group=run.group)

    def describe(done: Sequence[Archived]) -> str:
        subject = count_done(done, chosen)
        if chosen[0].archived:
            return f"Unarchived {subject}; {agents} shows {'it' if len(done) == 1 else 'them'} again."
        return f"Archived {subject}; hidden from {agents}."

    if not chosen:
        return
    agents = "/".join(sorted({summary.agent for summary in chosen}))
    verb = "Unarchive" if chosen[0].archived else "Archive"
    effect = "lists it again" if chosen[0].archived else "no longer lists it; nothing is deleted"
    effect = effect.replace(" it", " them") if len(chosen) > 1 else effect

    plan = ChangePlan(title="Archiving", items=session_items(changes, chosen, make), describe=describe)
    parts = [*session_parts(chosen, screen.browser.home), *paragraph([(f"{agents} {effect}.", "")])]
    choices = [Choice("go", f"{verb} {sessions_named(chosen)}", do=lambda: changes.make(plan)), CANCEL]
    ask(screen.browser, f"{verb}?", parts, choices)
