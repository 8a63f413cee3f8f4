"""The commands that continue a session: `resume` runs its agent, `convert` carries it to another agent.

With `--at`, `resume` first checks out the entry at which to resume. If another program may be writing the session, or
the agent stops on it, the user is asked for confirmation.
"""

from __future__ import annotations

import argparse
import os
import sys

from sessionbrowse.cli import output
from sessionbrowse.cli.parser import AddCommand, add_force, add_ref, directory
from sessionbrowse.cli.process import interrupts_clean_up
from sessionbrowse.cli.references import find
from sessionbrowse.config import load_settings
from sessionbrowse.errors import CannotResume, InUse, RefusedWrite
from sessionbrowse.model.convert.carried import TARGETS
from sessionbrowse.model.convert.losses import loss_lines
from sessionbrowse.services.list.locate import Located, find_entry
from sessionbrowse.services.resume.before_resume import before_resume
from sessionbrowse.services.resume.launch import endings_there, run_agent
from sessionbrowse.services.resume.plan import ResumeCommand, check_directory, plan
from sessionbrowse.services.transaction.change import target_of
from sessionbrowse.store.find.roots import real_surroundings
from sessionbrowse.store.read.session_file import open_session
from sessionbrowse.store.write.write_checks import refuse_only_read
from sessionbrowse.text import clean, clean_lines, plural, shell_quote


def run_resume(arguments: argparse.Namespace) -> int:
    """Run `resume`: run the agent, or with `--print` or `--json` print the commands that would run it."""
    located = find(arguments)
    if arguments.at is not None:
        # A line that is printed must not fail where it is pasted.
        refuse_only_read(located.path)
        find_entry(open_session(located.path, located.agent), arguments.at)
    command = plan(
        located.path,
        located.agent,
        real_surroundings(),
        place=located.place,
        settings_command=load_settings().settings.agents.get(located.agent),
        must_start=not arguments.only_print,
    )
    if arguments.only_print:
        # The program need not be installed where the line is printed, but the line begins with the directory.
        check_directory(command)
    output.note_all(command.notes)
    before = before_resume(located.path, located.agent)
    if arguments.at is None and before.left_behind is not None:
        found = before.left_behind
        offer = f" --at {clean(found.entry_id)} goes there." if found.entry_id else ""
        output.note(f"{found.sentence}{offer}")
    if before.stops is not None and (arguments.json or arguments.only_print):
        output.note(f"{before.stops} sessionbrowse doctor --in-place may repair it.")
    if arguments.json:
        output.print_json(_document(command, located.path, arguments.at))
        return 0
    if arguments.only_print:
        _print_line(_line(command, located.path, arguments.at), arguments.ref)
        return 0
    if before.warning is not None and not arguments.force and not _goes_on(before.warning):
        raise InUse(f"{before.warning} The agent was not started; add --force to start it anyway.")
    if before.stops is not None and not arguments.force and not _goes_on(before.stops):
        raise CannotResume(
            f"{before.stops} The agent was not started; repair the session with doctor --in-place, or add --force."
        )
    if arguments.at is not None:
        _check_out(arguments, located)
    try:
        status = run_agent(command, os.environ)
        output.note_all([endings_there(command)[status]] if status in endings_there(command) else [])
        return status
    except OSError as error:
        raise CannotResume(f"{command.argv[0]} could not be started: {error.strerror or error}") from error


def _check_out(arguments: argparse.Namespace, located: Located) -> None:
    from sessionbrowse.services.change.checkout import checkout

    # `checkout` refuses to change a session in use, unless it is forced. Only a running omp loses data when another
    # program adds a line to its session, so for omp the user must give `--force`; for other agents, always force.
    force = arguments.force or located.agent != "omp"
    checked_out = checkout(target_of(located, arguments.ref), arguments.at, force=force)
    output.note_all(checked_out.notes)
    if checked_out.text is not None:
        output.note_all(clean_lines(checked_out.text))


