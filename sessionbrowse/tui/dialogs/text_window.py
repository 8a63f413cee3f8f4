"""Windows that show a text over a screen: their base class, the last messages, the progress of background work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from sessionbrowse.text import clean
from sessionbrowse.tui.commands.command import OVERLAY, WORKING
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.paint.spans import Line, fit
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


class ProgressScreen(TextWindow):
    """The window that shows the progress of background work, until the code that opened it calls `finish`."""

    CONTEXTS = (WORKING,)

    def __init__(self, title: str, stop: Callable[[], None]) -> None:
        super().__init__(title, name="progress")
        self._ask_to_stop = stop
        self._stopping = False
        self._finished = False
        self._done_items, self._all_items, self._at_work = 0, 0, "…"

    def report(self, done: int, total: int, name: str) -> None:
        """Show the number of finished items, of all items (0 if it is not known), and the name of the current item."""
        self._done_items, self._all_items, self._at_work = done, total, name
        self.show_parts()

    def finish(self) -> None:
        """Close the progress window, because the work is done."""
        self._finished = True
        self._go_if_finished()

    def on_screen_resume(self) -> None:
        """Close the progress window if the work ended while another screen was on top."""
        self._go_if_finished()

    def _go_if_finished(self) -> None:
        # Textual can dismiss a screen only if it is mounted and on top. If another screen is on top, `on_screen_resume`
        # tries again.
        if self._finished and self.is_mounted and self.is_top:
            self._finished = False
            self.dismiss(None)

    @property
    def keys_line(self) -> str:
        """The key that stops the work, shown in the border."""
        return f"{self.browser.keys.key_of('stop')} stop"

    def parts(self) -> list[Part]:
        """Return the lines of the window: a bar, if the items are counted, and the name of the current item."""

        def bar(width: int) -> Line:
            cells = max(4, width - 16)
            full = cells * self._done_items // self._all_items
            count = f"  {self._done_items:,} of {self._all_items:,}"
            return fit([("▰" * full, "accent"), ("▱" * (cells - full), "faint"), (count, "dim")], width)

        now = "Stopping after the current item …" if self._stopping else clean(self._at_work)
        counted: list[Part] = [FittedPart(bar), LinePart([])] if self._all_items else []
        return [*counted, FittedPart(lambda width: fit([(now, "")], width))]

    def do_stop(self) -> None:
        """Stop the work after the current item."""
        self._stopping = True
        self._ask_to_stop()
        self.show_parts()

    def _wait(self) -> None:
        self.browser.say("Stop the running work first, or wait for its end.", "warning")

    do_quit = do_stop
    do_help = do_palette = _wait
