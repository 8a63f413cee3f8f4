"""The command that updates the sessions of a project whose directory was moved: all of them, or none."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import partial

from sessionbrowse.errors import InUse
from sessionbrowse.services.change.relocate import Relocated, candidates, relocate
from sessionbrowse.store.find.roots import Scope
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.changes.fork import expanded
from sessionbrowse.tui.dialogs.dialogs import CANCEL, Choice, ask, paragraph, prompt
from sessionbrowse.tui.paint.spans import Line, one_line
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen

_MOST_SHOWN = 4


def do_relocate(screen: CommandScreen[None]) -> None:
    """Search for the new directory of a moved project, then ask the user to accept or type the path."""
    browser, old = screen.browser, screen.project
    if not old:
        return
    directories = browser.directories()
    browser.changes.run(
        lambda run: [one.path for one in candidates(old, directories, run.context)],
        lambda found: _ask_directory(screen, old, found),
    )


def _ask_directory(screen: CommandScreen[None], old: str, found: Sequence[str]) -> None:
    browser = screen.browser
    home = browser.home
    offers = list(dict.fromkeys([shorten_home(path, home) for path in found]))
    shown = shorten_home(old, home)
    parts = paragraph([("Sessions of ", ""), (clean(shown), "title")])

    def hint(text: str) -> Line:
        if not text.strip() or text.strip() == clean(shown):
            return [(f"Type the project's new directory{', or choose one with ↑ ↓' if offers else ''}.", "dim")]
        return [("A preview is shown before anything changes.", "dim")]

    def answered(text: str) -> None:
        if text.strip():
            _look(screen, old, expanded(text, home))

    prompt(
        browser,
        "Relocate",
        parts,
        answered,
        text=offers[0] if offers else shown,
        placeholder="the new directory",
        hint=hint,
        offers=offers,
        accepting="preview",
        completes="directory",
    )


def _look(screen: CommandScreen[None], old: str, new: str) -> None:
    """Find in the background the sessions that a relocation would change, then list them and ask for consent."""
    browser = screen.browser
    scope = _scope(screen)

    def dry_run(run: ChangeRun) -> tuple[Relocated, str | None, bool]:
        is_there = os.path.isdir(new)
        try:
            return relocate(old, new, scope, dry_run=True, context=run.context), None, is_there
        except InUse as error:
            forced = relocate(old, new, scope, dry_run=True, force=True, context=run.context)
            return forced, error.sentence, is_there

    browser.changes.run(dry_run, lambda answer: _ask(screen, old, new, *answer))


def _ask(screen: CommandScreen[None], old: str, new: str, moved: Relocated, in_use: str | None, is_there: bool) -> None:
    home = screen.browser.home
    where: Line = [(clean(shorten_home(old, home)), "dim"), (" → ", ""), (clean(shorten_home(new, home)), "title")]
    lines = relocation_lines(moved, home)
    if not is_there:
        lines.append([("The new directory does not exist.", "warning")])
    if in_use is not None:
        lines.append([(clean(in_use), "warning")])
    move = partial(_move, screen, old, new, force=in_use is not None)
    choices = [Choice("go", f"Relocate {plural(len(moved.sessions), 'session')}", do=move), CANCEL]
    ask(screen.browser, "Relocate", [*paragraph(where), *paragraph(*lines)], choices)


def _move(screen: CommandScreen[None], old: str, new: str, *, force: bool) -> None:
    browser = screen.browser
    scope = _scope(screen)

    def make(run: ChangeRun) -> Relocated:
        return relocate(old, new, scope, force=run.force, context=run.context)

    def describe(done: Sequence[Relocated]) -> str:
        where = one_line(shorten_home(new, browser.home), 60)
        one = len(done[0].sessions) == 1
        return f"{plural(len(done[0].sessions), 'session')} now {'points' if one else 'point'} to {where}."

    def then(done: Sequence[Relocated]) -> None:
        if screen.name == "browse":
            screen.reveal(("project", done[0].path))

    items = [ChangeItem(clean(old), make)]
    browser.changes.make(ChangePlan(title="Moving", items=items, describe=describe, on_success=then, force=force))


def _scope(screen: CommandScreen[None]) -> Scope:
    options = screen.browser.options
    return Scope(
        around=screen.browser.changes.context.around,
        roots=tuple(options.roots),
        extra_roots=tuple(options.settings.roots),
        agents=tuple(options.agents),
    )


def relocation_lines(moved: Relocated, home: str) -> list[Line]:
    """Return the lines that describe a relocation: changed sessions by directory, and the number of changed forks."""
    by_directory = Counter((session.cwd, session.new_cwd) for session in moved.sessions)
    lines: list[Line] = []
    for (cwd, new_cwd), count in list(by_directory.items())[:_MOST_SHOWN]:
        was, there = [one_line(shorten_home(path, home), 80) for path in (cwd, new_cwd)]
        lines.append([(f"{plural(count, 'session')} of {was} → {there}", "")])
    if len(by_directory) > _MOST_SHOWN:
        lines.append([(f"… and {len(by_directory) - _MOST_SHOWN} more moved directories", "dim")])
    if moved.files:
        lines.append([(f"Also moved: {plural(moved.files, 'file')} kept beside the sessions.", "")])
    if moved.mended:
        lines.append([(f"{plural(len(moved.mended), 'fork')}: only the parent's path changes.", "")])
    return lines
