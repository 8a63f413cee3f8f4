"""The window that shows the last messages again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sessionbrowse.tui.dialogs.text_window import TextWindow
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.bars import MESSAGE_ROLES


class MessagesScreen(TextWindow):
    """The last messages, newest first, each with its time."""

    def __init__(self) -> None:
        super().__init__("Messages", name="messages")

    def parts(self) -> list[Part]:
        """Return the lines of the window."""
        parts: list[Part] = []
        for said in reversed(self.browser.messages):
            time = f"{datetime.fromtimestamp(said.time_ms / 1000):%H:%M:%S}  "
            first, *more = said.sentence.split("\n")
            parts.append(LinePart([(time, "dim"), (first, MESSAGE_ROLES[said.severity])], indent=len(time)))
            parts += [LinePart([(" " * len(time), ""), (line, "")], indent=len(time)) for line in more]
        return parts or [LinePart([("There was no message yet.", "dim")])]


def do_messages(screen: CommandScreen[Any]) -> None:
    """Show the last messages."""
    screen.browser.push_screen(MessagesScreen())