def _document(command: ResumeCommand, path: str, at: str | None) -> dict[str, object]:
    document: dict[str, object] = {
        "agent": command.agent,
        "argv": list(command.argv),
        "cwd": command.cwd,
        "env": command.env,
    }
    if at is not None:
        document["first"] = _first(path, at)
    return document


def _line(command: ResumeCommand, path: str, at: str | None) -> str:
    # `&&` joins the two commands: the agent must not start if the checkout fails, as it would resume elsewhere.
    first = " ".join(map(shell_quote, _first(path, at))) + " && " if at is not None else ""
    return first + command.shell_line()


def _print_line(line: str, reference: str) -> None:
    """Print a shell command line unchanged; refuse to print control characters on a terminal.

    Raises:
        CannotResume: the line has control characters, and standard output is a terminal, which would execute them.
    """
    if sys.stdout.isatty() and clean(line) != line:
        shown = shell_quote(reference) if clean(reference) == reference else "REF"
        raise CannotResume(
            f"The command has control characters, which a terminal would execute. "
            f"Run instead: sessionbrowse resume {shown}"
        )
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(line) + b"\n")


def _first(path: str, at: str) -> list[str]:
    return ["sessionbrowse", "checkout", path, "--", at]


def _goes_on(warning: str) -> bool:
    if not output.can_ask():
        return False
    output.note(warning)
    return output.is_confirmed("Resume the session anyway?")


def run_convert(arguments: argparse.Namespace) -> int:
    """Run `convert`: say what is carried and lost, then make or extend the other agent's session and print its path."""
    from sessionbrowse.services.convert.convert import Carried, convert

    located = find(arguments)

    def preview(carried: Carried) -> None:
        output.note_all(carried.notes)
        if not arguments.json:
            (output.print_lines if carried.dry_run else output.note_all)(loss_lines(carried.losses))
        if arguments.strict and any(loss.context for loss in carried.losses):
            raise RefusedWrite("The model would see a difference; nothing was written (--strict).")

    with interrupts_clean_up():
        carried = convert(
            located.path,
            arguments.to,
            located.agent,
            cwd=arguments.cwd,
            roots=tuple(arguments.roots or ()),
            drop_signatures=arguments.drop_signatures,
            dry_run=arguments.dry_run,
            force=arguments.force,
            preview=preview,
        )
    if arguments.json:
        output.print_json(carried.document())
        return 0
    done = ("would be " if carried.dry_run else "") + ("carried" if carried.added_to is None else "added")
    if carried.entries:
        output.note(f"{plural(carried.entries, 'entry', 'entries')} {done} to {carried.to_agent}.")
    if not carried.dry_run:
        output.print_lines([clean(carried.path)])
    return 0


COMMANDS = {"resume": run_resume, "convert": run_convert}


def add_arguments(add: AddCommand) -> None:
    """Add the commands of this module and their arguments to the parser."""
    if resume := add("resume", "Run the agent on a session, in the session's directory"):
        add_ref(resume)
        resume.add_argument(
            "--at", metavar="ENTRY", help="resume at ENTRY; first checks out ENTRY, which adds one line to the file"
        )
        resume.add_argument("--print", action="store_true", dest="only_print", help="print the commands, shell-quoted")
        add_force(resume)

    if convert := add("convert", "Carry a session to another agent, with its whole tree; print the new session's path"):
        add_ref(convert)
        convert.add_argument("--to", required=True, choices=TARGETS, help="the agent that is to continue the session")
        convert.add_argument(
            "--cwd",
            type=directory,
            metavar="DIR",
            help="working directory of the new session (default: that of the source)",
        )
        convert.add_argument("--dry-run", action="store_true", help="only print what would be carried and lost")
        convert.add_argument(
            "--strict",
            action="store_true",
            help="write nothing, and exit with status 1, if the model would see a difference",
        )
        convert.add_argument(
            "--drop-signatures",
            action="store_true",
            help="drop reasoning and signatures, which other models' providers may refuse",
        )
        add_force(convert)
