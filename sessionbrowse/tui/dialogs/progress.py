"""The window that shows the progress of background work, and the key that stops the work."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from sessionbrowse.text import clean
from sessionbrowse.tui.commands.contexts import WORKING
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.paint.spans import Line, fit
from sessionbrowse.tui.shell.command_screen import CommandScreen
from sessionbrowse.tui.widgets.text_view import TextView


class ProgressScreen(CommandScreen[None]):
    """The window that shows the progress of background work, until the code that opened it calls `finish`."""

    CONTEXTS = (WORKING,)

    def __init__(self, title: str, stop: Callable[[], None]) -> None:
        super().__init__(name="progress")
        self._heading = title
        self._ask_to_stop = stop
        self._stopping = False
        self._finished = False
        self._done_items, self._all_items, self._at_work = 0, 0, ""

    def compose(self) -> ComposeResult:
        """Make the widgets of the progress window."""
        with Vertical(id="dialog-window", classes="window"):
            yield TextView(id="progress-text")

    def on_mount(self) -> None:
        """Show the window's title and the key that stops the work."""
        window = self.query_one("#dialog-window")
        window.border_title = Content(clean(self._heading))
        window.border_subtitle = Content(f"{self.browser.keys.key_of('stop')} stop")
        self.set_focus(self.query_one(TextView))
        self._show()

    def report(self, done: int, total: int, name: str) -> None:
        """Show the number of finished items, of all items (0 if it is not known), and the name of the current item."""
        self._done_items, self._all_items, self._at_work = done, total, name
        self._show()

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

    def _show(self) -> None:
        def bar(width: int) -> Line:
            cells = max(4, width - 16)
            full = cells * self._done_items // max(1, self._all_items)
            count = f"  {self._done_items:,} of {self._all_items:,}" if self._all_items else ""
            return fit([("▰" * full, "accent"), ("▱" * (cells - full), "faint"), (count, "dim")], width)

        now = "Stopping after the current item …" if self._stopping else clean(self._at_work)
        parts: list[Part] = [FittedPart(bar), LinePart([]), FittedPart(lambda width: fit([(now, "")], width))]
        for view in self.query(TextView):  # There is no `TextView` before the screen is mounted.
            view.show(parts)

    def do_stop(self) -> None:
        """Stop the work after the current item."""
        self._stopping = True
        self._ask_to_stop()
        self._show()

    def _wait(self) -> None:
        self.browser.say("Stop the running work first, or wait for its end.", "warning")

    do_quit = do_stop
    do_help = do_palette = _wait
