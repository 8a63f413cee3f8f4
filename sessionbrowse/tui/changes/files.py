"""Change session files as wholes from the list: fork, delete, archive, and bring back from the trash."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from sessionbrowse import text
from sessionbrowse.errors import SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.archive import Archived, archive, unarchive
from sessionbrowse.services.change.delete import Deleted, DeletePlan, Into, delete, plan_delete, restorable
from sessionbrowse.services.change.fork import Forked
from sessionbrowse.services.change.restore import Restored, restore
from sessionbrowse.services.transaction.change_context import ChangeContext
from sessionbrowse.store.write.admission import Target
from sessionbrowse.text import clean, parse_time
from sessionbrowse.tui.changes.change_runner import named, sessions_named
from sessionbrowse.tui.changes.fork import ask_directory
from sessionbrowse.tui.changes.rename import session_parts
from sessionbrowse.tui.changes.reread import Known
from sessionbrowse.tui.changes.session_titles import MOST_OPENED, title_of
from sessionbrowse.tui.dialogs.dialogs import AskScreen, Choice, PromptScreen
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.lists.rows import plural
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun

if TYPE_CHECKING:
    from sessionbrowse.tui.lists.screen import BrowseScreen

WORD = "permanent"
"""What must be typed before something is deleted for good."""
_MOST_NAMED = 3


class Files:
    """The commands that change whole files of sessions."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def do_fork(self) -> None:
        """Fork the session with all its branches."""
        chosen = list(self._screen.chosen)
        if chosen:
            parts = session_parts(chosen, self._screen.browser.home)
            ask_directory(self._screen, chosen, parts=parts, show=self._show_fork)

    def _show_fork(self, forked: Forked) -> None:
        made = self._screen.browser.library.get(forked.path)
        if not self._screen.sessions_list.go_to_key(forked.path) and made is not None:
            self._screen.browser.show_session(made)

    # -- delete -------------------------------------------------------------------------------------------------

    def do_delete(self) -> None:
        """Look at what a deletion would take, then ask."""
        browser, chosen = self._screen.browser, list(self._screen.chosen)
        if not chosen:
            return
        children = _children(chosen, browser.library.all())
        targets = [browser.changes.target(summary) for summary in chosen]

        def look(run: ChangeRun) -> list[DeletePlan | SessionBrowseError]:
            found: list[DeletePlan | SessionBrowseError] = []
            for number, (summary, target) in enumerate(zip(chosen, targets, strict=True)):
                if run.stopped():
                    break
                run.report(number, len(targets), named(summary))
                found.append(_unit_or_reason(target, run.context, children.get(summary.path, [])))
            return found

        def taken(found: list[DeletePlan | SessionBrowseError]) -> None:
            for reason in [one for one in found if not isinstance(one, DeletePlan)][:_MOST_NAMED]:
                browser.say(reason.sentence, "error")
            there = [(one, unit) for one, unit in zip(chosen, found, strict=True) if isinstance(unit, DeletePlan)]
            if there:
                self._ask_delete([one for one, _ in there], [unit for _, unit in there])

        browser.changes.ask(look, taken)

    def _ask_delete(self, chosen: Sequence[Summary], units: Sequence[DeletePlan]) -> None:
        browser = self._screen.browser
        trash = "the demo's trash" if browser.changes.into == "own" else "the trash"
        choices = [
            Choice("trash", f"Move to {trash}"),
            Choice("no", "Keep it" if len(chosen) == 1 else "Keep them"),
            Choice("nowhere", "Delete for good …", roles="error"),
        ]

        def answered(key: str | None) -> None:
            if key == "trash":
                self._delete(chosen, units, None)
            elif key == "nowhere":
                self._ask_for_good(chosen, units)

        title = "Delete session?" if len(chosen) == 1 else f"Delete {plural(len(chosen), 'session')}?"
        parts = [*session_parts(chosen, browser.home), *unit_parts(units), LinePart([])]
        browser.push_screen(AskScreen(title, parts, choices), answered)

    def _ask_for_good(self, chosen: Sequence[Summary], units: Sequence[DeletePlan]) -> None:
        def hint(typed: str) -> Line:
            if typed.strip() == WORD:
                return [("Gone for good: nothing brings it back.", "error")]
            return [(f"Type the word {WORD} to go on.", "dim")]

        def answered(typed: str | None) -> None:
            if typed is None:
                return
            if typed.strip() == WORD:
                self._delete(chosen, units, "nowhere")
            else:
                self._screen.browser.say(f"Nothing was deleted: the word was not {WORD}.")

        parts = session_parts(chosen, self._screen.browser.home)
        prompt = PromptScreen("Delete for good", parts, placeholder=WORD, hint=hint, accepting="delete for good")
        self._screen.browser.push_screen(prompt, answered)

    def _delete(self, chosen: Sequence[Summary], units: Sequence[DeletePlan], into: Into | None) -> None:
        changes = self._screen.browser.changes
        in_use = {unit.path for unit in units if unit.used.in_use}

        def item(summary: Summary, unit: DeletePlan) -> ChangeItem:
            target = changes.target(summary)
            # Who has it open stood in the question.
            asked = unit.path in in_use

            def make(run: ChangeRun) -> Deleted:
                force = run.force or asked
                return delete(target, into=run.into, force=force, context=run.context, group=run.group)

            return ChangeItem(named(summary), make)

        def told(done: Sequence[Deleted]) -> str:
            what = sessions_named(chosen) if len(done) == len(chosen) else plural(len(done), "session")
            own = "in the demo's trash" if changes.into == "own" else "in sessionbrowse's own trash"
            where = {"trash": "in the trash", "own": own, "nowhere": "gone for good"}
            return f"{what} {'is' if len(done) == 1 else 'are'} {where[done[0].into]}."

        items = [item(summary, unit) for summary, unit in zip(chosen, units, strict=True)]
        changes.carry_out(ChangePlan(doing="Deleting", items=items, told=told, into=into))

    # -- archive ------------------------------------------------------------------------------------------------

    def do_archive(self) -> None:
        """Take the session out of its agent's lists, or put an archived one back."""
        changes, chosen = self._screen.browser.changes, list(self._screen.chosen)

        def item(summary: Summary) -> ChangeItem:
            target = changes.target(summary)

            def make(run: ChangeRun) -> Archived:
                if summary.archived:
                    return unarchive(target, context=run.context, group=run.group)
                return archive(target, force=run.force, context=run.context, group=run.group)

            return ChangeItem(named(summary), make)

        def told(done: Sequence[Archived]) -> str:
            what = sessions_named(chosen) if len(done) == len(chosen) else plural(len(done), "session")
            verb = "are" if len(done) > 1 else "is"
            agents = "/".join(sorted({summary.agent for summary in chosen}))
            if chosen[0].archived:
                return f"{what} {verb} back in the lists of {agents}."
            return f"{what} {verb} archived, out of the lists of {agents}."

        if chosen:
            changes.carry_out(ChangePlan(doing="Archiving", items=[item(one) for one in chosen], told=told))

    # -- restore ------------------------------------------------------------------------------------------------

    def do_restore(self) -> None:
        """List what is in the trash and bring back what is chosen."""
        browser = self._screen.browser

        def show(rows: list[InTrash]) -> None:
            now_ms = browser.now_ms()
            choices = [Choice(row.change_id, row.title, _age(row.time, now_ms)) for row in rows]
            empty = "No session that sessionbrowse deleted is in the trash."
            title = "In the trash: choose what to bring back"
            browser.push_screen(AskScreen(title, [], choices, empty=empty), self._restore)

        browser.changes.ask(lambda run: read_trash(run, browser.library.get), show)

    def _restore(self, change_id: str | None) -> None:
        if change_id is None:
            return

        def make(run: ChangeRun) -> Restored:
            return restore(change_id, context=run.context)

        def told(done: Sequence[Restored]) -> str:
            found = self._screen.browser.library.get(done[0].path)
            name = named(found) if found is not None else clean(os.path.basename(done[0].path))
            return f"“{name}” is back where it was."

        def then(done: Sequence[Restored]) -> None:
            self._screen.sessions_list.go_to_key(done[0].path)

        self._screen.browser.changes.carry_out(
            ChangePlan(doing="Restoring", items=[ChangeItem("", make)], told=told, then=then)
        )


