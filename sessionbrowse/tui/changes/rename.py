"""Name sessions: the one under the cursor or all that are selected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sessionbrowse.agents import AGENTS
from sessionbrowse.errors import RefusedWrite
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.rename import MAX_NAME, MAY_BE_TITLED_AGAIN, Renamed, rename
from sessionbrowse.text import clean
from sessionbrowse.tui.changes.change_runner import named, sessions_named
from sessionbrowse.tui.dialogs.dialogs import PromptScreen
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.lists.rows import agent_span, folder_name, one_line
from sessionbrowse.tui.paint.spans import Line, fit
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen

NUMBER = "{n}"
"""What stands for a session's number in a name that several are given."""


class Naming:
    """The command that names sessions."""

    def __init__(self, screen: CommandScreen[None]) -> None:
        self._screen = screen

    def do_rename(self) -> None:
        """Ask for a name and give it."""
        browser, chosen = self._screen.browser, list(self._screen.chosen)
        if not chosen:
            return
        one = chosen[0] if len(chosen) == 1 else None

        def answered(text: str | None) -> None:
            if text is None:
                return
            if one is not None and text.strip() == (one.name or "").strip():
                browser.say("The name is as it was.")
                return
            names = [text.replace(NUMBER, str(number)) for number in range(1, len(chosen) + 1)]
            browser.changes.carry_out(
                ChangePlan(
                    doing="Renaming",
                    items=[self._item(summary, name) for summary, name in zip(chosen, names, strict=True)],
                    told=lambda done: told(done, chosen),
                )
            )

        browser.push_screen(
            PromptScreen(
                "Rename",
                session_parts(chosen, browser.home),
                one.name or "" if one is not None else "",
                placeholder="a name",
                hint=lambda text: hint_of(chosen, text),
                accepting="rename",
            ),
            answered,
        )

    def _item(self, summary: Summary, name: str) -> ChangeItem:
        target = self._screen.browser.changes.target(summary)
        cleared = not name.strip()

        def make(run: ChangeRun) -> Renamed:
            return rename(target, name, clear=cleared, force=run.force, context=run.context, group=run.group)

        return ChangeItem(named(summary), make)


def told(done: Sequence[Renamed], chosen: Sequence[Summary]) -> str:
    """Return the sentence on what was done."""
    if len(done) > 1:
        return f"{sessions_named(chosen)} renamed."
    name = done[0].name
    return f"Named “{one_line(name, 60)}”." if name else "The session has no name now."


def hint_of(chosen: Sequence[Summary], text: str) -> Line:
    """Return what naming sessions so would do, or why it cannot be done."""
    if len(text) > MAX_NAME:
        return [(f"A name has at most {MAX_NAME:,} characters.", "error")]
    agents = sorted({summary.agent for summary in chosen})
    if not text.strip():
        return _hint_of_clearing(chosen, agents)
    if len(chosen) > 1:
        return [(f"All {len(chosen):,} get this name; {NUMBER} in it becomes 1, 2, 3 …", "dim")]
    if text.strip() == (chosen[0].name or "").strip():
        return [("The name it has.", "dim")]
    try:
        written = AGENTS[chosen[0].agent].clean_name(text)
    except RefusedWrite as error:
        return [(clean(error.sentence), "error")]
    return [] if written == text.strip() else [(f"It will read “{one_line(written, 80)}”.", "dim")]


def _hint_of_clearing(chosen: Sequence[Summary], agents: Sequence[str]) -> Line:
    if not any(summary.name for summary in chosen):
        return [("Type a name." if len(chosen) == 1 else "None of them has a name. Type one.", "dim")]
    if "indusagi" in agents:
        return [("indusagi cannot clear a name; give it another one.", "warning")]
    note = f" {MAY_BE_TITLED_AGAIN}" if "omp" in agents else " Lists show its first message then."
    return [(f"Empty: the name is taken away.{note}", "warning")]


def session_parts(chosen: Sequence[Summary], home: str, *, most: int = 8) -> list[Part]:
    """Return the sessions that a question is about: title, agent, directory, a row for each of the first ones."""
    parts: list[Part] = [FittedPart(partial(_row, one, home)) for one in chosen[:most]]
    if len(chosen) > most:
        parts.append(LinePart([(f"  … and {len(chosen) - most:,} more", "dim")]))
    return [*parts, LinePart([])]


def _row(summary: Summary, home: str, width: int) -> Line:
    where: Line = [agent_span(summary.agent), (" ", ""), (named(summary), "title")]
    if summary.cwd:
        where.append((f"  {folder_name(summary.cwd, home)[0]}", "dim"))
    return fit(where, width)
