"""The command that names the session under the cursor, or all selected sessions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.rename import MAX_NAME, MAY_BE_TITLED_AGAIN, Renamed, rename
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean
from sessionbrowse.tui.dialogs.dialogs import prompt
from sessionbrowse.tui.paint.spans import Line, named, one_line, quoted
from sessionbrowse.tui.shell.browser import Browser
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun, session_parts, sessions_named
from sessionbrowse.tui.shell.command_screen import CommandScreen

NUMBER = "{n}"
"""The placeholder that the user types in a name for several sessions; in each session's name, a number replaces it."""


def do_rename(screen: CommandScreen[None]) -> None:
    """Ask for a name, and give it to the session under the cursor or to all selected sessions."""
    browser, chosen = screen.browser, list(screen.chosen)
    if chosen:
        before = chosen[0].name or "" if len(chosen) == 1 else ""
        parts, hint = session_parts(chosen, browser.home), partial(hint_of, chosen)
        rename_all = partial(_rename_all, browser, chosen)
        prompt(browser, "Rename", parts, rename_all, text=before, hint=hint, accepting="rename")


def _rename_all(browser: Browser, chosen: Sequence[Summary], typed: str) -> None:
    """Give the typed name to the chosen sessions, numbered if it has the placeholder `NUMBER`."""
    if len(chosen) == 1 and typed.strip() == (chosen[0].name or "").strip():
        browser.say("The name did not change.")
        return
    items = [
        ChangeItem(named(one), partial(_rename, browser.changes.target(one), typed.replace(NUMBER, str(number))))
        for number, one in enumerate(chosen, 1)
    ]
    browser.changes.make(ChangePlan(title="Renaming", items=items, describe=partial(describe, chosen)))


def _rename(target: Target, name: str, run: ChangeRun) -> Renamed:
    return rename(target, name, clear=not name.strip(), force=run.force, context=run.context, group=run.group)


def describe(chosen: Sequence[Summary], done: Sequence[Renamed]) -> str:
    """Return the text of the toast after renaming sessions."""
    if len(done) > 1:
        return f"Renamed {sessions_named(chosen)}."
    name = done[0].name
    return f"Renamed to {quoted(one_line(name, 60))}." if name else "Cleared the name."


def hint_of(chosen: Sequence[Summary], text: str) -> Line:
    """Return the hint for a typed name: its effect, or the reason why it is invalid."""
    if len(text) > MAX_NAME:
        return [(f"A name has at most {MAX_NAME:,} characters.", "error")]
    agents = sorted({summary.agent for summary in chosen})
    if not text.strip():
        return _hint_of_clearing(chosen, agents)
    if len(chosen) > 1:
        return [(f"All {len(chosen):,} get this name; {NUMBER} in it becomes 1, 2, 3 …", "dim")]
    if text.strip() == (chosen[0].name or "").strip():
        return [("", "dim")]
    try:
        written = AGENTS[chosen[0].agent].clean_name(text)
    except RefusedWrite as error:
        return [(clean(error.sentence), "error")]
    return [] if written == text.strip() else [(f"Becomes {quoted(one_line(written, 80))}.", "dim")]


def _hint_of_clearing(chosen: Sequence[Summary], agents: Sequence[str]) -> Line:
    if not any(summary.name for summary in chosen):
        return [("" if len(chosen) == 1 else "No selected session has a name.", "dim")]
    if "indusagi" in agents:
        return [("indusagi cannot clear a name; type another name.", "warning")]
    note = f" {MAY_BE_TITLED_AGAIN}" if "omp" in agents else " Lists show an unnamed session's first message."
    return [(f"An empty text clears the name.{note}", "warning")]
