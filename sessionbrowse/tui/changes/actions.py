"""The actions menu: every verb for the row or the selected rows, each with its letter, or why it cannot work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual import events

from sessionbrowse.text import clean, shorten_home
from sessionbrowse.tui.changes.label import entry_parts
from sessionbrowse.tui.commands.command import CUSTOM, PROJECTS, Command, CommandContext
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.commands.table import ACTIONS
from sessionbrowse.tui.dialogs.dialogs import AskScreen, Choice, paragraph
from sessionbrowse.tui.layout.parts import Part
from sessionbrowse.tui.paint.spans import Line, fit
from sessionbrowse.tui.shell.change_plan import session_parts
from sessionbrowse.tui.shell.command_screen import CommandScreen, state_for_commands

_KEY_CELLS, _TITLE_CELLS = 4, 14
_MOST_NAMED = 3


class ActionsScreen(AskScreen):
    """The actions menu; its result is the id of the chosen command. A verb's own key chooses it here too."""

    def __init__(self, parts: Sequence[Part], commands: Sequence[Command], whys: Mapping[str, str | None], keys: Keys):
        super().__init__("Actions", parts, [Choice(command.id, command.title) for command in commands])
        self._rows = [
            [
                (f"{command.letter or keys.shown(command):<{_KEY_CELLS}}", "faint" if why else "key"),
                (f"{command.title:<{_TITLE_CELLS}}", "faint" if why else ""),
                (f"{why.removesuffix('.')}: {command.help}" if why else command.help, "faint" if why else "dim"),
            ]
            for command, why in zip(commands, whys.values(), strict=True)
        ]
        self._by_key = {key: command.id for command in reversed(commands) for key in keys.of(command)}
        self._by_key |= {command.letter: command.id for command in commands if command.letter}

    def render_choice(self, index: int, width: int) -> Line:
        """Return the row of a command: its letter or key, its title, and what it does or why it cannot."""
        return fit(self._rows[index], width)

    def answer_of(self, event: events.Key) -> str | None:
        """Return the id of the command that has the pressed letter or key; None if no command has it."""
        return self._by_key.get(event.key)

    def do_actions(self) -> None:
        """Close the menu, so that its key both opens and closes it."""
        self.dismiss(None)


def do_actions(screen: CommandScreen[Any]) -> None:
    """Open the actions menu for the row under the cursor or the selected rows, and run the chosen command."""
    browser, contexts = screen.browser, screen.active_contexts()
    keys, context = browser.keys, state_for_commands(screen)
    here = keys.at(contexts)
    own = [command for command in here if command.group == CUSTOM]
    verbs = [keys.by_id[command_id] for command_id in ACTIONS]
    commands = [*(command for command in verbs if command.letter or command in here), *own]
    whys = {command.id: _why_not(command, command in here, contexts, context) for command in commands}

    def chosen(command_id: str | None) -> None:
        if command_id is not None and (why := whys[command_id]) is not None:
            browser.say(why, "warning")
        elif command_id is not None:
            screen.run_command(keys.by_id[command_id])

    browser.push_screen(ActionsScreen(_subject_parts(screen), commands, whys, keys), chosen)


def _why_not(command: Command, is_here: bool, contexts: Sequence[str], context: CommandContext) -> str | None:
    if is_here:
        return command.unavailable(context)
    return "On a session only." if contexts[0] == PROJECTS else "In a tree only."


def _subject_parts(screen: CommandScreen[Any]) -> list[Part]:
    """Return the lines that name what the verbs act on: the project, the sessions or the entry."""
    home, viewed = screen.browser.home, screen.viewed_entry
    if screen.active_contexts()[0] == PROJECTS:
        named = shorten_home(screen.project, home) if screen.project else "all projects"
        return paragraph([(clean(named), "title")])
    if viewed is not None and viewed.session is not None:
        return entry_parts(viewed, home)
    return session_parts(list(screen.chosen), home, most=_MOST_NAMED)
