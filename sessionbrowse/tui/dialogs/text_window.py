"""A window that shows a text over a screen, and the window of the last messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from sessionbrowse.text import clean
from sessionbrowse.tui.commands.contexts import OVERLAY
from sessionbrowse.tui.layout.parts import LinePart, Part
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.span_view import MESSAGE_ROLES
from sessionbrowse.tui.widgets.text_view import TextView


class TextWindow(CommandScreen[None]):
    """A window with a title and a scrolling text; the keys for close, help and palette close the window."""

    CONTEXTS: ClassVar[tuple[str, ...]] = (OVERLAY,)

    def __init__(self, title: str, *, name: str) -> None:
        super().__init__(name=name)
        self._heading = title

    def compose(self) -> ComposeResult:
        """Make the window's widgets."""
        with Vertical(id="text-window", classes="window"):
            yield TextView(id="window-text")

    def on_mount(self) -> None:
        """Show the window's title and text, and focus the text."""
        window = self.query_one("#text-window")
        window.border_title = Content(clean(self._heading))
        window.border_subtitle = Content(self.keys_line)
        self.show_parts()
        self.set_focus(self.query_one(TextView))

    @property
    def keys_line(self) -> str:
        """The keys of the window, shown in its border."""
        return f"{self.browser.keys.key_of('close')} closes"

    def show_parts(self) -> None:
        """Show the window's text as it is now; do nothing before the window has its widgets."""
        for text in self.query(TextView):
            text.show(self.parts())

    def parts(self) -> Sequence[Part]:
        """Return the text of the window, as the parts that a `TextView` shows."""
        return ()

    def do_close(self) -> None:
        """Close the window."""
        self.dismiss(None)

    # The help key both opens and closes the help; a text has no commands for the palette.
    do_quit = do_help = do_palette = do_close


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
