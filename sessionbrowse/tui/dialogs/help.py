"""Every key that works here, by group, with the reason where one cannot work now."""

from __future__ import annotations

from typing import Any

from sessionbrowse.tui.commands.command import GROUPS, Command, Here
from sessionbrowse.tui.commands.contexts import OVERLAY, PLACES
from sessionbrowse.tui.commands.keymap import Keys
from sessionbrowse.tui.dialogs.text_window import TextWindow
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.paint.spans import Line, line_width, pad
from sessionbrowse.tui.shell.command_screen import CommandScreen

KEY_CELLS = 20


class HelpScreen(TextWindow):
    """The keys of the places below it."""

    def __init__(self, places: tuple[str, ...], here: Here) -> None:
        super().__init__("Keys that work here", name="help")
        self._places = places
        self._below = here

    def parts(self) -> list[Part]:
        """Return the keys."""
        return help_parts(self.browser.keys, self._places, self._below)


def do_help(screen: CommandScreen[Any]) -> None:
    """Show the keys that work on a screen now."""
    screen.browser.push_screen(HelpScreen(screen.places(), screen.here()))


def help_parts(keys: Keys, places: tuple[str, ...], here: Here) -> list[Part]:
    """Return the help for the commands of the given places."""
    parts: list[Part] = []
    for group in GROUPS:
        commands = [command for command in keys.commands if command.group == group and _holds(command, places)]
        if not commands:
            continue
        if parts:
            parts.append(LinePart([]))
        parts.append(LinePart([(group, "accent strong")]))
        for command in commands:
            parts.append(_help_part(command, keys, here))
    elsewhere = [place for place in PLACES if place not in places and place != OVERLAY]
    sentence = f"Other places have more keys: {', '.join([PLACES[place] for place in elsewhere])}."
    return [*parts, LinePart([]), LinePart([(sentence, "dim")])]


def _holds(command: Command, places: tuple[str, ...]) -> bool:
    return any(place in places for place in command.where)


def _help_part(command: Command, keys: Keys, here: Here) -> Part:
    reason = command.unavailable(here)
    shown: Line = pad([(keys.shown(command, all_keys=True), "key" if reason is None else "faint")], KEY_CELLS)
    line: Line = [("  ", ""), *shown, (command.help, "" if reason is None else "dim")]
    if reason is not None:
        line.append((f"  Not now: {reason}", "warning"))
    return LinePart(line, indent=KEY_CELLS + 2 if line_width(line) > KEY_CELLS else 0)
