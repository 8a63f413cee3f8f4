"""The help screen: every key of the screen below it, with the reason if its command is unavailable now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from sessionbrowse.tui.commands.command import GROUPS, MOVE, Command, CommandContext, has_words
from sessionbrowse.tui.commands.contexts import HELP, OVERLAY
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.dialogs.text_window import TextWindow
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, pad
from sessionbrowse.tui.shell.command_screen import CommandScreen, state_for_commands
from sessionbrowse.tui.widgets.filter_line import FilterLine
from sessionbrowse.tui.widgets.text_view import TextView

KEY_CELLS = 16
COLUMN_CELLS = 56
"""Minimum width of a column; a window of twice that width has two."""


class HelpScreen(TextWindow):
    """The help screen: the keys that work on the screen below it, by group of commands."""

    CONTEXTS: ClassVar[tuple[str, ...]] = (HELP, OVERLAY)

    def __init__(self, contexts: tuple[str, ...], context: CommandContext) -> None:
        super().__init__("Keys that work here", name="help")
        self._contexts = contexts
        self._command_context = context
        self._words = ""

    def compose(self) -> ComposeResult:
        """Make the widgets of the window: the keys, and the line in which a filter for them is typed."""
        with Vertical(id="text-window", classes="window"):
            yield TextView(id="window-text")
            yield FilterLine(id="filter")

    def on_mount(self) -> None:
        """Show all keys, and the keys of this window on its border."""
        super().on_mount()
        keys = self.browser.keys.key_of
        self.query_one("#text-window").border_subtitle = f"{keys('find_key')} filter · {keys('close')} close"

    def moving(self) -> TextView:
        """Return the list of keys, which the movement keys scroll while a filter is typed."""
        return self.query_one("#window-text", TextView)

    def parts(self) -> list[Part]:
        """Return the lines of the help screen, one for each command that matches the filter."""
        found = help_parts(self.browser.keys, self._contexts, self._command_context, self._words)
        return found or [LinePart([("No command has these words.", "dim")])]

    def text_changed(self, text: str) -> None:
        """Show the keys of the commands that match the typed words."""
        self._words = text
        self.moving().show(self.parts())

    def do_find_key(self) -> None:
        """Open the line in which words of a command are typed."""
        self.query_one(FilterLine).open("/", self._words, "words of a command", replacing=True)

    def do_accept_filter(self) -> None:
        """Keep the filter, and scroll its keys again."""
        self.set_focus(self.moving())

    def do_clear_filter(self) -> None:
        """Show all keys again."""
        self.query_one(FilterLine).close()
        self.text_changed("")
        self.set_focus(self.moving())


def do_help(screen: CommandScreen[Any]) -> None:
    """Open the help screen, which lists the keys that work on the current screen."""
    screen.browser.push_screen(HelpScreen(screen.active_contexts(), state_for_commands(screen)))


def help_parts(keys: Keys, contexts: tuple[str, ...], context: CommandContext, words: str = "") -> list[Part]:
    """Return the lines of the help screen: the commands that work in the given contexts and have all `words`.

    The group with the most commands of the narrowest context comes first, moving the cursor last.
    """
    commands = [command for command in keys.at(contexts) if has_words(command, words)]

    def rank(group: str) -> tuple[bool, int]:
        return group == MOVE, -sum([each.group == group and contexts[0] in each.where for each in commands])

    parts: list[Part] = []
    for group in sorted(GROUPS, key=rank):
        lines = [_help_line(command, keys, contexts, context) for command in commands if command.group == group]
        if lines:
            if parts:
                parts.append(LinePart([]))
            parts += [LinePart([(group, "accent strong")]), ColumnsPart(lines)]
    return parts


def _help_line(command: Command, keys: Keys, contexts: tuple[str, ...], context: CommandContext) -> Line:
    reason = command.unavailable(context)
    shown: Line = pad([(keys.shown(command, contexts, all_keys=True), "key" if reason is None else "faint")], KEY_CELLS)
    line: Line = [("  ", ""), *shown, (command.help, "" if reason is None else "dim")]
    if reason is not None:
        line.append((f"  Not now: {reason}", "warning"))
    return line


class ColumnsPart:
    """Lines in two columns, read down the first one, if there is room for two; no line is wrapped."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def estimate(self, width: int) -> int:
        """Return the height, which is known without wrapping."""
        return -(-len(self._lines) // self._columns(width))

    def rows(self, width: int) -> list[Line]:
        """Return the rows, each with a line of every column."""
        columns = self._columns(width)
        height, cells = self.estimate(width), width // columns
        return [[span for line in self._lines[row::height] for span in pad(line, cells)] for row in range(height)]

    def plain(self) -> str:
        """Return the text of all lines."""
        return "\n".join(["".join([text for text, _ in line]) for line in self._lines])

    def _columns(self, width: int) -> int:
        return 2 if width >= 2 * COLUMN_CELLS else 1
