"""The commands that resume a session: here, in tmux or by a command of the settings; and the questions before that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from sessionbrowse.config import ResumeIn
from sessionbrowse.errors import AgentMissing, DirectoryMissing, SessionBrowseError
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.model.session.rules import RULES
from sessionbrowse.services.clean.clean import Cleaned, Where
from sessionbrowse.services.clean.doctor import repair
from sessionbrowse.services.resume.before_resume import (
    CHECKED_BYTES,
    BeforeResume,
    before_resume,
    used_before_resume,
)
from sessionbrowse.services.resume.launch import open_in_tmux, start_command, why_no_command, why_no_tmux
from sessionbrowse.services.resume.plan import ResumeCommand, has_program, resume_command
from sessionbrowse.store.write.write_checks import Target
from sessionbrowse.text import clean, shorten_home
from sessionbrowse.tui.changes.checkout import check_out
from sessionbrowse.tui.changes.fork import ask_directory, expanded, fork_all
from sessionbrowse.tui.changes.label import entry_parts
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.copying import copy_found
from sessionbrowse.tui.dialogs.dialogs import Choice, ask, paragraph, prompt
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line
from sessionbrowse.tui.shell.change_plan import ChangePlan, ChangeRun, session_items, session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen

WAYS: dict[ResumeIn, str] = {
    "here": "Here, then return",
    "tmux-window": "New tmux window",
    "tmux-split": "New tmux split",
    "command": "Custom command",
}


def do_resume(screen: CommandScreen[None]) -> None:
    """Resume the session as the settings say; at an entry that is not the leaf, ask where."""
    summary = screen.subject
    if summary is None:
        return
    if screen.entry_to_resume is not None:
        _ask_where(screen, summary, screen.entry_to_resume)
    else:
        _begin(screen, summary, _usual(screen))


def _ask_where(screen: CommandScreen[None], summary: Summary, entry_id: str) -> None:
    """Ask whether the session is resumed at its leaf, at an entry, or in a fork from the entry."""
    choices = [
        Choice("leaf", "At the leaf", "where the session ends", do=partial(_begin, screen, summary, _usual(screen))),
        *(_entry_choices(screen, summary, entry_id) or [_in_another_agent(screen)]),
    ]
    ask(screen.browser, f"Resume in {summary.agent}", _parts(screen, summary), choices)


def _entry_choices(screen: CommandScreen[None], summary: Summary, entry_id: str) -> list[Choice]:
    """Return the answers that resume from an entry; none for a session that is only read."""
    if RULES[summary.agent].only_read:
        return []
    from_it = partial(_begin, screen, summary, _usual(screen), entry_id)
    # The fork is shown, so that the user sees the session in which the agent ran after the agent quits.
    fork = partial(fork_all, screen, [summary], entry_id, then=lambda forked: resume_path(screen, forked.path))
    return [
        Choice("checkout", "From this entry", "checks it out, without a summary", do=from_it),
        Choice(
            "fork", "In a fork from this entry", "makes a new session", do=if_installed(screen, summary.agent, fork)
        ),
    ]


def if_installed(screen: CommandScreen[None], agent: str, do: Callable[[], None]) -> Callable[[], None]:
    """Return `do`, which writes and resumes a session; if the agent is not installed, a function that says so."""
    options = screen.browser.options
    argv = resume_command(agent, "", "", settings_command=options.settings.agents.get(agent)).argv
    is_there = has_program(argv, options.environ)
    return do if is_there else partial(screen.browser.say, f"{clean(argv[0])} is not installed here.", "error")


def _in_another_agent(screen: CommandScreen[None]) -> Choice:
    convert = partial(screen.run_command, BY_ID["convert"])
    return Choice("convert", "In another agent …", "carries the session over", do=convert)


def do_resume_as(screen: CommandScreen[None]) -> None:
    """Ask how to resume the session: here, in tmux, by a custom command, or at the entry under the cursor."""
    summary = screen.subject
    if summary is None:
        return
    entry_id = screen.entry_to_resume
    choices = _entry_choices(screen, summary, entry_id) if entry_id is not None else []
    for way, text in WAYS.items():
        reason = _why_not(screen, way)
        usual = "default" if way == _usual(screen) else ""
        begin = partial(_begin, screen, summary, way)
        choices.append(Choice(way, text, reason or usual, "faint" if reason else "", do=begin))
    resume_line, what = screen.browser.source.resume_line, "the command that resumes the session"
    copy = partial(copy_found, screen, lambda run: resume_line(summary), what)
    choices.append(Choice("clipboard", "Copy the command", do=copy))
    choices.append(_in_another_agent(screen))
    ask(screen.browser, f"Resume in {summary.agent}", _parts(screen, summary), choices)


def _usual(screen: CommandScreen[None]) -> ResumeIn:
    return screen.browser.options.settings.resume.where


def _why_not(screen: CommandScreen[None], way: ResumeIn) -> str | None:
    options = screen.browser.options
    if way in ("tmux-window", "tmux-split"):
        return why_no_tmux(options.environ)
    return why_no_command(options.settings.resume.command) if way == "command" else None


def _parts(screen: CommandScreen[None], summary: Summary) -> list[Part]:
    entry = [] if screen.viewed_entry is None else entry_parts(screen.viewed_entry, screen.browser.home)[:1]
    return [*session_parts([summary], screen.browser.home)[:1], *entry, LinePart([])]


def _begin(screen: CommandScreen[None], summary: Summary, way: ResumeIn, entry_id: str | None = None) -> None:
    """Resume a session; if there is a risk, show a dialog first. The entry `entry_id`, if given, is checked out last.

    The risks: the session is in use, its newest message is not on the active branch, or the agent would stop with an
    error when it draws the session.
    """
    browser, reason = screen.browser, _why_not(screen, way)
    if reason is not None:
        browser.say(f"{reason} {browser.keys.key_of('resume_as')} offers other ways.", "warning")
        return
    go = partial(_plan, screen, summary, way, entry_id)

    def check(run: ChangeRun) -> BeforeResume:
        context = run.context
        if summary.left_behind or summary.bytes <= CHECKED_BYTES:
            return before_resume(summary.path, summary.agent, context)
        return BeforeResume(used_before_resume(summary.path, summary.agent, summary.own_cwd, context), None)

    def show(before: BeforeResume) -> None:
        if entry_id is not None:
            before = replace(before, left_behind=None)
        if before.warning is None and before.left_behind is None and before.stops is None:
            go()
        else:
            _ask(screen, summary, way, before, go)

    # If the check of the session failed, `go` will fail for the same reason, with a better message.
    browser.changes.run(
        check, show, lambda error: go() if isinstance(error, SessionBrowseError) else browser.changes.say_error(error)
    )


def _plan(
    screen: CommandScreen[None], summary: Summary, way: ResumeIn, entry_id: str | None, directory: str | None = None
) -> None:
    """Compute in the background the command that resumes the session, check out the entry, then run the command."""
    changes, source = screen.browser.changes, screen.browser.source

    def start(command: ResumeCommand) -> None:
        go = partial(_start, screen, command, way)
        if entry_id is None:
            go()
        else:
            check_out(screen, summary, entry_id, go, verb="Resume from")

    def on_error(error: Exception) -> None:
        if isinstance(error, DirectoryMissing):
            _ask_directory(screen, summary, way, entry_id, error)
        elif isinstance(error, AgentMissing):
            keys = screen.browser.keys
            screen.browser.say(
                f"{error.short} {keys.key_of('resume_as')} copies the command to run elsewhere.", "error"
            )
        else:
            changes.say_error(error)

    changes.run(lambda context: source.plan_resume(summary, directory), start, on_error)


def _ask_directory(
    screen: CommandScreen[None], summary: Summary, way: ResumeIn, entry_id: str | None, error: DirectoryMissing
) -> None:
    fork = partial(
        ask_directory, screen, [summary], at=entry_id, show=lambda forked: resume_path(screen, forked.path, way)
    )
    elsewhere = partial(_ask_elsewhere, screen, summary, way, entry_id)
    relocate = partial(screen.run_command, BY_ID["relocate"])
    choices = [
        Choice("elsewhere", "Resume in another directory …", do=elsewhere),
        Choice("relocate", "Relocate all sessions of the directory …", do=relocate),
        Choice("fork", "Fork to another directory and resume …", do=fork),
    ]
    if RULES[summary.agent].only_read:
        # Claude Code finds a session only in its own directory; Codex asks which directory to use.
        choices = [*choices[: summary.agent == "codex"], _in_another_agent(screen)]
    parts = paragraph([(clean(screen.browser.in_short(error.short)), "warning")])
    ask(screen.browser, "Directory missing", parts, choices)


def _ask_elsewhere(screen: CommandScreen[None], summary: Summary, way: ResumeIn, entry_id: str | None) -> None:
    browser = screen.browser

    def hint(text: str) -> Line:
        return [(f"{summary.agent} runs in the directory you enter; the session keeps its old directory.", "dim")]

    def answered(text: str) -> None:
        if text.strip():
            _plan(screen, summary, way, entry_id, expanded(text, browser.home))

    offers = [shorten_home(path, browser.home) for path in browser.directories()]
    prompt(
        browser,
        "Resume in another directory",
        _parts(screen, summary),
        answered,
        placeholder="a directory",
        hint=hint,
        offers=offers,
        accepting="resume",
        completes="directory",
    )


def resume_path(screen: CommandScreen[None], path: str, way: ResumeIn | None = None) -> None:
    """Resume a listed session by the path of its file, as the settings say if `way` is None."""
    made = screen.browser.library.get(path)
    if made is not None:
        _begin(screen, made, way or _usual(screen))


def _start(screen: CommandScreen[None], command: ResumeCommand, way: ResumeIn) -> None:
    browser = screen.browser
    settings, environ = browser.options.settings, browser.options.environ
    match way:
        case "here":
            said = browser.message
            browser.lend_terminal(command)
            # The agent may have changed session files.
            screen.run_command(BY_ID["reload"])
            if said.sentence and not browser.message.sentence:
                browser.say(said.sentence, said.severity)
        case "tmux-window" | "tmux-split":
            split = way == "tmux-split"
            where = "beside the browser" if split else "in a new tmux window"
            browser.changes.run(
                lambda context: open_in_tmux(command, environ, split=split),
                lambda _: browser.say(" ".join([f"{command.agent} resumes {where}.", *command.notes])),
            )
        case "command":
            template = settings.resume.command
            browser.changes.run(
                lambda context: start_command(command, template, environ),
                lambda _: browser.say(" ".join([f"Started {template[0]}.", *command.notes])),
            )


def _ask(
    screen: CommandScreen[None], summary: Summary, way: ResumeIn, before: BeforeResume, go: Callable[[], None]
) -> None:
    parts: list[Part] = []
    choices: list[Choice] = []
    left = before.left_behind
    if left is not None:
        parts += paragraph([(clean(left.sentence), "warning")])
    if before.stops is not None:
        parts += paragraph([(before.stops, "warning")])
        repair = partial(repair_first, screen, summary, f"Repaired. {summary.agent} resumes it.", go)
        choices.append(Choice("repair", "Repair the session, then resume", do=repair))
    if before.warning is not None:
        parts += paragraph([(before.warning, "warning")])
        choices.append(Choice("no", "Do not resume"))
    if left is not None and left.entry_id is not None:
        newest = partial(_plan, screen, summary, way, left.entry_id)
        choices.append(Choice("checkout", "Check out the newest message, then resume", do=newest))
    is_risky = before.warning is not None or before.stops is not None
    choices.append(Choice("anyway", "Resume anyway" if is_risky else "Resume without it", do=go))
    ask(screen.browser, f"Resume in {summary.agent}", parts, choices)


def repair_first(screen: CommandScreen[None], summary: Summary, said: str, go: Callable[[], None]) -> None:
    """Repair a session in place, show the sentence `said`, then call `go`."""

    def make(target: Target, run: ChangeRun) -> Cleaned:
        return repair(target, Where(), force=run.force, context=run.context)

    changes = screen.browser.changes
    items = session_items(changes, [summary], make)
    changes.make(ChangePlan(title="Repairing", items=items, describe=lambda done: said, on_success=lambda done: go()))
