"""The command `look`: fetch the sessions of other machines in the background; pressed again, it stops the look."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sessionbrowse.config import MachineSettings
from sessionbrowse.services.machines.look import look
from sessionbrowse.services.machines.results import LookResult, sentence_of
from sessionbrowse.store.own.mirrors import machines_dir
from sessionbrowse.tui.data.jobs import Job, Lane, Outcome
from sessionbrowse.tui.lists.list_commands import do_reload
from sessionbrowse.tui.lists.screen import BrowseScreen


def do_look(screen: BrowseScreen) -> None:
    """Look at all other machines of the settings; if a look is running, stop it."""
    machines = screen.browser.options.settings.machines
    lanes = [_lane(screen, machine.name) for machine in machines]
    if not machines or screen.browser.options.roots:
        why = "Only the given directories are listed." if machines else "The settings name no other machine."
        screen.browser.say(why, "warning")
    elif running := [lane for lane in lanes if lane.busy]:
        for lane in running:
            lane.cancel()
        _show_progress(screen, "", 1, 1)
        screen.browser.say("The look was stopped; the next look goes on.")
    else:
        begin_looks(screen, machines)


def begin_looks(screen: BrowseScreen, machines: Sequence[MachineSettings]) -> None:
    """Look at machines in the background, all at the same time, so that one that does not answer delays no other."""
    options = screen.browser.options
    top = machines_dir(options.environ, Path(options.home))

    def work(machine: MachineSettings, job: Job) -> LookResult:
        def progress(done: int, total: int, path: str) -> None:
            job.emit((machine.name, done, total))

        return look(machine, top=top, progress=progress, cancelled=job.cancelled)

    for one in machines:
        _lane(screen, one.name).ask(partial(work, one))
    names = ", ".join([machine.name for machine in machines])
    screen.browser.say(f"Looking at {names}. {screen.browser.keys.key_of('look')} stops.")


def _lane(screen: BrowseScreen, name: str) -> Lane:
    return screen.lane(f"look at {name}", partial(_receive, screen))


def _show_progress(screen: BrowseScreen, verb: str, done: int, total: int) -> None:
    screen.updates.advance(verb, done, total)
    screen.refresh_header()


def _receive(screen: BrowseScreen, outcome: Outcome) -> None:
    if outcome.error is not None:
        screen.browser.say(outcome.sentence, "error")
    elif not outcome.last:
        name, done, total = outcome.value
        _show_progress(screen, name, done, total)
    else:
        result = outcome.value
        is_error = result.error is not None and not result.asleep
        said = sentence_of(result, screen.browser.now_ms())
        screen.browser.say(said, "error" if is_error else "information")
        # Reload even if no file came: the states of directories and the time of the look have changed.
        do_reload(screen)
