"""The text field in which the user types filters, searches and answers to dialogs."""

from __future__ import annotations

from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from sessionbrowse.text import clean


class FilterInput(Input):
    """A one-line text field; it removes control characters from pasted text."""

    ALLOW_SELECT = False

    # Textual declares this attribute with `layout=True`; each typed letter would then lay out the whole screen again.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def on_mount(self) -> None:
        """Turn off the blinking of the text cursor."""
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        # Only clean the text: Textual's own paste handler runs next, and inserts `event.text` into the field.
        event.text = clean(event.text.strip())
