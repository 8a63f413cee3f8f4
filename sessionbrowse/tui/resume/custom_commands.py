"""The user's custom commands from the settings: make their rows for the command table, and run them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sessionbrowse.config import CustomCommand
from sessionbrowse.errors import CommandFailed
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.resume.custom_commands import (
    PLACEHOLDERS,
    directory_for,
    paused,
    placeholders_of,
    run_quietly,
    unknown_placeholders,
    variables_of,
    words_of,
)
from sessionbrowse.services.resume.plan import ResumeCommand
from sessionbrowse.text import clean
from sessionbrowse.tui.commands.command import (
    CUSTOM,
    CUSTOM_ID,
    LIST,
    SESSION,
    Command,
    CommandContext,
    Reason,
    changes_are_off,
)
from sessionbrowse.tui.commands.table import BY_ID
from sessionbrowse.tui.data.jobs import Job, Lane, Outcome
from sessionbrowse.tui.shell.command_screen import CommandScreen

_WHERE = {"everywhere": (LIST, SESSION), "lists": (LIST,), "session": (SESSION,)}


def custom_rows(commands: Sequence[CustomCommand]) -> tuple[Command, ...]:
    """Return the rows of the command table for the user's custom commands."""
    return tuple(
        [
            Command(
                id=f"{CUSTOM_ID}{number}",
                keys=(command.key,) if command.key.strip() else (),
                title=clean(command.name),
                help=f"{clean(command.name)}: {clean(_shown(command))}",
                where=_WHERE[command.where],
                group=CUSTOM,
                reason=_reason(command),
                off_in_agent=changes_are_off,
            )
            for number, command in enumerate(commands)
        ]
    )


def custom_problems(commands: Sequence[CustomCommand]) -> list[str]:
    """Return an error message for each unknown placeholder in the user's custom commands."""
    known = ", ".join([f"{{{name}}}" for name in PLACEHOLDERS])
    return [
        f'The command "{clean(command.name)}" uses the unknown placeholder {{{name}}}; valid placeholders: {known}.'
        for command in commands
        for name in unknown_placeholders(command)
    ]


def _shown(command: CustomCommand) -> str:
    return command.run if isinstance(command.run, str) else " ".join(command.run)


def _reason(command: CustomCommand) -> Reason:
    needed = placeholders_of(command)

    def reason(context: CommandContext) -> str | None:
        if needed and not context.has_session:
            return "There is no session under the cursor."
        if "entry" in needed and not context.has_entry:
            return "There is no entry with an id under the cursor: open a session's tree."
        return None

    return reason


def run_custom_command(screen: CommandScreen[None], command_id: str) -> None:
    """Run a custom command of the user in this terminal, or in the background with the command's output in a toast."""
    browser = screen.browser
    command = browser.options.settings.commands[int(command_id.removeprefix(CUSTOM_ID))]
    values = values_of(screen.subject, screen.entry_id)
    if command.output == "toast":
        _run_quietly(screen, command, values)
        return
    try:
        words = words_of(command, values)
        words = paused(words) if command.output == "pause" else words
    except CommandFailed as error:
        browser.say(str(error), "error")
        return
    directory = directory_for(values["cwd"], browser.home)
    browser.lend_terminal(ResumeCommand(clean(command.name), words, directory, variables_of(values)))
    # The command may have changed session files.
    screen.run_command(BY_ID["reload"])


def _run_quietly(screen: CommandScreen[None], command: CustomCommand, values: dict[str, str]) -> None:
    browser = screen.browser
    environ = browser.options.environ

    def work(job: Job) -> str:
        return run_quietly(command, values, directory_for(values["cwd"], browser.home), environ)

    def receive(outcome: Outcome) -> None:
        if outcome.error is not None:
            browser.call_later(partial(browser.say, str(outcome.error), "error", keep_lines=True))
        else:
            said = outcome.value or f"{clean(command.name)}: done."
            browser.call_later(partial(browser.say, said, keep_lines=True))

    # Use a new background queue (lane) for each run of a command, because a queue drops the output of earlier jobs.
    Lane("custom", receive).ask(work)


def values_of(summary: Summary | None, entry_id: str | None) -> dict[str, str]:
    """Return the values of a custom command's placeholders, such as `path`, by name; all are "" without a session."""
    if summary is None:
        return dict.fromkeys(PLACEHOLDERS, "")
    own = {"path": summary.path, "id": summary.id or "", "cwd": summary.cwd, "agent": summary.agent}
    return own | {"entry": entry_id or "", "name": summary.title}
