"""The command that forks sessions: ask for the working directory of the fork, then show the new session."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from sessionbrowse.agents.base import expand_home
from sessionbrowse.model.listing.summary import Summary
from sessionbrowse.services.change.fork import Forked, cut_at, fork, name_at
from sessionbrowse.store.find.directories import given
from sessionbrowse.text import clean, plural, shorten_home
from sessionbrowse.tui.changes.label import entry_parts
from sessionbrowse.tui.data.source import place_of
from sessionbrowse.tui.dialogs.dialogs import paragraph, prompt
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.paint.spans import Line, named, project_name, quoted
from sessionbrowse.tui.reading.views import ViewedEntry
from sessionbrowse.tui.shell.change_plan import ChangeItem, ChangePlan, ChangeRun, session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen


def do_fork(screen: CommandScreen[None]) -> None:
    """Fork the chosen sessions; in a session's tree, fork the path up to the entry under the cursor."""
    viewed = screen.viewed_entry
    if viewed is not None and viewed.session is not None:
        if screen.entry_id is not None:
            parts = [*entry_parts(viewed, screen.browser.home), *_name_parts(viewed)]
            ask_directory(screen, [viewed.summary], at=screen.entry_id, parts=parts)
        return
    if chosen := list(screen.chosen):
        parts = session_parts(chosen, screen.browser.home)
        ask_directory(screen, chosen, parts=parts, show=partial(_show_fork, screen))


def _name_parts(viewed: ViewedEntry) -> list[Part]:
    """Return a line with the name of a fork at an entry, if the session has another name."""
    session, index = viewed.session, viewed.index
    if session is None or index is None or (name := name_at(session, index)) == session.name:
        return []
    said = f"is named {quoted(name)}, as the session was" if name else "gets no name: the session had none"
    return paragraph([(f"The fork {said} at this entry.", "warning")])


def _copied(screen: CommandScreen[None], at: str | None) -> str:
    """Return words for what a fork copies, up to the entry `at` if it is given."""
    viewed = screen.viewed_entry
    if at is None or viewed is None or viewed.session is None:
        return "all branches"
    cut = cut_at(viewed.session, viewed.session.index_by_id[at])
    return f"the branch {'up to this entry' if cut.text is None else 'before this message, and its text'}"


def _show_fork(screen: CommandScreen[None], forked: Forked) -> None:
    if not screen.reveal(forked.path):
        screen.browser.show_path(forked.path)


def ask_directory(
    screen: CommandScreen[None],
    chosen: Sequence[Summary],
    *,
    at: str | None = None,
    parts: Sequence[Part] = (),
    show: Callable[[Forked], None] | None = None,
    typed: str | None = None,
) -> None:
    """Ask for the directory of the new sessions, then fork the `chosen` sessions, up to the entry `at` if it is given.

    If the user typed a directory that does not exist, the dialog opens again with the `typed` text.
    """
    browser = screen.browser
    copies = _copied(screen, at)
    own = chosen[0].cwd if len({summary.cwd for summary in chosen}) == 1 else ""
    if any(summary.machine for summary in chosen):
        # For a session of another machine, the current directory is proposed, because its own is not on this machine.
        own = browser.options.here or browser.home
    offers = [shorten_home(path, browser.home) for path in browser.directories()]

    def hint(text: str) -> Line:
        kept = "An empty path keeps the directory of the source session."
        return [(f"Copies {copies}; the original session is unchanged." if text.strip() else kept, "dim")]

    def answered(text: str) -> None:
        directory = expanded(text, browser.home) if text.strip() else None
        if directory is None or directory == chosen[0].cwd == own:
            fork_all(screen, chosen, at, show=show)
            return

        def checked(is_there: bool) -> None:
            if is_there:
                fork_all(screen, chosen, at, directory, show)
            else:
                browser.say(f"There is no directory {clean(directory)}; nothing was forked.", "error")
                ask_directory(screen, chosen, at=at, parts=parts, show=show, typed=text)

        browser.changes.run(lambda run: os.path.isdir(directory), checked)

    prompt(
        browser,
        "Fork up to here" if at is not None else "Fork",
        parts,
        answered,
        text=shorten_home(own, browser.home) if typed is None else typed,
        placeholder="directory of the fork",
        hint=hint,
        offers=offers,
        accepting="fork",
        completes="directory",
    )


def expanded(text: str, home: str, folder: str = "") -> str:
    """Return the absolute path of a typed path; relative paths start at `folder`, or at the home directory."""
    return given(expand_home(text.strip() or text, home), folder or home)


def fork_all(
    screen: CommandScreen[None],
    chosen: Sequence[Summary],
    at: str | None,
    directory: str | None = None,
    show: Callable[[Forked], None] | None = None,
    then: Callable[[Forked], None] = lambda forked: None,
) -> None:
    """Fork sessions, up to the entry `at` if it is given; of a single fork, show the new session and call `then`."""
    browser = screen.browser

    def item(summary: Summary) -> ChangeItem:
        place = place_of(summary, browser.source.places)

        def make(run: ChangeRun) -> Forked:
            return fork(summary.path, summary.agent, place, at=at, cwd=directory, context=run.context, group=run.group)

        return ChangeItem(named(summary), make)

    def describe(done: Sequence[Forked]) -> str:
        if len(done) > 1:
            return f"Forked {plural(len(done), 'session')}."
        handed = " Copied the entry's text." if done[0].text else ""
        where = project_name(done[0].cwd, browser.home)[0] if done[0].cwd else "no directory"
        stands = "" if show is not None else " This is the new session."
        return f"Forked into {where}.{stands}{handed}"

    def forked(done: Sequence[Forked]) -> None:
        if done[0].text:
            browser.copy_to_clipboard(done[0].text)
        if len(done) > 1:
            return
        if show is not None:
            show(done[0])
        else:
            browser.show_path(done[0].path)
        then(done[0])

    browser.changes.make(
        ChangePlan(title="Forking", items=[item(one) for one in chosen], describe=describe, on_success=forked)
    )
