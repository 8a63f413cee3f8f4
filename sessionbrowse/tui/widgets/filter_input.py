"""The text field for filters, searches and answers to dialogs."""

from __future__ import annotations

from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from sessionbrowse.text import clean


class FilterInput(Input):
    """A text field that removes control characters from pasted text."""

    ALLOW_SELECT = False

    # With Textual's `layout=True`, each typed letter would lay out the whole screen again.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def on_mount(self) -> None:
        """Turn off the blinking of the text cursor."""
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        # Textual's own handler runs next and inserts the cleaned text.
        event.text = clean(event.text.strip())
