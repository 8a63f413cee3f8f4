"""The help screen: every key of the screen below it, with the reason if its command is unavailable now."""

from __future__ import annotations

from typing import Any

from sessionbrowse.tui.commands.command import GROUPS, Command, CommandContext
from sessionbrowse.tui.commands.contexts import CONTEXT_NAMES, OVERLAY
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.dialogs.text_window import TextWindow
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, line_width, pad
from sessionbrowse.tui.shell.command_screen import CommandScreen, state_for_commands

KEY_CELLS = 20


class HelpScreen(TextWindow):
    """The help screen: the keys that work on the screen below it, by group of commands."""

    def __init__(self, contexts: tuple[str, ...], context: CommandContext) -> None:
        super().__init__("Keys that work here", name="help")
        self._contexts = contexts
        self._command_context = context

    def parts(self) -> list[Part]:
        """Return the lines of the help screen, one for each command."""
        return help_parts(self.browser.keys, self._contexts, self._command_context)


def do_help(screen: CommandScreen[Any]) -> None:
    """Open the help screen, which lists the keys that work on the current screen."""
    screen.browser.push_screen(HelpScreen(screen.active_contexts(), state_for_commands(screen)))


def help_parts(keys: Keys, contexts: tuple[str, ...], context: CommandContext) -> list[Part]:
    """Return the lines of the help screen: one for each command that works in the given contexts."""
    parts: list[Part] = []
    for group in GROUPS:
        commands = [command for command in keys.at(contexts) if command.group == group]
        if not commands:
            continue
        if parts:
            parts.append(LinePart([]))
        parts.append(LinePart([(group, "accent strong")]))
        for command in commands:
            parts.append(_help_part(command, keys, context))
    elsewhere = [context for context in CONTEXT_NAMES if context not in contexts and context != OVERLAY]
    sentence = f"Other places have more keys: {', '.join([CONTEXT_NAMES[context] for context in elsewhere])}."
    return [*parts, LinePart([]), LinePart([(sentence, "dim")])]


def _help_part(command: Command, keys: Keys, context: CommandContext) -> Part:
    reason = command.unavailable(context)
    shown: Line = pad([(keys.shown(command, all_keys=True), "key" if reason is None else "faint")], KEY_CELLS)
    line: Line = [("  ", ""), *shown, (command.help, "" if reason is None else "dim")]
    if reason is not None:
        line.append((f"  Not now: {reason}", "warning"))
    return LinePart(line, indent=KEY_CELLS + 2 if line_width(line) > KEY_CELLS else 0)
