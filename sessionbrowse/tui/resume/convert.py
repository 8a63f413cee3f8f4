"""The command that continues a session in another agent: a preview of what is lost, then the new session."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sessionbrowse.model.convert.carried import TARGETS
from sessionbrowse.model.convert.losses import loss_lines
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.convert.convert import Carried, convert
from sessionbrowse.text import clean, plural
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import named
from sessionbrowse.tui.resume.resume import if_installed, resume_path
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun, session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_convert(screen: CommandScreen[None]) -> None:
    """Ask for the agent, then show what the session would lose there, and carry it over if the user accepts."""
    summary = screen.subject
    if summary is None:
        return

    def look(to: str) -> None:
        screen.browser.changes.run(
            lambda run: _carry(screen, summary, to, run, dry_run=True), partial(_ask, screen, summary)
        )

    agents = [agent for agent in TARGETS if agent != summary.agent]
    choices = [Choice(f"to-{agent}", f"Continue in {agent}", do=partial(look, agent)) for agent in agents]
    ask(screen.browser, "Continue in another agent", session_parts([summary], screen.browser.home), choices)


def _carry(screen: CommandScreen[None], summary: Summary, to: str, run: ChangeRun, *, dry_run: bool = False) -> Carried:
    return convert(
        summary.path,
        to,
        summary.agent,
        roots=tuple(screen.browser.options.roots),
        dry_run=dry_run,
        force=run.force,
        context=run.context,
        group=run.group,
    )


def _ask(screen: CommandScreen[None], summary: Summary, seen: Carried) -> None:
    """Show what is carried and lost, and ask whether to go on."""
    browser, to = screen.browser, seen.to_agent
    if seen.added_to is not None:
        effect = f"{plural(seen.entries, 'new entry', 'new entries')} added to the session made before."
    elif seen.entries:
        effect = f"{plural(seen.entries, 'entry', 'entries')} in a new session of {to}."
    else:
        effect = f"The session in {to} has all entries already."
    parts: list[Part] = [*session_parts([summary], browser.home), LinePart([(effect, "")])]
    parts += [LinePart([(clean(browser.in_short(note)), "warning")], indent=2) for note in seen.notes]
    for line in loss_lines(seen.losses) or ["Nothing is lost."]:
        parts.append(LinePart([(line, "" if line.startswith(" ") else "title")], indent=4))
    parts.append(LinePart([]))
    verb = "Carry over" if seen.entries else "Show"

    def go_on(show: Callable[[str], None]) -> None:
        if not seen.entries:
            show(seen.path)
            return
        item = ChangeItem(named(summary), lambda run: _carry(screen, summary, to, run))
        plan = ChangePlan(
            title="Carrying over",
            items=[item],
            describe=lambda done: f"Carried {plural(done[0].entries, 'entry', 'entries')} to {to}.",
            on_success=lambda done: show(done[0].path),
        )
        browser.changes.make(plan)

    entry_id = screen.entry_to_resume if not seen.held_back else None
    open_it = partial(browser.show_path, entry_id=entry_id)
    resume = if_installed(screen, to, partial(go_on, partial(resume_path, screen)))
    choices = [
        Choice("carry", f"{verb}, and open it", "at this entry" if entry_id else "", do=partial(go_on, open_it)),
        Choice("carry-resume", f"{verb}, and resume in {to}", "where it ends" if entry_id else "", do=resume),
        CANCEL,
    ]
    ask(browser, f"Continue in {to}", parts, choices)
