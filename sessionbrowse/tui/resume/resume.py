"""Resume sessions: here, in tmux beside the browser, or by the user's command; what is asked where that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sessionbrowse.agents import AGENTS
from sessionbrowse.config import ResumeIn
from sessionbrowse.errors import DirectoryMissing, SessionBrowseError, UnsafeEntry
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.checkout import CheckedOut, checkout
from sessionbrowse.services.change.fork import Forked, fork
from sessionbrowse.services.resume.launch import open_in_tmux, start_command, why_no_command, why_no_tmux
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.text import clean, shorten_home
from sessionbrowse.tui.changes.change_runner import named
from sessionbrowse.tui.changes.fork import ask_directory, expanded
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.dialogs.dialogs import AskScreen, Choice, PromptScreen
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.resume.questions import before_resuming
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.shell.source import place_of

WAYS: dict[ResumeIn, str] = {
    "here": "In this terminal; the browser comes back afterwards",
    "tmux-window": "In a new tmux window",
    "tmux-split": "In a tmux split beside the browser",
    "command": "With the command of the settings",
}


class Resuming:
    """The commands that start agents."""

    def __init__(self, screen: CommandScreen[None]) -> None:
        self._screen = screen

    # -- what the user asks for ---------------------------------------------------------------------------------

    def do_resume(self) -> None:
        """Resume the session where the settings say."""
        summary = self._screen.subject
        if summary is not None:
            self._begin(summary, self._usual)

    def do_resume_as(self) -> None:
        """Ask where, and in the tree from which entry, to resume."""
        summary = self._screen.subject
        if summary is None:
            return
        entry_id = self._screen.entry_to_resume
        choices: list[Choice] = []
        if entry_id is not None:
            choices.append(Choice("checkout", "From this entry, in this session", "checks it out"))
            choices.append(Choice("fork", "From this entry, in a session of its own", "forks it"))
        for way, text in WAYS.items():
            reason = self._why_not(way)
            usual = "as usual" if way == self._usual else ""
            choices.append(Choice(way, text, reason or usual, "faint" if reason else ""))
        choices.append(Choice("copy", "Not at all: copy the command"))

        def answered(key: str | None) -> None:
            if key == "checkout":
                self.resume_from(summary, entry_id or "")
            elif key == "fork":
                self._fork(summary, entry_id or "")
            elif key == "copy":
                self._copy(summary)
            elif key is not None:
                self._begin(summary, cast("ResumeIn", key))

        self._screen.browser.push_screen(
            AskScreen(f"Resume in {summary.agent}", self._parts(summary), choices), answered
        )

    @property
    def _usual(self) -> ResumeIn:
        return self._screen.browser.options.settings.resume.where

    def _why_not(self, way: ResumeIn) -> str | None:
        options = self._screen.browser.options
        if way in ("tmux-window", "tmux-split"):
            return why_no_tmux(options.environ)
        return why_no_command(options.settings.resume.command) if way == "command" else None

    def _parts(self, summary: Summary) -> list[Part]:
        return [LinePart([(named(summary), "title")]), LinePart([])]

    # -- before ---------------------------------------------------------------------------------------------------

    def _begin(self, summary: Summary, way: ResumeIn) -> None:
        reason = self._why_not(way)
        if reason is not None:
            self._screen.browser.say(
                f"{reason} {self._screen.browser.keys.key_of('resume_as')} offers other ways.", "warning"
            )
            return
        before_resuming(self._screen, summary, lambda: self._plan(summary, way))

    def _plan(self, summary: Summary, way: ResumeIn, directory: str | None = None) -> None:
        """See in the background what to run, then run it."""
        browser = self._screen.browser
        source = browser.source

        def wrong(error: Exception) -> None:
            if isinstance(error, DirectoryMissing):
                self._ask_directory(summary, way, error)
            else:
                browser.say(error.sentence if isinstance(error, SessionBrowseError) else repr(error), "error")

        browser.changes.ask(
            lambda context: source.plan_resume(summary, directory),
            lambda command: self._start(command, way),
            wrong,
        )

    def _ask_directory(self, summary: Summary, way: ResumeIn, error: DirectoryMissing) -> None:
        screen = self._screen
        choices = [Choice("elsewhere", "Resume in another directory …")]
        if screen.can_give(BY_ID["relocate"]):
            choices.append(Choice("relocate", "It was moved: tell all sessions of it …"))
        choices.append(Choice("fork", "Fork into another directory, and resume there …"))
        parts: list[Part] = [LinePart([(clean(screen.browser.in_short(error.sentence)), "warning")]), LinePart([])]

        def answered(key: str | None) -> None:
            if key == "elsewhere":
                self._ask_elsewhere(summary, way)
            elif key == "relocate":
                screen.give(BY_ID["relocate"])
            elif key == "fork":
                ask_directory(screen, [summary], show=lambda forked: self._resume_path(forked.path, way))

        screen.browser.push_screen(AskScreen("The directory is gone", parts, choices), answered)

    def _ask_elsewhere(self, summary: Summary, way: ResumeIn) -> None:
        browser = self._screen.browser

        def hint(text: str) -> Line:
            return [(f"{summary.agent} runs there; the session itself stays as it is.", "dim")]

        def answered(text: str | None) -> None:
            if text is not None and text.strip():
                self._plan(summary, way, expanded(text, browser.home))

        offers = [shorten_home(path, browser.home) for path in browser.directories()]
        browser.push_screen(
            PromptScreen(
                "Resume in another directory",
                self._parts(summary),
                placeholder="a directory",
                hint=hint,
                offers=offers,
                accepting="resume",
            ),
            answered,
        )

    # -- from an entry ------------------------------------------------------------------------------------------

    def resume_from(self, summary: Summary, entry_id: str, *, force: bool = False) -> None:
        """Check an entry out, then resume there."""
        browser = self._screen.browser
        target = browser.changes.target(summary)

        def make(run: ChangeRun) -> CheckedOut:
            return checkout(target, entry_id, force=run.force, context=run.context)

        def told(done: Sequence[CheckedOut]) -> str:
            return "What was said there is on the clipboard." if done[0].text else ""

        def then(done: Sequence[CheckedOut]) -> None:
            if done[0].text:
                browser.copy_to_clipboard(done[0].text)
            self._begin(summary, self._usual)

        browser.changes.carry_out(
            ChangePlan(
                doing="Checking out",
                items=[ChangeItem(clean(entry_id), make)],
                told=told,
                then=then,
                unsafe=lambda error: self._offer_nearest(summary, error),
                force=force and AGENTS[summary.agent].bears_appends,
            )
        )

    def _offer_nearest(self, summary: Summary, error: UnsafeEntry) -> None:
        nearest = error.nearest
        if nearest is None:
            self._screen.browser.say(error.sentence, "error")
            return
        choices = [Choice("yes", f"Resume from {clean(nearest)[:8]} instead"), Choice("no", "Leave it as it is")]
        parts: list[Part] = [LinePart([(clean(error.sentence), "")]), LinePart([])]

        def answered(key: str | None) -> None:
            if key == "yes":
                self.resume_from(summary, nearest)

        self._screen.browser.push_screen(AskScreen("Between a call and its result", parts, choices), answered)

    def _fork(self, summary: Summary, entry_id: str) -> None:
        browser = self._screen.browser
        place = place_of(summary, browser.source.places)

        def make(run: ChangeRun) -> Forked:
            return fork(summary.path, summary.agent, place, at=entry_id, context=run.context)

        def told(done: Sequence[Forked]) -> str:
            return "Forked. What was said there is on the clipboard." if done[0].text else "Forked."

        def then(done: Sequence[Forked]) -> None:
            if done[0].text:
                browser.copy_to_clipboard(done[0].text)
            self._resume_path(done[0].path, self._usual)

        browser.changes.carry_out(
            ChangePlan(doing="Forking", items=[ChangeItem(named(summary), make)], told=told, then=then)
        )

    def _resume_path(self, path: str, way: ResumeIn) -> None:
        made = self._screen.browser.library.get(path)
        if made is not None:
            self._begin(made, way)

    # -- at last ------------------------------------------------------------------------------------------------

    def _start(self, command: ResumeCommand, way: ResumeIn) -> None:
        browser = self._screen.browser
        settings, environ = browser.options.settings, browser.options.environ
        match way:
            case "here":
                browser.lend_terminal(command)
                self._screen.reload()
            case "tmux-window" | "tmux-split":
                split = way == "tmux-split"
                where = "beside the browser" if split else "in a new tmux window"
                browser.changes.ask(
                    lambda context: open_in_tmux(command, environ, split=split),
                    lambda _: browser.say(" ".join([f"{command.agent} resumes {where}.", *command.notes])),
                )
            case "command":
                template = settings.resume.command
                browser.changes.ask(
                    lambda context: start_command(command, template, environ),
                    lambda _: browser.say(" ".join([f"Started {template[0]}.", *command.notes])),
                )

    def _copy(self, summary: Summary) -> None:
        browser = self._screen.browser
        browser.changes.ask(
            lambda context: browser.source.plan_resume(summary, None),
            lambda command: browser.copy(command.shell_line(), "the command that resumes the session"),
        )
