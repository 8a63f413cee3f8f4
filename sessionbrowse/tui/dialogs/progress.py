"""The window that shows the progress of background work, and the key that stops the work."""

from __future__ import annotations

from collections.abc import Callable

from sessionbrowse.text import clean
from sessionbrowse.tui.commands.contexts import WORKING
from sessionbrowse.tui.dialogs.text_window import TextWindow
from sessionbrowse.tui.layout.parts import FittedPart, LinePart, Part
from sessionbrowse.tui.paint.spans import Line, fit


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