class InTrash(Struct, frozen=True):
    """A deleted session that can come back: the change that deleted it, what it is called, when that was."""

    change_id: str
    title: str
    time: str


def read_trash(run: ChangeRun, known: Known) -> list[InTrash]:
    """Return what can be brought back, newest first. In the background."""
    return [
        InTrash(change.id, title_of(change, known, opens=number < MOST_OPENED), change.time)
        for number, change in enumerate(restorable(run.context))
    ]


def _age(time: str, now_ms: float) -> str:
    moment = parse_time(time)
    return text.age(moment, now_ms) if moment is not None else ""


def _children(chosen: Sequence[Summary], everything: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Return the sessions that name one of the chosen as their parent, by the chosen one's path, in one pass."""
    by_parent: dict[str, list[Summary]] = {}
    for summary in everything:
        if summary.parent_session is not None:
            by_parent.setdefault(summary.parent_session, []).append(summary)
    return {
        one.path: [child for name in dict.fromkeys((one.path, one.id)) for child in by_parent.get(name or "", ())]
        for one in chosen
    }


def _unit_or_reason(
    target: Target, context: ChangeContext, children: Sequence[Summary]
) -> DeletePlan | SessionBrowseError:
    try:
        return plan_delete(target, context, children)
    except SessionBrowseError as reason:
        return reason


def unit_parts(units: Sequence[DeletePlan]) -> list[Part]:
    """Return what a deletion would take beside the sessions, and what speaks against it."""
    lines: list[Line] = [[(text.size(sum([unit.size for unit in units])), "")]]
    companions = [path for unit in units for path in unit.companions]
    if companions:
        names = ", ".join([clean(os.path.basename(path)) for path in companions[:_MOST_NAMED]])
        more = f" and {len(companions) - _MOST_NAMED} more" if len(companions) > _MOST_NAMED else ""
        lines.append([(f"With it goes what belongs to it: {names}{more}.", "")])
    children = sum([len(unit.children) for unit in units])
    if children:
        source = "it" if len(units) == 1 else "them"
        stay = f"was forked from {source}; it stays." if children == 1 else f"were forked from {source}; they stay."
        lines.append([(f"{plural(children, 'session')} {stay}", "")])
    in_use = [unit for unit in units if unit.used.in_use]
    for unit in in_use[:_MOST_NAMED]:
        reasons = clean("; ".join(unit.used.reasons))
        lines.append(
            [(f"It may be in use: {reasons}. {unit.agent} would write on into a file that is gone.", "warning")]
        )
    if len(in_use) > _MOST_NAMED:
        lines.append([(f"{len(in_use) - _MOST_NAMED} more may be in use.", "warning")])
    return [LinePart(line) for line in lines]
