"""The command palette: find a command by typing part of its name, and run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from sessionbrowse.model.listing.picker import fuzzy
from sessionbrowse.tui.commands.command import MOVE, OVERLAY, Command, CommandContext, has_words
from sessionbrowse.tui.paint.spans import Line, sides
from sessionbrowse.tui.shell.command_screen import CommandScreen, state_for_commands
from sessionbrowse.tui.widgets.filter_line import FilterInput
from sessionbrowse.tui.widgets.row_list import RowList


class PaletteScreen(CommandScreen[str | None]):
    """The command palette: lists the commands of the screen that it covers; its result is the chosen command's id."""

    CONTEXTS = (OVERLAY,)
    ENTER = "accept_filter"

    def __init__(self, commands: list[Command], context: CommandContext, contexts: Sequence[str]) -> None:
        super().__init__(name="palette")
        # Commands that move the cursor come last, because nobody needs the palette for them.
        self._commands = sorted(commands, key=lambda command: command.group == MOVE)
        self._command_context = context
        self._contexts = contexts
        self._shown = self._commands
        self._text = ""

    def compose(self) -> ComposeResult:
        """Make the widgets of the palette: a text line and the list of commands."""
        with Vertical(id="palette-window", classes="window"):
            yield FilterInput(id="palette-input", placeholder="What do you want to do?", compact=True)
            yield RowList(self._render_command, id="palette-rows", empty="No command has this name.")

    def on_mount(self) -> None:
        """Show all commands and focus the text line."""
        self.query_one("#palette-window").border_title = "Commands"
        self._show("")
        self.set_focus(self.query_one(Input))

    def moving(self) -> RowList:
        """Return the list of commands, in which the movement keys move the cursor while the user types a name."""
        return self.query_one(RowList)

    def text_changed(self, text: str) -> None:
        """Update the list of commands after each typed letter."""
        if text != self._text:
            self._show(text)

    def _show(self, text: str) -> None:
        self._text = text
        words = text.lower().split()
        scored = [(points, command) for command in self._commands if (points := _score(words, command)) is not None]
        if words:
            scored.sort(key=lambda pair: pair[0])
        self._shown = [command for _, command in scored]
        keys = [command.id for command in self._shown]
        self.moving().set_rows(keys, cursor=keys[0] if keys else None)

    def _render_command(self, index: int, width: int) -> Line:
        command = self._shown[index]
        reason = command.unavailable(self._command_context)
        name: Line = [(f"{command.title:<15}", "title" if reason is None else "faint")]
        name.append((reason or command.help, "dim" if reason is None else "warning"))
        return sides(name, [(self.browser.keys.shown(command, self._contexts), "key")], width)

    def do_accept_filter(self) -> None:
        """Close the palette with the id of the command under the cursor as its result."""
        key = self.moving().key
        self.dismiss(key if isinstance(key, str) else None)

    def do_clear_filter(self) -> None:
        """Close the palette without running a command."""
        self.dismiss(None)

    do_close = do_quit = do_help = do_palette = do_clear_filter


def do_palette(screen: CommandScreen[Any]) -> None:
    """Open the command palette on a screen, and run the chosen command there."""
    browser = screen.browser
    commands = [command for command in browser.keys.at(screen.active_contexts()) if screen.handler_of(command.id)]

    def chosen(command_id: str | None) -> None:
        if command_id is not None:
            screen.run_command(browser.keys.by_id[command_id])

    browser.push_screen(PaletteScreen(commands, state_for_commands(screen), screen.active_contexts()), chosen)


def _score(words: list[str], command: Command) -> float | None:
    """Return a score for a command that matches the typed words (lower is better); None if it does not match."""
    named = fuzzy("".join(words), command.title)
    if named is not None:
        return named
    return 1000.0 if has_words(command, " ".join(words)) else None
